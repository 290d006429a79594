"""The k largest of integer scores with continuous Laplace noise, in order, without ever rounding the noise.

Laplace noise of scale 1 / rate is floor + fraction. Above 0 it is G + F, below 0 it is (-G - 1) + (1 - F), with G
geometric and F a fraction whose bits are independent Bernoulli draws. So a noisy score is an integer that is drawn,
and bits that are drawn only where two integers are equal. Proof: docs/exact-draws.md.

Few candidates get an integer at all: a Bernoulli draw decides for each whether it reaches a cut, one binomial for all
of a group. Where fewer than k do, the cut is lowered, and the draws are made given that the remaining candidates lie
below the last cut.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from functools import cmp_to_key
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import Logistic, enclose
from dpselect.draws.binomial import binomial
from dpselect.draws.core import Core
from dpselect.draws.group_bernoullis import group_bernoullis
from dpselect.draws.near import kth_largest
from dpselect.draws.peeling import peel
from dpselect.draws.weights import Scores, Weights

if TYPE_CHECKING:
    import numpy.typing as npt

FINE = Fraction(1, 2)  # the largest rate in the unit of the integers: a smaller unit is taken for larger ones
SPARE = 32  # candidates expected above the first cut, beyond twice k
HUGE = 2**40  # a larger group takes its own binomial, however far below a cut it lies
LOWER = 4  # how many times as many are expected above the next cut

Sizes: TypeAlias = "npt.NDArray[np.int64] | npt.NDArray[np.object_]"


def noisy_top(core: Core, weights: Weights, k: int) -> list[tuple[int, int]]:
    """Find k candidates as (group, member), best first."""
    run = _Run(core, _fine(weights))
    expected, last = 2 * k + SPARE, None
    while True:
        cut = run.cut(expected)
        run.descend(cut, last)
        reached = run.found if cut is None else [c for c in run.found if c.integer >= cut]
        if len(reached) >= k:
            return _members(core, weights, [c.group for c in sorted(reached, key=cmp_to_key(_order))[:k]])
        expected, last = LOWER * expected, cut


def _fine(weights: Weights) -> Weights:
    """Count the same scores in units of 2^-m, small enough that one unit changes little."""
    finer = 0
    while weights.rate / 2**finer > FINE:
        finer += 1
    if finer == 0 and weights.scores.dtype == np.int64:
        return weights
    scores = weights.scores
    if scores.dtype == np.int64 and int(np.abs(scores).max()) < 2**60 >> finer:
        return Weights(scores * np.int64(2**finer), weights.rate / 2**finer, weights.sizes)
    exact = np.array([int(s) << finer for s in scores], dtype=object)
    return Weights(exact, weights.rate / 2**finer, weights.sizes)


@dataclass(eq=False)
class _Noisy:
    """A candidate's noisy score is an integer, and the bits of its fraction that were needed so far."""

    core: Core
    rate: Fraction
    group: int
    integer: int
    above: bool  # noise of at least 0
    bits: list[bool] = field(default_factory=list)

    def bit(self, index: int) -> bool:
        """Return the bit that is worth 2^-(index + 1)."""
        while len(self.bits) <= index:
            exponent = self.rate / 2 ** (len(self.bits) + 1)
            self.bits.append(self.core.bernoulli(Logistic(exponent if self.above else -exponent)))
        return self.bits[index]


def _order(left: _Noisy, right: _Noisy) -> int:
    """Compare by the integers, then by the first bit that differs; negative where `left` is larger."""
    if left.integer != right.integer:
        return right.integer - left.integer
    index = 0
    while left.bit(index) == right.bit(index):
        index += 1
    return int(right.bit(index)) - int(left.bit(index))


@dataclass(frozen=True)
class _BetweenCuts:
    """The part (1 - e^-a) / (2 - e^-b) of successes at e^-(b - a) that lie between two cuts, given noise below b."""

    a: Fraction
    b: Fraction

    def ball(self, bits: int) -> arb:
        """Return the ball of the probability."""
        with ctx.workprec(bits):
            return -enclose(-self.a).expm1() / (1 - enclose(-self.b).expm1())


