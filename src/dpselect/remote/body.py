"""A question as the body of a request: planned here first, so that a mistake costs no round trip."""

from __future__ import annotations

from typing import Any, Protocol

from dpselect._ground.privacy import warn_if_weak
from dpselect.errors import ParameterError
from dpselect.queries.facts import Rows
from dpselect.queries.plan import Plan, missing_price, plan_class
from dpselect.questions.parts import Payment, Total
from dpselect.questions.questions import Choose, Histogram, Quantile, Question, TopK, Users

Body = dict[str, Any]
_TRIALS = (1, 100, 10_000)  # epsilons at which a question for a share is looked at
BOUND = ("max_items_per_user",)


class RowsOfBody(Rows, Protocol):
    """The rows that a question is about."""

    @property
    def body_fields(self) -> Body:
        """The rows as fields of a body."""
        ...


def body_of_plan(plan: Plan, rows: RowsOfBody) -> Body:
    """Return the body of a question that was planned beforehand, with all it holds."""
    plan = plan.of(rows, BOUND)
    warn_if_weak(plan.ceiling)
    return plan.to_dict() | _row_fields(plan.question, rows)


def body_of(question: Question, payment: Payment, rows: RowsOfBody) -> Body:
    """Return the body of a question at a price. What was left out stays so: the owner may have declared it."""
    verb_plan, filled_question = plan_class(question.verb), _fill_undeclared(question)
    facts = verb_plan.facts_of(rows, question)
    if payment.share is not None:
        _plan_at_any_epsilon(verb_plan, filled_question, payment, facts).of(rows)
    elif payment.epsilon is None and payment.accuracy is None:
        raise missing_price(verb_plan.verb, verb_plan.accuracies)
    else:
        warn_if_weak(verb_plan(question=filled_question, payment=payment, facts=facts).of(rows).ceiling)
    return {**question.to_dict(), **payment.flat_json(), **facts.flat_json(), **_row_fields(question, rows)}


def _row_fields(question: Question, rows: RowsOfBody) -> Body:
    """Return the rows as fields of a body; what an item is does not matter to a number of users."""
    return {
        name: value for name, value in rows.body_fields.items() if name != "item" or not isinstance(question, Users)
    }


def _fill_undeclared(question: Question) -> Question:
    """Fill in what the owner may have declared, so that all else can be checked."""
    if isinstance(question, (Choose, Histogram)) and question.domain is None:
        return question.replace(domain=("a", "b"))
    if isinstance(question, Quantile) and question.bounds is None:
        return question.replace(bounds=(0, 1 if question.step is None else question.step))
    if isinstance(question, TopK) and isinstance(question.score, Total) and question.score.at_most is None:
        at_most = 1 if question.score.unit is None else question.score.unit
        return question.replace(score=question.score.replace(at_most=at_most))
    return question


def _plan_at_any_epsilon(plan_class: type[Plan], question: Question, payment: Payment, facts: Any) -> Plan:
    """Plan a question at some epsilon, because only the gateway knows the epsilon of the share."""
    for epsilon in _TRIALS[:-1]:
        try:
            return plan_class(question=question, payment=Payment(epsilon=epsilon, delta=payment.delta), facts=facts)
        except ParameterError as error:
            if not error.parameter.startswith("epsilon"):
                raise
    return plan_class(question=question, payment=Payment(epsilon=_TRIALS[-1], delta=payment.delta), facts=facts)
