"""Pairs of users and items as arrays: DuckDB numbers both, NumPy sorts the numbers and drops what is there twice.

A pair is one 64-bit number, the user's code above the item's. A code is an index into a dictionary of the distinct
values, or how far a whole number is from the least, never a hash, so two values share one only where the engine itself
holds them to be equal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.aggregates.sorted_numbers import SortedNumbers
from dpselect.aggregates.stored_sets import StoredSets, stored_pairs
from dpselect.aggregates.user_sets import CODE_LIMIT, MAX_ROWS, PAIRS_PER_BLOCK, Int64, UserSets, sets_of
from dpselect.engines.duckdb.types import INTEGERS, base_type
from dpselect.engines.duckdb.workspace import Label, OpenRows, Row, Workspace, run_in_little_memory
from dpselect.engines.sql.sets import FetchedLabels
from dpselect.errors import DataError

# With more rows, pairs are sorted and sets kept on disk: they take more memory than the engine did.
MAX_ROWS_IN_MEMORY = 1 << 24
MIN_ROWS_PER_CODE = 8  # with more rows for each code, integers are codes themselves: lists of codes are then short
SMALL_INTEGERS = INTEGERS - {"UBIGINT", "HUGEINT", "UHUGEINT"}  # these fit into a BIGINT


def user_sets(
    workspace: Workspace, rows: OpenRows, label: Label
) -> tuple[UserSets | StoredSets, Callable[[Int64], str]]:
    """Return every user's distinct items, users and items each in their own order; inside guarded work.

    The second is a function that stores the items of some codes as a table of i, and returns its name.
    """

    def number_and_pair() -> tuple[_Codes, Int64 | SortedNumbers]:
        kept_table = workspace.fresh_name()
        row_count = _keep_rows(workspace, rows, kept_table)
        users = _number_column(workspace, kept_table, "u", MAX_ROWS)
        items = _number_column(workspace, kept_table, "i", row_count // MIN_ROWS_PER_CODE)
        return items, _code_pairs(workspace, kept_table, row_count, users, items)

    def keep_items(codes: Int64) -> str:
        table = workspace.fresh_name()
        with workspace.registered({"code": np.sort(codes)}) as released:
            kept_items = f"SELECT i FROM {released} JOIN {items.values} ON code = i_code"
            workspace.fetch_unguarded(f"CREATE TEMP TABLE {table} AS {kept_items}")
        return table

    items, pairs = run_in_little_memory(workspace, number_and_pair)
    return _make_sets(workspace, label, items, pairs), lambda codes: workspace.guarded(lambda: keep_items(codes))


def coded_sets(workspace: Workspace, rows: OpenRows, names: str, label: Label) -> UserSets | StoredSets:
    """Return the sets of rows whose items i are codes, and users integers.

    `names` has the number and the item i of each code. Items are numbered in their own order, and only those that some
    user has.
    """

    def number_and_pair() -> tuple[_Codes, Int64 | SortedNumbers]:
        kept_table, table = workspace.fresh_name(), workspace.fresh_name()
        row_count = _keep_rows(workspace, rows, kept_table)
        occurring_items = f"SELECT number, i FROM ({names}) WHERE number IN (SELECT i FROM {kept_table})"
        code_column = "row_number() OVER (ORDER BY i) - 1 AS i_code"
        workspace.fetch_unguarded(
            f"CREATE TEMP TABLE {table} AS SELECT i, {code_column}, number FROM ({occurring_items})"
        )
        items = _Codes("i_code", f" JOIN {table} ON {kept_table}.i = number", table, count_rows(workspace, table))
        return items, _code_pairs(
            workspace, kept_table, row_count, _number_column(workspace, kept_table, "u", MAX_ROWS), items
        )

    return _make_sets(workspace, label, *run_in_little_memory(workspace, number_and_pair))


@dataclass(frozen=True, repr=False)
class _Codes:
    """The codes of a column's values in their own order, from 0 to below `size`."""

    code: str  # the code of a row, as SQL
    joined: str  # the join that this needs
    values: str  # a table of every value with its code
    size: int


def _number_column(workspace: Workspace, kept_table: str, column: str, max_size: int) -> _Codes:
    """Code integers by their distance from the minimum if that is below `max_size`, all others by their rank."""
    (column_type,) = (
        description[1] for description in workspace.fetch_unguarded(f"DESCRIBE SELECT {column} FROM {kept_table}")
    )
    if base_type(column_type) in SMALL_INTEGERS:
        minimum, maximum = workspace.fetch_unguarded(f"SELECT min({column}), max({column}) FROM {kept_table}")[0]
        if minimum is not None and maximum - minimum < max_size:
            code, size = f"{kept_table}.{column}::BIGINT - ({minimum})::BIGINT", maximum - minimum + 1
            values = (
                f"(SELECT ({minimum} + range)::{column_type} AS {column}, range AS {column}_code FROM range({size}))"
            )
            return _Codes(code, "", values, size)
    table, code = workspace.fresh_name(), f"{column}_code"
    code_column = f"row_number() OVER (ORDER BY {column}) - 1 AS {code}"
    workspace.fetch_unguarded(
        f"CREATE TEMP TABLE {table} AS SELECT {column}, {code_column} FROM (SELECT DISTINCT {column} FROM {kept_table})"
    )
    join = f" JOIN {table} ON {kept_table}.{column} IS NOT DISTINCT FROM {table}.{column}"
    return _Codes(code, join, table, count_rows(workspace, table))


