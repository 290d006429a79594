"""A question about values that the caller holds, paid from a budget if there is one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

from dpselect._ground import parameters
from dpselect._ground.privacy import warn_if_weak
from dpselect.draws import Draws, secure
from dpselect.ledger import Budget, LedgerSource, fingerprint, parse_budget
from dpselect.queries.facts import Facts
from dpselect.queries.outline import log_question, outline, with_question
from dpselect.queries.plan import Plan, plan_question
from dpselect.questions.payment import Payment
from dpselect.questions.questions import Question, Scores
from dpselect.release.answers.outcome import Outcome
from dpselect.release.release import Release

NOTHING = Facts()  # of values that the caller holds


@dataclass(frozen=True, kw_only=True, repr=False)
class OfValues(Plan):
    """A question that can be asked of values that the caller holds."""

    @abstractmethod
    def draw(self, values: Any, draws: Draws) -> Outcome:
        """Draw the outcome for values."""

    def select(self, values: Any, draws: Draws) -> Release:
        """Return the release for values."""
        return self.answer(self.draw(values, draws))


def answer_from_values(
    question: Question,
    payment: Payment,
    values: object,
    *,
    budget: Budget | LedgerSource | None,
    fresh: bool,
) -> Release:
    """Plan a question about values and answer it.

    Values have no fingerprint: an answer is found again only where the budget names them.
    """
    parameters.flag("fresh", fresh)
    account = parse_budget(budget)
    plan: Any = plan_question(question, payment, NOTHING, account)
    warn_if_weak(plan.ceiling)
    outlined, draws = outline(plan), secure()
    log_question(plan, account)
    if account is None:
        return with_question(outlined, plan.select(values, draws))
    account.check(plan.price.neighbors)

    key = {**plan.key, "secure": draws.secure}
    source = "scores" if isinstance(question, Scores) else "values"
    fingerprinted = fingerprint(
        plan.verb, key, {"source": source, "snapshot": account.snapshot}, account.snapshot is not None
    )
    answer = partial(plan.select, values)
    return fingerprinted.with_repeat_price(
        account.pay(plan, fingerprinted, lambda: with_question(outlined, answer(draws)), fresh=fresh)
    )
