"""Noisy sums and means of items that were selected, and between which numbers the true ones lie.

Proof: docs/mechanisms/contributions.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpselect._ground import parameters
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy, PureDP, Steps
from dpselect.accounting.composition import frugal
from dpselect.aggregates.measures import Mean, Measure, Measured, noises
from dpselect.draws import Draws, secure
from dpselect.mechanisms.gaps import laplace_width
from dpselect.mechanisms.port import set_fields


@dataclass(frozen=True)
class Estimate:
    """A noisy number and its interval, in the unit of the column."""

    value: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True, kw_only=True)
class NoisyMeasures:
    """Release measures of k selected items: of each sum one noisy number, of each mean a noisy sum and a noisy number.

    Guarantee: (epsilon, delta)-DP for all of them together: each noisy number is one epsilon_per_noise-DP step.
    Neighbors: add-remove.
    Sensitivity: one user changes each sum by at most its `sensitivity`, each number of users by at most 1, and those of
        at most `max_items_per_user` of the k items if that is given.
    Exactness: P(noise = z) is exactly proportional to exp(-epsilon_per_noise |z| / sensitivity) over all integers z.
    Cost: two or three random decisions for each bit of a noise.
    Source: Ghosh, Roughgarden and Sundararajan 2009; the noisy mean of a bounded column as in Li, Lyu, Su and Yang
        2016, Section 2.5, around the middle of the bounds; the interval is ours (docs/mechanisms/contributions.md).
    """

    measures: Sequence[Measure]
    k: int
    epsilon_per_noise: Number
    max_items_per_user: int | None = None
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k = parameters.listed_size("k", self.k)
        each = parameters.epsilon("epsilon_per_noise", self.epsilon_per_noise)
        if self.max_items_per_user is not None:
            parameters.whole_number("max_items_per_user", self.max_items_per_user, minimum=1)
        set_fields(self, measures=tuple(self.measures), k=k, epsilon_per_noise=each)
        steps = self.steps_of(k)
        total = frugal(steps, Fraction(0))
        privacy = Privacy(epsilon=total.epsilon, delta=total.delta, neighbors=Neighbors.ADD_REMOVE, steps=steps)
        set_fields(self, privacy=privacy)

    @property
    def noises(self) -> int:
        """How many noisy numbers an item comes with."""
        return noises(self.measures)

    def steps_of(self, items: int) -> tuple[Steps, ...]:
        """Those of so many items."""
        moved = items if self.max_items_per_user is None else min(items, self.max_items_per_user)
        return tuple(step for step in (Steps(PureDP(Fraction(self.epsilon_per_noise)), moved * self.noises),) if moved)

    def rate(self, measure: Measure) -> Fraction:
        """Noise z on a sum of steps weighs exp(-rate |z|)."""
        return Fraction(self.epsilon_per_noise) / measure.sensitivity

    def width(self, measure: Measure, beta: float) -> Fraction | None:
        """The error that a sum exceeds with probability at most beta; that of a mean hangs on its users."""
        return None if isinstance(measure, Mean) else laplace_width(self.rate(measure), beta) * measure.step

    def __call__(
        self, found: Sequence[Sequence[Measured]], beta: float, *, draws: Draws | None = None
    ) -> list[list[Estimate]]:
        """The measures of each item, in the order given; each interval holds the true number but with chance beta."""
        draws = secure(draws)
        return [
            [self._noisy(measure, one, beta, draws) for measure, one in zip(self.measures, item, strict=True)]
            for item in found
        ]

    def _noisy(self, measure: Measure, found: Measured, beta: float, draws: Draws) -> Estimate:
        total = found.total + draws.laplace(self.rate(measure))
        if isinstance(measure, Mean):
            each = Fraction(self.epsilon_per_noise)
            users = found.users + draws.laplace(each)
            return mean_of(
                measure, total, users, laplace_width(self.rate(measure), beta, 2), laplace_width(each, beta, 2)
            )
        width, step = laplace_width(self.rate(measure), beta), measure.step
        ends = [_signed(measure, end) * step for end in (total - width, total + width)]
        return Estimate(total * step, *ends)


def mean_of(measure: Mean, total: int, users: int, of_total: int, of_users: int) -> Estimate:
    """A mean and its interval, from a noisy sum of steps from the middle and a noisy number of users.

    The true sum and number lie within `of_total` and `of_users` of them, and there is one user or more: a mean of
    nobody may be anything. The quotient is monotone in each, so its ends are among those of the two.
    """
    fewest, most = max(1, users - of_users), max(1, users + of_users)
    least, largest = total - of_total, total + of_total
    low = Fraction(least, most if least > 0 else fewest)
    high = Fraction(largest, fewest if largest > 0 else most)
    middle = (Fraction(measure.low) + Fraction(measure.high)) / 2

    def inside(steps: Fraction) -> Fraction:
        return min(max(middle + steps * measure.step, Fraction(measure.low)), Fraction(measure.high))

    return Estimate(inside(Fraction(total, max(1, users))), inside(low), inside(high))


def _signed(measure: Measure, steps: int) -> int:
    """An end of a sum's interval: where no user has a total below 0, or above 0, no sum is there."""
    least, most = (Fraction(measure.low), Fraction(measure.high))
    return max(0, steps) if least >= 0 else min(0, steps) if most <= 0 else steps
