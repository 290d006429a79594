"""A broken way to choose a bound on groups, which a test must refuse."""

from __future__ import annotations

from dpselect.queries.top.group_bound import ChosenGroups
from dpselect.queries.top.plan import TopKPlan


class BoundForNothing(ChosenGroups[TopKPlan]):
    """Twin: the question costs all of epsilon, as if nothing had been paid for the bound."""

    def given(self, most: int) -> TopKPlan:
        return self.ask(self.total, most)
