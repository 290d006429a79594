"""What questions have taken from an account: what answers cost, and the ceilings of all questions still open."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpselect._ground.parameters import MOST_BITS
from dpselect.accounting.two_prices import Spent

KEPT = 128  # bits of a sum that is written in few digits
NOTHING = Spent()


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
        """All of it."""
        return self.settled + self.pending

    def opening(self, ceiling: Spent) -> Taken:
        """With one more question open."""
        return Taken(self.settled, self.pending + ceiling)

    def settling(self, ceiling: Spent, spent: Spent) -> Taken:
        """With an answer in place of an open question."""
        total = self.settled + spent
        settled = Spent(_short(total.epsilon), _short(total.renyi), _short(total.failure))
        return Taken(settled, self.pending - ceiling)


def _short(amount: Fraction) -> Fraction:
    """No less, in few digits: a sum of prices of many denominators could not be written down, nor added up quickly.

    It is rounded to bits of its own size, because budgets and their deltas may be of any.
    """
    if amount.denominator.bit_length() <= MOST_BITS:
        return amount
    size = amount.numerator.bit_length() - amount.denominator.bit_length()
    grid = 1 << max(0, KEPT - size)
    return Fraction(-(-amount.numerator * grid // amount.denominator), grid)
