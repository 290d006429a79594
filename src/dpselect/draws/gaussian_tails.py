"""How far Gaussian noise lies above a threshold, given that it does: many at once, each from one uniform number.

A whole weight w whose noise lifts it above the threshold T lies j = 0, 1, ... whole steps above it, P(j >= m) =
G(w - m) / G(w) for G(x) = P(x + Z > T). So j is the largest m with U G(w) < G(w - m), U uniform. Floats propose it, on
64 bits of U; where those do not decide, it is decided on more of them, exactly. Proof: docs/exact-draws.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import enclose
from dpselect.draws.core import Core

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_DEVIATIONS = 10  # deviations within which all lies but less than 2^-70
MAX_TABLE_DEVIATION = 2**15  # deviations of so many steps have a table
TABLE_ENTRIES_PER_BALL = 16  # entries of a table cost as much as one number decided by balls
TABLE_BITS = 96
TWO_TO_64 = 2.0**64
MIN_TAIL = 2.0**-900  # below, products with 64 bits of U may be no normal floats

Int64: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class Tail:
    """G(x) = P(x + Z > threshold) at whole x, Z Gaussian of this deviation."""

    threshold: Fraction
    deviation: Fraction

    def at(self, x: int, bits: int) -> arb:
        """Return the ball of G(x)."""
        with ctx.workprec(bits):
            return (enclose((self.threshold - x) / self.deviation) / arb(2).sqrt()).erfc() / 2

    @property
    def reach(self) -> int:
        """The number of steps beyond which hardly any probability is left."""
        return (MAX_DEVIATIONS * self.deviation).__ceil__() + 1

    def ends(self, weights: Int64) -> tuple[int, int]:
        """Return the first and the last x of a table for these weights.

        At the last G is 1 but for less than the margin, and so far below the least weight hardly anybody comes.
        """
        last = self.threshold.__ceil__() + self.reach
        return min(int(weights.min()), last) - self.reach, last

    def entries(self, weights: Int64) -> int:
        """Return the number of entries of a table for these weights."""
        first, last = self.ends(weights)
        return last - first + 1


def gaussians_above(core: Core, deviation: Fraction, threshold: Fraction, weights: Int64) -> Int64:
    """Draw for each whole weight, given that noise lifts it above the threshold, by how many whole steps it does."""
    tail, words = Tail(threshold, deviation), core.source.words(len(weights))
    excesses, unsure = np.zeros(len(weights), dtype=np.int64), np.ones(len(weights), dtype=bool)
    if (
        len(weights)
        and deviation <= MAX_TABLE_DEVIATION
        and tail.entries(weights) <= TABLE_ENTRIES_PER_BALL * len(weights)
    ):
        excesses, unsure = proposed(tail, words, weights, 2.0**-core.slack_bits)
    for i in np.flatnonzero(unsure):
        excesses[i] = exact(core, int(words[i]), tail, int(weights[i]))
    return excesses


def proposed(
    tail: Tail, words: npt.NDArray[np.uint64], weights: Int64, margin: float
) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """Return the excesses that 64 bits of each U decide, and where they do not decide it for certain."""
    first, last = tail.ends(weights)
    table = np.array([float(tail.at(x, TABLE_BITS).mid()) for x in range(first, last + 1)])
    of_weight = table[np.minimum(weights, last) - first]
    at_least = np.searchsorted(table, words.astype(np.float64) / TWO_TO_64 * of_weight * (1 - margin), side="right")
    at_most = np.searchsorted(
        table, (words.astype(np.float64) + 1) / TWO_TO_64 * of_weight * (1 + margin), side="right"
    )
    unsure = (at_least != at_most) | (at_least == 0) | (at_most == len(table)) | (of_weight < MIN_TAIL)
    return weights - (first + at_least), unsure


def exact(core: Core, word: int, tail: Tail, weight: int) -> int:
    """Return the largest m with U G(weight) < G(weight - m), for the uniform U whose first bits are `word`."""
    core.refined += 1
    value, size = word, 64
    while True:
        excess = _largest(value, size, tail, weight)
        if excess is not None:
            return excess
        value, size = value << 64 | core.source.word(), size + 64


def _largest(value: int, size: int, tail: Tail, weight: int) -> int | None:
    """Return this m where `size` bits of U decide it, or None. 0 steps are never too many, since U is below 1."""
    bits = size + 32
    total = tail.at(weight, bits)

    def enough(m: int) -> bool | None:
        with ctx.workprec(bits):
            scaled = tail.at(weight - m, bits) * arb(2) ** size
            if scaled >= (value + 1) * total:
                return True
            return False if scaled <= value * total else None

    low, high = 0, 1
    while (is_enough := enough(high)) is True:
        low, high = high, 2 * high
    while is_enough is False and high - low > 1:
        middle = (low + high) // 2
        is_enough = enough(middle)
        low, high = (middle, high) if is_enough else (low, middle)
        is_enough = None if is_enough is None else False
    return None if is_enough is None else low
