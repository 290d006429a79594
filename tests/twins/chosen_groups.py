"""A broken way to choose a bound on groups, which a test must refuse."""

from __future__ import annotations

from dpselect.queries.top.group_bound import ChosenGroups
from dpselect.queries.top.selection import Selection


class BoundForNothing(ChosenGroups):
    """Twin: what is selected costs all of epsilon, as if nothing had been paid for the bound."""

    def selection_with(self, most: int) -> Selection:
        return self._plan_selection(self.total_epsilon, most)
