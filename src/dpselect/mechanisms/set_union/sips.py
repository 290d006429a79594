"""SIPS: rounds of weighted Gaussian release; what is released is removed, so that users contribute to what is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from dpselect._ground.parameters import Number, Progress
from dpselect._ground.privacy import Privacy
from dpselect.aggregates.user_sets import Int64, Sets, summed
from dpselect.draws import Draws
from dpselect.mechanisms.port import promise, settle
from dpselect.mechanisms.set_union.port import UNIT, parse
from dpselect.mechanisms.set_union.release_laws import GaussianTail, gaussian_tail, root_up, smallest_deviation
from dpselect.mechanisms.set_union.rounds import in_rounds, parts_of
from dpselect.mechanisms.set_union.weighted import rooted, weighted


@dataclass(frozen=True, kw_only=True)
class SIPS:
    """Release items in `rounds` rounds of weighted Gaussian release, each with a larger part of the budget.

    In each round every user keeps a new random `max_items_per_user` of those of their items that are not released yet
    and contributes 1/sqrt(t) to each of these t. Of the budget round r gets a part in proportion to split^(rounds - r).
    A call with a `part` below 1 spends that part of it: calls of the same epsilon and delta whose parts add up to 1 are
    (epsilon, delta)-DP together.

    Guarantee: (epsilon, delta)-DP; half of delta for all noise, half for items that only one data set has.
    Neighbors: add-remove.
    Sensitivity: a user moves the weights of each round by at most 1 in the l2 norm. Removing what is released is
        post-processing, so rounds compose as Gaussian noise does: 1 / deviation^2 adds up.
    Exactness: weights are integer multiples of 2^-30, 1/sqrt(t) rounded down, and each item is one exact Bernoulli
        draw a round of P(weight + noise > threshold); noise and thresholds are proved, rounded up.
    Cost: one pass over the pairs that are left and one draw an item, each round.
    Source: Swanberg, Desfontaines and Haney 2023 (DP-SIPS). Ours: all rounds by one Gaussian bound, the
        proof, and the default split by measurement (its page).
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> SIPS(epsilon=1, delta="1e-9", max_items_per_user=9)(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int
    rounds: int = 3
    split: Number = Fraction(1, 10)
    part: Number = 1
    parts: tuple[Fraction, ...] = field(init=False, repr=False)
    laws: tuple[GaussianTail, ...] = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    slack: Fraction = field(init=False, default=Fraction(0), repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        parts = parts_of(self)
        deviation = smallest_deviation(epsilon, delta / 2)
        most = self.max_items_per_user
        laws = tuple(gaussian_tail(deviation * root_up(1 / one), one * delta / 2, most, self.share) for one in parts)
        settle(self, parts=parts, laws=laws, privacy=promise(epsilon, delta, "SIPS"))

    @property
    def thresholds(self) -> tuple[Fraction, ...]:
        """The weight that is released with probability one half, in each round."""
        return tuple(law.threshold for law in self.laws)

    @property
    def threshold(self) -> Fraction:
        """The smallest of the thresholds."""
        return min(self.thresholds)

    def share(self, t: int) -> Fraction:
        """1/sqrt(t), rounded down."""
        return Fraction(rooted(t), UNIT)

    def __call__(self, sets: Sets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        rounds = [(partial(summed, partial(weighted, parts=rooted)), UNIT, law) for law in self.laws]
        return in_rounds(sets, self.max_items_per_user, rounds, draws, progress)
