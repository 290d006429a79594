"""What an epsilon and a delta mean, for a reader who never met them."""

from __future__ import annotations

import math
from fractions import Fraction

from dpselect.release import formatting


def odds(epsilon: Fraction, delta: Fraction, unit: str = "user") -> str:
    """The promise as odds: whoever reads learns little more of anybody than if that one were not in the data."""
    if epsilon > 20:
        return f"With so large an epsilon little is promised to any one {unit}."
    times = math.exp(float(epsilon))
    shown = f"{math.ceil(times * 100) / 100:,.2f}" if times < 10 else f"{math.ceil(times):,}"
    said = (
        f"Whether any one {unit} is in the data changes the chance of anything that this may show by a factor of at "
        f"most {shown}"
    )
    if delta:
        said += f", and by {_one_in(delta)} beside it"
    return f"{said}."


def _one_in(delta: Fraction) -> str:
    many = math.floor(1 / delta)
    if many < 2:
        return formatting.price(delta)
    digits = len(str(many)) - 2
    return f"one in {many // 10**digits * 10**digits if digits > 0 else many:,}"
