"""A top k by weights, or by what items gained: what cannot go with it, and what changes in a plan."""

from __future__ import annotations

from dataclasses import replace

from dpselect._ground import methods
from dpselect._ground.methods import AUTO
from dpselect.aggregates.totals import Totals
from dpselect.errors import ParameterError, came
from dpselect.queries.top.selection import Selection
from dpselect.questions.parts import Total

OF_SUMS = {
    "items with the most users": "items of the largest sums",
    "items without users have count 0": "items without users have sum 0",
}
OF_GAINS = {
    "with the most users": "that gained the most users",
    "have count 0": "have gain 0",
    "that enough users share": "that enough users share in the periods that are asked about",
}
DISCOVER = "discover"


def totals_of(score: Total, method: str) -> Totals:
    """The weights that are to be added up; a method that selects by numbers of users is refused."""
    if method != AUTO and methods.named("top_k", method).of_users:
        able = ", ".join(one.name for one in methods.methods("top_k") if not one.of_users)
        hint = "the others select by numbers of users alone"
        raise ParameterError("method", f"be one of {able} if by_weight is given", came(method), hint)
    return Totals.of(score.column, score.at_most, score.unit)


def by_weights(plan: Selection, totals: Totals) -> Selection:
    """The plan, which says what it selects by."""
    reason = plan.reason
    for of_users, of_sums in OF_SUMS.items():
        reason = reason.replace(of_users, of_sums)
    return replace(plan, reason=reason, scale=replace(plan.scale, totals=totals))


def by_gains(plan: Selection) -> Selection:
    """The plan, which says what it selects by."""
    reason = plan.reason
    for of_users, of_gains in OF_GAINS.items():
        reason = reason.replace(of_users, of_gains)
    return replace(plan, reason=reason, scale=replace(plan.scale, gains=True))