def _code_pairs(
    workspace: Workspace, kept_table: str, row_count: int, users: _Codes, items: _Codes
) -> Int64 | SortedNumbers:
    """Return the pairs of all rows, on disk if they are many, and drop them in the engine."""
    pair, table = f"({users.code}) * {CODE_LIMIT} + ({items.code})", kept_table
    if users.joined or items.joined:
        table = workspace.fresh_name()
        joined_tables = f"{kept_table}{users.joined}{items.joined}"
        workspace.fetch_unguarded(f"CREATE TEMP TABLE {table} AS SELECT {pair} AS pair FROM {joined_tables}")
        workspace.fetch_unguarded(f"DROP TABLE {kept_table}")
        pair = "pair"
    if users.joined:
        workspace.fetch_unguarded(f"DROP TABLE {users.values}")
    if count_rows(workspace, table) != row_count:
        raise DataError("the source's values cannot be distinguished", "cast users and items to text or to numbers")
    with workspace.without_progress():
        pairs = read_numbers(workspace, pair, table, row_count, MAX_ROWS_IN_MEMORY)
        workspace.fetch_unguarded(f"DROP TABLE {table}")
    return pairs


def read_numbers(
    workspace: Workspace, number: str, table: str, row_count: int, max_in_memory: int
) -> Int64 | SortedNumbers:
    """Return a number, not negative, of each row of a table, on disk if they are many; no progress may be shown."""
    if row_count <= max_in_memory:
        numbers = _fetch_numbers(workspace, f"{number} AS number FROM {table}")
        _check_all_read(len(numbers), row_count)
        return numbers
    ((largest,),) = workspace.fetch_unguarded(f"SELECT max({number}) FROM {table}")
    sorted_numbers, rows_read = SortedNumbers.expecting(row_count, high=largest + 1), 0
    for start in range(0, row_count, PAIRS_PER_BLOCK):
        rows_of_block = f"rowid >= {start} AND rowid < {start + PAIRS_PER_BLOCK}"
        block = _fetch_numbers(workspace, f"{number} AS number FROM {table} WHERE {rows_of_block}")
        rows_read += len(block)
        sorted_numbers.add(block)
    _check_all_read(rows_read, row_count)
    return sorted_numbers


def _check_all_read(rows_read: int, row_count: int) -> None:
    if rows_read != row_count:
        raise DataError("the engine lost rows that it had stored", "this is a bug: please report it")


def _fetch_numbers(workspace: Workspace, selected: str) -> Int64:
    return workspace.fetch_arrays_unguarded(f"SELECT {selected}")["number"].astype(np.int64, copy=False)


def _make_sets(
    workspace: Workspace, label: Label, items: _Codes, pairs: Int64 | SortedNumbers
) -> UserSets | StoredSets:
    """Return the sets of the pairs; called once the engine has freed its memory."""

    def fetch(codes: Int64) -> list[object]:
        def rows() -> list[Row]:
            with workspace.registered({"code": codes}) as names:
                return workspace.fetch_unguarded(
                    f"SELECT i FROM {names} JOIN {items.values} ON code = i_code ORDER BY code"
                )

        return [item for (item,) in workspace.guarded(rows)]

    labels = FetchedLabels(fetch, items.size, label)
    if isinstance(pairs, SortedNumbers):
        return stored_pairs(pairs, labels.size, labels.many)
    offsets, codes = sets_of(pairs)
    return UserSets(offsets=offsets, codes=codes, size=labels.size, label=labels, label_many=labels.many)


def _keep_rows(workspace: Workspace, rows: OpenRows, kept_table: str) -> int:
    """Store the rows, read once, and return their number; those beyond memory spill to disk."""
    with rows() as source:
        workspace.fetch_unguarded(f"CREATE TEMP TABLE {kept_table} AS SELECT u, i FROM {source} LIMIT {MAX_ROWS + 1}")
    row_count = count_rows(workspace, kept_table)
    if row_count > MAX_ROWS:
        raise DataError("there are more than 2^31 rows", "keep fewer with where=, or leave the pairs in the engine")
    return row_count


def count_rows(workspace: Workspace, table: str) -> int:
    """Return the number of rows of a table."""
    return int(workspace.fetch_unguarded(f"SELECT count(*) FROM {table}")[0][0])
