"""Awkward rows with a column of every type that engines share, and the plain Python count that judges them all."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

TOKYO = datetime.timezone(datetime.timedelta(hours=9))
NOON = datetime.datetime(2024, 1, 1, 12)
TEXTS = [
    "popular", "tie b", "tie a", "Tie a", "", "Case", "case", "CASE", "space", "space ", " space", "  ",
    "caf\u00e9", "cafe\u0301", "\u00df", "ss", "\U0001f600", "\U0010ffff", "\uffff", "z", "\u00e9", "I", "\u0131",
    "NULL", "nan", "a'b\"c\\d", "%s{}$1", "tab\there", "two\nlines", "1=1; DROP TABLE t",
]  # fmt: skip
# What engines must agree on: plain decimal notation is a number, anything else is missing.
WRITTEN = [
    "7", "1e3", " 12 ", "+5", ".5", "5.", "-0", "1E+2", "2e-1", "1e400", "-1e400", "1e-400", "-.5e1", "007", "3e002",
    "0." + "0" * 400 + "1", "9" * 400, "1_000", "inf", "-Infinity", "nan", "NaN", "0x10", "1d", "5f", "", " ", "1e",
    "+-5", "--5", "1 2", "e5", ".", "- 5", "1,5", "\t5", "5\n", "\u00a05", "1e1000", "1e-1000", "9" * 1200, "\u0663",
    "true", "0b1", "1e0099", "5e", "1.5.2", "5%", "$5", "(5)", "\u22125", "5\u3000",
]  # fmt: skip

VALUES: dict[str, tuple[pa.DataType, list[object]]] = {
    "text": (pa.string(), [*TEXTS]),
    "whole": (pa.int64(), [7, -(2**63), 2**63 - 1, 0, -1, 10, 9, 2**53 + 1, 2**53]),
    "small": (pa.int32(), [7, -(2**31), 2**31 - 1, 0, -1, 10, 9]),
    "real": (pa.float64(), [0.1, -0.0, float("nan"), 0.0, float("inf"), float("-inf"), 1e300, 5e-324, -1.5, 1e16]),
    "short": (pa.float32(), [0.5, -0.0, float("nan"), 0.0, float("inf"), -1.5, 16777216.0, 0.10000000149011612]),
    "price": (pa.decimal128(10, 2), [Decimal(x) for x in ("1.50", "-2.00", "0.00", "12345678.90", "1.05", "10.00")]),
    "long": (pa.decimal128(38, 0), [Decimal(x) for x in ("9" * 38, "-" + "9" * 38, "10", "9", "-1")]),
    "flag": (pa.bool_(), [True, False]),
    "day": (pa.date32(), [datetime.date(2024, 2, 29), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
    "moment": (pa.timestamp("us"), [NOON, NOON + datetime.timedelta(microseconds=1), datetime.datetime(1900, 3, 1)]),
    "zoned": (
        pa.timestamp("us", tz="UTC"),
        [NOON.replace(tzinfo=TOKYO), NOON.replace(tzinfo=datetime.UTC), NOON.replace(hour=3, tzinfo=datetime.UTC)],
    ),
    "raw": (pa.binary(), [b"abc", b"", b"\x00", b"\x00\xff", b"\xff", b"ABC", b"abc "]),
    "written": (pa.string(), [*WRITTEN]),
}
USERS = ["u0", "U0", "u0 ", "\u00e9", "e\u0301", "", "\U0001f600", "7", "07", "everything"]


def awkward() -> pa.Table:
    """Users of items by their place: one item in every user, a long tie, one user of everything, rows twice, nulls."""
    places = max(len(values) for _, values in VALUES.values())
    held: list[tuple[str | None, int | None]] = [(user, 0) for user in USERS]
    held += [
        (USERS[(place + n) % 9], place) for place in range(1, places) for n in range(5 if place < 8 else place % 3)
    ]
    held += [("everything", place) for place in range(places)]
    held += [row for row in held if row[0] in ("u0", "everything")]
    held += [(None, 0), (None, 5), ("u0", None), ("nothing", None), (None, None)]
    columns = {
        name: pa.array([None if place is None else values[place % len(values)] for _, place in held], sort)
        for name, (sort, values) in VALUES.items()
    }
    return pa.table({"user": pa.array([user for user, _ in held]), **columns})


AWKWARD = awkward()
EMPTY = AWKWARD.slice(0, 0)
NUMBERS = ("whole", "small", "real", "short", "price", "long", "written")


def one_form(value: object) -> object:
    """Null and NaN are nothing, and -0.0 is 0.0."""
    if isinstance(value, float):
        return None if value != value else value + 0.0
    return value


def keys_of(rows: pa.Table, key: str | Sequence[str]) -> list[object]:
    """The key of every row, None where a column of it is missing."""
    if isinstance(key, str):
        return [one_form(value) for value in rows.column(key).to_pylist()]
    each = zip(*(keys_of(rows, name) for name in key), strict=True)
    return [None if None in values else values for values in each]


def pairs_of(rows: pa.Table, user: str | Sequence[str], item: str | Sequence[str]) -> set[tuple[object, object]]:
    """Who has what, each once. An infinity names no item, though it may be a user."""
    every = zip(keys_of(rows, user), keys_of(rows, item), strict=True)
    return {pair for pair in every if None not in pair and not is_infinite(pair[1])}


def is_infinite(key: object) -> bool:
    """Is a value, or one of several, an infinity?"""
    values = key if isinstance(key, tuple) else (key,)
    return any(isinstance(value, float) and math.isinf(value) for value in values)


def in_order(value: object) -> object:
    """What a value is ordered by: text by its bytes, a tuple by its first value, then by the next."""
    if isinstance(value, tuple):
        return tuple(map(in_order, value))
    return value.encode() if isinstance(value, str) else value


def counts(rows: pa.Table, user: str | Sequence[str], item: str | Sequence[str]) -> list[tuple[object, int]]:
    """Items and their numbers of distinct users, most first, then in the order of items."""
    found = Counter(what for _, what in pairs_of(rows, user, item))
    return sorted(found.items(), key=lambda pair: (-pair[1], in_order(pair[0])))


def items_of_users(rows: pa.Table, user: str | Sequence[str], item: str | Sequence[str]) -> list[list[object]]:
    """The distinct items of every user who has one, users and items in their order."""
    found: dict[object, set[object]] = {}
    for who, what in pairs_of(rows, user, item):
        found.setdefault(who, set()).add(what)
    return [sorted(found[who], key=in_order) for who in sorted(found, key=in_order)]
