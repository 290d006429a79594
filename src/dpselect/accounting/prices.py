"""Prices in two currencies: what a question costs by adding epsilons up, and by Rényi divergences of one order.

docs/composing.md says what a price claims and proves that it may be charged. The divergence of a step is the largest
that its guarantee allows, rounded up: D_a(P || P') = ln E'[(P / P')^a] / (a - 1). Steps that are chosen adaptively add
it up. Each kind of step is worst at two outcomes:

- BoundedRange(e): losses t and t - e; the exact maximum over t (accounting/renyi.py has the closed form).
- PureDP(e): randomised response.
- ApproxDP(e, d): a tell with probability d, which the failures of the account pay for, else randomised response
  (Kairouz, Oh and Viswanath 2015, Theorem 3.4).
- ZCDP(rho): a rho.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from flint import ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import ZCDP, AnySteps, AnyValue, ApproxDP, Privacy, SpentSteps
from dpselect._ground.reals import enclose, upper
from dpselect.accounting.composition import basic
from dpselect.accounting.renyi import SMALL, log_moment

GRID = 1 << 100  # prices are rounded up to multiples of 1 / GRID, so that their sums stay short
GUARD = 192  # bits beyond those that a step of epsilon SMALL and the order cancel


@dataclass(frozen=True)
class Price:
    """The cost of an outcome, P its probability with and Q that without a user, or the other way round.

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
    """Return the price of any answer."""
    return of_outcome(privacy, privacy.steps, order)


def of_outcome(privacy: Privacy, outcome_steps: Sequence[SpentSteps], order: int | None) -> Price:
    """Return the price of an answer that took these steps, bottom included.

    `composition` is what delta holds beyond the failures of the steps. It never depends on the outcome, and is 0 only
    for calls whose whole epsilon is the sum of their steps. Without an order a step's divergence counts as its epsilon,
    which bounds that of every order.
    """
    added = basic(outcome_steps)
    return Price(
        epsilon=min(privacy.epsilon, added),
        renyi=added if order is None else divergences(outcome_steps, order),
        failure=privacy.failure,
        composition=privacy.delta - privacy.failure,
        added=added,
    )


@lru_cache(maxsize=4096)
def divergence(value: AnyValue, order: int) -> Fraction:
    """Return the largest divergence of this order, in both directions; at most the step's epsilon, where it has one.

    >>> from dpselect._ground.privacy import PureDP
    >>> divergence(PureDP(Fraction(40)), 2) <= 40
    True
    """
    step = value.unless_it_fails if isinstance(value, ApproxDP) else value
    if isinstance(step, ZCDP):
        return up(step.rho * order)
    if step.epsilon == 0:
        return Fraction(0)
    if step.epsilon < SMALL:  # the curve of its zCDP is the same, and does not cancel
        return min(step.epsilon, up(step.rho * order))
    with ctx.workprec(GUARD + 2 * order.bit_length()):
        return min(step.epsilon, up(upper(log_moment(step, enclose(order - 1)) / (order - 1))))


def divergences(steps: Iterable[AnySteps], order: int) -> Fraction:
    """Their sum: divergences of one order add up over adaptive steps (Mironov 2017; Feldman and Zrnic 2021)."""
    return sum((divergence(s.value, order) * s.times for s in steps), Fraction(0))


def up(number: Fraction) -> Fraction:
    """No less, in few digits."""
    return Fraction((number * GRID).__ceil__(), GRID)
