"""Rows whose users and items are several columns together, and the plain Python count that judges every engine."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from tests.engines.typed_rows import VALUES, items_of_users

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


def sets_of(rows: pa.Table, user: str | Sequence[str], item: str | Sequence[str]) -> Counter[frozenset[object]]:
    """How many users have which items."""
    return Counter(map(frozenset, items_of_users(rows, user, item)))
