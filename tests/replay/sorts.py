"""Sorts of columns, and the plain rows of everybody else. A source writes a column as its own type of that sort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

ROLES = ("user", "item", "other")
PLACES = ("first", "middle", "last")
USERS = 8
# Who has which of four items: ties, one item of everybody, one of a single user.
HOLDS = (range(USERS), range(5), range(3, 8), range(1))
DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class Sort:
    """One sort of column: plain values, for eight users and one more, and a filter that asks for its values."""

    plain: tuple[object, ...]
    where: str = "other IS NOT NULL"


@dataclass(frozen=True)
class Column:
    """Values of one sort. What Python has no value for stands in another form: moments as their numbers."""

    sort: str
    values: list[object]


Rows = dict[str, Column]
Sorts = tuple[str, str, str]
"""The sorts of three columns, by role."""

_DAYS = tuple(19_000 + n for n in range(9))
_WORDS = ("a", "b", "c", "d", "e f", "07", "7", "G", "g")
SORTS: dict[str, Sort] = {
    "text": Sort(_WORDS, "other <> 'no'"),
    "whole": Sort(tuple(range(1, 10)), "other >= -7"),
    "real": Sort(tuple(n + 0.5 for n in range(9)), "other >= -7"),
    "half": Sort(tuple(n + 0.5 for n in range(9))),
    "decimal": Sort(tuple(Decimal(n) / 4 for n in range(9)), "other >= -7"),
    "truth": Sort((True, False)),
    "bytes": Sort(tuple(word.encode() for word in _WORDS)),
    "day": Sort(_DAYS, "other >= '2000-01-01'"),
    "time": Sort(tuple(n * 3_600_000_000 for n in range(9))),
    "moment s": Sort(tuple(day * 86_400 for day in _DAYS), "other >= '2000-01-01'"),
    "moment ms": Sort(tuple(day * 86_400_000 for day in _DAYS), "other >= '2000-01-01'"),
    "moment us": Sort(tuple(day * DAY for day in _DAYS), "other >= '2000-01-01'"),
    "moment ns": Sort(tuple(day * DAY * 1000 for day in _DAYS)),
    "moment in a zone": Sort(tuple(day * DAY for day in _DAYS), "other >= '2000-01-01'"),
    # Columns without a declared type: lists, objects, JSON.
    "any of numbers": Sort(tuple(range(1, 10))),
    "any of texts": Sort(_WORDS),
}


def plain(sorts: Sorts) -> Rows:
    """The rows of eight users."""
    held = [(user, item) for item, holders in enumerate(HOLDS) for user in holders]
    return _columns(sorts, [_plain(sorts, user, item) for user, item in held])


def awkward(sorts: Sorts, role: str, values: Sequence[object]) -> Rows:
    """Rows with these values in one column, the last of them twice: repeated rows count once.

    All else in them is plain: they are of one user more, where they are not users, and of one item.
    """
    usual, at = _plain(sorts, USERS, 1), ROLES.index(role)
    return _columns(sorts, [(*usual[:at], value, *usual[at + 1 :]) for value in [*values, *values[-1:]]])


def _plain(sorts: Sorts, user: int, item: int) -> tuple[object, ...]:
    columns = (SORTS[sort].plain for sort in sorts)
    return tuple(values[place % len(values)] for values, place in zip(columns, (user, item, user), strict=True))


def _columns(sorts: Sorts, rows: Sequence[tuple[object, ...]]) -> Rows:
    return {
        name: Column(sort, [row[at] for row in rows]) for at, (name, sort) in enumerate(zip(ROLES, sorts, strict=True))
    }


def joined(rows: Rows, more: Rows, place: str) -> Rows:
    """Both, with the second before, in the midst of or behind the first."""
    length = len(rows["user"].values)
    at = {"first": 0, "middle": length // 2, "last": length}[place]
    return {
        name: Column(rows[name].sort, rows[name].values[:at] + more[name].values + rows[name].values[at:])
        for name in rows
    }
