"""Limits of what questions may take together, what they have taken of them, and what a share of them is.

Proof: docs/composing.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import MAX_BITS, MIN_EPSILON, rounded_down, rounded_up
from dpselect.accounting.prices import Spent
from dpselect.errors import ParameterError

KEPT = 128  # bits of a sum that is written in few digits
NOTHING = Spent()
SMALL = 25  # a small question of divergence r has an epsilon of about sqrt(25 r / order), give or take a factor of 2


@dataclass(frozen=True)
class Limits:
    """Sums are within them if the failures fit, and the epsilons or the divergences do.

    Those of a promise are what it can keep (docs/composing.md). Narrower ones are caps, for one analyst or for all.

    >>> limits = Limits(Fraction(1), Fraction(1, 2), Fraction(1, 10**6))
    >>> limits.hold(Spent(Fraction(2), Fraction(1, 4))), float(limits.part(Spent(Fraction(2), Fraction(1, 4))))
    (True, 0.5)
    """

    epsilon: Fraction
    renyi: Fraction | None
    failure: Fraction

    def hold(self, total: Spent) -> bool:
        """Return whether these sums are within the limits."""
        if total.failure > self.failure:
            return False
        return total.epsilon <= self.epsilon or (self.renyi is not None and total.renyi <= self.renyi)

    def part(self, total: Spent) -> Fraction:
        """Return the part of the limits that sums use up: of the failures, or of the rule that has more room.

        At most 1 for sums within them, and above 1 for others.
        """
        used_part = _part(total.epsilon, self.epsilon)
        if self.renyi is not None:
            used_part = min(used_part, _part(total.renyi, self.renyi))
        return max(used_part, _part(total.failure, self.failure))

    def left(self, spent: Spent, whole_limits: Limits) -> Fraction:
        """Return what sums leave of these limits, in parts of others; below 0 for sums that are not within them."""
        left_part = _left_part(self.epsilon - spent.epsilon, whole_limits.epsilon)
        if self.renyi is not None and whole_limits.renyi is not None:
            left_part = max(left_part, _left_part(self.renyi - spent.renyi, whole_limits.renyi))
        return min(left_part, _left_part(self.failure - spent.failure, whole_limits.failure))

    def within(self, other: Limits) -> Limits:
        """Return the limits within both, of which one is a cap in the account of the other."""
        renyi = None if self.renyi is None or other.renyi is None else min(self.renyi, other.renyi)
        return Limits(min(self.epsilon, other.epsilon), renyi, min(self.failure, other.failure))

    def scaled(self, share: Fraction) -> Limits:
        """Return a share of each limit."""
        renyi = None if self.renyi is None else self.renyi * share
        return Limits(self.epsilon * share, renyi, self.failure * share)


def _left_part(amount: Fraction, total: Fraction) -> Fraction:
    """Return the part of a total that is left; of a total of 0 all is left unless more was used."""
    return amount / total if total else Fraction(1 if amount >= 0 else -1)


def _part(amount: Fraction, total: Fraction) -> Fraction:
    """Return the part of a total that an amount uses; of a total of 0 anything is more than all."""
    if total:
        return amount / total
    return Fraction(2) if amount else Fraction(0)


@dataclass(frozen=True)
class Taken:
    """Both sums as one value, which an account exchanges whole: nobody ever sees a half of a change.

    A ceiling that was opened is subtracted exactly, so that open ceilings never add up to less than they are.

    >>> open = Taken().opening(Spent(Fraction(1, 2)))
    >>> float(open.total.epsilon), float(open.settling(Spent(Fraction(1, 2)), Spent(Fraction(1, 8))).total.epsilon)
    (0.5, 0.125)
    """

    settled: Spent = NOTHING
    pending: Spent = NOTHING

    @property
    def total(self) -> Spent:
        """The settled sums and the ceilings of open questions together."""
        return self.settled + self.pending

    def opening(self, ceiling: Spent) -> Taken:
        """Return the sums with one more question open."""
        return Taken(self.settled, self.pending + ceiling)

    def settling(self, ceiling: Spent, spent: Spent) -> Taken:
        """Return the sums with an answer in place of an open question."""
        total = self.settled + spent
        settled = Spent(_short(total.epsilon), _short(total.renyi), _short(total.failure))
        return Taken(settled, self.pending - ceiling)


def _short(amount: Fraction) -> Fraction:
    """Round an amount up to few digits: a sum of prices of many denominators could not be written, nor added quickly.

    It is rounded to bits of its own size, because budgets and their deltas may be of any.
    """
    if amount.denominator.bit_length() <= MAX_BITS:
        return amount
    size = amount.numerator.bit_length() - amount.denominator.bit_length()
    grid = 1 << max(0, KEPT - size)
    return Fraction(-(-amount.numerator * grid // amount.denominator), grid)


@dataclass(frozen=True)
class Sharing:
    """Shares of an account of this order: of the tightest of its limits."""

    order: int | None
    limits: Sequence[Limits]

    def part(self, query: Any) -> Fraction:
        """Return the part that any answer to a question takes at most, but for failures."""
        price = query.price_at(self.order)
        return max(limits.part(Spent(price.epsilon, price.renyi)) for limits in self.limits)

    def delta(self, share: Fraction) -> Fraction:
        """Return the share of the delta for failures."""
        return min(limits.failure for limits in self.limits) * share

    def start(self, share: Fraction) -> Fraction:
        """Return about the epsilon of a question of this share, where a search shall begin."""
        return max(MIN_EPSILON, min(self._start(limits, share) for limits in self.limits))

    def _start(self, limits: Limits, share: Fraction) -> Fraction:
        renyi = 0 if limits.renyi is None or self.order is None else SMALL * limits.renyi * share / self.order
        return max(limits.epsilon * share, Fraction(math.sqrt(renyi)))

    def check_failure(self, query: Any, share: Fraction) -> None:
        """Raise ParameterError where a question may fail with more than the share of the delta for failures."""
        max_delta, delta = self.delta(share), query.price.delta
        if delta > max_delta:
            raise ParameterError("delta", f"be at most {rounded_down(max_delta)} for this share", rounded_up(delta))
