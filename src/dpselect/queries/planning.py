"""Planning: the plan of a question at a price, whose parts come from JSON, from a command's flat names, or made."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from dpselect._ground import parameters
from dpselect.errors import ParameterError, came
from dpselect.queries.facts import Facts
from dpselect.queries.plan import Plan, missing_price
from dpselect.questions.parts import Payment
from dpselect.questions.questions import QUESTIONS, Question

if TYPE_CHECKING:
    from dpselect.accounting.limits import Sharing
    from dpselect.release.formatting import Json

PLANS = {
    "top_k": "top.plan:TopKPlan",
    "union": "union.plan:UnionPlan",
    "choose": "choose:ChoosePlan",
    "histogram": "histogram:HistogramPlan",
    "quantile": "quantile:QuantilePlan",
    "users": "users:UsersPlan",
}


def plan_class(verb: str) -> type[Plan]:
    """Return the class of a verb's plans."""
    module, _, name = PLANS[verb].partition(":")
    plan_type: type[Plan] = getattr(importlib.import_module(f"dpselect.queries.{module}"), name)
    return plan_type


def parse_parts(document: Mapping[str, Json]) -> tuple[Question, Payment, Facts]:
    """Parse a question, its price, which may be a share, and facts of data from JSON."""
    if not isinstance(document, Mapping):
        raise ParameterError("question", "be an object with a verb", came(document))
    plan_type = plan_class(parameters.one_of("verb", document.get("verb"), PLANS))
    arguments = {name: value for name, value in document.items() if name != "verb"}
    parts: Any = (QUESTIONS[plan_type.verb], Payment, Facts)
    try:
        parameters.refuse_unknown_names(
            arguments, [*plan_type.fields(), "share"], f"be a parameter of {plan_type.verb}"
        )
        question, payment, facts = (part_from_flat(part, arguments, as_json=True) for part in parts)
    except ParameterError as error:
        errors = [mistake for part in parts for mistake in part.mistakes(arguments, as_json=True)]
        first, *others = errors if error.parameter in {mistake.parameter for mistake in errors} else [error, *errors]
        first.others = tuple(others)
        raise first from None
    return question, payment, facts


def question_from_flat(verb: str, arguments: Mapping[str, Any]) -> tuple[Question, Payment]:
    """Return a question and its price from the flat names that a command has; None stands for what was left out."""
    question_type = QUESTIONS[verb]
    price_names = {"epsilon", "delta", "share", *plan_class(verb).accuracies}
    parameters.refuse_unknown_names(
        arguments, [*question_type.flat_fields(), *price_names], f"be a parameter of {verb}"
    )
    return part_from_flat(question_type, arguments), Payment.from_flat(
        {name: value for name, value in arguments.items() if name in price_names}
    )


def plan_from_dict(document: Mapping[str, Json]) -> Plan:
    """Return the plan of a dict such as `Plan.to_dict` returns, checked like any other."""
    question, payment, facts = parse_parts(document)
    return plan_class(question.verb)(question=question, payment=payment, facts=facts)


def part_from_flat(part: Any, arguments: Mapping[str, Any], *, as_json: bool = False) -> Any:
    """Return a question, a price or facts from those of the flat names that belong to it."""
    names = part.flat_fields()
    return part.from_flat({name: value for name, value in arguments.items() if name in names}, as_json=as_json)


def plan_without_data(question: Question, payment: Payment, *, max_items_per_user: int | None) -> Plan:
    """Plan a question of which no data are known but the bound on a user's items."""
    return plan_question(question, payment, Facts(max_items_per_user=max_items_per_user))


class Paying(Protocol):
    """A budget, as far as it decides the price of a question."""

    @property
    def usual_delta(self) -> Fraction:
        """The delta of a question that needs one and names none; 0 where the budget has none."""
        ...

    @property
    def sharing(self) -> Sharing:
        """The meaning of a share of this budget."""
        ...


def plan_question(
    question: Question,
    payment: Payment,
    facts: Facts,
    budget: Paying | None = None,
    *,
    make: Callable[..., Plan] | None = None,
) -> Plan:
    """Return the plan of a question, made by `make` where somebody knows some facts.

    For a `share` of the budget it has the largest epsilon, of three digits, whose ceiling takes no more. What others
    took changes nothing, so the same share is the same question. Where an accuracy is named, the epsilon follows from
    it, and the budget says no more than the delta.
    """
    plan_type = plan_class(question.verb)
    delta: Fraction | None = payment.delta  # type: ignore[assignment] # its kind has read it
    make, needs_delta = make or plan_type, delta is None and plan_type.needs_delta(question)
    if payment.share is None:
        if payment.epsilon is None and payment.accuracy is None:
            raise missing_price(question.verb, [*(["share"] if budget else []), *plan_type.accuracies])
        if budget is not None and needs_delta and budget.usual_delta:
            payment = payment.replace(delta=budget.usual_delta)
        return make(question=question, payment=payment, facts=facts)
    if budget is None:
        hint = "budget=dps.Budget(epsilon=, delta=), or --budget FILE; or give epsilon"
        raise ParameterError("share", "be given with a budget, which it is a share of", came(payment.share), hint)
    from dpselect.utility.price import by_share, three_digits

    share, sharing = Fraction(payment.share), budget.sharing
    if needs_delta:
        largest_delta = sharing.delta(share)
        if not largest_delta:
            hint = "make a budget with a delta, or give a domain where there is one"
            raise ParameterError("delta", "be in the budget for this question", "0", hint)
        delta = three_digits(min(parameters.DEFAULT_DELTA, largest_delta))

    def plan_at(epsilon: Fraction) -> Plan:
        return make(question=question, payment=Payment(epsilon=epsilon, delta=delta), facts=facts)

    plan: Plan = by_share(plan_at, sharing.part, share, sharing.start(share))
    sharing.check_failure(plan, share)
    return plan
