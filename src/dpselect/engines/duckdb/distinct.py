"""Distinct rows of whole numbers: DuckDB packs a row into one 64-bit number, NumPy sorts these and keeps each once.

A hash table of all rows, which DISTINCT makes, costs several times as much. Each column has a window of numbers, as
wide as a power of two; a row with a number outside of its window goes through DISTINCT. So the windows decide how long
it takes and nothing else. They follow from quantiles of a sample, which no small part of the rows can move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.aggregates.sorted_numbers import SortedNumbers
from dpselect.aggregates.user_sets import Int64, each_once
from dpselect.engines.duckdb.pairs import SMALL_INTEGERS, count_rows, read_numbers
from dpselect.engines.duckdb.types import base_type
from dpselect.engines.duckdb.workspace import OpenRows, Workspace

PACKED_BITS = 62  # of a row as one number
SAMPLE_SIZE = 1 << 14  # rows
ROWS_PER_INSERT = 1 << 20
MAX_ROWS_IN_MEMORY = 1 << 25  # with more, they are sorted on disk: here they take less memory than DISTINCT would
MIN_INT64 = -(1 << 63)
SAMPLED = 0.05  # of the sample are below a window at most, and as many above it
OUTSIDE = 0  # in place of the number of a row that is outside; those inside have numbers from 1 on


@dataclass(frozen=True)
class _Window:
    """The numbers low .. low + 2^bits - 1 of a column."""

    column: str
    low: int
    bits: int

    @property
    def high(self) -> int:
        """The highest number."""
        return self.low + (1 << self.bits) - 1

    @property
    def condition(self) -> str:
        """The condition that a number is inside, in SQL."""
        return f"{self.column} BETWEEN {self.low} AND {self.high}"

    @property
    def distance(self) -> str:
        """The distance from the lowest number, in SQL; of numbers outside that of an end, so that none is too large."""
        return f"(least(greatest({self.column}, {self.low}), {self.high})::BIGINT - ({self.low}))"


def store_distinct(workspace: Workspace, rows: OpenRows, columns: Sequence[str], leading: int) -> tuple[str, str]:
    """Store the distinct rows of some columns, which are read once, and those of the first `leading` columns.

    Return the names of both tables; inside guarded work.
    """
    kept_table, table, leading_table = (workspace.fresh_name() for _ in range(3))
    column_list, leading_list = ", ".join(columns), ", ".join(columns[:leading])
    with rows() as source:
        workspace.fetch_unguarded(f"CREATE TEMP TABLE {kept_table} AS SELECT {column_list} FROM {source} AS t")
    row_count = count_rows(workspace, kept_table)
    types = [description[1] for description in workspace.fetch_unguarded(f"DESCRIBE {kept_table}")]
    windows = None
    if all(base_type(column_type) in SMALL_INTEGERS for column_type in types):
        windows = _choose_windows(workspace, kept_table, row_count, columns)
    outside = "" if windows is None else f" WHERE ({_is_inside(windows)}) IS NOT TRUE"
    for made, selected in (
        (table, f"{column_list} FROM {kept_table}{outside}"),
        (leading_table, f"{leading_list} FROM {table}"),
    ):
        workspace.fetch_unguarded(f"CREATE TEMP TABLE {made} AS SELECT DISTINCT {selected}")
    if windows is None:
        workspace.fetch_unguarded(f"DROP TABLE {kept_table}")
        return table, leading_table
    with workspace.without_progress():
        parts = _sorted_parts(_read_packed(workspace, kept_table, row_count, windows))
        return table, _store_sorted(workspace, (table, leading_table), parts, windows, leading)


def _store_sorted(
    workspace: Workspace, tables: tuple[str, str], parts: Iterator[Int64], windows: Sequence[_Window], leading: int
) -> str:
    """Add the rows of rising numbers to those outside, and return a table of all leading columns."""
    (table, outside_table), leading_table = tables, workspace.fresh_name()
    columns = [window.column for window in windows[:leading]]
    workspace.fetch_unguarded(f"CREATE TEMP TABLE {leading_table} AS FROM {outside_table} LIMIT 0")
    shift, last = sum(window.bits for window in windows[leading:]), np.zeros(0, dtype=np.int64)
    for part in parts:
        for start in range(0, len(part), ROWS_PER_INSERT):
            block = part[start : start + ROWS_PER_INSERT]
            packed = block[block != OUTSIDE] - 1
            with_last = each_once(np.concatenate([last, packed >> shift]))
            leads, last = with_last[len(last) :], with_last[-1:]
            _insert(workspace, table, packed, windows)
            _insert(workspace, leading_table, leads, windows[:leading])
    is_same = " AND ".join(f"a.{column} = b.{column}" for column in columns)
    only_outside = f"FROM {outside_table} AS a WHERE NOT EXISTS (FROM {leading_table} AS b WHERE {is_same})"
    workspace.fetch_unguarded(f"INSERT INTO {leading_table} {only_outside}")
    workspace.fetch_unguarded(f"DROP TABLE {outside_table}")
    return leading_table


def _read_packed(
    workspace: Workspace, kept_table: str, row_count: int, windows: Sequence[_Window]
) -> Int64 | SortedNumbers:
    """Return the numbers of all rows of a table, which is dropped."""
    number = f"CASE WHEN {_is_inside(windows)} THEN {_packed_sql(windows)} ELSE {OUTSIDE} END"
    numbers = read_numbers(workspace, number, kept_table, row_count, MAX_ROWS_IN_MEMORY)
    workspace.fetch_unguarded(f"DROP TABLE {kept_table}")
    return numbers


def _insert(workspace: Workspace, table: str, packed: Int64, windows: Sequence[_Window]) -> None:
    """Store the rows of some numbers."""
    with workspace.registered(_unpack(packed, windows)) as unpacked:
        columns = ", ".join(window.column for window in windows)
        workspace.fetch_unguarded(f"INSERT INTO {table} SELECT {columns} FROM {unpacked}")


def _choose_windows(workspace: Workspace, table: str, row_count: int, columns: Sequence[str]) -> list[_Window] | None:
    """Return windows that hold most numbers of a table, or None if these need more bits than a number has.

    The bits that are left widen each window to both sides.
    """
    quantiles = ", ".join(f"quantile_disc({column}, [{SAMPLED}, {1 - SAMPLED}])" for column in columns)
    step = max(1, row_count // SAMPLE_SIZE)
    row = workspace.fetch_unguarded(f"SELECT {quantiles} FROM {table} WHERE rowid % {step} = 0")[0]
    if None in row:
        return None
    bits = [int(high - low + 1).bit_length() for low, high in row]
    spare_bits = (PACKED_BITS - sum(bits)) // len(columns)
    if spare_bits < 0:
        return None
    windows = []
    for column, (low, high), own_bits in zip(columns, row, bits, strict=True):
        all_bits = own_bits + spare_bits
        margin = (1 << all_bits) - (high - low + 1)
        lowest = min(max(low - margin // 2, MIN_INT64), -MIN_INT64 - (1 << all_bits))
        windows.append(_Window(column, lowest, all_bits))
    return windows


def _is_inside(windows: Sequence[_Window]) -> str:
    """Compile the condition that a row is inside."""
    return " AND ".join(window.condition for window in windows)


def _packed_sql(windows: Sequence[_Window]) -> str:
    """Compile the number of a row inside: the first column in the highest bits."""
    terms, shift = [], sum(window.bits for window in windows)
    for window in windows:
        shift -= window.bits
        terms.append(f"{window.distance} * {1 << shift}")
    return " + ".join([*terms, "1"])


def _unpack(packed: Int64, windows: Sequence[_Window]) -> dict[str, Int64]:
    """Return the columns of some rows."""
    columns, shift = {}, sum(window.bits for window in windows)
    for window in windows:
        shift -= window.bits
        columns[window.column] = ((packed >> shift) & ((1 << window.bits) - 1)) + window.low
    return columns


def _sorted_parts(numbers: Int64 | SortedNumbers) -> Iterator[Int64]:
    """Yield all numbers, each once and in rising order, part by part."""
    if isinstance(numbers, SortedNumbers):
        yield from numbers.parts()
    else:
        numbers.sort()
        numbers = each_once(numbers)  # the numbers of all rows are freed
        yield numbers
