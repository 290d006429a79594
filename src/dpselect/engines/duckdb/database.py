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

from dpselect._ground.dataclass import dataclass
from dpselect.draws import fresh_key
from dpselect.engines.duckdb.dialect import DUCKDB, compile_plain_key, counted_type, secret_key_sql
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import (
    INTEGERS,
    OBJECT,
    TEXTS,
    base_type,
    filter_form,
    filter_type,
    item_form,
    plain_type,
    user_form,
)
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.filters.column_names import refuse_case_twins
from dpselect.engines.port import OpenSource
from dpselect.engines.sources.scans.scan import CountRequest, RequestedColumns, Scan
from dpselect.engines.sql.database import Database, FetchValues, ReadRequest
from dpselect.engines.sql.keys import compile_key, compile_pair, concatenate_values
from dpselect.engines.sql.port import Columns, CompiledKey, Int64, SqlType, UndeclaredText, int64
from dpselect.engines.values import TYPE_MARK

if TYPE_CHECKING:
    from dpselect._ground.domain import Column, Listed
    from dpselect._ground.parameters import Progress
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.user_sets import Sets
    from dpselect.engines.address import Address
    from dpselect.engines.filters.spelling import Spelling
    from dpselect.engines.row_periods import RowPeriods
    from dpselect.texts.token_stream import TokenStream
    from dpselect.texts.tokenizer import Tokenizer

T = TypeVar("T")


@dataclass(frozen=True)
class OwnersRows:
    """The rows of an open engine, as the inspection of their owner counts them. No question uses it."""

    workspace: Workspace
    scan: Scan
    columns: Sequence[str]
    select: Callable[[str], str]
    """The users u and items i of the rows that count, in SQL, by the SQL of all rows."""
    conditions: Mapping[str, str]
    """What a row must be to count, in SQL, by what is said of the rows that are not."""


