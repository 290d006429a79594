"""The form of the ask page: a control for each parameter of a question, whose menus have what the owner opened.

Fields have the flat names of the parameters, as JSON has them, so an address of the page is a question to keep.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass
from typing import Any

from dpselect._ground.keys import key_columns
from dpselect.gateway import filters
from dpselect.gateway.asked import OF_TEXTS
from dpselect.gateway.pages import conditions, words
from dpselect.gateway.pages.conditions import Condition, typed
from dpselect.queries.plan import plan_class
from dpselect.questions.kinds import COLUMN, FLAG, SHARE, OneOf
from dpselect.questions.parts import method_names
from dpselect.questions.questions import QUESTIONS
from dpselect.questions.value import Inner, param, strip_links

Fields = Mapping[str, Sequence[str]]
Table = Mapping[str, Field[Any]]
Menu = Mapping[str, str]  # what is said, and in which words
VERBS = {
    "top_k": "the top",
    "union": "all common",
    "quantile": "the quantiles",
    "users": "how many users there are",
    "histogram": "how many users of each",
    "choose": "the one leading",
}
SENTENCE = ("verb", "k", "q", "item", "by_weight", "compared_with", "by", "during", "counts", "measures")
BESIDE: Table = {  # of a form, and no parameters of a question
    "verb": param(COLUMN, help="what to show"),
    "item": param(COLUMN, help="of what"),
    "during": param(COLUMN, help="in which period"),
    "share": param(SHARE, help="percent of your budget", default=2),
    "fresh": param(FLAG, help="draw a new answer and pay again, even if there is one already", default=False),
}
NOTHING = {  # the words for what is not chosen
    "by": "in all groups together",
    "by_weight": "by number of users",
    "compared_with": "at that time",
    "counts": "names alone",
    "measures": "and nothing else",
}
USUAL = {"counts": "yes", "epsilon": "0.1"}  # what a page begins with, where a question does not


@dataclass(frozen=True)
class Control:
    """A menu where there are choices, else a text or a number to type."""

    name: str
    help: str
    shape: str
    choices: Menu | None
    value: str

    @property
    def said(self) -> Any:
        """What it says, as JSON; None where that is nothing."""
        match self.shape:
            case _ if not self.value:
                return None
            case "FLAG":
                return True
            case "WHOLE":
                return _whole(self.value)
            case "SHARE":
                return f"{self.value}%"
            case "COLUMNS" | "PERIODS":
                return [self.value]
            case "NUMBERS" | "PAIR":
                return [one.strip() for one in self.value.split(",")]
            case "ITEMS" | "DOMAIN" | "POPULAR":
                lines = csv.reader(self.value.splitlines(), skipinitialspace=True)
                with suppress(csv.Error):  # a text longer than csv reads, which the question refuses
                    return [_item(one) for line in lines for one in line]
        return self.value


@dataclass(frozen=True)
class Form:
    """Everything that the form says."""

    data: Mapping[str, Any]
    others: Sequence[Mapping[str, Any]]  # the data sets one can choose from
    item: Any
    controls: Mapping[str, Control]
    conditions: Sequence[Condition]
    prices: Sequence[str]  # by what a price may be named
    price: str

    @property
    def sentence(self) -> list[Control]:
        """The question in one sentence."""
        return [self.controls[name] for name in SENTENCE if name in self.controls]

    @property
    def more(self) -> list[Control]:
        """All that has no place in it, and is no price."""
        without = (*SENTENCE, *self.prices, "delta", "fresh")
        return [one for name, one in self.controls.items() if name not in without]

    @property
    def where(self) -> str | None:
        """The filter."""
        return conditions.where(self.conditions)

    @property
    def body(self) -> dict[str, Any]:
        """The question as the gateway takes it. The delta of a share is the same share."""
        others = {*self.prices, "delta"} - {self.price, *(() if self.price == "share" else ("delta",))}
        said = {name: one.said for name, one in self.controls.items() if name not in others}
        given = {"data": self.data["name"], **said, "item": self.item, "where": self.where}
        return {name: value for name, value in given.items() if value is not None}


def form(fields: Fields, described: Sequence[Mapping[str, Any]]) -> Form:
    """What a form says, of at least one data set. A menu is at its first choice where what is said is none of it."""
    said = USUAL | {name: values[-1].strip() for name, values in fields.items()}
    data = next((one for one in described if one["name"] == said.get("data")), described[0])
    verb = str(said.get("verb") if said.get("verb") in _verbs(data) else next(iter(VERBS)))
    if verb == "users":  # which counts groups that are listed alone
        said = {"groups": ", ".join(map(_quoted, data["domains"].get(said.get("by"), ())))} | said
    items = _items(verb, data)
    menus = _menus(verb, data, items, said.get("during", ""))
    controls: dict[str, Control] = {}
    for name, one in {**BESIDE, **plan_class(verb).fields()}.items():
        menu = _menu(name, one, menus)
        if name not in OF_TEXTS and (menu is None or len(menu) > (name in NOTHING)):  # or the owner opened nothing
            found = said.get(name, "" if one.default in (None, MISSING, False, True) else str(one.default))
            value = found if menu is None or found in menu else next(iter(menu))
            help, shape = strip_links(one.metadata["help"]), one.metadata["kind"].shape
            controls[name] = Control(name, help, shape, menu, value)
    whose, given = _parts(verb), {name for name, one in controls.items() if one.value}
    prices = ("share", *plan_class(verb).accuracies, "epsilon")
    return Form(
        data=data,
        others=described,
        item=items[controls["item"].value] if items else None,
        controls={name: one for name, one in controls.items() if whose.get(name, "verb") in given},
        conditions=conditions.rows(fields, data["filters"]),
        prices=prices,
        price=said["price"] if said.get("price") in prices else "share",
    )


def _parts(verb: str) -> dict[str, str]:
    """Parameters that mean something with another alone, by name: those of groups with the columns of groups."""
    found: dict[str, str] = {}
    for one in QUESTIONS[verb].parameters():
        of = one.metadata["kind"]
        for part in of.classes if isinstance(of, Inner) else ():
            first, *rest = part.flat_names()
            found |= dict.fromkeys(rest, first) if part.parameters()[0].default is MISSING else {}
    return found


def _verbs(data: Mapping[str, Any]) -> Menu:
    return {verb: label for verb, label in VERBS.items() if verb != "quantile" or data["values"]}


def _items(verb: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that may be asked about; those first whose items the owner listed, where a question needs a list."""
    keys = {"quantile": data["values"], "users": ()}.get(verb, data["items"])
    listed = verb in ("histogram", "choose")
    in_order = sorted(keys, key=lambda key: listed and (not isinstance(key, str) or key not in data["domains"]))
    return {" + ".join(key_columns(key)): key for key in in_order}


