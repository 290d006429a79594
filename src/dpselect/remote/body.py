"""A question as the body of a request: planned here first, so that a mistake costs no round trip."""

from __future__ import annotations

from typing import Any, Protocol

from dpselect._ground.privacy import warn_if_weak
from dpselect.errors import ParameterError
from dpselect.queries.facts import Rows
from dpselect.queries.plan import Plan, missing_price, plan_class
from dpselect.questions.parts import Total
from dpselect.questions.payment import Payment
from dpselect.questions.questions import Choose, Histogram, Quantile, Question, TopK, Users

Body = dict[str, Any]
TRIALS = (1, 100, 10_000)  # epsilons at which a question for a share is looked at
BOUND = ("max_items_per_user",)


class About(Rows, Protocol):
    """Which rows a question is about."""

    @property
    def said(self) -> Body:
        """The same as parts of a body."""
        ...


def body_of_plan(plan: Plan, rows: About) -> Body:
    """A question that was planned beforehand, with all it holds."""
    plan = plan.of(rows, BOUND)
    warn_if_weak(plan.ceiling)
    return plan.to_dict() | _of(plan.question, rows)


def body_of(question: Question, payment: Payment, rows: About) -> Body:
    """A question at a price. What was left out is left to the gateway: the owner may have declared it."""
    make, filled = plan_class(question.verb), _filled(question)
    facts = make.facts_of(rows, question)
    if payment.share is not None:
        _some_plan(make, filled, payment, facts).of(rows)
    elif payment.epsilon is None and payment.accuracy is None:
        raise missing_price(make.verb, make.accuracies)
    else:
        warn_if_weak(make(question=filled, payment=payment, facts=facts).of(rows).ceiling)
    return {**question.to_dict(), **payment.flat_json(), **facts.flat_json(), **_of(question, rows)}


def _of(question: Question, rows: About) -> Body:
    """Which rows are meant; what an item is does not matter to a number of users."""
    return {name: said for name, said in rows.said.items() if name != "item" or not isinstance(question, Users)}


def _filled(question: Question) -> Question:
    """With something in place of what the owner may have declared, so that all else can be looked at."""
    if isinstance(question, (Choose, Histogram)) and question.domain is None:
        return question.replace(domain=("a", "b"))
    if isinstance(question, Quantile) and question.bounds is None:
        return question.replace(bounds=(0, 1 if question.step is None else question.step))
    if isinstance(question, TopK) and isinstance(question.score, Total) and question.score.at_most is None:
        most = 1 if question.score.unit is None else question.score.unit
        return question.replace(score=question.score.replace(at_most=most))
    return question


def _some_plan(make: type[Plan], question: Question, payment: Payment, facts: Any) -> Plan:
    """The plan at some epsilon: which one the share comes to is for the gateway to say."""
    for epsilon in TRIALS[:-1]:
        try:
            return make(question=question, payment=Payment(epsilon=epsilon, delta=payment.delta), facts=facts)
        except ParameterError as error:
            if not error.parameter.startswith("epsilon"):
                raise
    return make(question=question, payment=Payment(epsilon=TRIALS[-1], delta=payment.delta), facts=facts)
