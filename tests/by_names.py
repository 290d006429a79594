"""Questions by flat names, as the command and HTTP have them: `by_names(data).top_k(3, groups=["DE"], epsilon=1)`.

Tests that cross parameters give them so, and also what no question has as a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import dpselect as dps
from dpselect.queries.at_price import ACCURACIES
from dpselect.queries.query import kind
from dpselect.questions.questions import QUESTIONS
from dpselect.verbs import Verbs

OF_ASKING: dict[str, Any] = {"fresh": False, "progress": None, "draws": None}
PRICES = {"users_for": "threshold"}
OF_NOUNS = ("epsilon", "delta", "share", "within", "threshold", *OF_ASKING)
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
            asking = {name: given.pop(name, default) for name, default in OF_ASKING.items()}
            priced = [name for name in ("epsilon", *ACCURACIES) if name in kind(verb).parameters()]
            return self.data.ask_named(verb, {**dict.fromkeys(priced), **given}, **asking)

        return ask


def by_names(data: Verbs) -> ByNames:
    """The same data."""
    return ByNames(data)


def noun_of(verb: str, given: Mapping[str, Any]) -> tuple[dps.Question, dict[str, Any]] | None:
    """A question of flat names as a value, and how it is asked; None where it says what no such value has."""
    make = QUESTIONS["quantile" if verb == "median" else verb]
    own = {name: value for name, value in given.items() if name in make.flat_names()}
    price = {PRICES.get(name, name): value for name, value in given.items() if name not in own}
    return (make.from_flat(own), price) if {*price} <= {*OF_NOUNS} else None


def asked(data: Verbs, verb: str, given: Mapping[str, Any]) -> dps.Release[Any]:
    """The answer to a question of flat names, asked as a value where it can be."""
    noun = noun_of(verb, given)
    if noun is None:
        return getattr(by_names(data), verb)(**given)  # type: ignore[no-any-return]
    return data.ask(noun[0], **noun[1])
