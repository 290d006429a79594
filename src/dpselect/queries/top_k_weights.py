"""A top k by weights: what of it can be refused before any data is touched, and what changes in a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpselect._ground import methods
from dpselect._ground.methods import AUTO
from dpselect.aggregates.totals import Totals
from dpselect.errors import ParameterError, came
from dpselect.queries.top_k_plan import Plan

REASONS = {
    "items with most users": "items of the largest sums",
    "unseen items take part with count 0": "unseen items take part with sum 0",
}


def checked(given: Mapping[str, Any], *, method: str, within: object) -> Totals:
    """The weights that are to be added up; what is about numbers of users is refused."""
    if given["by_weight"] is None:
        name = "at_most" if given["at_most"] is not None else "weight_unit"
        raise ParameterError(name, "be left out where by_weight is not given", came(given[name]))
    totals = Totals.of(given["by_weight"], given["at_most"], given["weight_unit"])
    if method != AUTO and methods.named("top_k", method).of_users:
        able = ", ".join(one.name for one in methods.methods("top_k") if not one.of_users)
        hint = "the others select by numbers of users alone"
        raise ParameterError("method", f"be one of {able} where by_weight is given", came(method), hint)
    if within is not None:
        must = "be left out where by_weight is given: it is a number of users"
        hint = "give epsilon; the release says how near its items are, in the unit of the weight"
        raise ParameterError("within", must, came(within), hint)
    return totals


def by_weights(plan: Plan, totals: Totals) -> Plan:
    """The plan, which says what it selects by."""
    reason = plan.reason
    for of_users, of_sums in REASONS.items():
        reason = reason.replace(of_users, of_sums)
    return replace(plan, reason=reason, scale=replace(plan.scale, totals=totals))
