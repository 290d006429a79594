"""A top k by weights: what of it can be refused before any data is touched, and what changes in a plan."""

from __future__ import annotations

from dataclasses import replace

from dpselect import methods
from dpselect.aggregates.totals import Totals
from dpselect.errors import ParameterError, came
from dpselect.methods import AUTO
from dpselect.parameters import Number
from dpselect.queries.top_k_plan import Plan
from dpselect.release.scale import Scale

REASONS = {
    "items with most users": "items of the largest sums",
    "unseen items take part with count 0": "unseen items take part with sum 0",
}


def totals_of(by_weight: str | None, at_most: Number | None, weight_unit: Number | None) -> Totals | None:
    """The weights that are to be added up; None where users are counted."""
    if by_weight is not None:
        return Totals.of(by_weight, at_most, weight_unit)
    for name, value in (("at_most", at_most), ("weight_unit", weight_unit)):
        if value is not None:
            raise ParameterError(name, "be left out where by_weight is not given", came(value))
    return None


def check_weights(method: str, within: object) -> None:
    """Refuse what is about numbers of users."""
    if method != AUTO and methods.named("top_k", method).of_users:
        able = ", ".join(one.name for one in methods.methods("top_k") if not one.of_users)
        raise ParameterError("method", f"select by weights where by_weight is given: {able}", came(method))
    if within is not None:
        hint = "give epsilon; the release says how near its items are, in the unit of the weight"
        raise ParameterError(
            "within", "be left out where by_weight is given: it is a number of users", came(within), hint
        )


def by_weights(plan: Plan, totals: Totals | None) -> Plan:
    """The plan, which says what it selects by."""
    if totals is None:
        return plan
    reason = plan.reason
    for of_users, of_sums in REASONS.items():
        reason = reason.replace(of_users, of_sums)
    return replace(plan, reason=reason, scale=Scale(totals))
