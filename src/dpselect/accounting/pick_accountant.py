"""The accountant of a budget of picks: what questions have reserved, and what still fits. It never sees data."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, SupportsIndex

from dpselect.accounting.composition import basic
from dpselect.accounting.privacy_filters import Terms
from dpselect.errors import BudgetError, ParameterError
from dpselect.parameters import MOST_BITS, rounded_down, rounded_up
from dpselect.privacy import ApproxDP, BoundedRange, Steps
from dpselect.processes import here, refuse_copy

GRID = 10**30


@dataclass(frozen=True)
class Cost:
    """The cost of a question: its steps, and its queries of an unknown domain."""

    steps: Sequence[Steps]
    queries: int = 0


def in_words(picks: str, queries: int) -> str:
    """So many picks, written as they are rounded, and so many queries.

    >>> in_words("1", 0), in_words("2.5", 1)
    ('1 pick and 0 queries', '2.5 picks and 1 query')
    """
    return f"{picks} {'pick' if picks == '1' else 'picks'} and {queries} {'query' if queries == 1 else 'queries'}"


def _short(number: Fraction) -> Fraction:
    """No less, in few digits: a sum over steps of many denominators could not be written down, nor added up quickly."""
    if number.denominator.bit_length() <= MOST_BITS:
        return number
    return Fraction(-(-number.numerator * GRID // number.denominator), GRID)


@dataclass(frozen=True)
class Remaining:
    """What can still be asked: a number of picks, and of queries of an unknown domain."""

    picks: Fraction
    queries: int

    def __str__(self) -> str:
        return in_words(rounded_down(self.picks), self.queries)


@dataclass(frozen=True)
class QuestionsLeft:
    """How many more such questions fit: if each costs its ceiling, and if each costs as little as possible."""

    at_least: int
    at_most: int

    def __str__(self) -> str:
        least = f"{self.at_least:,}"
        many = least if self.at_least == self.at_most else f"{least} to {self.at_most:,}"
        return f"{many} more {'question' if many == '1' else 'questions'} of this kind"


@dataclass(frozen=True)
class _Taken:
    """What is left, and the sum of the epsilons of all steps reserved."""

    left: Remaining
    steps: Fraction

    def with_more(self, steps: Fraction, picks: Fraction, queries: int) -> _Taken:
        """The state after a further reservation, or a refund where the amounts are negative."""
        left = -_short(picks - self.left.picks)  # no more than there is
        return _Taken(Remaining(left, self.left.queries - queries), _short(self.steps + steps))


class PickAccountant:
    """Durfee and Rogers 2019, Algorithm 2, without the data: a question reserves its ceiling, then returns the rest.

    Threads may share it. It belongs to the process that made it: a forked child would spend the same budget again.
    """

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        refuse_copy(self, protocol)

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._state = _Taken(Remaining(Fraction(terms.k_star), terms.l_star), Fraction(0))
        self._open = True
        self._lock = threading.Lock()
        self._home = here()

    @property
    def left(self) -> Remaining:
        """Picks and queries that no question has reserved."""
        return self._state.left

    @property
    def is_here(self) -> bool:
        """Whether this is the process that made it."""
        return self._home == here()

    def check_here(self) -> None:
        """Refuse a forked child; called before taking the lock, which a fork may have copied locked."""
        if not self.is_here:
            raise BudgetError("the budget belongs to the process that made it", "make another one in this process")

    def question(self, cost: Cost) -> Asking:
        """A question with this ceiling, as a context manager."""
        return Asking(self, cost)

    def take(self, cost: Cost) -> None:
        """Reserve the ceiling of a question, or refuse it."""
        self.check_here()
        picks = self.picks(cost.steps)
        with self._lock:
            if not self._open:
                raise BudgetError("the budget is closed", "make another one")
            left = self._state.left
            if picks > left.picks or cost.queries > left.queries:
                asks = f"this question may take {in_words(rounded_up(picks), cost.queries)}"
                short = "k_star, for picks" if picks > left.picks else "l_star, for queries"
                hint = f"lower k, or make a budget with a larger {short}"
                raise BudgetError(f"the budget has {left} left, {asks}", hint)
            self._state = self._state.with_more(basic(cost.steps), picks, cost.queries)

    def give_back(self, ceiling: Cost, spent: Cost) -> Cost:
        """Refund the difference between the ceiling of a question and what its answer cost."""
        self.check_here()
        more = self.picks(spent.steps) - self.picks(ceiling.steps)
        with self._lock:  # one assignment, so that nobody ever sees the ceiling gone and nothing in its place
            epsilons = basic(spent.steps) - basic(ceiling.steps)
            self._state = self._state.with_more(epsilons, more, spent.queries - ceiling.queries)
        return spent

    def picks(self, steps: Sequence[Steps]) -> Fraction:
        """The cost of these steps, in picks."""
        total = Fraction(0)
        for step in steps:
            picks = self.terms.filter.picks(step.value)
            if picks is None:
                largest = step.value.epsilon * BoundedRange(self.terms.epsilon_per_pick).range / step.value.range
                most = f"be at most one pick, {rounded_down(largest)}, on this budget"
                hint = "a budget that is made of a total epsilon and delta takes steps of any size"
                raise ParameterError("epsilon", most, rounded_up(step.value.epsilon), hint)
            total += picks * step.times
        return _short(total)

    def questions_left(self, cost: Cost, least: Cost) -> QuestionsLeft:
        """How many more questions with the ceiling `cost` fit, if each may end at `least`."""
        picks, few = self.picks(cost.steps), self.picks(least.steps)
        left = self.left
        if left.picks < picks or left.queries < cost.queries:
            return QuestionsLeft(0, 0)
        # The last question must still find its whole ceiling; those before it may end early.
        worst, best = int(left.picks // picks), 1 + int((left.picks - picks) // few)
        if cost.queries:
            asked = left.queries // cost.queries
            worst, best = min(worst, asked), min(best, asked)
        return QuestionsLeft(worst, best)

    def close(self) -> ApproxDP:
        """Close the budget and return an upper bound on what was spent (docs/budgets.md).

        The bound has no more epsilon than the sum over all steps, and no delta for queries that were never asked. The
        delta for composition is not refunded, unless nothing was ever asked.
        """
        self.check_here()
        with self._lock:
            self._open = False
            left, steps = self._state.left, self._state.steps
            if not steps and left.queries == self.terms.l_star:
                return ApproxDP(Fraction(0), Fraction(0))
            never_asked = left.queries * self.terms.delta_per_query
            return ApproxDP(min(self.terms.epsilon, steps), self.terms.delta - never_asked)


class Asking:
    """One question: entering reserves its ceiling, refunded in full if it ends before a row is read."""

    def __init__(self, accountant: PickAccountant, cost: Cost) -> None:
        self._accountant, self._cost = accountant, cost
        self._reading = False

    def __enter__(self) -> Asking:
        self._accountant.take(self._cost)
        return self

    def start(self) -> None:
        """From now on rows may be read."""
        self._reading = True

    def settle(self, steps: Sequence[Steps]) -> Cost:
        """Charge what the answer cost and refund the rest."""
        return self._accountant.give_back(self._cost, Cost(steps, self._cost.queries))

    def __exit__(self, *_: object) -> None:
        if not self._reading and self._accountant.is_here:
            self._accountant.give_back(self._cost, Cost(()))
