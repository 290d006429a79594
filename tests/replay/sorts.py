"""Sorts of columns, and the plain rows of everybody else. A source writes a column as its own type of that sort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

ROLES = ("user", "item", "other")
PLACES = ("first", "middle", "last")
USERS = 9
# Who has which of four items: ties, one item of everybody, one of a single user.
HOLDS = (range(USERS), range(5), range(3, 8), range(1))
DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class Sort:
    """One sort of column: nine different plain values, and a filter that asks for its values."""

    plain: tuple[object, ...]
    where: str = "other IS NOT NULL"


@dataclass(frozen=True)
class Column:
    """Values of one sort. What Python has no value for stands in another form: moments as their numbers."""

    sort: str
    values: list[object]


Rows = dict[str, Column]

_DAYS = tuple(19_000 + n for n in range(USERS))
_WORDS = ("a", "b", "c", "d", "e f", "07", "7", "G", "g")
SORTS: dict[str, Sort] = {
    "text": Sort(_WORDS, "other <> 'no'"),
    "whole": Sort(tuple(range(1, 10)), "other >= -7"),
    "real": Sort(tuple(n + 0.5 for n in range(USERS)), "other >= -7"),
    "half": Sort(tuple(n + 0.5 for n in range(USERS))),
    "decimal": Sort(tuple(Decimal(n) / 4 for n in range(USERS)), "other >= -7"),
    "truth": Sort((True, False)),
    "bytes": Sort(tuple(word.encode() for word in _WORDS)),
    "day": Sort(_DAYS, "other >= '2000-01-01'"),
    "time": Sort(tuple(n * 3_600_000_000 for n in range(USERS))),
    "moment s": Sort(tuple(day * 86_400 for day in _DAYS), "other >= '2000-01-01'"),
    "moment ms": Sort(tuple(day * 86_400_000 for day in _DAYS), "other >= '2000-01-01'"),
    "moment us": Sort(tuple(day * DAY for day in _DAYS), "other >= '2000-01-01'"),
    "moment ns": Sort(tuple(day * DAY * 1000 for day in _DAYS)),
    "moment in a zone": Sort(tuple(day * DAY for day in _DAYS), "other >= '2000-01-01'"),
    # Columns without a declared type: lists, objects, JSON.
    "any of numbers": Sort(tuple(range(1, 10))),
    "any of texts": Sort(_WORDS),
}


def plain(sort: str, role: str) -> Rows:
    """The rows of nine users; the column of that role has that sort, the others are text."""
    values = SORTS[sort].plain
    users, items, others = [], [], []
    for place, holders in enumerate(HOLDS):
        for user in holders:
            users.append(values[user % len(values)] if role == "user" else f"u{user}")
            items.append(values[place % len(values)] if role == "item" else _WORDS[place])
            others.append(values[user % len(values)] if role == "other" else "yes")
    return _columns(sort, role, users, items, others)


def awkward(sort: str, role: str, values: Sequence[object], *, alone: bool) -> Rows:
    """The rows of one more user, one for each value; of a user each where the values are users."""
    users = list(values) if role == "user" else ["mallory"] * len(values)
    items = list(values) if role == "item" else [_WORDS[1]] * len(values)
    others = list(values) if role == "other" else ["yes"] * len(values)
    times = 3 if alone else 1  # repeated rows count once
    return _columns(sort, role, users * times, items * times, others * times)


def _columns(sort: str, role: str, *columns: list[object]) -> Rows:
    base = sort if sort.startswith("any") else "text"
    names = dict(zip(ROLES, columns, strict=True))
    return {name: Column(sort if name == role else base.replace("numbers", "texts"), names[name]) for name in ROLES}


def joined(rows: Rows, more: Rows, place: str) -> Rows:
    """Both, with the second before, in the midst of or behind the first."""
    length = len(rows["user"].values)
    at = {"first": 0, "middle": length // 2, "last": length}[place]
    return {
        name: Column(rows[name].sort, rows[name].values[:at] + more[name].values + rows[name].values[at:])
        for name in rows
    }
