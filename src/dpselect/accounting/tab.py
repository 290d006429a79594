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


class Tab:
    """Seed 003, Algorithm 2, without the data: a question takes its ceiling first, and gives back what it did not need.

    May be shared by threads.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._left = Remaining(Fraction(terms.k_star), terms.l_star)
        self._steps = Fraction(0)  # the epsilons of all steps taken, added up
        self._touched = False
        self._open = True
        self._lock = threading.Lock()

    @property
    def left(self) -> Remaining:
        """Picks and queries that no question has taken."""
        return self._left

    def take(self, cost: Cost) -> None:
        """Refuse, or take all that a question may need."""
        picks = self.picks(cost.steps)
        with self._lock:
            if not self._open:
                raise BudgetError("the session is closed", "open another one")
            if picks > self._left.picks or cost.queries > self._left.queries:
                asks = f"this question may take {rounded_up(picks)} picks and {cost.queries} queries"
                short = "k_star, for picks" if picks > self._left.picks else "l_star, for queries"
                hint = f"lower k, or open a session with a larger {short}"
                raise BudgetError(f"the session has {self._left} left, {asks}", hint)
            self._touched = True
            self._add(cost.steps, picks, cost.queries)

    def give_back(self, ceiling: Cost, spent: Cost) -> Cost:
        """The answer took less than its question might have; what it took comes back."""
        with self._lock:
            self._add(ceiling.steps, -self.picks(ceiling.steps), 0, sign=-1)
            self._add(spent.steps, self.picks(spent.steps), 0)
        return spent

    def _add(self, steps: Sequence[Steps], picks: Fraction, queries: int, sign: int = 1) -> None:
        self._steps += sign * basic(steps)
        self._left = Remaining(self._left.picks - picks, self._left.queries - queries)

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
        left = self._left
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
        with self._lock:
            self._open = False
            if not self._touched:
                return ApproxDP(Fraction(0), Fraction(0))
            never_asked = self._left.queries * self.terms.delta_per_query
            return ApproxDP(min(self.terms.epsilon, self._steps), self.terms.delta - never_asked)
