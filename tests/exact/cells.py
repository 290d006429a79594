"""Laws of values with noisy cells: cells enter enumerated laws without noise, whose law is known in closed form.

Between two data sets only cells that differ tell anything. A cell of c on one side and c + d on the other, with Laplace
noise of one rate, tells as much as the noisy number cut to c..c + d: beyond these ends the loss stays the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import groupby
from typing import Any

from flint import arb, ctx

from dpselect._ground.reals import Exp
from dpselect.mechanisms.certified_quantiles import CertifiedValues
from dpselect.testing import ExactDraws, Law, law
from tests.exact.laws import BITS


class WithoutNoise(ExactDraws):
    """Follows every draw but that of noise, which is 0."""

    def laplaces(self, rate: Fraction, n: int) -> list[int]:  # noqa: ARG002
        """Draw no noise."""
        return [0] * n


def cells_of(answer: CertifiedValues) -> tuple[int, ...]:
    """The cells from which an answer's numbers of users were added up."""
    last, found = 0, []
    for _, (which, *_rest) in groupby(range(len(answer.values)), key=answer.values.__getitem__):
        upto = answer.users - answer.above[which]
        found += [answer.below[which] - last, upto - answer.below[which]]
        last = upto
    return (*found, answer.users - last)


def law_of_cells(mechanism: Any, values: Any) -> Law:
    """The law of the values, and the true cells that come with them, by the real call."""

    return law(lambda draws: values_and_cells(mechanism(values, draws=draws)), WithoutNoise)


def values_and_cells(answer: CertifiedValues) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """All that an answer says."""
    return tuple(answer.values), cells_of(answer)


def with_noise(own: Law, other: Law, rate: Fraction) -> Law:
    """The law of values and of noisy cells, cut to where the other data set differs; both have the same values."""
    cells_there = dict(other.keys())  # of each list of values
    found: Law = {}
    with ctx.workprec(BITS):
        for (values, cells), p in own.items():
            there = cells_there[values]
            outcomes: list[tuple[tuple[int, ...], arb]] = [((), p)]
            for mine, theirs in zip(cells, there, strict=True):
                noisy = list(_cut(mine, min(mine, theirs), max(mine, theirs), rate))
                outcomes = [((*key, y), a * b) for key, a in outcomes for y, b in noisy]
            for key, mass in outcomes:
                found[values, key] = found.get((values, key), arb(0)) + mass
        assert abs(sum(found.values()) - 1) < 1e-30
    return found


def _cut(center: int, low: int, high: int, rate: Fraction) -> Iterator[tuple[int, arb]]:
    """The law of center + Z, cut to low..high, which hold the center at an end."""
    q = Exp(-rate).ball(BITS)
    if low == high:
        yield low, arb(1)
        return
    for y in range(low, high + 1):
        size = q ** abs(y - center) / (1 + q)
        yield y, size if y in (low, high) else size * (1 - q)


def both_ways(pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[tuple[Any, Any], tuple[Any, Any]]]:
    """Each pair of data sets as two that know each other, for laws that `with_noise` makes."""
    for a, b in pairs:
        yield (a, b), (b, a)
