"""Pairs of users and items as arrays: DuckDB numbers both, NumPy sorts the numbers and drops what is there twice.

A pair is one 64-bit number, the user's code above the item's. A code is a place in a dictionary of the distinct
values, or how far a whole number is from the least, never a hash, so two values share one only where the engine itself
holds them to be equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpselect.aggregates.sorted_numbers import SortedNumbers
from dpselect.aggregates.stored_sets import StoredSets, stored_pairs
from dpselect.aggregates.user_sets import BLOCK, LOW, MOST_ROWS, Int64, Sets, UserSets, sets_of
from dpselect.engines.duckdb.types import INTEGERS, kind
from dpselect.engines.duckdb.workspace import Label, Rows, Workspace, sparing
from dpselect.errors import DataError

MANY = 1 << 24  # rows from which on pairs are sorted, and sets kept, on disk: they take more memory than the engine did
SPARSE = 8  # rows for each code from which on whole numbers are codes as they are: lists of codes are then short
_SMALL = INTEGERS - {"UBIGINT", "HUGEINT", "UHUGEINT"}  # these fit into a BIGINT


def user_sets(workspace: Workspace, rows: Rows, label: Label) -> UserSets | StoredSets:
    """Every user's distinct items, users and items each in their own order; inside guarded work."""

    def ask() -> tuple[_Codes, Int64 | SortedNumbers]:
        kept = workspace.fresh()
        number = _keep(workspace, rows, kept)
        users, items = _numbered(workspace, kept, "u", MOST_ROWS), _numbered(workspace, kept, "i", number // SPARSE)
        return items, _pairs(workspace, kept, number, users, items)

    return _sets(workspace, label, *sparing(workspace, ask))


def coded_sets(workspace: Workspace, rows: Rows, names: str, label: Label) -> UserSets | StoredSets:
    """The same of rows whose items i are codes, and users whole numbers; `names` has the number and the item i of each.

    Here too items are numbered in their own order, and only those that somebody has.
    """

    def ask() -> tuple[_Codes, Int64 | SortedNumbers]:
        kept, table = workspace.fresh(), workspace.fresh()
        number = _keep(workspace, rows, kept)
        here = f"SELECT number, i FROM ({names}) WHERE number IN (SELECT i FROM {kept})"
        place = "row_number() OVER (ORDER BY i) - 1 AS i_code"
        workspace.rows(f"CREATE TEMP TABLE {table} AS SELECT i, {place}, number FROM ({here})")
        items = _Codes("i_code", f" JOIN {table} ON {kept}.i = number", table, _count(workspace, table))
        return items, _pairs(workspace, kept, number, _numbered(workspace, kept, "u", MOST_ROWS), items)

    return _sets(workspace, label, *sparing(workspace, ask))


@dataclass(frozen=True, repr=False)
class _Codes:
    """How the values of a column are numbered in their own order, from 0 to below `size`."""

    code: str  # of a row, as SQL
    joined: str  # what that needs behind the rows
    values: str  # every value with its code, as a table
    size: int


def _numbered(workspace: Workspace, kept: str, column: str, most: int) -> _Codes:
    """Whole numbers by how far they are from the least, up to `most`; all else by its place in a dictionary."""
    (named,) = (one[1] for one in workspace.rows(f"DESCRIBE SELECT {column} FROM {kept}"))
    if kind(named) in _SMALL:
        least, last = workspace.rows(f"SELECT min({column}), max({column}) FROM {kept}")[0]
        if least is not None and last - least < most:
            code, size = f"{kept}.{column}::BIGINT - ({least})::BIGINT", last - least + 1
            values = f"(SELECT ({least} + range)::{named} AS {column}, range AS {column}_code FROM range({size}))"
            return _Codes(code, "", values, size)
    table, code = workspace.fresh(), f"{column}_code"
    place = f"row_number() OVER (ORDER BY {column}) - 1 AS {code}"
    workspace.rows(f"CREATE TEMP TABLE {table} AS SELECT {column}, {place} FROM (SELECT DISTINCT {column} FROM {kept})")
    joined = f" JOIN {table} ON {kept}.{column} IS NOT DISTINCT FROM {table}.{column}"
    return _Codes(code, joined, table, _count(workspace, table))


def _pairs(workspace: Workspace, kept: str, number: int, users: _Codes, items: _Codes) -> Int64 | SortedNumbers:
    """The pairs of all rows: on disk where they are many. The engine keeps none."""
    pair, table = f"({users.code}) * {LOW} + ({items.code})", kept
    if users.joined or items.joined:
        table = workspace.fresh()
        joined = f"{kept}{users.joined}{items.joined}"
        workspace.rows(f"CREATE TEMP TABLE {table} AS SELECT {pair} AS pair FROM {joined}")
        workspace.rows(f"DROP TABLE {kept}")
        pair = "pair"
    if users.joined:
        workspace.rows(f"DROP TABLE {users.values}")
    if _count(workspace, table) != number:
        raise DataError("the source's values cannot be distinguished", "cast users and items to text or to numbers")
    found: Int64 | SortedNumbers
    with workspace.untold():
        if number > MANY:
            ((most,),) = workspace.rows(f"SELECT max({pair}) FROM {table}")
            found = SortedNumbers.expecting(number, high=most + 1)
            for _, part in _parts(workspace, pair, table, number):
                found.add(part)
        else:
            found = np.empty(number, dtype=np.int64)
            for start, part in _parts(workspace, pair, table, number):
                found[start : start + len(part)] = part
        workspace.rows(f"DROP TABLE {table}")
    return found


def _parts(workspace: Workspace, pair: str, table: str, number: int) -> Iterator[tuple[int, Int64]]:
    """The pairs of all rows of a table, some at a time, and which is the first."""
    found = 0
    for start in range(0, number, BLOCK):
        part = _fetched(workspace, f"{pair} AS pair FROM {table} WHERE rowid >= {start} AND rowid < {start + BLOCK}")
        found += len(part)
        yield start, part
    if found != number:
        raise DataError("the engine lost rows that it had stored", "this is a bug: please report it")


def _fetched(workspace: Workspace, selected: str) -> Int64:
    return workspace.columns(f"SELECT {selected}")["pair"].astype(np.int64, copy=False)


def _sets(workspace: Workspace, label: Label, items: _Codes, pairs: Int64 | SortedNumbers) -> UserSets | StoredSets:
    """The sets of the pairs, the same to whoever draws; made once the engine has given its memory back."""
    names = _PairNames(workspace, items.values, items.size, label)
    if isinstance(pairs, SortedNumbers):
        return stored_pairs(pairs, names.size, names.many)
    offsets, codes = sets_of(pairs)
    return UserSets(offsets=offsets, codes=codes, size=names.size, label=names, label_many=names.many)


def _keep(workspace: Workspace, rows: Rows, kept: str) -> int:
    """Keep the rows, read once, and how many there are; what does not fit into memory spills to disk."""
    with rows() as source:
        workspace.rows(f"CREATE TEMP TABLE {kept} AS SELECT u, i FROM {source} LIMIT {MOST_ROWS + 1}")
    number = _count(workspace, kept)
    if number > MOST_ROWS:
        raise DataError("there are more than 2^31 rows", "keep fewer with where=, or leave the pairs in the engine")
    return number


def _count(workspace: Workspace, table: str) -> int:
    return int(workspace.rows(f"SELECT count(*) FROM {table}")[0][0])


def keep_found(workspace: Workspace, sets: Sets, codes: Int64) -> str:
    """The name of a table of released items, i, as `user_sets` has counted them; inside guarded work."""
    names, table = getattr(sets.label_many, "__self__", None), workspace.fresh()
    assert isinstance(names, _PairNames)
    asked = workspace.register({"code": np.sort(codes)})
    try:
        found = f"SELECT i FROM {asked} JOIN {names.table} ON code = i_code"
        workspace.rows(f"CREATE TEMP TABLE {table} AS {found}")
    finally:
        workspace.connection.unregister(asked)
    return table


@dataclass(frozen=True, repr=False)
class _PairNames:
    """The labels of codes, asked for when they are released and not before."""

    workspace: Workspace
    table: str
    size: int
    label: Label

    def __call__(self, code: int) -> object:
        return self.many(np.array([code], dtype=np.int64))[0]

    def many(self, codes: Int64) -> list[object]:
        """The labels of many codes at once, in the order of the codes."""
        if len(codes) and not (codes.min() >= 0 and codes.max() < self.size):
            raise IndexError("there is no item with such a code")
        return self.workspace.guarded(lambda: self._asked({"code": codes, "place": np.arange(len(codes))}))

    def _asked(self, columns: dict[str, Int64]) -> list[object]:
        asked = self.workspace.register(columns)
        try:
            found = self.workspace.rows(f"SELECT i FROM {asked} JOIN {self.table} ON code = i_code ORDER BY place")
            return [self.label(item) for (item,) in found]
        finally:
            self.workspace.connection.unregister(asked)
