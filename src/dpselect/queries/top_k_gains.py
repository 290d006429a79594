"""A top k by what items gained from some periods to others: what cannot go with it, and what changes in a plan.

A user is a user in one period, so one user moves the gains of items one way, by 0 or 1 each, as it moves counts: every
mechanism of counts and its price stay what they are (docs/periods.md).
"""

from __future__ import annotations

from dataclasses import replace

from dpselect._ground import methods
from dpselect._ground.methods import AUTO
from dpselect.errors import ParameterError
from dpselect.queries.selection import Selection

REASONS = {
    "with most users": "that gained most users",
    "take part with count 0": "take part with gain 0",
    "that enough users share": "that enough users share in the periods that are asked about",
}
DISCOVER = "discover"


def check_method(method: str) -> None:
    """A method that selects by numbers of users is refused."""
    if method not in (AUTO, DISCOVER) and methods.named("top_k", method).of_users:
        able = [one.name for one in methods.methods("top_k") if not one.of_users]
        must = f"be one of {', '.join((DISCOVER, *able))} where compared_with is given"
        raise ParameterError("method", must, method, "the others select by numbers of users alone")


def by_gains(plan: Selection) -> Selection:
    """The plan, which says what it selects by."""
    reason = plan.reason
    for of_users, of_gains in REASONS.items():
        reason = reason.replace(of_users, of_gains)
    return replace(plan, reason=reason, scale=replace(plan.scale, gains=True))
