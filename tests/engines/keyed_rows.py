"""Rows whose users and items are several columns together, and the plain Python count that judges every engine."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from tests.engines.typed_rows import VALUES, in_order, one_form

# What a text between columns could be taken for, or what stands in for it: any two of these may meet.
TRICKY = [
    "", "a", "b", "a,b", ",", "a,", ",b", "\x01", "a\x01", "\x01b", "\x01\x01", "\x01\x02", "\x02", "a\x01\x01b",
    "\x03", "\x01\x03", "(a)", '"', '""', "\\", "1", "01", "1:", "{a, b}", "null", "caf\u00e9",
    "\U0001f600", "\uffff", "A",
]  # fmt: skip
_STRIDES = dict(zip(VALUES, (1, 3, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43), strict=True))
ROWS = 900


def _cell(name: str, row: int) -> object:
    """The columns go through their values at paces of their own, and each lacks one now and then."""
    values = [None, *VALUES[name][1]]
    return values[row * _STRIDES[name] // 5 % len(values)]


TYPED = pa.table(
    {
        "user": pa.array([f"u{row % 17}" for row in range(ROWS)]),
        **{name: pa.array([_cell(name, row) for row in range(ROWS)], VALUES[name][0]) for name in VALUES},
    }
)
PAIRS = [(left, right) for left in TRICKY for right in TRICKY]
PLACES = [*range(len(PAIRS))] * 2
MISSING = [(None, "a", "b"), ("u0", None, "b"), ("u0", "a", None)]
TEXTS = pa.table(
    {
        "user": [f"u{place % 5}" for place in PLACES] + [user for user, _, _ in MISSING],
        "left": [PAIRS[place][0] for place in PLACES] + [left for _, left, _ in MISSING],
        "right": [PAIRS[place][1] for place in PLACES] + [right for _, _, right in MISSING],
        "item": [f"i{place % 3}" for place in PLACES[: len(PAIRS)]] + ["all"] * (len(PAIRS) + len(MISSING)),
        "day": [datetime.date(2026, 9, 25 + place % 6) for place in [*PLACES, 0, 0, 0]],
    }
)
"""Every pair of tricky texts, with the item that all have and with one of three."""


def keys_of(rows: pa.Table, key: str | Sequence[str]) -> list[object]:
    """The key of every row, None where a column of it is missing."""
    if isinstance(key, str):
        return [one_form(value) for value in rows.column(key).to_pylist()]
    each = zip(*(keys_of(rows, name) for name in key), strict=True)
    return [None if None in values else values for values in each]


def pairs_of(rows: pa.Table, user: str | Sequence[str], item: str | Sequence[str]) -> set[tuple[object, object]]:
    """Who has what, each once."""
    return {pair for pair in zip(keys_of(rows, user), keys_of(rows, item), strict=True) if None not in pair}


def key_order(key: object) -> object:
    """Tuples go by their first column, then by the next; text by its bytes."""
    return tuple(map(in_order, key)) if isinstance(key, tuple) else in_order(key)


def counts(rows: pa.Table, user: str | Sequence[str], item: str | Sequence[str]) -> list[tuple[object, int]]:
    """Items and their numbers of distinct users, most first, then in the order of items."""
    found = Counter(what for _, what in pairs_of(rows, user, item))
    return sorted(found.items(), key=lambda pair: (-pair[1], key_order(pair[0])))


def sets_of(rows: pa.Table, user: str | Sequence[str], item: str | Sequence[str]) -> Counter[frozenset[object]]:
    """How many users have which items."""
    found: dict[object, set[object]] = {}
    for who, what in pairs_of(rows, user, item):
        found.setdefault(who, set()).add(what)
    return Counter(map(frozenset, found.values()))
