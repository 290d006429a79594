"""Pairs of users and items as arrays: DuckDB numbers both, NumPy sorts the numbers and drops what is there twice.

A pair is one 64-bit number, the user's code above the item's. A code is a place in a dictionary of the distinct
values, never a hash, so two values share one only where the engine itself holds them to be equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpselect.aggregates.user_sets import LOW, MOST_ROWS, Int64, UserSets, sets_of
from dpselect.engines.duckdb.types import INTEGERS, kind
from dpselect.engines.duckdb.workspace import Label, Rows, Workspace
from dpselect.engines.memory import available, does_not_fit
from dpselect.errors import DataError

BYTES_PER_ROW = 96  # at the peak: its values in the engine, its pair there and in NumPy, and the sets themselves
_SMALL = INTEGERS - {"UBIGINT", "HUGEINT", "UHUGEINT"}  # these fit into a BIGINT


def user_sets(workspace: Workspace, rows: Rows, user_type: str, label: Label) -> UserSets:
    """Every user's distinct items, users and items each in their own order; inside guarded work."""
    kept, items = workspace.fresh(), workspace.fresh()
    number = _keep(workspace, rows, kept)
    size = _keep_codes(workspace, kept, "i", items)
    pairs = _pairs(workspace, kept, items, kind(user_type))
    workspace.rows(f"DROP TABLE {kept}")
    if len(pairs) != number:
        raise DataError("the source's values cannot be told apart", "cast users and items to text or to numbers")
    offsets, codes = sets_of(pairs)
    names = _Names(workspace, items, size, label)
    return UserSets(offsets=offsets, codes=codes, size=size, label=names, label_many=names.many)


def coded_sets(workspace: Workspace, rows: Rows, names: str, label: Label) -> UserSets:
    """The same of rows whose items i are codes, and users whole numbers; `names` has the number and the item i of each.

    Here too items are numbered in their own order, and only those that somebody has.
    """
    kept, items = workspace.fresh(), workspace.fresh()
    number = _keep(workspace, rows, kept)
    here = f"SELECT number, i FROM ({names}) WHERE number IN (SELECT i FROM {kept})"
    place = "row_number() OVER (ORDER BY i) - 1 AS i_code"
    workspace.rows(f"CREATE TEMP TABLE {items} AS SELECT i, {place}, number FROM ({here})")
    least = _least(workspace, kept) or 0
    pairs = _fetched(workspace, f"u - {least}", f"{kept} JOIN {items} ON {kept}.i = number")
    workspace.rows(f"DROP TABLE {kept}")
    if len(pairs) != number:
        raise DataError("the source's values cannot be told apart", "cast users and items to text or to numbers")
    offsets, codes = sets_of(pairs)
    of_codes = _Names(workspace, items, _count(workspace, items), label)
    return UserSets(offsets=offsets, codes=codes, size=of_codes.size, label=of_codes, label_many=of_codes.many)


def _keep(workspace: Workspace, rows: Rows, kept: str) -> int:
    """Keep the rows, read once, and how many there are; reading ends where they would no longer fit into memory."""
    memory = available()
    most = MOST_ROWS if memory is None else min(memory // BYTES_PER_ROW, MOST_ROWS)
    with rows() as source:
        workspace.rows(f"CREATE TEMP TABLE {kept} AS SELECT u, i FROM {source} LIMIT {most + 1}")
    number = _count(workspace, kept)
    if number <= most:
        return number
    workspace.rows(f"DROP TABLE {kept}")
    with rows() as source:
        number = _count(workspace, source)
    raise does_not_fit(number * BYTES_PER_ROW)


def _count(workspace: Workspace, table: str) -> int:
    return int(workspace.rows(f"SELECT count(*) FROM {table}")[0][0])


def _keep_codes(workspace: Workspace, kept: str, column: str, table: str) -> int:
    """Keep a dictionary: every distinct value with its place in their order. How many there are."""
    place = f"row_number() OVER (ORDER BY {column}) - 1 AS {column}_code"
    workspace.rows(f"CREATE TEMP TABLE {table} AS SELECT {column}, {place} FROM (SELECT DISTINCT {column} FROM {kept})")
    return _count(workspace, table)


def _pairs(workspace: Workspace, kept: str, items: str, user_kind: str) -> Int64:
    """One number for each row, in any order."""
    joined = f"{kept} JOIN {items} ON {kept}.i = {items}.i"
    least = _least(workspace, kept) if user_kind in _SMALL else None
    if least is not None:
        return _fetched(workspace, f"{kept}.u::BIGINT - ({least})::BIGINT", joined)
    users = workspace.fresh()
    _keep_codes(workspace, kept, "u", users)
    pairs = _fetched(workspace, "u_code", f"{joined} JOIN {users} ON {kept}.u IS NOT DISTINCT FROM {users}.u")
    workspace.rows(f"DROP TABLE {users}")
    return pairs


def _least(workspace: Workspace, kept: str) -> int | None:
    """The smallest user where users are whole numbers so near each other that they need no dictionary."""
    least, most = workspace.rows(f"SELECT min(u), max(u) FROM {kept}")[0]
    return least if least is not None and most - least <= MOST_ROWS else None


def _fetched(workspace: Workspace, user_code: str, joined: str) -> Int64:
    found = workspace.columns(f"SELECT ({user_code}) * {LOW} + i_code AS pair FROM {joined}")
    return found["pair"].astype(np.int64, copy=False)


def keep_found(workspace: Workspace, sets: UserSets, codes: Int64) -> str:
    """The name of a table of released items, i, as `user_sets` has counted them; inside guarded work."""
    names, table = sets.label, workspace.fresh()
    assert isinstance(names, _Names)
    asked = workspace.register({"code": np.sort(codes)})
    try:
        found = f"SELECT i FROM {asked} JOIN {names.table} ON code = i_code"
        workspace.rows(f"CREATE TEMP TABLE {table} AS {found}")
    finally:
        workspace.connection.unregister(asked)
    return table


@dataclass(frozen=True, repr=False)
class _Names:
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
