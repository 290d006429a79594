"""A top k by weights: what of it can be refused before any data is touched, and what changes in a plan."""

from __future__ import annotations

from dataclasses import replace

from dpselect._ground import methods
from dpselect._ground.methods import AUTO
from dpselect.aggregates.totals import Totals
from dpselect.errors import ParameterError, came
from dpselect.queries.selection import Selection
from dpselect.questions.parts import Total

REASONS = {
    "items with most users": "items of the largest sums",
    "unseen items take part with count 0": "unseen items take part with sum 0",
}


def totals_of(score: Total, method: str) -> Totals:
    """The weights that are to be added up; a method that selects by numbers of users is refused."""
    if method != AUTO and methods.named("top_k", method).of_users:
        able = ", ".join(one.name for one in methods.methods("top_k") if not one.of_users)
        hint = "the others select by numbers of users alone"
        raise ParameterError("method", f"be one of {able} where by_weight is given", came(method), hint)
    return Totals.of(score.column, score.at_most, score.unit)


def by_weights(plan: Selection, totals: Totals) -> Selection:
    """The plan, which says what it selects by."""
    reason = plan.reason
    for of_users, of_sums in REASONS.items():
        reason = reason.replace(of_users, of_sums)
    return replace(plan, reason=reason, scale=replace(plan.scale, totals=totals))
