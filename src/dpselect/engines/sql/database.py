"""What the SQL engine needs of a database: a few small methods, and what one may do better by itself.

Each question is written once. A database runs it, keeps a result or writes it again where it is asked for, takes small
tables of public or released values, and names rows of an ordered result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpselect._ground.keys import Key as KeyNames
from dpselect._ground.keys import key_columns, parameters_of_columns
from dpselect._ground.parameters import Progress
from dpselect._ground.row_bound import RowBound
from dpselect.engines.sql.port import Columns, Dialect, Int64, Key, Row, SqlType, int64

if TYPE_CHECKING:
    import pyarrow as pa

    from dpselect._ground.domain import Column, Listed
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.user_sets import Sets
    from dpselect.engines.row_filter import Hint, RowFilter
    from dpselect.engines.row_periods import RowPeriods
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer

Names = Callable[[str, Int64], Sequence[Any]]
"""From a column and places, as they are asked for, to what stands there."""


@dataclass(frozen=True)
class Asked:
    """What a source is opened for: the columns that a question names, its filter and its periods.

    `numbers` are the columns of weights and of measures, each beside the parameter that names it.
    """

    user: KeyNames
    item: KeyNames
    by: tuple[str, ...] = ()
    condition: RowFilter | None = None
    periods: Periods | None = None
    numbers: tuple[tuple[str, str], ...] = ()

    @property
    def named(self) -> list[tuple[str, str]]:
        """Each column beside the parameter that names it, but for those of the filter."""
        time = [] if self.periods is None else [("time", self.periods.column)]
        return [*parameters_of_columns(self.user, self.item, self.by), *time, *self.numbers]

    @property
    def users(self) -> tuple[str, ...]:
        """The columns of a user."""
        return key_columns(self.user)

    @property
    def items(self) -> tuple[str, ...]:
        """The columns of an item."""
        return key_columns(self.item)

    def filtered(self, known: Sequence[str], hint: Hint | None = None) -> list[str]:
        """The columns that the filter needs, of those of the source."""
        return [] if self.condition is None else self.condition.needs(known, hint)


class Database(ABC):
    """One table of one database, opened for one question. What it says when it fails is of fixed text."""

    dialect: Dialect
    source: str
    """What stands after FROM to read the table."""
    types: Mapping[str, SqlType]
    """The types of the columns that were asked for when it was opened, as they are counted."""
    fixed: bool = False
    """Does the source alone decide what it says? Nobody can tell whether a table has changed."""
    undeclared: tuple[str, ...] = ()
    """The columns that were asked for, where the source declares none."""
    state: str | None = None
    """What names the state of its rows, where there is a name for each."""
    row_bound: RowBound | None = None
    """How many rows of a user were kept, where they were prepared so."""
    declared: Mapping[str, object] = MappingProxyType({})
    """What a ledger knows of the types of the columns that are read, where an owner has declared some."""
    holds: bool = False
    """Are kept results tables, whose values can be kept again as they are?"""

    # ---- how columns are read

    @property
    def filtered(self) -> Mapping[str, SqlType]:
        """The types of the columns as a filter compares them."""
        return self.types

    def column(self, name: str) -> str:
        """A column as it is counted."""
        return self.dialect.quote(name)

    def user(self, columns: Sequence[str]) -> Key:
        """The columns of a user as one key."""
        return self.item(columns)

    def item(self, columns: Sequence[str], *, plain: bool = False) -> Key:  # noqa: ARG002
        """The columns of an item, or of a group, as one key; `plain` where it is a text that is cut."""
        from dpselect.engines.sql.keys import key_of

        return key_of([(self.column(name), self.types[name]) for name in columns], self.dialect)

    def pair(self, by: Sequence[str], items: Sequence[str], *, plain: bool = False) -> tuple[str, SqlType]:  # noqa: ARG002
        """The SQL of a group g and an item i together, and its type: that of their columns as one key."""
        from dpselect.engines.sql.keys import pair_of

        return pair_of([self.types[name] for name in by], [self.types[name] for name in items], self.dialect)

    def time(self, periods: Periods) -> RowPeriods:
        """The periods over the column of times."""
        from dpselect.engines.filters.engines import SPELLINGS
        from dpselect.engines.row_periods import row_periods

        name = periods.column
        if (text := self.types[name].undeclared) is not None:
            text.refuse("times")
        return row_periods(periods, self.dialect.quote(name), self.filtered[name], SPELLINGS[self.dialect.name])

    def check_unchanged(self) -> None:  # noqa: B027 - most have one schema as long as they are open
        """Refuse a source whose schema may have changed since it was read."""

    def each(self) -> None:  # noqa: B027 - most have all rows
        """From now on rows are there as often as they are; a source may have those that say the same only once."""

    # ---- what runs

    @abstractmethod
    def rows(self, sql: str, *, progress: Progress | None = None) -> list[Row]:
        """All rows of one query."""

    @abstractmethod
    def columns(self, sql: str, names: Sequence[str], *, progress: Progress | None = None) -> Columns:
        """All rows of one large query by column, under these names: int64 for whole numbers, float64, else objects."""

    @abstractmethod
    def keep(self, sql: str, *, progress: Progress | None = None) -> str:
        """A result that is asked for again, as what stands after FROM (without a name): kept, or the query itself."""

    @abstractmethod
    def drop(self, kept: str) -> None:
        """A kept result is not asked for any more."""

    @abstractmethod
    def put(self, columns: Mapping[str, Int64 | Sequence[str]]) -> str:
        """A small table of whole numbers and texts that are public or released, as what stands after FROM."""

    @abstractmethod
    def put_items(self, values: Sequence[Any], types: Sequence[SqlType]) -> str:
        """A public list of items in their one form: i, each once, and place, the first of its places in the list.

        Items of several columns are tuples. An error if they do not fit.
        """

    @abstractmethod
    def listed(self, domain: Listed | Column, types: Sequence[SqlType]) -> tuple[str, int]:
        """A listed domain, i and place as in `put_items`, and how many items it has; refused if it does not fit."""

    @abstractmethod
    def secret(self, key: bytes) -> str:
        """A key as SQL for `Dialect.keyed`; it goes beside the statement where that is possible."""

    @abstractmethod
    def at(self, sql: str, order: str, places: Int64) -> list[Any]:
        """The column `name` of the rows at these places, from 0, of a query in an order that leaves no ties.

        `order` names columns of the query. The places ascend, and the names come in their order. It is asked again
        and again, for other places of the same query.
        """

    @abstractmethod
    def sets(self, rows: str, item_type: SqlType, *, every: bool, progress: Progress | None = None) -> Sets:
        """Every user's distinct items; with `every` they are those of all of its rows, each as it stands there."""

    @abstractmethod
    def numbered(
        self, rows: str, item_type: SqlType, *, progress: Progress | None = None
    ) -> tuple[Sets, Callable[[Int64], str]]:
        """The same, and what makes of codes of items a list of these."""

    @abstractmethod
    def check_text(self, item_type: SqlType, tokenizer: Tokenizer) -> None:
        """Refuse a column that is no text, and a pattern that cannot be read."""

    @abstractmethod
    def tokens(self, rows: str, item_type: SqlType, tokenizer: Tokenizer, progress: Progress | None) -> TokenStream:
        """The tokens of every row's text, whose words can be named until it is closed."""

    @abstractmethod
    def close(self) -> None:
        """Forget everything."""

    # ---- what one may do better

    def fetched(self, sql: str, most: int, *, progress: Progress | None = None) -> pa.Table | None:  # noqa: ARG002
        """All rows of a query, where they have at most so many bytes and to bring them costs less; else None."""
        return None

    def once(self, sql: str, *, progress: Progress | None = None) -> str:  # noqa: ARG002
        """Rows that several statements ask for, or one statement twice: kept where they may be read only once."""
        return sql if sql.startswith("(") else f"({sql})"

    def counted(self, sql: str, most: int | None) -> str:  # noqa: ARG002
        """Numbers of users of all items, which `sql` asks for: by another query where the source has counted them.

        Of `most` items those with the most users are enough, and all that have as many as the last of these.
        """
        return sql

    def leave_room(self) -> None:  # noqa: B027 - most see to it themselves
        """From now on results are kept that may be larger than the memory."""

    def found(
        self, sql: str, order: str, numbers: Sequence[str], names: Sequence[str], *, progress: Progress | None = None
    ) -> tuple[Mapping[str, Int64], Names]:
        """All rows of a query in an order, of which these columns are numbers, and these others are named later."""
        every = [*numbers, *names]
        rows = self.rows(f"SELECT {', '.join(every)} FROM ({sql}) AS q ORDER BY {order}", progress=progress)
        by_column = list(zip(*rows, strict=True)) if rows else [()] * len(every)
        columns = dict(zip(every, by_column, strict=True))
        return {name: int64(columns[name]) for name in numbers}, lambda name, at: [columns[name][n] for n in at]
