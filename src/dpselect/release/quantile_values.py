"""Quantiles for a reader: which were asked for, and their values without digits that nobody needs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpselect.release.shown import ShownRelease
from dpselect.release.statement import Kind

QUANTILE_DIGITS = 4  # of a quantile, or of the part of its bounds that a print shows, unless a `step` was asked for


def quantile_shares(release: ShownRelease) -> tuple[Any, ...]:
    """Return the q of every item; none if the items are no quantiles."""
    shares = release.privacy.parameters.get("q") if release.kind is Kind.VALUES else ()
    return shares if isinstance(shares, tuple) else ()


def rounded_values(release: ShownRelease) -> list[object]:
    """Return quantiles: multiples of a step that is not tiny as they are, others in four digits or more."""
    values: list[object] = [item.item for item in release.items]
    parameters = release.privacy.parameters
    if "bounds" not in parameters:
        return [float(f"{value:.{QUANTILE_DIGITS}g}") if isinstance(value, float) else value for value in values]
    digits = needed_decimals(parameters["bounds"], parameters.get("step"))
    return (
        values
        if digits is None
        else [_round_value(value, digits) if isinstance(value, float) else value for value in values]
    )


def _round_value(value: float, digits: int) -> float:
    """Round a value to so many decimals, or to as many digits of its own if it is small beside the bounds."""
    if not value or not math.isfinite(value):
        return value
    return round(value, max(digits, QUANTILE_DIGITS - 1 - math.floor(math.log10(abs(value)))))


def needed_decimals(bounds: object, step: object) -> int | None:
    """Return the decimals that a part of the bounds needs; None if the step is no finer, or is not known."""
    ends = [end for end in bounds if isinstance(end, Fraction)] if isinstance(bounds, tuple) else []
    if len(ends) != 2 or not isinstance(step, Fraction):
        return None
    resolution = (ends[1] - ends[0]) / 10**QUANTILE_DIGITS
    return (
        -math.floor(math.log10(resolution.numerator) - math.log10(resolution.denominator))
        if 0 < step < resolution
        else None
    )
