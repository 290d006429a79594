"""Limits of what questions may take together: of failures, and of epsilons or else of divergences of one order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpselect.accounting.two_prices import Spent


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
        """Are these sums within the limits?"""
        if total.failure > self.failure:
            return False
        return total.epsilon <= self.epsilon or (self.renyi is not None and total.renyi <= self.renyi)

    def part(self, total: Spent) -> Fraction:
        """The part of the limits that sums use up: of the failures, or of the rule that has more room.

        At most 1 for sums within them, and above 1 for others.
        """
        used = _part(total.epsilon, self.epsilon)
        if self.renyi is not None:
            used = min(used, _part(total.renyi, self.renyi))
        return max(used, _part(total.failure, self.failure))

    def left(self, used: Spent, of: Limits) -> Fraction:
        """What sums leave of these limits, in parts of others; below 0 for sums that are not within them."""
        rest = _rest(self.epsilon - used.epsilon, of.epsilon)
        if self.renyi is not None and of.renyi is not None:
            rest = max(rest, _rest(self.renyi - used.renyi, of.renyi))
        return min(rest, _rest(self.failure - used.failure, of.failure))

    def within(self, other: Limits) -> Limits:
        """What is within both, of which one is a cap in the account of the other."""
        renyi = None if self.renyi is None or other.renyi is None else min(self.renyi, other.renyi)
        return Limits(min(self.epsilon, other.epsilon), renyi, min(self.failure, other.failure))

    def scaled(self, share: Fraction) -> Limits:
        """A share of each."""
        renyi = None if self.renyi is None else self.renyi * share
        return Limits(self.epsilon * share, renyi, self.failure * share)


def _rest(amount: Fraction, of: Fraction) -> Fraction:
    """Where there is nothing of it, all is left unless more was used."""
    return amount / of if of else Fraction(1 if amount >= 0 else -1)


def _part(amount: Fraction, of: Fraction) -> Fraction:
    """Of nothing, nothing is no part; anything else is more than all."""
    if of:
        return amount / of
    return Fraction(2) if amount else Fraction(0)
