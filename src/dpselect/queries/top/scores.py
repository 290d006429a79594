"""A top k by weights, or by what items gained: what cannot go with it, and what changes in a plan."""

from __future__ import annotations

from dataclasses import replace

from dpselect._ground import methods
from dpselect._ground.methods import AUTO
from dpselect.aggregates.totals import Totals
from dpselect.errors import ParameterError, came
from dpselect.queries.top.selection import Selection
from dpselect.questions.parts import Total
from dpselect.release.answers.method_reasons import reason_of_gains, reason_of_sums

DISCOVER = "discover"


def totals_of(score: Total, method: str) -> Totals:
    """Return the weights that are to be added up; refuse a method that selects by numbers of users."""
    if method != AUTO and methods.method_row("top_k", method).of_users:
        names = ", ".join(entry.name for entry in methods.methods("top_k") if not entry.of_users)
        hint = "the others select by numbers of users alone"
        raise ParameterError("method", f"be one of {names} if by_weight is given", came(method), hint)
    return Totals.parse(score.column, score.at_most, score.unit)


def by_weights(plan: Selection, totals: Totals) -> Selection:
    """Return the plan of a selection by sums."""
    return replace(plan, reason=reason_of_sums(plan.reason), scale=replace(plan.scale, totals=totals))


def by_gains(plan: Selection, *, lost: bool) -> Selection:
    """Return the plan of a selection by gained users, or by lost ones."""
    reason = reason_of_gains(plan.reason, lost=lost)
    return replace(plan, reason=reason, scale=replace(plan.scale, gains=True, lost=lost))
