"""Levels of loss: how many answers have a loss of at most m, for weights that fall with the loss.

For losses that are whole numbers, e^(-rate L) is the sum of (1 - e^-rate) e^(-rate m) over all m >= L. So an answer
with probability in proportion to e^(-rate L) is a uniform one among those of loss at most m, after drawing m with
mass e^(-rate m) N(m): only positive terms, however large the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Protocol

from flint import arb, ctx

from dpselect.reals import enclose

NEGLIGIBLE = 45.0  # e^-45 < 2^-64: what is lighter is not worth a look, though it keeps its place


def power(exponent: Fraction, bits: int) -> arb:
    """The ball of e^exponent."""
    with ctx.workprec(bits):
        return enclose(exponent).exp()


class Ways(Protocol):
    """How many answers have a loss of at most m."""

    def __call__(self, loss: int, bits: int) -> arb:
        """The ball of N(loss)."""
        ...


@dataclass(frozen=True, eq=False)
class Levels:
    """m = 0, 1, ... with mass e^(-rate m) N(m), for `Draws.among`.

    N is constant from the spread of the counts on, so all of these m are one candidate, of mass
    e^(-rate spread) N(spread) / (1 - e^-rate). The range below is cut at places where little is left, as a hint.
    """

    rate: Fraction
    spread: int
    ways: Ways
    cuts: Sequence[int]  # ascending, from 0 to the spread

    @cached_property
    def sizes(self) -> list[int]:
        """The pieces between the cuts, then the one candidate for all m beyond the spread."""
        return [b - a for a, b in zip(self.cuts[:-1], self.cuts[1:], strict=True)] + [1]

    def layer(self, family: int, x: int) -> tuple[int, int | None]:
        """m and m + 1: an answer of loss L lies in the layers of all m >= L. The last one has no end."""
        loss = self.loss(family, x)
        return loss, loss + 1 if family < len(self.cuts) - 1 else None

    def loss(self, family: int, x: int) -> int:
        """The m that a candidate stands for."""
        return self.cuts[family] + x

    def fall(self, family: int, x: int, bits: int) -> arb:
        """e^(-rate m), for all m from here on together at the spread."""
        one = power(-self.rate * self.loss(family, x), bits)
        if family < len(self.cuts) - 1:
            return one
        with ctx.workprec(bits):
            return one / -enclose(-self.rate).expm1()

    def rise(self, family: int, x: int, bits: int) -> arb:
        """N(m)."""
        return self.ways(self.loss(family, x), bits)


def cuts(rate: Fraction, spread: int, log_ways: Callable[[int], float]) -> list[int]:
    """0, 1, the spread, and in between places after which less than about e^-45 of the whole is left (N(0) >= 1)."""
    found, end = [spread], spread
    while end:
        nearer = ceil((log_ways(end) + NEGLIGIBLE) / float(rate))
        if nearer > 3 * end / 4:
            break
        found.append(end := nearer)
    return sorted({0, min(1, spread), *found})
