"""Questions by flat names, as the command and HTTP have them: `by_names(data).top_k(3, groups=["DE"], epsilon=1)`.

Tests that cross parameters give them so, and also what no question has as a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import dpselect as dps
from dpselect.queries import planning
from dpselect.queries.facts import Facts
from dpselect.queries.planning import plan_question
from dpselect.queries.values import answer_from_values
from dpselect.questions.parts import Payment
from dpselect.testing import drawing
from dpselect.verbs import Verbs

OF_ASKING: dict[str, Any] = {"fresh": False, "progress": None, "draws": None}
FIRST = {"top_k": "k", "quantile": "q"}


class ByNames:
    """Data whose verbs take all parameters by their flat names."""

    def __init__(self, data: Verbs) -> None:
        self.data = data

    def __getattr__(self, name: str) -> Callable[..., dps.Release[Any]]:
        verb = "quantile" if name == "median" else name

        def ask(*first: object, **given: Any) -> dps.Release[Any]:
            if first:
                given[FIRST[verb]] = first[0]
            return asked(self.data, verb, given)

        return ask


def by_names(data: Verbs) -> ByNames:
    """The same data."""
    return ByNames(data)


def noun_of(verb: str, given: Mapping[str, Any]) -> tuple[dps.Question, dict[str, Any]]:
    """A question of flat names as a value, and its price."""
    question, payment = planning.question_from_flat("quantile" if verb == "median" else verb, given)
    return question, {one.name: getattr(payment, one.name) for one in payment.parameters()}


def asked(data: Any, verb: str, given: Mapping[str, Any]) -> dps.Release[Any]:
    """The answer to a question of flat names."""
    asking = {name: given.get(name, default) for name, default in OF_ASKING.items()}
    own = {name: value for name, value in given.items() if name not in OF_ASKING}
    if own.pop("exclude", None) is not None:
        data = data.exclude(given["exclude"])
    if own.pop("max_items_per_user", None) is not None:
        data = copy(data)
        data.max_items_per_user = given["max_items_per_user"]
    if own.pop("shares", None) is not None:
        data = copy(data)
        data._set_item(replace(data._item, level_shares=given["shares"]))
    question, price = noun_of(verb, own)
    draws = asking.pop("draws")
    return drawn(draws, lambda: data.ask(question, **price, **asking))


def drawn(draws: Any, ask: Callable[[], Any]) -> Any:
    """What is answered with these draws, or with real ones where there are none."""
    if draws is None:
        return ask()
    with drawing(draws):
        return ask()


def plan_of(verb: str, *, paying: Any = None, **given: Any) -> Any:
    """The plan of a question, its price and facts of the data, of flat names; `paying` is a budget."""
    words = given.pop("words", None)
    if words is not None:
        given |= {"ngrams": (words.shortest, words.longest), "tokenizer": words.tokenizer.name}
        given["lower"] = words.tokenizer.lower
    facts = {name: given.pop(name) for name in Facts.flat_fields() if name in given}
    question, payment = planning.question_from_flat(verb, given)
    return plan_question(question, payment, Facts.from_flat(facts), paying)


def of_values(question: dps.Question, values: object, **price: Any) -> dps.Release[Any]:
    """The answer for values of the caller's own, also at a price that the public verbs do not take."""
    return answer_from_values(question, Payment(**price), values, budget=None, fresh=False)
