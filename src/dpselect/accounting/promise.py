"""A promise that composes: (epsilon, delta) for everything an account ever pays, by adding or by one Rényi order.

Proof: docs/composing.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import rounded_up
from dpselect.accounting.limits import Limits
from dpselect.accounting.prices import Price, Spent
from dpselect.accounting.renyi import best_order, renyi_budget
from dpselect.errors import ParameterError

SET_ASIDE = Fraction(1, 2)  # of delta, for the Rényi rule
LARGEST_ORDER = 2**20  # of use for epsilons down to about 1e-5
MOST = 10**9  # questions that anybody wants to know of
NOTHING = Spent()
NO_DELTA = Fraction(0)


@dataclass(frozen=True)
class Promise:
    """(epsilon, delta)-DP for all answers together, however questions depend on answers and interleave.

    `order` and `apart`, a part of delta, are settled before a row is read and never change; `granting` raises the
    rest. They depend on the first epsilon and delta, and on the delta of a first question. Proof: docs/composing.md.

    >>> promise = Promise.for_account(Fraction(1), Fraction(1, 10**6))
    >>> promise.order, float(promise.apart), round(float(promise.renyi), 3)
    (23, 5e-07, 0.527)
    """

    epsilon: Fraction
    delta: Fraction
    order: int | None
    apart: Fraction

    @classmethod
    def for_account(cls, epsilon: Fraction, delta: Fraction, first: Fraction = NO_DELTA) -> Promise:
        """Return the promise of a new account. Without a delta, or with next to no epsilon, it only adds up.

        Half of delta is set apart; where the `first` question needs more than the other half, half of what it leaves.
        """
        fits = first <= delta * (1 - SET_ASIDE)
        delta_apart = (delta if fits else max(NO_DELTA, delta - first)) * SET_ASIDE
        order = order_for(epsilon, delta_apart)
        return cls(epsilon, delta, order, Fraction(0) if order is None else delta_apart)

    def granting(self, epsilon: Fraction, delta: Fraction) -> Promise:
        """Return the promise of the same account after a grant; what was set aside must still be there."""
        if delta < self.apart:
            raise ParameterError(
                "delta", f"be at least {rounded_up(self.apart)}, set aside for good", rounded_up(delta)
            )
        return replace(self, epsilon=epsilon, delta=delta)

    @cached_property
    def renyi(self) -> Fraction | None:
        """The most divergence of the order that keeps the promise; None for an account that only adds up.

        So does one whose total was lowered so far that no divergence of its order would keep it.
        """
        budget = 0 if self.order is None else renyi_budget(self.order, self.epsilon, self.apart)
        return Fraction(budget) if budget > 0 else None

    @cached_property
    def limits(self) -> Limits:
        """The limits that keep the promise: delta that is set apart is for the Rényi rule, and is never given back."""
        return Limits(self.epsilon, self.renyi, self.delta - self.apart)

    def keeps(self, total: Spent) -> bool:
        """Return whether sums keep the promise: the failures, and the epsilons or else the divergences."""
        return self.limits.hold(total)

    def part(self, total: Spent) -> Fraction:
        """Return the part of the promise that sums use up. At most 1 for sums that keep it."""
        return self.limits.part(total)

    def cap(self, epsilon: Fraction, delta: Fraction) -> Limits:
        """For one of those who share the account: so much epsilon, or the same share of its divergence; so much delta.

        Nothing is promised by it, so caps may add up to more than the account.
        """
        renyi = self.renyi * epsilon / self.epsilon if self.renyi is not None and self.epsilon else None
        return Limits(epsilon, renyi, delta)

    def charge(self, settled: Spent, price: Price) -> Spent:
        """Return the one of its two prices that a call is charged beside these settled sums; either one is private.

        Delta for composition buys a smaller epsilon, which is of use while settled epsilons are within the promise.
        """
        return price.whole if settled.epsilon <= self.epsilon else price.without_composition

    def settled_charge(self, hold: Spent, outcome: Price) -> Spent:
        """Return the cost of the answer, at the price of the two whose ceiling was held. Failures are not refunded."""
        return outcome.whole if hold.failure == outcome.whole.failure else outcome.without_composition

    def admits(self, settled: Spent, pending: Spent, ceiling: Spent) -> bool:
        """Return whether a call with this ceiling may be asked, given settled sums and the ceilings of open calls."""
        return self.keeps(settled + pending + ceiling)


def order_for(epsilon: Fraction, delta: Fraction) -> int | None:
    """Return the order under which many small picks cost least, with this part of delta; None where none is of use.

    A pick of a small epsilon e costs about order e^2 / 8, so the order is that of the largest budget / order. It is
    searched from the best power of two. Any order is private that depends on the promise alone.
    """
    if delta <= 0:
        return None

    def score(order: int) -> float:
        return float(-renyi_budget(order, epsilon, delta) / order) if order <= LARGEST_ORDER else math.inf

    start = min((2**i for i in range(1, LARGEST_ORDER.bit_length())), key=score)
    order = best_order(score, start)
    return order if score(order) < 0 else None


def how_many(
    promise: Promise,
    price: Price,
    *,
    typical: Price | None = None,
    settled: Spent = NOTHING,
    pending: Spent = NOTHING,
    caps: Sequence[tuple[Limits, Spent]] = (),
) -> int:
    """Return how many more questions of this ceiling fit one after the other, if each ends at its `typical` price.

    The last one must still find its whole ceiling, also under each of the caps, beside what was used of it. At most
    `MOST`, for questions that cost nothing.
    """
    usual = typical or price

    def cost_of(questions: int) -> Spent:
        """Return the cost of so many questions."""
        early = _while_adding(promise, usual, settled, questions)
        return usual.whole * early + usual.without_composition * (questions - early)

    def fits(questions: int) -> bool:
        cost = cost_of(questions - 1)
        ceiling = promise.charge(settled + cost, price)
        capped = all(limits.hold(spent + cost + ceiling) for limits, spent in caps)
        return capped and promise.admits(settled + cost, pending, ceiling)

    few, many = 0, 1
    while many <= MOST and fits(many):
        few, many = many, many * 2
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if fits(middle) else (few, middle)
    return min(few, MOST)


def at_least(
    promise: Promise,
    price: Price,
    *,
    settled: Spent = NOTHING,
    pending: Spent = NOTHING,
    caps: Sequence[tuple[Limits, Spent]] = (),
) -> int:
    """Return how many more questions of this ceiling fit, whatever their answers cost.

    A cheaper answer takes less of every sum but one: settled epsilons stay within the promise for longer, and as long
    every question is charged all of its delta. So no more are counted than would fit if each of them was.
    """
    max_questions = how_many(promise, price, settled=settled, pending=pending, caps=caps)
    failure = promise.charge(settled, price).failure
    if not failure:
        return max_questions
    rooms = [
        promise.limits.failure - (settled + pending).failure,
        *(cap.failure - spent.failure for cap, spent in caps),
    ]
    return min(max_questions, max(0, int(min(rooms) // failure)))


def _while_adding(promise: Promise, usual: Price, settled: Spent, questions: int) -> int:
    """Return how many of the questions are asked while the settled epsilons are within the promise."""
    left = promise.epsilon - settled.epsilon
    if left < 0:
        return 0
    return questions if usual.epsilon == 0 else min(questions, int(left // usual.epsilon) + 1)