def _menus(verb: str, data: Mapping[str, Any], items: Mapping[str, Any], during: str) -> dict[str, Menu]:
    """What may be chosen, by the parameter."""
    in_words = {"quantile": "of {}".format, "top_k": words.things, "union": words.things}.get(verb, words.key)
    periods = data["periods"]  # newest first
    earlier = periods[periods.index(during) + 1 :] if during in periods else periods[1:]
    return {
        "verb": _verbs(data),
        "item": {name: in_words(key) for name, key in items.items()},
        "during": {name: f"during {words.period(name)}" for name in periods},
        "by": {column: f"in every {column}" for column in data["groups"]},
        "by_weight": {column: f"by total {column}" for column in data["weights"]},
        "compared_with": {name: f"gained since {words.period(name)}" for name in earlier},
        "counts": {"yes": "with numbers"},
        "measures": dict(_measures(data["values"])),
        "method": dict.fromkeys(method_names(verb), ""),
    }


def _measures(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for column, ends in values.items():
        for what in ("mean", "sum"):
            said = f"{what}({filters.column(column)}, {ends['low']:.15g}, {ends['high']:.15g})"
            yield said, f"and the {what} of each {column}"


def _menu(name: str, one: Field[Any], menus: Mapping[str, Menu]) -> Menu | None:
    """The choices of a parameter, first that of saying nothing; None of what is typed."""
    of = one.metadata["kind"]
    found = menus.get(name)
    if isinstance(of, OneOf):
        return {"": str(one.default), **{word: "" for word in of.words if word != one.default}}
    if found is None and of.shape == "FLAG":
        found = {"yes": ""}
    if found is None or name in ("verb", "item", "during"):
        return found
    return {"": NOTHING.get(name, "as usual"), **found}


def _whole(text: str) -> int | str:
    """A whole number; what is none the question refuses."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else text


def _quoted(item: object) -> str:
    return '"' + str(item).replace('"', '""') + '"'


def _item(text: str) -> str | float:
    found = typed(text.strip())
    return found if isinstance(found, str) else int(found) if found == int(found) else float(found)
