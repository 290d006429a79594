"""Parts of a budget as every place shows them: a cost is what is left before less what is left after it.

Two rules keep a budget, and either may have more room, so the part that a price is by itself is not what it takes.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

PARTS_PER_BUDGET = 10**6
SMALL_PART = Fraction(1, 1000)  # below this a cost needs more than two decimals of a percent
DECIMALS, MORE_DECIMALS = 2, 4
UNDER = f"under 0.{'0' * (MORE_DECIMALS - 1)}1 %"

Part = Fraction | float


def rounded_part(part: Fraction) -> float:
    """Return a part of a budget as a float of at least 0 and at most 6 decimals, never more than there is."""
    return max(0, math.floor(part * PARTS_PER_BUDGET)) / PARTS_PER_BUDGET


def cost_between(left_before: Fraction, left_after: Fraction) -> float:
    """Return the difference of what `rounded_part` shows before and after; a cost too small to show there as it is.

    `left_after` may be below 0, for a question that does not fit.
    """
    difference = max(0, math.floor(left_before * PARTS_PER_BUDGET)) - math.floor(left_after * PARTS_PER_BUDGET)
    return difference / PARTS_PER_BUDGET if difference else float(max(Fraction(0), left_before) - left_after)


def format_cost(cost: Part, *, left_after: Part | None = None, left_before: Part | None = None) -> tuple[str, str, str]:
    """Format what is taken, what is left before and what is left after, in the same decimals.

    Of the last two, one is given. Both are rounded down, and the cost is their difference.

    >>> format_cost(0.0275, left_after=0.7014), format_cost(0.000021, left_before=1.0)
    (('2.75 %', '72.89 %', '70.14 %'), ('0.0021 %', '100.0000 %', '99.9979 %'))
    >>> format_cost(Fraction(1, 50), left_before=1.0), format_cost(1e-9, left_after=0.5)[0]
    (('2 %', '100 %', '98 %'), 'under 0.0001 %')
    """
    exact_cost = _exact(cost)
    exact_after = _exact(left_after) if left_after is not None else _exact(left_before or 0.0) - exact_cost
    decimals = MORE_DECIMALS if 0 < exact_cost < SMALL_PART else DECIMALS
    unit = 10 ** (2 + decimals)
    floor_before, floor_after = math.floor((exact_after + exact_cost) * unit), math.floor(exact_after * unit)
    amounts = (floor_before - floor_after, floor_before, max(0, floor_after))
    if all(amount % 10**decimals == 0 for amount in amounts):
        amounts, decimals = tuple(amount // 10**decimals for amount in amounts), 0
    of_cost, *of_left = (f"{Decimal(amount).scaleb(-decimals):f} %" for amount in amounts)
    return UNDER if exact_cost and not amounts[0] else of_cost, of_left[0], of_left[1]


def format_left(part: Part) -> str:
    """Format what is left of a budget as `format_cost` does."""
    return format_cost(Fraction(0), left_after=part)[2]


def percent(part: Part, *, up: bool = False) -> str:
    """Format a part of a budget in the decimals of `format_cost`: what is used is rounded up, what is left down.

    >>> percent(Fraction(1, 3)), percent(Fraction(1, 3000), up=True), percent(0.02001, up=True), percent(1)
    ('33.33 %', '0.0334 %', '2.01 %', '100 %')
    """
    exact = _exact(part)
    decimals = MORE_DECIMALS if 0 < exact < SMALL_PART else DECIMALS
    amount = (math.ceil if up else math.floor)(exact * 10 ** (2 + decimals))
    if amount % 10**decimals == 0:
        amount, decimals = amount // 10**decimals, 0
    return f"{Decimal(amount).scaleb(-decimals):f} %" if amount or not exact else UNDER


def describe_cost(left_before: Fraction, left_after: Fraction, *, fits: bool) -> str:
    """Return what a question costs at most of what is left now, as a predicate; `left_after` is below 0 if too much."""
    cost, text_before, text_after = format_cost(
        cost_between(left_before, left_after), left_before=rounded_part(left_before)
    )
    remainder = (
        f"of which {text_before} is left now and {text_after} after it"
        if fits
        else f"of which only {text_before} is left now"
    )
    return f"costs up to {cost} of the budget, {remainder}"


def _exact(part: Part) -> Fraction:
    """Return the decimal that a float stands for, so that sums of shown numbers are exact."""
    return Fraction(repr(part)) if isinstance(part, float) else Fraction(part)
