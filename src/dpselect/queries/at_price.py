"""The plan of a question at the price that somebody named, or at that of the budget that pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from dpselect._ground import parameters
from dpselect.errors import ParameterError, came
from dpselect.queries.by_share import by_share, three_digits
from dpselect.queries.facts import Facts
from dpselect.queries.plan import Plan, kind, unpriced
from dpselect.questions.payment import Payment
from dpselect.questions.questions import Question

if TYPE_CHECKING:
    from dpselect.ledger.sharing import Sharing


class Paying(Protocol):
    """What a budget says of the price of a question."""

    @property
    def usual_delta(self) -> Fraction:
        """That of a question that needs one and names none; 0 where it has none."""
        ...

    @property
    def sharing(self) -> Sharing:
        """What a share of it is."""
        ...


def planned(
    question: Question,
    payment: Payment,
    facts: Facts,
    paying: Paying | None = None,
    *,
    make: Callable[..., Plan] | None = None,
) -> Plan:
    """The plan of a question, made by `make` where somebody knows some.

    For a `share` of the budget it has the largest epsilon, of three digits, whose ceiling takes no more. What others
    took changes nothing, so the same share is the same question. Where an accuracy is named, the epsilon follows from
    it, and the budget says no more than the delta.
    """
    of, delta = kind(question.verb), payment.exact_delta
    make, needed = make or of, delta is None and of.needs_delta(question)
    if payment.share is None:
        if payment.epsilon is None and payment.accuracy is None:
            raise unpriced(question.verb, [*(["share"] if paying else []), *of.accuracies])
        if paying is not None and needed and paying.usual_delta:
            payment = replace(payment, delta=paying.usual_delta)
        return make(question=question, payment=payment, facts=facts)
    if paying is None:
        hint = "budget=dps.Budget(epsilon=, delta=), or --budget FILE; or give epsilon"
        raise ParameterError("share", "be given with a budget, which it is a share of", came(payment.share), hint)
    wanted, shares = Fraction(payment.share), paying.sharing
    if needed:
        of_share = shares.delta(wanted)
        if not of_share:
            hint = "make a budget with a delta, or give a domain where there is one"
            raise ParameterError("delta", "be in the budget for this question", "0", hint)
        delta = three_digits(min(parameters.DELTA, of_share))

    def at(epsilon: Fraction) -> Plan:
        return make(question=question, payment=Payment(epsilon=epsilon, delta=delta), facts=facts)

    found: Plan = by_share(at, shares.part, wanted, shares.start(wanted))
    shares.check_failure(found, wanted)
    return found
