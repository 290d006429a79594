"""The statement and the accuracy of quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Privacy
from dpselect.release import accuracy, formatting
from dpselect.release.accuracy import Accuracy
from dpselect.release.scale import Scale
from dpselect.release.statement import Statement

COUNTED_VALUES = {
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
_EVEN_OF_NOTHING = "A number is returned even if no row matches."


def describe_ranks(
    gap: Fraction, *, quantiles: int, per_user: str | None, bounded: bool, shared: int | None, scale: Scale
) -> Accuracy:
    """Say how far answers may be from their ranks; `per_user` names the value of a user, None for the caller's own."""
    value = "those given" if per_user is None else COUNTED_VALUES[per_user]
    where = "into the bounds, in steps" if bounded else "to six digits"
    return accuracy.ranks(gap, quantiles > 1, f"{value}, moved {where}", scale, shared=shared)


def describe_quantiles(
    shares: Sequence[Fraction],
    *,
    per_user: str | None,
    bounds: tuple[Fraction, Fraction] | None,
    digits: int,
    largest: float,
    step: Fraction,
    epsilon_per_pick: Number | None,
    levels: int | None,
    in_groups: bool,
) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the parameters and sentences of quantiles: which, of which values, and on which grid.

    Without bounds values have so many `digits` and are cut at `largest`. `levels` is the number of levels in which
    several quantiles were found.
    """
    ranks = ", ".join(formatting.short(share) for share in shares)
    value = _CALLERS if per_user is None else _ONE_EACH[per_user]
    sentences: tuple[str, ...] = (
        f"The quantile {ranks}." if len(shares) == 1 else f"The quantiles {ranks}, in this order.",
        f"In each group: {value[0].lower()}{value[1:]}" if in_groups else value,
        _describe_grid(bounds, digits, largest, step),
    )
    grid = {"digits": digits} if bounds is None else {"bounds": bounds}
    parameters: dict[str, object] = {"q": shares, **grid, "step": step, "epsilon_per_pick": epsilon_per_pick}
    if levels is not None:
        parameters["levels"] = levels
        sentences += (_BY_LEVELS.format(levels=levels),)
    return parameters, sentences


def state_quantiles(
    privacy: Privacy, mechanism: str, parameters: dict[str, object], sentences: tuple[str, ...], scale: Scale
) -> Statement:
    """State quantiles of all rows together."""
    said = (*sentences, *scale.sentences, _EVEN_OF_NOTHING)
    return Statement.of(privacy, mechanism, parameters | scale.parameters, said)


def _describe_grid(bounds: tuple[Fraction, Fraction] | None, digits: int, largest: float, step: Fraction) -> str:
    """Say where every value moves to."""
    multiple = formatting.of_column(step)
    if bounds is None:
        return (
            f"No bounds were given. Every value is rounded to the nearest number of {digits} digits that is a multiple "
            f"of {multiple}, at most {largest:g} from 0, and so is the answer."
        )
    low, high = (formatting.of_column(end) for end in bounds)
    return (
        f"Values below {low} count as {low} and values above {high} as {high}. Every value is rounded to a grid of "
        f"step {multiple} that starts at {low}, and so is the answer."
    )
