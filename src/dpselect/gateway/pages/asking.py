"""The form of the ask page: a control for each parameter of a question, whose menus have what the owner opened.

Fields have the flat names of the parameters, as JSON has them, so an address of the page is a question to keep.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect.filter_texts import format_column
from dpselect.gateway.asked import TEXT_PARAMETERS
from dpselect.gateway.pages import conditions, words
from dpselect.gateway.pages.conditions import Condition, parse_typed
from dpselect.queries import Parameter, list_parameters, plan_class
from dpselect.questions import key_columns

Fields = Mapping[str, Sequence[str]]
Menu = Mapping[str, str]  # what is said, and in which words
VERB_SENTENCES = {
    "top_k": "the top",
    "union": "all common",
    "quantile": "the quantiles",
    "users": "how many users there are",
    "histogram": "how many users of each",
    "choose": "the one leading",
}
SENTENCE = ("verb", "k", "q", "item", "by_weight", "compared_with", "by", "during", "counts", "measures")
_FORM_FIELDS = (  # of a form, and no parameters of a question
    Parameter("verb", "what to show", "COLUMN"),
    Parameter("item", "of what", "COLUMN"),
    Parameter("during", "in which period", "COLUMN"),
    Parameter("share", "percent of your budget", "SHARE", 2),
    Parameter("fresh", "draw a new answer and pay again, even if there is one already", "FLAG"),
)
WORDS_IF_EMPTY = {  # the words for what is not chosen
    "by": "in all groups together",
    "by_weight": "by number of users",
    "compared_with": "at that time",
    "counts": "names alone",
    "measures": "and nothing else",
}
USUAL = {"counts": "yes", "epsilon": "0.1"}  # what a page begins with, where a question does not


@dataclass(frozen=True)
class Control:
    """A control of the form: a menu if there are choices, else a text or a number to type."""

    name: str
    help: str
    shape: str
    choices: Menu | None
    value: str

    @property
    def json_value(self) -> Any:
        """The value of the control as JSON; None if it has none."""
        match self.shape:
            case _ if not self.value:
                return None
            case "FLAG":
                return True
            case "WHOLE":
                return _parse_whole(self.value)
            case "SHARE":
                return f"{self.value}%"
            case "COLUMNS" | "PERIODS":
                return [self.value]
            case "NUMBERS" | "PAIR":
                return [part.strip() for part in self.value.split(",")]
            case "ITEMS" | "DOMAIN" | "POPULAR":
                lines = csv.reader(self.value.splitlines(), skipinitialspace=True)
                with suppress(csv.Error):  # a text longer than csv reads, which the question refuses
                    return [_parse_item(part) for line in lines for part in line]
        return self.value


@dataclass(frozen=True)
class Form:
    """The controls of the form, with the data and the conditions that are chosen."""

    data: Mapping[str, Any]
    datasets: Sequence[Mapping[str, Any]]  # the data sets one can choose from
    item: Any
    controls: Mapping[str, Control]
    conditions: Sequence[Condition]
    prices: Sequence[str]  # by what a price may be named
    price: str

    @property
    def sentence(self) -> list[Control]:
        """The controls of the question in one sentence."""
        return [self.controls[name] for name in SENTENCE if name in self.controls]

    @property
    def other_controls(self) -> list[Control]:
        """The controls outside the sentence that are no price."""
        shown_elsewhere = (*SENTENCE, *self.prices, "delta", "fresh")
        return [control for name, control in self.controls.items() if name not in shown_elsewhere]

    @property
    def where(self) -> str | None:
        """The filter of the conditions."""
        return conditions.join_conditions(self.conditions)

    @property
    def body(self) -> dict[str, Any]:
        """The question as the gateway takes it. The delta of a share is the same share."""
        unused_prices = {*self.prices, "delta"} - {self.price, *(() if self.price == "share" else ("delta",))}
        values = {name: control.json_value for name, control in self.controls.items() if name not in unused_prices}
        fields = {"data": self.data["name"], **values, "item": self.item, "where": self.where}
        return {name: value for name, value in fields.items() if value is not None}


def form(fields: Fields, described: Sequence[Mapping[str, Any]]) -> Form:
    """Make the form of one data set at least. A menu is at its first choice if its value is none of its choices."""
    values = USUAL | {name: texts[-1].strip() for name, texts in fields.items()}
    data = next((dataset for dataset in described if dataset["name"] == values.get("data")), described[0])
    verb = str(values.get("verb") if values.get("verb") in _verbs(data) else next(iter(VERB_SENTENCES)))
    if verb == "users":  # which counts groups that are listed alone
        values = {"groups": ", ".join(map(_quote, data["domains"].get(values.get("by"), ())))} | values
    items = _items(verb, data)
    menus = _menus(verb, data, items, values.get("during", ""))
    controls: dict[str, Control] = {}
    parameters = {parameter.name: parameter for parameter in (*_FORM_FIELDS, *list_parameters(verb))}
    for name, parameter in parameters.items():
        menu, default = _menu(parameter, menus), parameter.default
        if name not in TEXT_PARAMETERS and (
            menu is None or len(menu) > (name in WORDS_IF_EMPTY)
        ):  # or the owner opened nothing
            typed_value = values.get(name, "" if default in (None, False, True) else str(default))
            value = typed_value if menu is None or typed_value in menu else next(iter(menu))
            controls[name] = Control(name, parameter.help, parameter.shape, menu, value)
    filled_names = {name for name, control in controls.items() if control.value}
    prices = ("share", *plan_class(verb).accuracies, "epsilon")
    return Form(
        data=data,
        datasets=described,
        item=items[controls["item"].value] if items else None,
        controls={
            name: control for name, control in controls.items() if (parameters[name].needs or "verb") in filled_names
        },
        conditions=conditions.rows(fields, data["filters"]),
        prices=prices,
        price=values["price"] if values.get("price") in prices else "share",
    )


def _verbs(data: Mapping[str, Any]) -> Menu:
    return {verb: label for verb, label in VERB_SENTENCES.items() if verb != "quantile" or data["values"]}


def _items(verb: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that may be asked about, first those with a listed domain if a question needs one."""
    keys = {"quantile": data["values"], "users": ()}.get(verb, data["items"])
    needs_list = verb in ("histogram", "choose")
    ordered_keys = sorted(keys, key=lambda key: needs_list and (not isinstance(key, str) or key not in data["domains"]))
    return {" + ".join(key_columns(key)): key for key in ordered_keys}


