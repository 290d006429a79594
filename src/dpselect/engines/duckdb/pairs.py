"""Pairs of users and items as arrays: DuckDB numbers both, NumPy sorts the numbers and drops what is there twice.

A pair is one 64-bit number, the user's code above the item's. A code is a place in a dictionary of the distinct
values, never a hash, so two values share one only where the engine itself holds them to be equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpselect.aggregates.sorted_numbers import SortedNumbers
from dpselect.aggregates.stored_sets import StoredSets, stored_pairs
from dpselect.aggregates.user_sets import BLOCK, LOW, MOST_ROWS, Int64, Sets, UserSets, sets_of
from dpselect.engines.duckdb.types import INTEGERS, kind
from dpselect.engines.duckdb.workspace import Label, Rows, Workspace, sparing
from dpselect.errors import DataError

MANY = 1 << 23  # rows from which on pairs are sorted, and sets kept, on disk
_SMALL = INTEGERS - {"UBIGINT", "HUGEINT", "UHUGEINT"}  # these fit into a BIGINT


def user_sets(workspace: Workspace, rows: Rows, user_type: str, label: Label) -> UserSets | StoredSets:
    """Every user's distinct items, users and items each in their own order; inside guarded work."""

    def ask() -> UserSets | StoredSets:
        kept, items = workspace.fresh(), workspace.fresh()
        number = _keep(workspace, rows, kept)
        size = _keep_codes(workspace, kept, "i", items)
        coded = _pairs(workspace, kept, items, kind(user_type))
        return _sets(workspace, kept, coded, number, _PairNames(workspace, items, size, label))

    return sparing(workspace, ask)


def coded_sets(workspace: Workspace, rows: Rows, names: str, label: Label) -> UserSets | StoredSets:
    """The same of rows whose items i are codes, and users whole numbers; `names` has the number and the item i of each.

    Here too items are numbered in their own order, and only those that somebody has.
    """

    def ask() -> UserSets | StoredSets:
        kept, items = workspace.fresh(), workspace.fresh()
        number = _keep(workspace, rows, kept)
        here = f"SELECT number, i FROM ({names}) WHERE number IN (SELECT i FROM {kept})"
        place = "row_number() OVER (ORDER BY i) - 1 AS i_code"
        workspace.rows(f"CREATE TEMP TABLE {items} AS SELECT i, {place}, number FROM ({here})")
        least = _least(workspace, kept) or 0
        coded = _coded(workspace, f"u - {least}", f"{kept} JOIN {items} ON {kept}.i = number")
        return _sets(workspace, kept, coded, number, _PairNames(workspace, items, _count(workspace, items), label))

    return sparing(workspace, ask)


def _sets(workspace: Workspace, kept: str, coded: str, number: int, names: _PairNames) -> UserSets | StoredSets:
    """The sets of the coded pairs: on disk where they are many, the same to whoever draws."""
    workspace.rows(f"DROP TABLE {kept}")
    if _count(workspace, coded) != number:
        raise DataError("the source's values cannot be told apart", "cast users and items to text or to numbers")
    with workspace.untold():
        if number <= MANY:
            offsets, codes = sets_of(_fetched(workspace, coded))
            workspace.rows(f"DROP TABLE {coded}")
            return UserSets(offsets=offsets, codes=codes, size=names.size, label=names, label_many=names.many)
        ((most,),) = workspace.rows(f"SELECT max(pair) FROM {coded}")
        sort = SortedNumbers.expecting(number, high=most + 1)
        found = 0
        for start in range(0, number, BLOCK):
            pairs = _fetched(workspace, f"{coded} WHERE rowid >= {start} AND rowid < {start + BLOCK}")
            found += len(pairs)
            sort.add(pairs)
        if found != number:
            raise DataError("the engine lost rows that it kept", "this is an error of ours: please tell us")
        workspace.rows(f"DROP TABLE {coded}")
        return stored_pairs(sort, names.size, names.many)


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


def _keep_codes(workspace: Workspace, kept: str, column: str, table: str) -> int:
    """Keep a dictionary: every distinct value with its place in their order. How many there are."""
    place = f"row_number() OVER (ORDER BY {column}) - 1 AS {column}_code"
    workspace.rows(f"CREATE TEMP TABLE {table} AS SELECT {column}, {place} FROM (SELECT DISTINCT {column} FROM {kept})")
    return _count(workspace, table)


def _pairs(workspace: Workspace, kept: str, items: str, user_kind: str) -> str:
    """A table of one number for each row, in any order."""
    joined = f"{kept} JOIN {items} ON {kept}.i = {items}.i"
    least = _least(workspace, kept) if user_kind in _SMALL else None
    if least is not None:
        return _coded(workspace, f"{kept}.u::BIGINT - ({least})::BIGINT", joined)
    users = workspace.fresh()
    _keep_codes(workspace, kept, "u", users)
    coded = _coded(workspace, "u_code", f"{joined} JOIN {users} ON {kept}.u IS NOT DISTINCT FROM {users}.u")
    workspace.rows(f"DROP TABLE {users}")
    return coded


def _least(workspace: Workspace, kept: str) -> int | None:
    """The smallest user where users are whole numbers so near each other that they need no dictionary."""
    least, most = workspace.rows(f"SELECT min(u), max(u) FROM {kept}")[0]
    return least if least is not None and most - least <= MOST_ROWS else None


def _coded(workspace: Workspace, user_code: str, joined: str) -> str:
    table = workspace.fresh()
    workspace.rows(f"CREATE TEMP TABLE {table} AS SELECT ({user_code}) * {LOW} + i_code AS pair FROM {joined}")
    return table


def _fetched(workspace: Workspace, coded: str) -> Int64:
    """The pairs of a table, or of some of its rows."""
    return workspace.columns(f"SELECT pair FROM {coded}")["pair"].astype(np.int64, copy=False)


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
