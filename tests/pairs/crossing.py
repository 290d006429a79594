"""Features crossed: one call that says what each of them says, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import dpselect as dps
from dpselect.queries.planning import plan_class
from tests.by_names import OF_ASKING
from tests.pairs.features import DOMAIN, FEATURES, GROUPS, LEFT_OUT, VERBS, Feature
from tests.pairs.rows import ADDRESSED, DECLARED, NUMBERS, ROWS, TEXTUAL, Row

EPSILON = 10**5  # so large that no answer hangs on a draw
OF_ROWS = (
    "source", "user", "item", "where", "max_items_per_user", "split", "table", "newlines_in_values", "budget",
    "time", "period", "during", "timezone",
)  # fmt: skip
WORDS = "words"
OF_CARRIERS = ("surface", "form")
USUAL = {"source": "arrow", "user": "user", "epsilon": EPSILON}
OF_VERB: dict[str, dict[str, Any]] = {verb: {"item": "name"} for verb in VERBS}
OF_VERB["top_k"] |= {"k": 3}
OF_VERB["choose"] |= {"domain": DOMAIN}
OF_VERB["histogram"] |= {"domain": DOMAIN}
OF_VERB["quantile"] |= {"item": "whole"}
OF_VERB["union"] |= {"max_items_per_user": 20}

Pair = tuple[Feature, ...]


class Impossible(Exception):
    """No such call can be written; the message says why."""


@dataclass(frozen=True)
class Call:
    """A verb with all that it is asked with, by name: of rows, of the question, of who carries it."""

    verb: str
    given: Mapping[str, Any]

    @cached_property
    def rows(self) -> dict[str, Any]:
        """What a Dataset is made of. A bound that is to be chosen is the verb's."""
        found = {name: value for name, value in self.given.items() if name in OF_ROWS}
        return {**found, "item": dps.Text("note")} if found["item"] == WORDS else found

    @cached_property
    def asked(self) -> dict[str, Any]:
        """The parameters of the verb, those that hang on the items filled in."""
        beside = {*self.rows, *OF_CARRIERS}
        return {name: self._filled(value) for name, value in self.given.items() if name not in beside}

    def without(self, *names: str) -> Call:
        """The same, but for what is said under these names."""
        return Call(self.verb, {name: value for name, value in self.given.items() if name not in names})

    def in_python(self) -> Call:
        """The same, asked of a Dataset of rows in memory that nobody pays for."""
        plain = self.without("surface", "budget")
        return Call(self.verb, {**plain.given, "source": USUAL["source"]})

    @property
    def source(self) -> str:
        """The name of the source."""
        return str(self.given["source"])

    @property
    def types(self) -> dict[str, str]:
        """What the owner declares of a source of texts: its numbers and times. All others declare their types."""
        if self.source not in TEXTUAL:
            return {}
        item = self.given["item"]
        return DECLARED | ({item: NUMBERS[item]} if self.verb == "quantile" and item in NUMBERS else {})

    def items_of(self, row: Row) -> tuple[object, ...]:
        """The items of a row: several where it is split or is a text; none where one is missing."""
        item = self.given["item"]
        if isinstance(item, tuple):
            found = tuple(row[name] for name in item)
            return () if None in found else (found,)
        value = row["note" if item == WORDS else item]
        if value is None:
            return ()
        if item == WORDS or self.given.get("split"):
            return tuple(value.split(" "))
        return (value,)

    def _filled(self, value: object) -> object:
        items = list(dict.fromkeys(one for row in ROWS for one in self.items_of(row)))
        match value:
            case str() if value == DOMAIN:
                return [*items, "nobody's"] if isinstance(items[0], str) else items
            case str() if value == LEFT_OUT:
                return items[:1]
            case str() if value == GROUPS:
                return ["SE", "DE", "nowhere"]
        return value


def crossed(*features: Feature) -> Call:
    """The call that says what all of these say."""
    verb = _verb(features)
    said: dict[str, Any] = {}
    for one in features:
        for name, value in one.says.items():
            if name in said and said[name] != value:
                raise Impossible(f"{name} cannot be both")
            said[name] = value
    _check_parameters(verb, said)
    usual = {**USUAL, **OF_VERB[verb]}
    for one in features:
        usual |= {name: value for name, value in one.usual.items() if _knows(verb, name)}
    call = Call(verb, {**usual, **said})
    _check_carrier(call)
    return call


def _verb(features: Pair) -> str:
    """The verb that all can be said of; one that is usually said of another than the first verb says which."""
    leading = min(features, key=lambda one: one.verbs[0] == VERBS[0])
    verbs = [verb for verb in leading.verbs if all(verb in one.verbs for one in features)]
    if not verbs:
        raise Impossible(f"{' and '.join(dict.fromkeys(one.verbs[0] for one in features))} are two questions")
    return verbs[0]


def _knows(verb: str, name: str) -> bool:
    make = plan_class("quantile" if verb == "median" else verb)
    return name in (*make.fields(), "share", *OF_ASKING, *OF_ROWS, *OF_CARRIERS)


def _check_parameters(verb: str, said: Mapping[str, object]) -> None:
    for name in said:
        if not _knows(verb, name):
            raise Impossible(f"{verb} has no {name}")


def _check_carrier(call: Call) -> None:
    surface = call.given.get("surface")
    if surface in ("command", "gateway") and call.source not in ADDRESSED:
        raise Impossible(f"a {surface} reads what has an address")
    if surface == "gateway" and "budget" in call.given:
        raise Impossible("a gateway has a ledger of its own")
    if surface == "command" and call.given.get("budget") == "memory":
        raise Impossible("a budget in memory ends with the command")
    if surface == "JSON" and call.given.get("share"):
        raise Impossible("a share is of a budget, which JSON has not")


def pairs() -> Iterator[Pair]:
    """Every two features of different kinds."""
    return (pair for pair in combinations(FEATURES, 2) if pair[0].kind != pair[1].kind)
