"""A top k by what items gained from some periods to others: what cannot go with it, and what changes in a plan.

A user is a user in one period, so one user moves the gains of items one way, by 0 or 1 each, as it moves counts: every
mechanism of counts and its price stay what they are (docs/periods.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpselect._ground import methods
from dpselect._ground.methods import AUTO
from dpselect.errors import ParameterError, came
from dpselect.queries.top_k_plan import Plan
from dpselect.questions.kinds import PERIODS

UNFIT = {
    "within": ("the price would follow from numbers of users", "give epsilon"),
    "by": ("only one list is compared", "ask of one group after another, with where="),
    "by_weight": ("users are compared", "ask by the weight in each of the periods"),
    "measures": ("they would be of rows of all these periods", "ask for the measures in one of the periods"),
}
REASONS = {
    "with most users": "that gained most users",
    "take part with count 0": "take part with gain 0",
    "that enough users share": "that enough users share in the periods that are asked about",
}
DISCOVER = "discover"


def checked(given: Any, method: str, others: Mapping[str, object]) -> tuple[str, ...]:
    """The names of the periods; what does not go with them is refused. Which they are the data set says."""
    names: tuple[str, ...] = PERIODS.read("compared_with", given)
    for name, (why, hint) in UNFIT.items():
        if others[name] is not None:
            raise ParameterError(name, f"be left out where compared_with is given: {why}", came(others[name]), hint)
    if method not in (AUTO, DISCOVER) and methods.named("top_k", method).of_users:
        able = [one.name for one in methods.methods("top_k") if not one.of_users]
        must = f"be one of {', '.join((DISCOVER, *able))} where compared_with is given"
        raise ParameterError("method", must, method, "the others select by numbers of users alone")
    return names


def by_gains(plan: Plan) -> Plan:
    """The plan, which says what it selects by."""
    reason = plan.reason
    for of_users, of_gains in REASONS.items():
        reason = reason.replace(of_users, of_gains)
    return replace(plan, reason=reason, scale=replace(plan.scale, gains=True))
