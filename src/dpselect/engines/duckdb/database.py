"""The DuckDB database: one source of rows in a workspace of our own, and what DuckDB does better than plain SQL.

What stands for the rows in a statement is put there when it runs: a frame, or a stream that can be read once, is known
to DuckDB for so long. So whatever asks for the rows twice keeps them first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpselect._ground.row_bound import RowBound
from dpselect.draws import fresh_key
from dpselect.engines.duckdb.dialect import DUCKDB, counted_type, secret
from dpselect.engines.duckdb.keys import STRUCT, DuckDBKey, together
from dpselect.engines.duckdb.scans import Counting, missing_column
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import OBJECT, TEXTS, filter_form, filter_type, item_form, kind, plain_type
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.filters.column_names import refuse_case_twins
from dpselect.engines.sources.csv_form import USUAL_CSV, CsvForm
from dpselect.engines.sql.database import Database, Names, ReadRequest
from dpselect.engines.sql.port import Columns, Int64, Key, SqlType, TextColumn, int64
from dpselect.engines.values import MARK

if TYPE_CHECKING:
    from dpselect._ground.domain import Column, Listed
    from dpselect._ground.parameters import Progress
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.user_sets import Sets
    from dpselect.engines.row_periods import RowPeriods
    from dpselect.engines.sources.scans.columns import ColumnType
    from dpselect.engines.sources.scans.declarations import Types
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer

T = TypeVar("T")


class DuckDBDatabase(Database):
    """Whatever DuckDB can read. Opening it reads the schema and refuses what does not fit."""

    dialect = DUCKDB
    holds = True

    def __init__(
        self,
        source: object,
        table: str | None,
        asked: ReadRequest,
        *,
        csv: CsvForm = USUAL_CSV,
        types: Types | None = None,
    ) -> None:
        self.workspace: Workspace = Workspace()
        self._asked = asked
        try:
            self._scan = open_scan(self.workspace, source, table, csv=csv, types=types)
            self.fixed: bool = self._scan.fixed
            self.state: str | None = self._scan.state
            self.row_bound: RowBound | None = self._scan.row_bound
            self._schema()
        except BaseException:
            self.workspace.close()
            raise
        self.source: str = _name()
        self._counted: dict[str, tuple[str, Counting]] = {}  # what stands for counts, and what asks for them
        self._ordered: dict[tuple[str, str], str] = {}

    def _schema(self) -> None:
        """The columns that are read and their types; whatever the caller named must be there and fit."""
        scan, asked = self._scan, self._asked
        condition = asked.condition
        known = () if condition is None else scan.names or condition.columns
        self._filtered = tuple(asked.filter_columns(known, scan.hint))
        scan.refuse(asked.users, asked.named_columns, self._filtered, asked.periods)
        for parameter, name in asked.named_columns:
            if scan.names and name not in scan.names:
                raise missing_column(parameter, name, scan)
        self._columns = list(dict.fromkeys([*(name for _, name in asked.named_columns), *self._filtered]))
        refuse_case_twins(self._columns, asked.named_columns)
        self.undeclared: tuple[str, ...] = () if scan.names else tuple(self._columns)
        schema = scan.schema(self.workspace, self._columns)
        self._types = {name: one.type for name, one in schema.items()}
        for name in asked.items:
            item_form(quoted(name), self._types[name])
        self.types: Mapping[str, SqlType] = {name: counted(one) for name, one in schema.items()}
        self.declared: Mapping[str, object] = self._for_ledger(schema)
        if scan.user_code is not None:
            times = [] if asked.periods is None else [asked.periods.column]
            others = {*asked.items, *asked.by, *times, *(name for _, name in asked.numbers), *self._filtered}
            self._columns = [one for one in self._columns if one not in asked.users or one in others]

    def _for_ledger(self, schema: Mapping[str, ColumnType]) -> dict[str, object]:
        """What a ledger knows of the columns that are read: types that were declared, and names of folders."""
        given = {name: one.text for name, one in self._scan.given.items() if name in schema}
        folders = sorted(set(self._scan.folders) & set(schema))
        return ({"types": given} if given else {}) | ({"folders": folders} if folders else {})

    def check_unchanged(self) -> None:
        """Refuse files that were written again after their schema was read."""
        self._scan.check_unchanged()

    # ---- how columns are read

    @property
    def filter_types(self) -> Mapping[str, SqlType]:
        """The columns as filters see them, which is without the members of an ENUM: those may be of rows."""
        return {name: filter_type(one) for name, one in self._types.items()}

    def column(self, name: str) -> str:
        """A column as it is counted. The filter sees objects as plain text, so their values have a name of ours."""
        return quoted(MARK + name if self._types[name] == OBJECT else name)

    def user(self, columns: Sequence[str]) -> Key:
        """Users by a number of their own where the source has one, which is quicker to tell apart; else by columns."""
        code = self._scan.user_code
        key = self._key(columns) if code is None else DuckDBKey((quoted(code),), ("BIGINT",))
        return _key(key.user, key)

    def item(self, columns: Sequence[str], *, plain: bool = False) -> Key:
        """Columns by their values; `plain` where those without a declared type are read as text."""
        key = self._key(columns, plain=plain)
        found = _key(key.item, key)
        if plain:
            return found
        types = tuple(self.types[name] for name in columns)
        return replace(found, type=types[0] if len(types) == 1 else found.type, types=types)

    def pair(self, by: Sequence[str], items: Sequence[str], *, plain: bool = False) -> tuple[str, SqlType]:
        """A group g and an item i as one struct, and its type."""
        group, item = self._key(by), self._key(items, plain=plain)
        both = DuckDBKey((*group.fields("g"), *item.fields("i")), (*group.types, *item.types))
        return together(both.columns), _key("", both).type

    def _key(self, columns: Sequence[str], *, plain: bool = False) -> DuckDBKey:
        types = tuple(self._types[name] for name in columns)
        if plain:
            return DuckDBKey(tuple(map(quoted, columns)), tuple(map(plain_type, types)))
        return DuckDBKey(tuple(map(self.column, columns)), types)

    def time(self, periods: Periods) -> RowPeriods:
        """The periods over the column of times, as the filter sees it."""
        from dpselect.engines.duckdb.times import row_time

        if (text := self.types[periods.column].undeclared) is not None:
            text.refuse("times")
        return row_time(periods, self._types, self.column(periods.column))

    def keep_duplicates(self) -> None:
        """From now on rows are there as often as they are."""
        self._scan = self._scan.each()

    def select(self, source: str) -> str:
        """The columns that are read, as a filter sees them, and the values that are counted."""
        asked, code = self._asked, self._scan.user_code
        columns = [filter_form(column, self._types[column]) for column in self._columns]
        columns += [] if code is None else [quoted(code)]
        users = asked.users if code is None else ()
        time = [] if asked.periods is None else [asked.periods.column]
        read = dict.fromkeys((*users, *asked.items, *asked.by, *(name for _, name in asked.numbers), *time))
        objects = [name for name in read if self._types[name] == OBJECT]
        columns += [f"{quoted(name)} AS {quoted(MARK + name)}" for name in objects]
        return f"SELECT {', '.join(columns)} FROM {source}"

    # ---- what runs

    @contextmanager
    def reading(self, sql: str) -> Iterator[str]:
        """A statement with the rows that it asks for, and the counts that the source has."""
        with ExitStack() as read:
            for name, (asks, counting) in self._counted.items():
                if name in sql:
                    own = read.enter_context(self._scan.counts(self.workspace, counting))
                    sql = sql.replace(name, f"({asks if own is None else own})")
            if self.source in sql:
                rows = read.enter_context(self._scan.rows(self.workspace, self._columns, self.select))
                sql = sql.replace(self.source, rows)
            yield sql

    def _ask(self, sql: str, run: Callable[[str], T], progress: Progress | None) -> T:
        def ask() -> T:
            with self.reading(sql) as statement:
                return run(statement)

        return self.workspace.guarded(ask, progress=progress)

    def rows(self, sql: str, *, progress: Progress | None = None) -> list[Row]:
        """All rows of one query."""
        return self._ask(sql, self.workspace.rows, progress)

    def columns(self, sql: str, names: Sequence[str], *, progress: Progress | None = None) -> Columns:
        """All rows of one large query by column."""
        found = self._ask(sql, self.workspace.columns, progress)
        return dict(zip(names, found.values(), strict=True))

    def keep(self, sql: str, *, progress: Progress | None = None) -> str:
        """A result as a table of the workspace."""
        table = self.workspace.fresh()
        self.rows(f"CREATE TEMP TABLE {table} AS {sql}", progress=progress)
        return table

    def drop(self, table: str) -> None:
        """A kept result is not asked for any more."""
        self.rows(f"DROP TABLE {table}")

    def put(self, columns: Mapping[str, Int64 | Sequence[str]]) -> str:
        """A small table of whole numbers: items stay here, so no text is ever put."""
        return self.workspace.register({name: int64(values) for name, values in columns.items()})

    def put_items(self, values: Sequence[Any], types: Sequence[SqlType]) -> str:
        """Items that came back, in their one form."""
        from dpselect.engines.duckdb.returned import keep_returned

        names = [one.form_type for one in types]
        return self.workspace.guarded(lambda: keep_returned(self.workspace, values, names))

    def put_domain(self, domain: Listed | Column, types: Sequence[SqlType]) -> tuple[str, int]:
        """A listed domain as a table."""
        from dpselect.engines.duckdb.tuples import keep_items

        kept = keep_items(self.workspace, domain, types)
        return kept, self.workspace.fetch(f"SELECT count(*) FROM {kept}")[0][0]

    def secret(self, key: bytes) -> str:
        """A key as SQL."""
        return secret(key)

    def names_at(self, sql: str, order: str, indices: Int64) -> list[Any]:
        """The names at some places, from a table that is made with the first question."""
        table = self._ordered.get((sql, order))
        if table is None:
            table = self._ordered[sql, order] = self.keep(f"SELECT name FROM ({sql}) AS q ORDER BY {order}")
        return self._named(table, "name", indices)

    def _named(self, table: str, column: str, places: Int64) -> list[Any]:
        """A column of the rows of a table at some places, in the order in which these are asked for.

        A row of a table that was made in an order has its place there as its rowid.
        """
        if not len(places):
            return []
        with self.workspace.registered({"place": places, "asked": np.arange(len(places))}) as asked:
            sql = f"SELECT {column} FROM {asked} AS a JOIN {table} AS t ON t.rowid = a.place ORDER BY asked"
            return [row[0] for row in self.workspace.fetch(sql)]

    def check_text(self, item_type: SqlType, tokenizer: Tokenizer) -> None:
        """Refuse a column that is no text, and a pattern that RE2 cannot read."""
        from dpselect.engines.duckdb.text import check_text

        check_text(self.workspace, item_type.form_type, tokenizer)

    def read_tokens(
        self, rows: str, item_type: SqlType, tokenizer: Tokenizer, progress: Progress | None
    ) -> TokenStream:
        """The tokens of every row's text, which is cut here."""
        from dpselect.engines.duckdb.text import token_stream
        from dpselect.engines.duckdb.types import plain_form

        text = plain_form("i") if item_type.form_type == OBJECT else "i"
        source = f"(SELECT u, {text} AS i FROM {rows} AS t)"
        return self.workspace.guarded(
            lambda: token_stream(self.workspace, lambda: self.reading(source), tokenizer), progress=progress
        )

    def close(self) -> None:
        """Drop every table and the spilled files."""
        self.workspace.close()

    def findings(self, counted: str) -> Iterator[str]:
        """What the owner of the rows should know of them, and of those that count. Nothing of it is private."""
        from dpselect.engines.duckdb.inspect import row_findings

        asked, conditions = self._asked, dict[str, str]()
        if self._scan.user_code is None:  # rows of prepared data have one
            conditions["without a user"] = self._raw(asked.users).present
        conditions |= {
            "without an item": self._raw(asked.items).nameable,
            "that where leaves out": self._where or "true",
        }
        conditions |= {} if asked.periods is None else {"in none of the periods": self.time(asked.periods).all}

        def select(source: str) -> str:
            return f"SELECT * FROM {counted.replace(self.source, f'({self.select(source)})')}"

        yield from row_findings(self.workspace, self._scan.each(), self._columns, select, conditions)

    def _raw(self, columns: Sequence[str]) -> DuckDBKey:
        """A user or an item of columns as the source has them."""
        return DuckDBKey(tuple(map(quoted, columns)), tuple(self._types[name] for name in columns))

    @property
    def _where(self) -> str | None:
        """The filter as SQL."""
        if self._asked.condition is None:
            return None
        from dpselect.engines.filters.engines import DUCKDB as SPELLING

        return self._asked.condition.sql(self.filter_types, quoted, SPELLING)

    # ---- what DuckDB does better

    def make_rereadable(self, sql: str, *, progress: Progress | None = None) -> str:
        """Rows that are asked for again: a stream can be read once only, and a file may change."""
        return self.keep(sql, progress=progress)

    def use_precounted(self, sql: str, max_items: int | None) -> str:
        """Numbers of users of all items, by the source itself where it counts better."""
        name = _name()
        self._counted[name] = sql, self._counting(max_items)
        return f"SELECT i, n FROM {name} AS c"

    def _counting(self, most: int | None) -> Counting:
        """What is asked of a source that counts for itself."""
        asked, form = self._asked, self._key(self._asked.items).item
        return Counting(asked.users, asked.items, form, self._where, self._filtered, asked.periods, most)

    def leave_room(self) -> None:
        """DuckDB takes at most three quarters of the memory, and spills what is more; rows are in no order."""
        self.workspace.guarded(self.workspace.leave_room)

    def read_ordered(
        self, sql: str, order: str, numbers: Sequence[str], names: Sequence[str], *, progress: Progress | None = None
    ) -> tuple[Mapping[str, Int64], Names]:
        """The numbers of all rows, and the rows as a table, of which names are asked for later."""
        every = ", ".join([*numbers, *names])
        table = self.keep(f"SELECT {every} FROM ({sql}) AS q ORDER BY {order}", progress=progress)
        found = self.columns(f"SELECT {', '.join(numbers)} FROM {table} ORDER BY rowid", numbers)
        return {name: int64(found[name]) for name in numbers}, lambda name, at: self._named(table, name, at)

    def read_sets(self, rows: str, item_type: SqlType, *, of_all_rows: bool, progress: Progress | None = None) -> Sets:
        """Every user's distinct items, numbered here; of rows that are codes already, by these."""
        from dpselect.engines.duckdb.pairs import coded_sets

        coded = self._scan.coded(self._counting(None)) if of_all_rows else None
        if coded is None:
            return self._sets(rows, item_type, progress)
        pairs, named = coded
        return self.workspace.guarded(
            lambda: coded_sets(self.workspace, lambda: nullcontext(pairs), named, item_type.label), progress=progress
        )

    def number_sets(
        self, rows: str, item_type: SqlType, *, progress: Progress | None = None
    ) -> tuple[Sets, Callable[[Int64], str]]:
        """The same, and what makes of codes of items a table of these."""
        from dpselect.engines.duckdb.pairs import keep_found

        sets = self._sets(f"(SELECT DISTINCT u, i FROM {rows} AS t)", item_type, progress)
        return sets, lambda codes: self.workspace.guarded(lambda: keep_found(self.workspace, sets, codes))

    def _sets(self, rows: str, item_type: SqlType, progress: Progress | None) -> Sets:
        from dpselect.engines.duckdb.pairs import user_sets

        return self.workspace.guarded(
            lambda: user_sets(self.workspace, lambda: self.reading(rows), item_type.label), progress=progress
        )


def counted(column: ColumnType) -> SqlType:
    """Return a column as it is counted; text, also where its owner declares it as such, is no number and no time."""
    is_text = kind(column.type) in TEXTS | {"ENUM"}
    return counted_type(column.type, TextColumn(column.name) if is_text else None)


def _name() -> str:
    """What stands for something in a statement until it runs. Nobody guesses it, so no text of a question holds it."""
    return f"dpselect_{fresh_key().hex()}"


def _key(form: str, key: DuckDBKey) -> Key:
    types = tuple(counted_type(one) for one in key.types)
    several = SqlType(STRUCT, "other", "{}", STRUCT, None, label=key.label)
    return Key(form, key.present, key.nameable, types[0] if len(types) == 1 else several, types)
