"""A question about values that the caller holds, paid from a budget if there is one."""

from __future__ import annotations

from typing import Any

from dpselect._ground import parameters
from dpselect._ground.privacy import warn_if_weak
from dpselect.draws import secure
from dpselect.ledger import Budget, LedgerSource, fingerprint, parse_budget
from dpselect.queries.facts import Facts
from dpselect.queries.outline import log_question, outline, with_question
from dpselect.queries.planning import plan_question
from dpselect.questions.parts import Payment
from dpselect.questions.questions import Question, Scores
from dpselect.release.release import Release

NO_FACTS = Facts()  # of values that the caller holds


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
    plan: Any = plan_question(question, payment, NO_FACTS, account)
    warn_if_weak(plan.ceiling)
    outlined, draws = outline(plan), secure()
    log_question(plan, account)

    def draw_answer() -> Release:
        return with_question(outlined, plan.answer(plan.draw(values, draws)))

    if account is None:
        return draw_answer()
    account.check(plan.price.neighbors)

    key = {**plan.key, "secure": draws.secure}
    source = "scores" if isinstance(question, Scores) else "values"
    fingerprinted = fingerprint(
        plan.verb, key, {"source": source, "snapshot": account.snapshot}, account.snapshot is not None
    )
    return fingerprinted.with_repeat_price(account.pay(plan, fingerprinted, draw_answer, fresh=fresh))