class _Run:
    """The run keeps the noisy scores found so far, and how many of each group are among them."""

    def __init__(self, core: Core, weights: Weights) -> None:
        self.core, self.weights, self.rate = core, weights, weights.rate
        self.found: list[_Noisy] = []
        self.taken: dict[int, int] = {}

    def cut(self, expected: int) -> int | None:
        """Choose a cut that about `expected` noisy scores reach, None for all; any function of the scores is exact."""
        if 2 * expected >= self.weights.candidate_count:
            return None
        scores = self.weights.scores
        low = _ranked(self.weights, 2 * expected)
        gaps = np.abs((scores - low).astype(np.float64)) * float(self.rate)
        sizes = 1.0 if self.weights.sizes is None else self.weights.sizes.astype(np.float64)
        is_above = scores > low
        expected_below = float((np.exp(-gaps) * sizes * ~is_above).sum()) / 2
        high = gaps[is_above]
        sizes_above = np.ones(len(high)) if isinstance(sizes, float) else sizes[is_above]

        def reach(y: float) -> float:
            survival = np.where(high < y, np.exp(-np.abs(y - high)) / 2, 1 - np.exp(-np.abs(y - high)) / 2)
            return expected_below * float(np.exp(-y)) + float((sizes_above * survival).sum())

        start, end = 0.0, float(high.max(initial=0.0)) + 100.0
        for _ in range(60):
            middle = (start + end) / 2
            start, end = (middle, end) if reach(middle) >= expected else (start, middle)
        return low + (Fraction(start) / self.rate).__floor__()

    def descend(self, cut: int | None, last: int | None) -> None:
        """Find all that reach `cut` and not `last`, and list everything whose score is above `cut`."""
        scores = self.weights.scores
        is_above = np.ones(len(scores), dtype=bool) if cut is None else np.asarray(scores > cut, dtype=bool)
        is_new = is_above if last is None else is_above & np.asarray(scores <= last, dtype=bool)
        for group in np.flatnonzero(is_new).tolist():
            for _ in range(self.weights.size(group) - self.taken.get(group, 0)):
                self._list(group, last)
        if cut is not None:
            self._reaching(np.flatnonzero(~is_above), cut, last)

    def _list(self, group: int, last: int | None) -> None:
        """Draw one candidate's noisy score, given that it is below the last cut."""
        score = int(self.weights.scores[group])
        while True:
            above, g = self.core.below(2) == 1, self.core.geometric(self.rate)
            integer = score + g if above else score - 1 - g
            if last is None or integer < last:
                self._add(group, integer, above)
                return

    def _reaching(self, groups: npt.NDArray[np.intp], cut: int, last: int | None) -> None:
        """Find the candidates of score at most the cut that reach it; their excess is memoryless."""
        sizes = self._left()[groups]
        huge = np.asarray(sizes > HUGE, dtype=bool)
        found = self._successes(groups[~huge], sizes[~huge], cut)
        for group in groups[huge].tolist():
            size = self.weights.size(group) - self.taken.get(group, 0)
            found.append((group, binomial(self.core, size, self.weights.ratio(group, cut))))
        for group, count in found:
            for _ in range(sum(self._keeps(group, cut, last) for _ in range(count))):
                self._add(group, cut + self._excess(cut, last), True)

    def _successes(self, groups: npt.NDArray[np.intp], sizes: Sizes, cut: int) -> list[tuple[int, int]]:
        """Count successes by group at probability e^(-rate (cut - score)), with the cut added as the largest weight."""
        scores: Scores = self.weights.scores[groups]
        if scores.dtype == np.int64:
            scores = np.append(scores, cut).astype(np.int64)
        else:
            scores = np.array([*scores, cut], dtype=object)
        weights = Weights(scores, self.rate, np.append(sizes.astype(np.int64), 1).astype(np.int64))
        found = group_bernoullis(self.core, weights)
        return [(int(groups[position]), count) for position, count in found if position < len(groups)]

    def _left(self) -> Sizes:
        """Count how many of each group are not found yet."""
        sizes = self.weights.sizes
        remaining: Sizes = np.ones(len(self.weights), dtype=np.int64) if sizes is None else sizes.copy()
        for group, count in self.taken.items():
            remaining[group] -= count
        return remaining

    def _keeps(self, group: int, cut: int, last: int | None) -> bool:
        if last is None:
            return self.core.below(2) == 1  # noise reaches t >= 0 with probability e^(-rate t) / 2
        score = int(self.weights.scores[group])
        return self.core.bernoulli(_BetweenCuts(self.rate * (last - cut), self.rate * (last - score)))

    def _excess(self, cut: int, last: int | None) -> int:
        while True:
            excess = self.core.geometric(self.rate)
            if last is None or cut + excess < last:
                return excess

    def _add(self, group: int, integer: int, above: bool) -> None:
        self.found.append(_Noisy(self.core, self.rate, group, integer, above))
        self.taken[group] = self.taken.get(group, 0) + 1


def _ranked(weights: Weights, rank: int) -> int:
    """Return the score of the candidate of this rank."""
    scores = weights.scores
    if weights.sizes is None and scores.dtype != np.object_:
        return int(kth_largest(scores, rank))
    order = np.argsort(-scores, kind="stable")
    sizes = np.ones(len(scores), dtype=np.int64) if weights.sizes is None else weights.sizes
    sums = np.cumsum(sizes[order])
    return int(scores[order[int(np.searchsorted(sums, rank))]])


def _members(core: Core, weights: Weights, groups: list[int]) -> list[tuple[int, int]]:
    """Draw distinct members of each group uniformly, since candidates of equal scores are exchangeable."""
    waiting = {}
    for group in set(groups):
        alike = Weights(np.zeros(1, dtype=np.int64), Fraction(1), np.array([weights.size(group)], dtype=object))
        waiting[group] = peel(core, alike, groups.count(group))
    return [(group, waiting[group].pop()[1]) for group in groups]
