"""A question about values that the caller holds, paid from a budget if there is one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

from dpselect._ground import parameters
from dpselect._ground.privacy import warn_if_weak
from dpselect.draws import Draws, secure
from dpselect.ledger.budget import Budget, LedgerSource, parse_budget
from dpselect.ledger.question import fingerprint
from dpselect.queries.facts import Facts
from dpselect.queries.outline import asked_with, log_question, outline
from dpselect.queries.plan import Plan, planned
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


def paid(
    question: Question,
    payment: Payment,
    values: object,
    *,
    budget: Budget | LedgerSource | None,
    fresh: bool,
) -> Release:
    """The answer. Values have no fingerprint: an answer is found again only where the budget names them."""
    parameters.flag("fresh", fresh)
    paying = parse_budget(budget)
    plan: Any = planned(question, payment, NOTHING, paying)
    warn_if_weak(plan.ceiling)
    said, draws = outline(plan), secure()
    log_question(plan, paying)
    if paying is None:
        return asked_with(said, plan.select(values, draws))
    paying.check(plan.price.neighbors)

    asked = {**plan.key, "secure": draws.secure}
    what = "scores" if isinstance(question, Scores) else "values"
    known = fingerprint(plan.verb, asked, {"source": what, "snapshot": paying.snapshot}, paying.snapshot is not None)
    answer = partial(plan.select, values)
    return known.with_repeat_price(paying.pay(plan, known, lambda: asked_with(said, answer(draws)), fresh=fresh))
