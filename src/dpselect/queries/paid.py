"""A question about values that the caller holds, paid from a budget if there is one."""

from __future__ import annotations

import sys
from abc import abstractmethod
from functools import partial
from typing import Any

from dpselect._ground import parameters
from dpselect._ground.privacy import warn_if_weak
from dpselect.draws import Draws
from dpselect.ledger.budget import Budget, Where, budget_of
from dpselect.ledger.question import question
from dpselect.mechanisms.port import check_call, secure
from dpselect.queries.query import Query, asked_with
from dpselect.release.release import Release


class OfValues(Query):
    """A question that can be asked of values that the caller holds."""

    @abstractmethod
    def select(self, values: Any, draws: Draws) -> Release:
        """The answer for values."""


def paid(
    query: OfValues,
    what: str,
    values: object,
    *,
    budget: Budget | Where | None,
    fresh: bool,
    draws: Draws | None,
) -> Release:
    """The answer. Values have no fingerprint: an answer is found again only where the budget names them."""
    check_call(draws)
    parameters.flag("fresh", fresh)
    warn_if_weak(query.ceiling)
    paying, said = budget_of(budget), query.outline()
    if "logging" in sys.modules:
        from dpselect.queries.logged import log_question

        log_question(query, paying)
    if paying is None:
        return asked_with(said, query.select(values, secure(draws)))
    paying.check(query.price.neighbors)

    asked = {**query.key, "secure": draws is None or draws.secure}
    known = question(query.verb, asked, {"source": what, "snapshot": paying.snapshot}, paying.snapshot is not None)
    answer = partial(query.select, values)
    return known.told(paying.pay(query, known, lambda: asked_with(said, answer(secure(draws))), fresh=fresh))
