"""Broken ways to ask for values and choices in every group, each of which a test must refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dpselect.queries.choose import ChoosePlan
from dpselect.testing import Law, law
from tests.exact.cells import WithoutNoise

Table = Mapping[object, Any]


def in_groups_that_exist(mechanism: Any, exists: Callable[[Any], bool]) -> Callable[[Table], Law]:
    """Answered in every group that has a user: who is alone in one is told from the answer."""

    def run(table: Table) -> Law:
        there = {group: of for group, of in table.items() if exists(of)}
        return law(
            lambda draws: tuple((g, str(answer)) for g, answer in mechanism(there, draws=draws).items()), WithoutNoise
        )

    return run


def found_for_nothing(query: ChoosePlan) -> ChoosePlan:
    """The union's part of the price is forgotten: what was promised is that of the second step."""
    groups = query.priced_groups
    assert groups is not None
    assert groups.finder is not None
    forgotten = replace(groups, privacy=replace(groups.privacy, epsilon=groups.privacy.epsilon - groups.finder.epsilon))
    found = replace(query)
    object.__setattr__(found, "priced_groups", forgotten)
    return found
