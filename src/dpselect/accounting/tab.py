"""Tab: what the questions of a session have taken from its terms, and whether another one fits. It never sees data."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpselect.accounting.composition import basic
from dpselect.accounting.filters import Terms
from dpselect.errors import BudgetError, ParameterError
from dpselect.parameters import rounded_down, rounded_up
from dpselect.privacy import ApproxDP, Steps
from dpselect.processes import here, refuse_copy


@dataclass(frozen=True)
class Cost:
    """What a question takes: steps, and queries of an unknown domain."""

    steps: Sequence[Steps]
    queries: int = 0


@dataclass(frozen=True)
class Remaining:
    """What can still be asked: so many picks, and so many questions of an unknown domain."""

    picks: Fraction
    queries: int

    def __str__(self) -> str:
        return f"{rounded_down(self.picks)} picks and {self.queries} queries"


@dataclass(frozen=True)
class Prospect:
    """How many more such questions there are: if each takes all it may, and if each takes as little as it can."""

    at_least: int
    at_most: int

    def __str__(self) -> str:
        least = f"{self.at_least:,}"
        many = least if self.at_least == self.at_most else f"{least} to {self.at_most:,}"
        return f"{many} more {'question' if many == '1' else 'questions'} of this kind"


@dataclass(frozen=True)
class _Taken:
    """What is left, and the epsilons of all steps taken, added up."""

    left: Remaining
    steps: Fraction

    def with_more(self, steps: Fraction, picks: Fraction, queries: int) -> _Taken:
        """After so much more was taken."""
        return _Taken(Remaining(self.left.picks - picks, self.left.queries - queries), self.steps + steps)


class Tab:
    """Seed 003, Algorithm 2, without the data: a question takes its ceiling first, and gives back what it did not need.

    May be shared by threads, and belongs to the process that made it: a forked child would spend the same once more.
    """

    __reduce_ex__ = refuse_copy

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._state = _Taken(Remaining(Fraction(terms.k_star), terms.l_star), Fraction(0))
        self._open = True
        self._lock = threading.Lock()
        self._home = here()

    @property
    def left(self) -> Remaining:
        """Picks and queries that no question has taken."""
        return self._state.left

    @property
    def is_here(self) -> bool:
        """Is this the process that made it?"""
        return self._home == here()

    def check_here(self) -> None:
        """Refuse a forked child. Before any lock: a fork may have copied it locked."""
        if not self.is_here:
            raise BudgetError("the session belongs to the process that opened it", "open another one in this process")

    def question(self, cost: Cost) -> Asking:
        """A question of that ceiling, to be entered."""
        return Asking(self, cost)

    def take(self, cost: Cost) -> None:
        """Refuse, or take all that a question may need."""
        self.check_here()
        picks = self.picks(cost.steps)
        with self._lock:
            if not self._open:
                raise BudgetError("the session is closed", "open another one")
            left = self._state.left
            if picks > left.picks or cost.queries > left.queries:
                asks = f"this question may take {rounded_up(picks)} picks and {cost.queries} queries"
                short = "k_star, for picks" if picks > left.picks else "l_star, for queries"
                hint = f"lower k, or open a session with a larger {short}"
                raise BudgetError(f"the session has {left} left, {asks}", hint)
            self._state = self._state.with_more(basic(cost.steps), picks, cost.queries)

    def give_back(self, ceiling: Cost, spent: Cost) -> Cost:
        """The answer took less than its question might have; what it did not take comes back."""
        self.check_here()
        more = self.picks(spent.steps) - self.picks(ceiling.steps)
        with self._lock:  # one assignment, so that nobody ever sees the ceiling gone and nothing in its place
            epsilons = basic(spent.steps) - basic(ceiling.steps)
            self._state = self._state.with_more(epsilons, more, spent.queries - ceiling.queries)
        return spent

    def picks(self, steps: Sequence[Steps]) -> Fraction:
        """Steps in picks."""
        total = Fraction(0)
        for step in steps:
            picks = self.terms.filter.picks(step.value)
            if picks is None:
                most = f"be at most one pick, {rounded_down(self.terms.epsilon_per_pick)}, in this session"
                hint = "a session that is opened with a total epsilon and delta takes steps of any size"
                raise ParameterError("epsilon", most, rounded_up(step.value.epsilon), hint)
            total += picks * step.times
        return total

    def prospect(self, cost: Cost, least: Cost) -> Prospect:
        """How many more questions of this cost there are, if each may end at `least`."""
        picks, few = self.picks(cost.steps), self.picks(least.steps)
        left = self.left
        if left.picks < picks or left.queries < cost.queries:
            return Prospect(0, 0)
        # The last question must still find its whole ceiling; those before it may end early.
        worst, best = int(left.picks // picks), 1 + int((left.picks - picks) // few)
        if cost.queries:
            asked = left.queries // cost.queries
            worst, best = min(worst, asked), min(best, asked)
        return Prospect(worst, best)

    def close(self) -> ApproxDP:
        """Nothing can be taken any more. What was surely spent (docs/budgets.md):

        no more epsilon than all steps added up, and no delta of queries that were never asked. Delta that composing
        may have used is not given back, unless nothing was ever asked.
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
    """One question of a session: entering takes its ceiling, which comes back whole if it ends before a row is read."""

    def __init__(self, tab: Tab, cost: Cost) -> None:
        self._tab, self._cost = tab, cost
        self._reading = False

    def __enter__(self) -> Asking:
        self._tab.take(self._cost)
        return self

    def start(self) -> None:
        """From now on rows may be read."""
        self._reading = True

    def settle(self, steps: Sequence[Steps]) -> Cost:
        """What the answer took; the rest comes back."""
        return self._tab.give_back(self._cost, Cost(steps, self._cost.queries))

    def __exit__(self, *_: object) -> None:
        if not self._reading and self._tab.is_here:
            self._tab.give_back(self._cost, Cost(()))