def _menus(verb: str, data: Mapping[str, Any], items: Mapping[str, Any], during: str) -> dict[str, Menu]:
    """Return the choices of each parameter."""
    format_key = {"quantile": "of {}".format, "top_k": words.format_items, "union": words.format_items}.get(
        verb, words.key
    )
    periods = data["periods"]  # newest first
    earlier = periods[periods.index(during) + 1 :] if during in periods else periods[1:]
    return {
        "verb": _verbs(data),
        "item": {name: format_key(key) for name, key in items.items()},
        "during": {name: f"during {words.period(name)}" for name in periods},
        "by": {column: f"in every {column}" for column in data["groups"]},
        "by_weight": {column: f"by total {column}" for column in data["weights"]},
        "compared_with": {name: f"gained since {words.period(name)}" for name in earlier},
        "counts": {"yes": "with numbers"},
        "measures": dict(_measures(data["values"])),
    }


def _measures(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for column, ends in values.items():
        for statistic in ("mean", "sum"):
            measure = f"{statistic}({format_column(column)}, {ends['low']:.15g}, {ends['high']:.15g})"
            yield measure, f"and the {statistic} of each {column}"


def _menu(parameter: Parameter, menus: Mapping[str, Menu]) -> Menu | None:
    """Return the choices of a parameter, first that of leaving it out; None if it is typed."""
    menu = menus.get(parameter.name)
    if parameter.words is not None:
        default = parameter.default
        return {"": "as usual" if default is None else str(default)} | {
            word: "" for word in parameter.words if word != default
        }
    if menu is None and parameter.shape == "FLAG":
        menu = {"yes": ""}
    if menu is None or parameter.name in ("verb", "item", "during"):
        return menu
    return {"": WORDS_IF_EMPTY.get(parameter.name, "as usual"), **menu}


def _parse_whole(text: str) -> int | str:
    """Parse a whole number; any other text is left for the question to refuse."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else text


def _quote(item: object) -> str:
    return '"' + str(item).replace('"', '""') + '"'


def _parse_item(text: str) -> str | float:
    value = parse_typed(text.strip())
    return value if isinstance(value, str) else int(value) if value == int(value) else float(value)
