"""Parts of a budget as every place shows them: a cost is what is left before less what is left after it.

Two rules keep a budget, and either may have more room, so the part that a price is by itself is not what it takes.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

PARTS = 10**6
SMALL = Fraction(1, 1000)  # below this a cost needs more than two decimals of a percent
DECIMALS, MORE_DECIMALS = 2, 4
UNDER = f"under 0.{'0' * (MORE_DECIMALS - 1)}1 %"

Part = Fraction | float


def rounded_part(part: Fraction) -> float:
    """Return a part of a budget as a float of at least 0 and at most 6 decimals, never more than there is."""
    return max(0, math.floor(part * PARTS)) / PARTS


def cost_between(before: Fraction, after: Fraction) -> float:
    """Return what is taken, of what `rounded_part` shows before and after; what is smaller than that as it is.

    `after` may be below 0, for a question that does not fit.
    """
    difference = max(0, math.floor(before * PARTS)) - math.floor(after * PARTS)
    return difference / PARTS if difference else float(max(Fraction(0), before) - after)


def format_cost(cost: Part, *, after: Part | None = None, before: Part | None = None) -> tuple[str, str, str]:
    """Format what is taken, what is left before and what is left after, in the same decimals.

    Of the last two, one is given. Both are rounded down, and the cost is their difference.

    >>> format_cost(0.0275, after=0.7014), format_cost(0.000021, before=1.0)
    (('2.75 %', '72.89 %', '70.14 %'), ('0.0021 %', '100.0000 %', '99.9979 %'))
    >>> format_cost(Fraction(1, 50), before=1.0), format_cost(1e-9, after=0.5)[0]
    (('2 %', '100 %', '98 %'), 'under 0.0001 %')
    """
    taken = _exact(cost)
    last = _exact(after) if after is not None else _exact(before or 0.0) - taken
    decimals = MORE_DECIMALS if 0 < taken < SMALL else DECIMALS
    unit = 10 ** (2 + decimals)
    floor_before, floor_after = math.floor((last + taken) * unit), math.floor(last * unit)
    amounts = (floor_before - floor_after, floor_before, max(0, floor_after))
    if all(amount % 10**decimals == 0 for amount in amounts):
        amounts, decimals = tuple(amount // 10**decimals for amount in amounts), 0
    of_cost, *of_left = (f"{Decimal(amount).scaleb(-decimals):f} %" for amount in amounts)
    return UNDER if taken and not amounts[0] else of_cost, of_left[0], of_left[1]


def format_left(part: Part) -> str:
    """Format what is left of a budget as `format_cost` does."""
    return format_cost(Fraction(0), after=part)[2]


def percent(part: Part, *, up: bool = False) -> str:
    """Format a part of a budget in the decimals of `format_cost`: what is used is rounded up, what is left down.

    >>> percent(Fraction(1, 3)), percent(Fraction(1, 3000), up=True), percent(0.02001, up=True), percent(1)
    ('33.33 %', '0.0334 %', '2.01 %', '100 %')
    """
    exact = _exact(part)
    decimals = MORE_DECIMALS if 0 < exact < SMALL else DECIMALS
    amount = (math.ceil if up else math.floor)(exact * 10 ** (2 + decimals))
    if amount % 10**decimals == 0:
        amount, decimals = amount // 10**decimals, 0
    return f"{Decimal(amount).scaleb(-decimals):f} %" if amount or not exact else UNDER


def describe_cost(before: Fraction, after: Fraction, *, fits: bool) -> str:
    """Return what a question costs at most of what is left now, as a predicate; `after` is below 0 if too much."""
    cost, now, then = format_cost(cost_between(before, after), before=rounded_part(before))
    left = f"of which {now} is left now and {then} after it" if fits else f"of which only {now} is left now"
    return f"costs up to {cost} of the budget, {left}"


def _exact(part: Part) -> Fraction:
    """Return the decimal that a float stands for, so that sums of shown numbers are exact."""
    return Fraction(repr(part)) if isinstance(part, float) else Fraction(part)
