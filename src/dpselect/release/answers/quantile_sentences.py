"""Sentences about quantiles, and their accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpselect.release import formatting

_COUNTED_VALUES = {
    "random": "one of each user's distinct values, chosen at random",
    "min": "the smallest of each user",
    "max": "the largest of each user",
    "mean": "the mean of each user",
}
_ONE_EACH = {
    "random": "Of a user's distinct values, one counts, chosen at random.",
    "min": "Of a user's values, the smallest counts.",
    "max": "Of a user's values, the largest counts.",
    "mean": "Of a user's values, the mean counts, after each value is rounded to the grid.",
}
_CALLERS = "Every value is the one value of one user."
_BY_LEVELS = (
    "They were found in {levels} levels: first the middle one, then those on either side of it, among the users there. "
    "Users who share a value are split evenly."
)
EVEN_OF_NOTHING = "A number is returned even if no row matches."


def describe_counted(per_user: str | None, *, bounded: bool) -> str:
    """Say which value of a user counts, and where it is moved; None for the caller's own values."""
    value = "those given" if per_user is None else _COUNTED_VALUES[per_user]
    return f"{value}, moved {'into the bounds, in steps' if bounded else 'to six digits'}"


def describe_cells(rate: Fraction, *, several: bool, in_groups: bool) -> str:
    """Say how the numbers of users below and above were found: for a price of their own, with Laplace noise."""
    counted_places = "below, at, between and above the values" if several else "below, at and above the value"
    price, scale = formatting.price(rate), formatting.round_digits(float(1 / rate), 4)
    return (
        f"Then the users {counted_places}{' of each group' if in_groups else ''} were counted, for epsilon {price}, "
        f"each number with discrete Laplace noise of scale {scale}."
    )


def describe_quantiles(
    shares: Sequence[Fraction], *, per_user: str | None, grid: str, levels: int | None, in_groups: bool
) -> tuple[str, ...]:
    """Say which quantiles, of which values, on which grid, and in how many levels several of them were found."""
    ranks = ", ".join(formatting.short(share) for share in shares)
    value = _CALLERS if per_user is None else _ONE_EACH[per_user]
    return (
        f"The quantile {ranks}." if len(shares) == 1 else f"The quantiles {ranks}, in this order.",
        f"In each group: {value[0].lower()}{value[1:]}" if in_groups else value,
        grid,
        *(() if levels is None else (_BY_LEVELS.format(levels=levels),)),
    )


def describe_digits(digits: int, largest: float, step: Fraction) -> str:
    """Say where every value moves to if there are no bounds."""
    return (
        f"No bounds were given. Every value is rounded to the nearest number of {digits} digits that is a multiple "
        f"of {formatting.of_column(step)}, at most {largest:g} from 0, and so is the answer."
    )


def describe_grid(low: Fraction, high: Fraction, step: Fraction) -> str:
    """Say where every value moves to."""
    start, end = formatting.of_column(low), formatting.of_column(high)
    return (
        f"Values below {start} count as {start} and values above {end} as {end}. Every value is rounded to a grid of "
        f"step {formatting.of_column(step)} that starts at {start}, and so is the answer."
    )
