"""What the SQL engine needs of a database: a few small methods, and what one may do better by itself.

Each question is written once. A database runs it, keeps a result or writes it again where it is asked for, takes small
tables of public or released values, and names rows of an ordered result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpselect._ground.dataclass import dataclass
from dpselect._ground.keys import Key, key_columns, parameters_of_columns
from dpselect._ground.parameters import Progress
from dpselect.engines.port import OpenSource
from dpselect.engines.sql.port import Columns, CompiledKey, Dialect, Int64, Row, SqlType, int64
from dpselect.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

    from dpselect._ground.domain import Column, Listed
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.user_sets import Sets
    from dpselect.engines.filters.spelling import Spelling
    from dpselect.engines.row_filter import Hint, RowFilter
    from dpselect.engines.row_periods import RowPeriods
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer

FetchValues = Callable[[str, Int64], Sequence[Any]]
"""Function from a column and row indices, in any order, to the values of those rows."""


@dataclass(frozen=True)
class ReadRequest:
    """What a question reads from a source: the columns that it names, its filter and its periods.

    `numbers` are the columns of weights and of measures, each with the parameter that names it.
    """

    user: Key
    item: Key
    by: tuple[str, ...] = ()
    condition: RowFilter | None = None
    periods: Periods | None = None
    numbers: tuple[tuple[str, str], ...] = ()

    @property
    def named_columns(self) -> list[tuple[str, str]]:
        """Each column with the parameter that names it, except those of the filter."""
        time_column = [] if self.periods is None else [("time", self.periods.column)]
        return [*parameters_of_columns(self.user, self.item, self.by), *time_column, *self.numbers]

    @property
    def users(self) -> tuple[str, ...]:
        """The columns of a user."""
        return key_columns(self.user)

    @property
    def items(self) -> tuple[str, ...]:
        """The columns of an item."""
        return key_columns(self.item)

    def filter_columns(self, source_columns: Sequence[str], hint: Hint | None = None) -> list[str]:
        """Return the columns that the filter needs, of those of the source."""
        return [] if self.condition is None else self.condition.needs(source_columns, hint)


class Database(ABC):
    """One table of one database, opened for one question. Its error messages have fixed texts."""

    dialect: Dialect
    source: str
    """The SQL after FROM that reads the table."""
    types: Mapping[str, SqlType]
    """The types of the requested columns, as they are counted."""
    open_source: OpenSource = OpenSource()
    """What is known of the table. Nobody can tell whether one of another database has changed."""
    keeps_tables: bool = False
    """Are kept results tables whose values can be kept again unchanged?"""

    @property
    def spelling(self) -> Spelling:
        """The way in which filters and periods are written."""
        requirement = "be left out, as time, for rows of an engine that has no spelling of filters"
        raise SourceError("where", requirement, self.dialect.name)

    # ---- how columns are read

    @property
    def filter_types(self) -> Mapping[str, SqlType]:
        """The types of the columns as a filter compares them."""
        return self.types

    def column(self, name: str) -> str:
        """Return the SQL of a column as it is counted."""
        return self.dialect.quote(name)

    def user(self, columns: Sequence[str]) -> CompiledKey:
        """Return the columns of a user as one key."""
        return self.item(columns)

    def item(self, columns: Sequence[str], *, plain: bool = False) -> CompiledKey:  # noqa: ARG002
        """Return the columns of an item, or of a group, as one key; `plain` if it is a text that is split."""
        from dpselect.engines.sql.keys import compile_key

        return compile_key([(self.column(name), self.types[name]) for name in columns], self.dialect)

    def pair(self, by: Sequence[str], items: Sequence[str], *, plain: bool = False) -> tuple[str, SqlType]:  # noqa: ARG002
        """Return the SQL of a group g and an item i together, and its type: that of their columns as one key."""
        from dpselect.engines.sql.keys import compile_pair

        return compile_pair([self.types[name] for name in by], [self.types[name] for name in items], self.dialect)

    def time(self, periods: Periods) -> RowPeriods:
        """Return the periods over the column of times."""
        from dpselect.engines.row_periods import row_periods

        name = periods.column
        if (undeclared_text := self.types[name].undeclared_text) is not None:
            undeclared_text.refuse("times")
        return row_periods(periods, self.dialect.quote(name), self.filter_types[name], self.spelling)

    def check_unchanged(self) -> None:  # noqa: B027 - most have one schema as long as they are open
        """Refuse a source whose schema may have changed since it was read."""

    def keep_duplicates(self) -> None:  # noqa: B027 - most have all rows
        """Read equal rows as often as they occur, from now on; a source may read them once before."""

    # ---- what runs

    @abstractmethod
    def rows(self, sql: str, *, progress: Progress | None = None) -> list[Row]:
        """Return all rows of one query."""

    @abstractmethod
    def columns(self, sql: str, names: Sequence[str], *, progress: Progress | None = None) -> Columns:
        """Return all rows of one large query by column, under these names, as int64, float64 or objects."""

    @abstractmethod
    def keep(self, sql: str, *, progress: Progress | None = None) -> str:
        """Store a result that is read again; return the SQL after FROM that reads it, without an alias.

        A database that keeps no results returns the query itself.
        """

    @abstractmethod
    def drop(self, table: str) -> None:
        """Drop a kept result, which is not read again."""

    @abstractmethod
    def put(self, columns: Mapping[str, Int64 | Sequence[str]]) -> str:
        """Store a small table of integers and texts, public or released; return the SQL after FROM that reads it."""

    @abstractmethod
    def put_items(self, values: Sequence[Any], types: Sequence[SqlType]) -> str:
        """Store a public list of items in their canonical form: i, each once, and its first index in the list, place.

        Items of several columns are tuples. Raises an error if they do not fit the types.
        """

    @abstractmethod
    def put_domain(self, domain: Listed | Column, types: Sequence[SqlType]) -> tuple[str, int]:
        """Store a listed domain, i and place as in `put_items`; return its SQL and size, or refuse it."""

    @abstractmethod
    def secret_key_sql(self, key: bytes) -> str:
        """Return a key as SQL for `Dialect.keyed_hash`; it is a parameter of the statement where that is possible."""

    @abstractmethod
    def names_at(self, sql: str, order: str, indices: Int64) -> list[Any]:
        """Return the column `name` of the rows at these ascending indices, from 0, of a query in an order without ties.

        `order` names columns of the query. The method is called again for other indices of the same query.
        """

    @abstractmethod
    def read_sets(self, rows: str, item_type: SqlType, *, of_all_rows: bool, progress: Progress | None = None) -> Sets:
        """Return every user's distinct items; with `of_all_rows` they are the items of all rows, unchanged."""

    @abstractmethod
    def number_sets(
        self, rows: str, item_type: SqlType, *, progress: Progress | None = None
    ) -> tuple[Sets, Callable[[Int64], str]]:
        """Return every user's distinct items, and a function that stores the items of some codes as a list."""

    @abstractmethod
    def check_text(self, item_type: SqlType, tokenizer: Tokenizer) -> None:
        """Refuse a column that is no text, and a pattern that cannot be read."""

    @abstractmethod
    def read_tokens(
        self, rows: str, item_type: SqlType, tokenizer: Tokenizer, progress: Progress | None
    ) -> TokenStream:
        """Return the tokens of every row's text, whose words can be named until the stream is closed."""

    @abstractmethod
    def close(self) -> None:
        """Delete everything that was kept, and close the connection."""

    # ---- what one may do better

    def fetch_if_small(self, sql: str, max_bytes: int, *, progress: Progress | None = None) -> pa.Table | None:  # noqa: ARG002
        """Return all rows of a query if they have at most `max_bytes` and fetching them costs less, else None."""
        return None

    def make_rereadable(self, sql: str, *, progress: Progress | None = None) -> str:  # noqa: ARG002
        """Return rows that are read more than once: kept, if the source can be read only once."""
        return sql if sql.startswith("(") else f"({sql})"

    def keep_distinct(
        self, rows: str, columns: Sequence[str], leading: int, *, progress: Progress | None = None
    ) -> tuple[str, str]:
        """Return the distinct rows of some columns and those of the first `leading` of them, which are read again."""
        distinct_sql = f"(SELECT DISTINCT {', '.join(columns)} FROM {rows} AS t)"
        distinct_rows = self.make_rereadable(distinct_sql, progress=progress)
        leading_sql = f"(SELECT DISTINCT {', '.join(columns[:leading])} FROM {distinct_rows} AS d)"
        return distinct_rows, self.make_rereadable(leading_sql, progress=progress)

    def use_precounted(self, sql: str, max_items: int | None) -> str:  # noqa: ARG002
        """Return `sql`, which counts the users of all items, or another query if the source has counted them.

        The `max_items` items with the most users are enough, with all that tie with the last of these.
        """
        return sql

    def leave_room(self) -> None:  # noqa: B027 - most see to it themselves
        """Leave memory for results that may be larger than it, from now on."""

    def read_ordered(
        self, sql: str, order: str, numbers: Sequence[str], names: Sequence[str], *, progress: Progress | None = None
    ) -> tuple[Mapping[str, Int64], FetchValues]:
        """Return all rows of a query in an order: columns of numbers, and a function that fetches other columns."""
        all_columns = [*numbers, *names]
        rows = self.rows(f"SELECT {', '.join(all_columns)} FROM ({sql}) AS q ORDER BY {order}", progress=progress)
        by_column = list(zip(*rows, strict=True)) if rows else [()] * len(all_columns)
        columns = dict(zip(all_columns, by_column, strict=True))
        return {name: int64(columns[name]) for name in numbers}, lambda name, indices: [
            columns[name][index] for index in indices
        ]
