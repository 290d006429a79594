"""Rows with weights, and the plain Python sums that judge every engine: floats by the formula, integers after it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

from dpselect.aggregates.totals import PARTS_PER_UNIT, Totals
from tests.engines.measured_rows import number

Weighed = tuple[str | None, str | None, object]
COLUMNS = ("user", "item", "w")

# Of each user what a cap of 60 makes of it stands beside.
AWKWARD: list[Weighed] = [
    ("a", "x", 0.25), ("a", "x", 0.25),  # 1/2: up to 1
    ("b", "x", 0.1), ("b", "x", 0.2), ("b", "x", 0.199999),  # below 1/2: nothing
    *(("c", "x", 0.7) for _ in range(5)),  # 3.5 exactly, though no float is 0.7: 4
    ("d", "x", 59.5), ("d", "x", 59.0),  # 60
    ("e", "x", math.inf), ("f", "x", -math.inf), ("f", "x", 2.0), ("g", "x", math.nan), ("g", "x", 3.0),
    ("h", "x", -5.0), ("h", "x", 7.0),  # 7: what is below 0 takes nothing away
    ("i", "x", -0.0), ("i", "x", 0.0), ("j", "x", 1.7976931348623157e308), ("j", "x", 1e308),
    ("k", "x", 5e-324), ("k", "x", 2.0), ("l", "x", None), ("l", "x", 1.5), ("m", "x", 1e-7),
    (None, "x", 50.0), ("n", None, 50.0), (None, None, 1.0),
    ("a", "zero", 0.0), ("b", "zero", 0.49), ("c", "zero", None), ("d", "zero", math.nan),  # an item without a name
    *(("few", item, 1.0) for item in ("tie b", "tie a", "tie c")), ("a", "tie a", 0.5), ("b", "tie b", 0.9),
    ("a", "once", 60.4), ("a", "y", 30.0), ("b", "y", 30.000001), ("", "", 12.0), ("", "x", 1.0),
]  # fmt: skip


def parts(value: object, totals: Totals) -> int:
    """Millionths of a unit that a row gives."""
    found = number(value) or 0.0
    if found < float(totals.min_counted_value):
        return 0
    step = float(totals.unit / PARTS_PER_UNIT)
    return min(math.floor(min(found, float(totals.at_most)) / step + 0.5), totals.max_units * PARTS_PER_UNIT)


def given(rows: Iterable[Weighed], totals: Totals) -> dict[str, dict[str, int]]:
    """Units that every user gives to every item, where there is one."""
    sums: Counter[tuple[str, str]] = Counter()
    for user, item, weight in rows:
        if user is not None and item is not None:
            sums[user, item] += parts(weight, totals)
    found: dict[str, dict[str, int]] = {}
    for (user, item), total in sums.items():
        units = min(totals.max_units, math.floor(Fraction(total, PARTS_PER_UNIT) + Fraction(1, 2)))
        if units:
            found.setdefault(user, {})[item] = units
    return found


def scores(rows: Iterable[Weighed], totals: Totals) -> list[tuple[str, int]]:
    """Items and their sums, largest first, then in the order of items."""
    found: Counter[str] = Counter()
    for items in given(rows, totals).values():
        found.update(items)
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0].encode()))


def table(rows: Iterable[Weighed], weights: pa.DataType) -> pa.Table:
    """The rows as Arrow."""
    users, items, given = zip(*rows, strict=True)
    columns = [pa.array(users, pa.string()), pa.array(items, pa.string()), pa.array(given, weights)]
    return pa.table(dict(zip(COLUMNS, columns, strict=True)))


def typed(weights: pa.DataType) -> list[Weighed]:
    """The awkward rows whose weights fit such a type, as it holds them."""
    found: list[Weighed] = []
    for user, item, weight in AWKWARD:
        if weight is None or pa.types.is_float64(weights):
            found.append((user, item, weight))
        elif pa.types.is_floating(weights):
            with np.errstate(over="ignore"):
                found.append((user, item, float(np.float32(weight))))
        elif math.isfinite(weight) and abs(weight) < 10**7:  # type: ignore[arg-type]
            whole = pa.types.is_integer(weights)
            found.append((user, item, int(weight) if whole else Decimal(f"{weight:.3f}")))  # type: ignore[call-overload]
    return found
