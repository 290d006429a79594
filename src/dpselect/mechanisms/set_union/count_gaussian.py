"""Counts with Gaussian noise and a threshold; the noise that decided may be shown, for nothing more."""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import ClassVar

from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import enclose
from dpselect.accounting.gaussian_curve import gaussian_delta, smallest_deviation
from dpselect.aggregates.user_sets import Int64
from dpselect.draws import Draws
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.set_union.count import UserCounts
from dpselect.mechanisms.set_union.port import SetUnion, parse
from dpselect.mechanisms.set_union.release_laws import (
    FINEST,
    LARGEST_GUESSED_DELTA,
    PRECISION,
    GaussianTail,
    gaussian_tail,
    interval_of_users,
    root_up,
    sample_sizes,
)

MOST_JOINT = 10**5  # items of a user up to which noise and threshold share delta; beyond, each has half
CERTAIN = 40  # deviations beyond which an interval does not search


@dataclass(frozen=True, kw_only=True)
class CountGaussian(SetUnion):
    """Release the items whose number of users plus Gaussian noise is above a threshold, and that sum if wanted.

    Guarantee: (epsilon, delta)-DP, also for the noisy counts of the released items. The noise alone takes all of delta
        where no item is new, the threshold all of it where all are; between them they share it.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and moves each count by 1: its square root
        in the l2 norm.
    Exactness: each item is one exact Bernoulli draw of P(count + noise > threshold), and a noisy count is drawn from
        the law that it has then; noise and threshold are proved, rounded up.
    Cost: one pass over the pairs, one draw an item.
    Source: Wilson et al. 2020 with Gaussian noise, as in Gopi et al. 2020; Balle and Wang 2018, Theorem 8, for the
        noise; after Wilkins, Kifer, Zhang and Karrer 2024 for both together, proof on the page of set unions.
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> sets = UserSets.from_sets([["a"]] * 90 + [["b"]])
        >>> CountGaussian(epsilon=1, delta="1e-9", max_items_per_user=1)(sets).tolist()
        [0]
    """

    max_items_per_user: int
    noise: ClassVar[str] = "Gaussian"
    law: GaussianTail = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        max_items = self.max_items_per_user
        # To certify more numbers of new items would take long.
        part = delta if max_items <= MOST_JOINT else delta / 2
        deviation = smallest_deviation(epsilon, part) * (1 if max_items == 1 else root_up(Fraction(max_items)))
        if max_items <= MOST_JOINT:
            law = GaussianTail(joint_threshold(deviation, epsilon, delta, max_items), deviation)
        else:
            law = gaussian_tail(deviation, part, max_items, lambda _: Fraction(1))
        set_fields(self, weighting=UserCounts(), law=law, privacy=promise(epsilon, delta, "count, Gaussian"))

    @property
    def deviation(self) -> Fraction:
        """The standard deviation of the noise."""
        return self.law.deviation

    def noisy(self, counts: Int64, draws: Draws) -> list[int]:
        """Draw the noisy counts of released items, to the nearest whole number: what decided that they are released."""
        steps = draws.gaussians_above(self.deviation, self.threshold, counts)
        return [self.least + int(step) for step in steps]

    @property
    def least(self) -> int:
        """The least noisy count."""
        return self.threshold.__floor__() + 1

    def interval(self, noisy: int, beta: float) -> tuple[int, int]:
        """Return between which numbers of users an item lies whose noisy count came to this, above the threshold."""
        return interval_of_users(noisy, self._tail_if_released, math.ceil(CERTAIN * float(self.deviation)), beta)

    def width(self, beta: float) -> int:
        """Return how near a noisy count is that lies far above the threshold."""
        return math.ceil(-NormalDist().inv_cdf(beta / 2) * float(self.deviation))

    def _tail_if_released(self, noisy: int, users: int) -> float:
        """Return P(the noisy count is at least this), given that it is above the threshold."""
        deviation, threshold = float(self.deviation), float(self.threshold)
        level = float(noisy - self.least + self.threshold)
        if level <= threshold:
            return 1.0
        gap = (threshold - users) / deviation
        released = _tail(gap)
        return _tail((level - users) / deviation) / released if released > 0 else 0.0


def _tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


@lru_cache(maxsize=256)
def joint_threshold(deviation: Fraction, epsilon: Fraction, delta: Fraction, max_items: int) -> Fraction:
    """Return the least threshold, to twelve digits, with q(j) + d(j) <= delta for every number j of new items.

    q(j) is the probability that one of j items of one user is released, d(j) the delta of the noise on the other
    most - j items of that user: docs/mechanisms/set-union.md.
    """
    guess = max(_guess(deviation, epsilon, delta, max_items, j) for j in sample_sizes(max_items))
    raised = (abs(guess) + 1) * FINEST
    while True:
        threshold = guess + raised
        refused_number = too_much(GaussianTail(threshold, deviation), epsilon, delta, max_items)
        if refused_number is None:
            return threshold
        guess = max(guess, _guess(deviation, epsilon, delta, max_items, refused_number))
        raised *= 2


def too_much(law: GaussianTail, epsilon: Fraction, delta: Fraction, max_items: int) -> int | None:
    """Return a number j of new items for which q(j) + d(j) <= delta is not certain, or None: proved for all.

    q rises with j and d falls, so over a .. b one comparison, of q(b) + d(a), may decide them all.
    """
    todo = [(1, max_items)]
    while todo:
        a, b = todo.pop()
        with ctx.workprec(PRECISION):
            if _released(law, b) + _noise(law.deviation, epsilon, max_items - a) <= enclose(delta):
                continue
        if a == b:
            return a
        middle = (a + b) // 2
        todo += [(a, middle), (middle + 1, b)]
    return None


def _released(law: GaussianTail, new: int) -> arb:
    """Return q: the probability that one of so many items of one user is released, a ball at the current precision."""
    return -((-law.of_gap(law.threshold - 1)).log1p() * new).expm1()


def _noise(deviation: Fraction, epsilon: Fraction, shared: int) -> arb:
    """Return d: the delta of the noise where one user moves so many counts by 1; a bound at the current precision."""
    return gaussian_delta(deviation / root_up(Fraction(shared)), epsilon) if shared else arb(0)


def _guess(deviation: Fraction, epsilon: Fraction, delta: Fraction, max_items: int, new: int) -> Fraction:
    """Return a number near the threshold that so many new items ask for."""
    with ctx.workprec(PRECISION):
        remaining = float((enclose(delta) - _noise(deviation, epsilon, max_items - new)).lower())
    if remaining <= 0:
        return Fraction(1)
    per_item = -math.expm1(math.log1p(-min(remaining, LARGEST_GUESSED_DELTA)) / new)
    return 1 - Fraction(float(deviation) * NormalDist().inv_cdf(per_item))