class DuckDBDatabase(Database):
    """The database over everything that DuckDB reads. Opening it reads the schema and refuses what does not fit."""

    dialect = DUCKDB
    keeps_tables = True

    def __init__(self, address: Address, request: ReadRequest) -> None:
        self.workspace: Workspace = Workspace()
        self._request = request
        try:
            self._scan = open_scan(self.workspace, address)
            self._read_schema()
        except BaseException:
            self.workspace.close()
            raise
        self.source: str = _placeholder()
        # Placeholders of counts, with the query and the request of each.
        self._count_queries: dict[str, tuple[str, CountRequest]] = {}
        self._ordered_tables: dict[tuple[str, str], str] = {}

    def _read_schema(self) -> None:
        """Read the columns and their types; whatever the caller named must exist and fit."""
        scan, request = self._scan, self._request
        condition = request.condition
        source_columns = () if condition is None else scan.names or condition.columns
        self._filter_columns = tuple(request.filter_columns(source_columns, scan.hint))
        scan.check(RequestedColumns(request.users, request.named_columns, self._filter_columns, request.periods))
        self._columns = list(dict.fromkeys([*(name for _, name in request.named_columns), *self._filter_columns]))
        refuse_case_twins(self._columns, request.named_columns)
        self._types = scan.types(self.workspace, self._columns)
        for name in request.items:
            item_form(quoted(name), self._types[name])
        self.types: Mapping[str, SqlType] = {
            name: counted_column(name, sql_type) for name, sql_type in self._types.items()
        }
        undeclared = () if scan.names else tuple(self._columns)
        self.open_source: OpenSource = OpenSource(
            scan.fixed, undeclared, self._for_ledger(), scan.state, scan.row_bound
        )
        if scan.user_code is not None:
            time_columns = [] if request.periods is None else [request.periods.column]
            other_columns = {
                *request.items,
                *request.by,
                *time_columns,
                *(name for _, name in request.numbers),
                *self._filter_columns,
            }
            self._columns = [
                column for column in self._columns if column not in request.users or column in other_columns
            ]

    def _for_ledger(self) -> dict[str, object]:
        """Return what a ledger records of the columns that are read: declared types, and columns of folders' names."""
        scan = self._scan
        declared_types = {name: declared.text for name, declared in scan.declared.items() if name in self._types}
        folders = sorted(set(scan.folders) & self._types.keys())
        return ({"types": declared_types} if declared_types else {}) | ({"folders": folders} if folders else {})

    def check_unchanged(self) -> None:
        """Refuse files that were written again after their schema was read."""
        self._scan.check_unchanged()

    # ---- how columns are read

    @property
    def spelling(self) -> Spelling:
        """The way in which filters and periods are written."""
        from dpselect.engines.duckdb.spelling import DUCKDB_SPELLING

        return DUCKDB_SPELLING

    @property
    def filter_types(self) -> Mapping[str, SqlType]:
        """The columns as filters see them, which is without the members of an ENUM: those may be of rows."""
        return {name: filter_type(sql_type) for name, sql_type in self._types.items()}

    def column(self, name: str) -> str:
        """Return a column as it is counted; values of objects have a reserved name, for filters see plain text."""
        return quoted(TYPE_MARK + name if self._types[name] == OBJECT else name)

    def user(self, columns: Sequence[str]) -> CompiledKey:
        """Return the key of users: a numeric code of the source, which compares faster, or else the columns."""
        if self._scan.user_code is not None:
            return compile_plain_key([(quoted(self._scan.user_code), "BIGINT")])
        key = compile_key([(self.column(name), self.types[name]) for name in columns], self.dialect)
        is_field = len(columns) > 1
        forms = [user_form(self.column(name), self._types[name], is_field=is_field) for name in columns]
        return replace(
            key, canonical_form=concatenate_values(forms, key.column_types, self.dialect) if is_field else forms[0]
        )

    def item(self, columns: Sequence[str], *, plain: bool = False) -> CompiledKey:
        """Return the key of an item; `plain` if columns without a declared type are read as text."""
        for name in columns:
            item_form(quoted(name), self._types[name])
        if plain:
            return compile_plain_key([(quoted(name), plain_type(self._types[name])) for name in columns])
        return super().item(columns)

    def pair(self, by: Sequence[str], items: Sequence[str], *, plain: bool = False) -> tuple[str, SqlType]:
        """Return a group g and an item i as one struct, and its type."""
        item = self.item(items, plain=plain)
        return compile_pair([self.types[name] for name in by], item.column_types, self.dialect)

    def time(self, periods: Periods) -> RowPeriods:
        """Return the periods over the column of times, as the filter sees it."""
        from dpselect.engines.duckdb.types import duckdb_row_periods

        if (undeclared_text := self.types[periods.column].undeclared_text) is not None:
            undeclared_text.refuse("times")
        return duckdb_row_periods(periods, self._types, self.column(periods.column))

    def keep_duplicates(self) -> None:
        """Read equal rows as often as they occur, from now on."""
        self._scan = self._scan.with_duplicates()

    def select(self, source: str) -> str:
        """Select the columns that are read, as a filter sees them, and the values that are counted."""
        request, code = self._request, self._scan.user_code
        columns = [filter_form(column, self._types[column]) for column in self._columns]
        columns += [] if code is None else [quoted(code)]
        user_columns = request.users if code is None else ()
        time_columns = [] if request.periods is None else [request.periods.column]
        counted_columns = dict.fromkeys(
            (*user_columns, *request.items, *request.by, *(name for _, name in request.numbers), *time_columns)
        )
        objects = [name for name in counted_columns if self._types[name] == OBJECT]
        columns += [f"{quoted(name)} AS {quoted(TYPE_MARK + name)}" for name in objects]
        return f"SELECT {', '.join(columns)} FROM {source}"

    # ---- what runs

    @contextmanager
    def reading(self, sql: str) -> Iterator[str]:
        """Yield a statement with the rows that it reads, and the counts that the source has."""
        with ExitStack() as stack:
            for name, (count_sql, count_request) in self._count_queries.items():
                if name in sql:
                    precounted = stack.enter_context(self._scan.counts(self.workspace, count_request))
                    sql = sql.replace(name, f"({count_sql if precounted is None else precounted})")
            if self.source in sql:
                rows = stack.enter_context(self._scan.rows(self.workspace, self._columns))
                sql = sql.replace(self.source, f"({self.select(rows)})")
            yield sql

    def _run_statement(self, sql: str, run: Callable[[str], T], progress: Progress | None) -> T:
        def run_with_rows() -> T:
            with self.reading(sql) as statement:
                return run(statement)

        return self.workspace.guarded(run_with_rows, progress=progress)

    def rows(self, sql: str, *, progress: Progress | None = None) -> list[Row]:
        """Return all rows of one query."""
        return self._run_statement(sql, self.workspace.fetch_unguarded, progress)

    def columns(self, sql: str, names: Sequence[str], *, progress: Progress | None = None) -> Columns:
        """Return all rows of one large query by column."""
        arrays = self._run_statement(sql, self.workspace.fetch_arrays_unguarded, progress)
        return dict(zip(names, arrays.values(), strict=True))

    def keep(self, sql: str, *, progress: Progress | None = None) -> str:
        """Store a result as a table of the workspace."""
        table = self.workspace.fresh_name()
        self.rows(f"CREATE TEMP TABLE {table} AS {sql}", progress=progress)
        return table

    def drop(self, table: str) -> None:
        """Drop a kept result, which is not read again."""
        self.rows(f"DROP TABLE {table}")

    def put(self, columns: Mapping[str, Int64 | Sequence[str]]) -> str:
        """Store a small table of integers: items stay here, so no text is ever stored."""
        return self.workspace.register({name: int64(values) for name, values in columns.items()})

    def put_items(self, values: Sequence[Any], types: Sequence[SqlType]) -> str:
        """Store items that came back, in their canonical form."""
        from dpselect.engines.duckdb.domain import store_returned_items

        type_names = [sql_type.canonical_type for sql_type in types]
        return self.workspace.guarded(lambda: store_returned_items(self.workspace, values, type_names))

    def put_domain(self, domain: Listed | Column, types: Sequence[SqlType]) -> tuple[str, int]:
        """Store a listed domain as a table."""
        from dpselect.engines.duckdb.domain import store_domain

        table = store_domain(self.workspace, domain, types)
        return table, self.workspace.fetch(f"SELECT count(*) FROM {table}")[0][0]

    def secret_key_sql(self, key: bytes) -> str:
        """Return a key as SQL."""
        return secret_key_sql(key)

    def names_at(self, sql: str, order: str, indices: Int64) -> list[Any]:
        """Return the names at some indices, from a table that is made with the first question."""
        table = self._ordered_tables.get((sql, order))
        if table is None:
            table = self._ordered_tables[sql, order] = self.keep(f"SELECT name FROM ({sql}) AS q ORDER BY {order}")
        return self._values_at(table, "name", indices)

    def _values_at(self, table: str, column: str, row_ids: Int64) -> list[Any]:
        """Return a column of the rows of a table at some row ids, in their given order.

        A table that was made in an order has the rank of each row as its rowid.
        """
        if not len(row_ids):
            return []
        with self.workspace.registered({"row_id": row_ids, "position": np.arange(len(row_ids))}) as requested:
            sql = f"SELECT {column} FROM {requested} AS a JOIN {table} AS t ON t.rowid = a.row_id ORDER BY position"
            return [row[0] for row in self.workspace.fetch(sql)]

    def check_text(self, item_type: SqlType, tokenizer: Tokenizer) -> None:
        """Refuse a column that is no text, and a pattern that RE2 cannot read."""
        from dpselect.engines.duckdb.text import check_text

        check_text(self.workspace, item_type.canonical_type, tokenizer)

    def read_tokens(
        self, rows: str, item_type: SqlType, tokenizer: Tokenizer, progress: Progress | None
    ) -> TokenStream:
        """Return the tokens of every row's text, which DuckDB splits."""
        from dpselect.engines.duckdb.text import token_stream
        from dpselect.engines.duckdb.types import plain_form

        text_sql = plain_form("i") if item_type.canonical_type == OBJECT else "i"
        source = f"(SELECT u, {text_sql} AS i FROM {rows} AS t)"
        return self.workspace.guarded(
            lambda: token_stream(self.workspace, lambda: self.reading(source), tokenizer), progress=progress
        )

    def close(self) -> None:
        """Drop every table and the spilled files."""
        self.workspace.close()

    def owners_rows(self, counted_rows: str) -> OwnersRows:
        """Return what the owner's inspection needs to count all rows, and those that count. Nothing of it is private.

        `counted_rows` are those that count, in SQL.
        """
        request, conditions = self._request, dict[str, str]()
        if self._scan.user_code is None:  # rows of prepared data have one
            conditions["without a user"] = self._plain_key(request.users).present_condition
        conditions |= {
            "without an item": self._plain_key(request.items).nameable_condition,
            "that where leaves out": self._filter_sql or "true",
        }
        conditions |= (
            {}
            if request.periods is None
            else {"in none of the periods": self.time(request.periods).condition_in_periods}
        )

        def select(source: str) -> str:
            return f"SELECT * FROM {counted_rows.replace(self.source, f'({self.select(source)})')}"

        return OwnersRows(self.workspace, self._scan.with_duplicates(), self._columns, select, conditions)

    def _plain_key(self, columns: Sequence[str]) -> CompiledKey:
        """Return the key of columns of a user or an item as the source has them."""
        return compile_key([(quoted(name), self.types[name]) for name in columns], self.dialect)

    @property
    def _filter_sql(self) -> str | None:
        """The filter as SQL."""
        if self._request.condition is None:
            return None
        return self._request.condition.sql(self.filter_types, quoted, self.spelling)

    # ---- what DuckDB does better

    def make_rereadable(self, sql: str, *, progress: Progress | None = None) -> str:
        """Keep rows that are read again: a stream can be read once only, and a file may change."""
        return self.keep(sql, progress=progress)

    def keep_distinct(
        self, rows: str, columns: Sequence[str], leading: int, *, progress: Progress | None = None
    ) -> tuple[str, str]:
        """Keep distinct rows; those of whole numbers are sorted, which is faster than DISTINCT."""
        request = self._request
        counted = [*([] if self._scan.user_code else request.users), *request.items, *request.by]
        if not all(base_type(self._types[name]) in INTEGERS for name in counted):
            return super().keep_distinct(rows, columns, leading, progress=progress)
        from dpselect.engines.duckdb.distinct import store_distinct

        return self.workspace.guarded(
            lambda: store_distinct(self.workspace, lambda: self.reading(rows), columns, leading), progress=progress
        )

    def use_precounted(self, sql: str, max_items: int | None) -> str:
        """Return the SQL of numbers of users of all items, from the source itself if it counts better."""
        request = self._count_request(max_items) if self._scan.counts_users else None
        if request is None:
            return sql
        placeholder = _placeholder()
        self._count_queries[placeholder] = sql, request
        return f"SELECT i, n FROM {placeholder} AS c"

    def _count_request(self, max_items: int | None) -> CountRequest | None:
        """Return the request to a source that counts by itself; None if it counted other values than are declared."""
        request, form = self._request, self.item(self._request.items).canonical_form
        count_request = CountRequest(
            request.users, request.items, form, self._filter_sql, self._filter_columns, request.periods, max_items
        )
        return count_request if count_request.columns.isdisjoint(self._scan.declared) else None

    def leave_room(self) -> None:
        """Limit DuckDB to three quarters of the memory, with the rest spilled; rows are in no order."""
        self.workspace.guarded(self.workspace.leave_room)

    def read_ordered(
        self, sql: str, order: str, numbers: Sequence[str], names: Sequence[str], *, progress: Progress | None = None
    ) -> tuple[Mapping[str, Int64], FetchValues]:
        """Return the numbers of all rows, and keep the rows as a table from which names are fetched later."""
        all_columns = ", ".join([*numbers, *names])
        table = self.keep(f"SELECT {all_columns} FROM ({sql}) AS q ORDER BY {order}", progress=progress)
        arrays = self.columns(f"SELECT {', '.join(numbers)} FROM {table} ORDER BY rowid", numbers)
        return {name: int64(arrays[name]) for name in numbers}, lambda name, row_ids: self._values_at(
            table, name, row_ids
        )

    def read_sets(self, rows: str, item_type: SqlType, *, of_all_rows: bool, progress: Progress | None = None) -> Sets:
        """Return every user's distinct items, numbered here; of rows that are codes already, by these."""
        from dpselect.engines.duckdb.pairs import coded_sets

        request = self._count_request(None) if of_all_rows and self._scan.counts_users else None
        coded_rows = None if request is None else self._scan.read_codes(request)
        if coded_rows is None:
            return self.number_sets(rows, item_type, progress=progress)[0]
        pairs, item_names = coded_rows
        return self.workspace.guarded(
            lambda: coded_sets(self.workspace, lambda: nullcontext(pairs), item_names, item_type.to_label),
            progress=progress,
        )

    def number_sets(
        self, rows: str, item_type: SqlType, *, progress: Progress | None = None
    ) -> tuple[Sets, Callable[[Int64], str]]:
        """Return every user's distinct items, and a function that stores the items of some codes as a table."""
        from dpselect.engines.duckdb.pairs import user_sets

        return self.workspace.guarded(
            lambda: user_sets(self.workspace, lambda: self.reading(rows), item_type.to_label), progress=progress
        )


def counted_column(name: str, sql_type: str) -> SqlType:
    """Return the type of a column as it is counted.

    Text is no number and no time, even where its owner declares it as text.
    """
    is_text = base_type(sql_type) in TEXTS | {"ENUM"}
    return counted_type(sql_type, UndeclaredText(name) if is_text else None)


def _placeholder() -> str:
    """Return a placeholder for something in a statement until it runs.

    Nobody can guess it, so no text of a question contains it.
    """
    return f"dpselect_{fresh_key().hex()}"
