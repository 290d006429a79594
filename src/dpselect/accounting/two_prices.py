"""Prices in two currencies: what a question costs by adding epsilons up, and by Rényi divergences of one order.

docs/composing.md says what a price claims and proves that it may be charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpselect._ground.privacy import Privacy, Steps
from dpselect.accounting.composition import basic
from dpselect.accounting.renyi_prices import divergences


@dataclass(frozen=True)
class Price:
    """What an outcome costs, P its probability with and Q that without a user, or the other way round.

    All but `failure` of P costs `renyi` at the order of the account, and is at most e^`added` Q if that is not None;
    all but `failure` + `composition` of P is at most e^`epsilon` Q. So there are two prices, and either may be charged.
    """

    epsilon: Fraction
    renyi: Fraction
    failure: Fraction = Fraction(0)
    composition: Fraction = Fraction(0)
    added: Fraction | None = None

    @property
    def whole(self) -> Spent:
        """The smaller epsilon, and all of delta."""
        return Spent(self.epsilon, self.renyi, self.failure + self.composition)

    @property
    def without_composition(self) -> Spent:
        """The epsilons of the steps added up, and their failures; where there is no such price, the other one."""
        return self.whole if self.added is None else Spent(self.added, self.renyi, self.failure)


@dataclass(frozen=True)
class Spent:
    """Sums of what was charged: epsilons, divergences of the account's order, probabilities of failure."""

    epsilon: Fraction = Fraction(0)
    renyi: Fraction = Fraction(0)
    failure: Fraction = Fraction(0)

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.epsilon + other.epsilon, self.renyi + other.renyi, self.failure + other.failure)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.epsilon - other.epsilon, self.renyi - other.renyi, self.failure - other.failure)

    def __mul__(self, times: int) -> Spent:
        return Spent(self.epsilon * times, self.renyi * times, self.failure * times)


def ceiling(privacy: Privacy, order: int | None) -> Price:
    """The price of any answer."""
    return of_outcome(privacy, privacy.steps, order)


def of_outcome(privacy: Privacy, taken: Sequence[Steps], order: int | None) -> Price:
    """The price of an answer that took these steps, bottom included.

    `composition` is what delta holds beyond the failures of the steps. It never depends on the outcome, and is 0 only
    for calls whose whole epsilon is the sum of their steps. Without an order a step's divergence counts as its epsilon,
    which bounds that of every order.
    """
    added = basic(taken)
    return Price(
        epsilon=min(privacy.epsilon, added),
        renyi=added if order is None else divergences(taken, order),
        failure=privacy.failure,
        composition=privacy.delta - privacy.failure,
        added=added,
    )
