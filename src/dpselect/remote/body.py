"""A question as the body of a request: made and checked here first, so that a mistake costs no round trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dpselect._ground import parameters
from dpselect._ground.privacy import warn_if_weak
from dpselect.errors import ParameterError, came
from dpselect.queries.at_price import ACCURACIES, unpriced
from dpselect.queries.query import Query, Rows, kind, with_rows

Body = dict[str, Any]
TRIALS = (1, 100, 10_000)  # epsilons at which a question for a share is looked at


class About(Rows, Protocol):
    """Which rows a question is about."""

    @property
    def said(self) -> Body:
        """The same as parts of a body."""
        ...


def body_of(query: Query, rows: About) -> Body:
    """A question that was made beforehand, with all it holds."""
    query.refuse_inner("asked of a gateway")
    query = query.of(rows)
    warn_if_weak(query.ceiling)
    return query.to_dict() | rows.said


def body_of_verb(verb: str, given: Mapping[str, Any], rows: About) -> Body:
    """The question of a verb. What was left out is left to the gateway: the owner may have declared it."""
    share, given = given.get("share"), {name: value for name, value in given.items() if name != "share"}
    make = kind(verb)
    filled = with_rows(make, {**given, **_stand_ins(verb, given)}, rows)
    near = [name for name in ACCURACIES if name in given]
    if share is None and all(given.get(name) is None for name in ("epsilon", *near)):
        raise unpriced(verb, near)
    if share is None:
        query = make(**_priced(filled)).of(rows)
        warn_if_weak(query.ceiling)
        price: Body = {}
    else:
        query, price = _at_some_price(verb, filled, share).of(rows), {"share": _share(share)}
    of_rows = {"exclude"} if rows.excluded is not None else set()
    of_rows |= {"max_items_per_user"} if filled.get("max_items_per_user") is not None else set()
    named = {name for name, value in given.items() if value is not None} | {"verb"} | of_rows
    kept = {name: value for name, value in query.to_dict().items() if name in named}
    return {**kept, **price, **rows.said}


def _stand_ins(verb: str, given: Mapping[str, Any]) -> Body:
    """For what the owner may have declared, so that all else can be looked at."""
    found: Body = {}
    if verb in ("choose", "histogram") and given.get("domain") is None:
        found["domain"] = ("a", "b")
    if verb == "quantile" and given.get("bounds") is None:
        found["bounds"] = (0, 1 if given.get("step") is None else given["step"])
    if given.get("by_weight") is not None and given.get("at_most") is None:
        found["at_most"] = 1 if given.get("weight_unit") is None else given["weight_unit"]
    return found


def _priced(given: Mapping[str, Any]) -> Body:
    """Without a delta that nobody named, which is left to the question."""
    return {name: value for name, value in given.items() if name != "delta" or value is not None}


def _share(share: object) -> str:
    return str(share) if isinstance(share, str) else str(parameters.share("share", share))


def _at_some_price(verb: str, given: Mapping[str, Any], share: object) -> Query:
    """The question at some epsilon: which one the share comes to is for the gateway to say."""
    parameters.share("share", share)
    other = next((name for name in ("epsilon", *ACCURACIES) if given.get(name) is not None), None)
    if other is not None:
        raise ParameterError("share", f"be left out where {other} is given", came(share))
    for epsilon in TRIALS[:-1]:
        try:
            return kind(verb)(**_priced({**given, "epsilon": epsilon}))
        except ParameterError as error:
            if not error.parameter.startswith("epsilon"):
                raise
    return kind(verb)(**_priced({**given, "epsilon": TRIALS[-1]}))


def checked(verb: object, given: Mapping[str, Any], known_verbs: Sequence[str]) -> str:
    """The verb of a question of which only parameters are given."""
    name = parameters.one_of("verb", verb, known_verbs)
    parameters.refuse_others(given, [*kind(name).parameters(), "share"], f"be a parameter of {name}")
    return name
