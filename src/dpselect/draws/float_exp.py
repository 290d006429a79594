"""exp(-x) in floats, within a proved error bound. Proof: docs/exact-draws.md.

`decay` uses nothing but +, -, *, comparison, table look-up and powers of two, which IEEE 754 fixes to the last
bit, so the bound does not rest on any library's exp.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from flint import arb, ctx

from dpselect._ground.reals import dyadic

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"

RELATIVE_ERROR = (
    2.0**-38
)  # relative error of decay(x) against exp(-x'), for |x - x'| <= 2^-39 and 0 <= x <= MAX_EXPONENT
MAX_EXPONENT = 600.0  # beyond, decay(x) is decay(MAX_EXPONENT): an upper bound still
TABLE_SIZE = 64  # table of 2^(-j/64)
CHUNK = 8192  # pieces that stay in the cache


@cache
def _table() -> tuple[Floats, float, float]:
    """Return 2^(-j/64) for j < 64, and ln 2 / 64 as high + low; high has 35 bits, so k * high is exact for k < 2^18."""
    with ctx.workprec(200):
        powers = [float(Fraction(dyadic((arb(2) ** (arb(-j) / TABLE_SIZE)).mid()))) for j in range(TABLE_SIZE)]
        step = dyadic((arb(2).log() / TABLE_SIZE).mid())
    high = Fraction(round(step * 2**41), 2**41)
    return np.array(powers), float(high), float(step - high)


def decay(x: Floats) -> Floats:
    """Compute exp(-x) for x >= 0 within RELATIVE_ERROR; for x above MAX_EXPONENT the result is an upper bound."""
    if len(x) <= CHUNK:
        return _decay(x)
    return np.concatenate([_decay(x[i : i + CHUNK]) for i in range(0, len(x), CHUNK)])


def _decay(x: Floats) -> Floats:
    """With x = k ln2/64 + r and |r| <= 0.0055, exp(-x) is 2^-(k div 64) * 2^(-(k mod 64)/64) * exp(-r)."""
    powers, high, low = _table()
    x = np.minimum(x, MAX_EXPONENT)
    k = np.rint(x * (1 / (high + low)))
    r = (x - k * high) - k * low
    series = 1 - r * (1 - r * (1 / 2) * (1 - r * (1 / 3) * (1 - r * (1 / 4) * (1 - r * (1 / 5)))))
    index = k.astype(np.int32)
    return np.asarray(np.ldexp(series * powers[index & (TABLE_SIZE - 1)], -(index >> 6)), dtype=np.float64)
