"""Levels of loss: how many answers have a loss of at most m, for weights that fall with the loss.

For integer losses, e^(-rate L) is the sum of (1 - e^-rate) e^(-rate m) over all m >= L. So an answer
with probability in proportion to e^(-rate L) is a uniform one among those of loss at most m, after drawing m with
mass e^(-rate m) N(m): only positive terms, however large the numbers. Proof:
docs/mechanisms/joint.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Protocol

from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import enclose
from dpselect.mechanisms.joint.ranked import NEGLIGIBLE, power


class LossWays(Protocol):
    """A count of the answers that have a loss of at most m."""

    def __call__(self, loss: int, bits: int) -> arb:
        """Return the ball of N(loss)."""
        ...


@dataclass(frozen=True, eq=False)
class Levels:
    """The candidates m = 0, 1, ... have mass e^(-rate m) N(m), for `Draws.sample_product`.

    N is constant from the spread of the counts on, so all of these m are one candidate, of mass
    e^(-rate spread) N(spread) / (1 - e^-rate). The cuts of the range below only make it faster: beyond each of them
    little mass is left.
    """

    rate: Fraction
    spread: int
    ways: LossWays
    cuts: Sequence[int]  # ascending, from 0 to the spread

    @cached_property
    def sizes(self) -> list[int]:
        """The sizes of the families: the pieces between the cuts, then one candidate for all m from the spread on."""
        return [b - a for a, b in zip(self.cuts[:-1], self.cuts[1:], strict=True)] + [1]

    def loss(self, family: int, x: int) -> int:
        """Return the m of a candidate."""
        return self.cuts[family] + x

    def fall(self, family: int, x: int, bits: int) -> arb:
        """Return e^(-rate m); for the last candidate, the sum over all m from the spread on."""
        mass = power(-self.rate * self.loss(family, x), bits)
        if family < len(self.cuts) - 1:
            return mass
        with ctx.workprec(bits):
            return mass / -enclose(-self.rate).expm1()

    def rise(self, family: int, x: int, bits: int) -> arb:
        """Return N(m) of a candidate."""
        return self.ways(self.loss(family, x), bits)


def cuts(rate: Fraction, spread: int, log_ways: Callable[[int], float]) -> list[int]:
    """Cut at 0, 1, the spread, and points beyond which less than about e^-45 of the mass is left (N(0) >= 1)."""
    kept_cuts, end = [spread], spread
    while end:
        nearer = ceil((log_ways(end) + NEGLIGIBLE) / float(rate))
        if nearer > 3 * end / 4:
            break
        kept_cuts.append(end := nearer)
    return sorted({0, min(1, spread), *kept_cuts})
