"""The line that a question leaves in a log. It holds what was asked and what that costs at most, and nothing of data.

No filter and no domain is in it, since their constants may name somebody; nor any SQL, which has the secret key of the
contribution bound in it; nor whether it was answered, how long that took or what the answer cost.
"""

from __future__ import annotations

from dpselect._ground.logs import LOG
from dpselect.queries.plan import Plan
from dpselect.release.formatting import price


def log_question(plan: Plan, payer: object | None) -> None:
    """One line, before anything is read or paid."""
    most = plan.price
    paid = "nobody keeps account" if payer is None else f"paid by {type(payer).__name__}"
    promise = f"({price(most.epsilon)}, {price(most.delta)})-DP for {most.neighbors} neighbours"
    LOG.debug("%s by %s, at most %s, %s", plan.verb, plan.method, promise, paid)
