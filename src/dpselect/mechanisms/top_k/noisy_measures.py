"""Noisy sums and means of items that were selected, and between which numbers the true ones lie.

Proof: docs/mechanisms/contributions.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy, PureDP, SpentSteps, Steps
from dpselect.accounting.composition import basic
from dpselect.aggregates.measures import Mean, Measure, Measured, Sum, noises
from dpselect.draws import Draws, secure
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.top_k.noisy_counts import CountNoise, NoisyCounts
from dpselect.mechanisms.top_k.sharp_counts import SharpCounts


@dataclass(frozen=True)
class Estimate:
    """A noisy number and its interval, in the unit of the column."""

    value: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True, kw_only=True)
class NoisyMeasures:
    """Release measures of k selected items: of each sum one noisy number, of each mean a noisy sum and a noisy number.

    Guarantee: given the items, (epsilon, delta)-DP for all of them together: each noisy number is one
        epsilon_per_noise-DP step; but sums of one sign have the price of `sums`, if these are given.
    Neighbors: add-remove.
    Sensitivity: one user changes each sum by at most its `sensitivity`, each number of users by at most 1, and those of
        at most `max_items_per_user` of the k items if that is given. Sums of one sign all change in one direction.
    Exactness: P(noise = z) is exactly proportional to exp(-epsilon_per_noise |z| / sensitivity) over all integers z,
        or both noises of `sums` are exactly discrete Gaussian or discrete Laplace.
    Cost: two or three random decisions for each bit of a noise.
    Source: Ghosh, Roughgarden and Sundararajan 2009; the noisy mean of a bounded column as in Li, Lyu, Su and Yang
        2016, Section 2.5, around the middle of the bounds; the interval is ours (docs/mechanisms/contributions.md).
        Noise of sums of one sign: docs/mechanisms/shared-noise.md.
    """

    measures: Sequence[Measure]
    k: int
    epsilon_per_noise: Number
    max_items_per_user: int | None = None
    sums: SharpCounts | None = None  # what sums of one sign would have for users who move them by 0 or 1

    def __post_init__(self) -> None:
        k = parameters.listed_size("k", self.k)
        epsilon_per_noise = parameters.epsilon("epsilon_per_noise", self.epsilon_per_noise)
        if self.max_items_per_user is not None:
            parameters.whole_number("max_items_per_user", self.max_items_per_user, minimum=1)
        set_fields(self, measures=tuple(self.measures), k=k, epsilon_per_noise=epsilon_per_noise)

    @property
    def privacy(self) -> Privacy:
        """The price of all of them where epsilons add up."""
        steps, failure, related = self.steps_of(self.k), self.failure, Neighbors.ADD_REMOVE
        return Privacy(epsilon=basic(steps), delta=failure, neighbors=related, steps=steps, failure=failure)

    @property
    def noises(self) -> int:
        """The number of noisy numbers that an item comes with."""
        return noises(self.measures)

    @property
    def of_one_sign(self) -> int:
        """The number of measures that are sums of one sign."""
        return sum(1 for measure in self.measures if has_one_sign(measure))

    @property
    def failure(self) -> Fraction:
        """The probability that Gaussian noise may fail by where epsilons add up."""
        return Fraction(0) if self.sums is None else self.sums.failure

    def steps_of(self, items: int) -> tuple[SpentSteps, ...]:
        """Return the steps of so many items."""
        moved = items if self.max_items_per_user is None else min(items, self.max_items_per_user)
        together = 0 if self.sums is None else self.of_one_sign
        plain = Steps(PureDP(Fraction(self.epsilon_per_noise)), moved * (self.noises - together))
        return (*((plain,) if plain.times else ()), *(self.sums.steps_of(*[items] * together) if self.sums else ()))

    def noise_of(self, measure: Measure) -> CountNoise:
        """Return the noise of a sum, in its steps; of a mean, that of its distances from the middle."""
        if self.sums is not None and has_one_sign(measure):
            return self.sums.of_sums(measure.sensitivity)
        return NoisyCounts(k=self.k, epsilon_per_count=self.epsilon_per_noise, sensitivity=measure.sensitivity)

    def width(self, measure: Measure, beta: float) -> Fraction | None:
        """Return the error that a sum exceeds with probability at most beta; that of a mean depends on its users."""
        return None if isinstance(measure, Mean) else self.noise_of(measure).width(beta) * measure.step

    def __call__(
        self, measured: Sequence[Sequence[Measured]], beta: float, *, draws: Draws | None = None
    ) -> list[list[Estimate]]:
        """Return the measures of each item, in order; each interval holds the true number but with chance beta."""
        draws, columns = secure(draws), []
        for measure, column in zip(self.measures, zip(*measured, strict=True), strict=True):
            noise = self.noise_of(measure)
            noisy = zip(column, noise.noises(draws, len(column)), strict=True)
            totals = [numbers.total + error for numbers, error in noisy]
            of_total = noise.width(beta, 1 if isinstance(measure, Sum) else 2)
            if isinstance(measure, Sum):
                columns.append([_sum(measure, total, of_total) for total in totals])
                continue
            user_noise = NoisyCounts(k=self.k, epsilon_per_count=self.epsilon_per_noise)
            users = user_noise([numbers.users for numbers in column], draws=draws)
            of_users = user_noise.width(beta, 2)
            pairs = zip(totals, users, strict=True)
            columns.append([mean_of(measure, total, count, of_total, of_users) for total, count in pairs])
        return [list(row) for row in zip(*columns, strict=True)]


def has_one_sign(measure: Measure) -> bool:
    """Return whether it is a sum that every user moves in the same direction."""
    return isinstance(measure, Sum) and measure.has_one_sign


def _sum(measure: Sum, total: int, width: int) -> Estimate:
    """Return a noisy sum and its interval."""
    ends = [_signed(measure, end) * measure.step for end in (total - width, total + width)]
    return Estimate(total * measure.step, *ends)


def mean_of(measure: Mean, total: int, users: int, of_total: int, of_users: int) -> Estimate:
    """Return a mean and its interval, from a noisy sum of steps from the middle and a noisy number of users.

    The true sum and number lie within `of_total` and `of_users` of them, and there is one user or more: a mean of
    nobody may be anything. The quotient is monotone in each, so its ends are among those of the two.
    """
    fewest_users, most_users = max(1, users - of_users), max(1, users + of_users)
    least, largest = total - of_total, total + of_total
    low = Fraction(least, most_users if least > 0 else fewest_users)
    high = Fraction(largest, fewest_users if largest > 0 else most_users)
    middle = (Fraction(measure.low) + Fraction(measure.high)) / 2

    def inside(steps: Fraction) -> Fraction:
        return min(max(middle + steps * measure.step, Fraction(measure.low)), Fraction(measure.high))

    return Estimate(inside(Fraction(total, max(1, users))), inside(low), inside(high))


def _signed(measure: Measure, steps: int) -> int:
    """Return an end of a sum's interval, cut at 0: where no user has a total below 0, or above 0, no sum is there."""
    least, largest = (Fraction(measure.low), Fraction(measure.high))
    return max(0, steps) if least >= 0 else min(0, steps) if largest <= 0 else steps
