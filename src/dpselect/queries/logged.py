"""The line that a question leaves in a log. It holds what was asked and what that costs at most, and nothing of data.

No filter and no domain is in it, since their constants may name somebody; nor any SQL, which has the secret key of the
contribution bound in it; nor whether it was answered, how long that took or what the answer cost.
"""

from __future__ import annotations

from dpselect._ground.logs import LOG
from dpselect.queries.query import Query
from dpselect.release.formatting import price


def log_question(query: Query, payer: object | None) -> None:
    """One line, before anything is read or paid."""
    most = query.price
    paid = "nobody keeps account" if payer is None else f"paid by {type(payer).__name__}"
    method = getattr(query, "method", None)
    how = "" if method is None else f" by {method}"
    promise = f"({price(most.epsilon)}, {price(most.delta)})-DP for {most.neighbors} neighbours"
    LOG.debug("%s%s, at most %s, %s", query.verb, how, promise, paid)
