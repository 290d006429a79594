"""One name for one thing: an option is the name of a parameter in Python, with dashes. Others are listed, and why."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dpselect as dps
from dpselect.command.parser import Parser, parser
from dpselect.dataset import dataset_of
from dpselect.demo import write_listening_events
from dpselect.gateway import demo
from dpselect.gateway.settings.example import example
from dpselect.gateway.settings.reading import read
from dpselect.gateway.settings.tokens import fresh_token
from dpselect.gateway.settings.values import ServerSettings
from dpselect.ledger.report import report
from dpselect.queries.plan import kind

# Whose parameters the options of a command are.
PYTHON: dict[str, tuple[Callable[..., object], ...]] = {
    "top": (dataset_of, dps.Dataset, dps.Dataset.ask, dps.Budget.open),
    "choose": (dataset_of, dps.Dataset, dps.Dataset.ask, dps.choose, dps.Budget.open),
    "histogram": (dataset_of, dps.Dataset, dps.Dataset.ask, dps.Budget.open),
    "quantile": (dataset_of, dps.Dataset, dps.Dataset.ask, dps.Budget.open),
    "union": (dataset_of, dps.Dataset, dps.Dataset.ask, dps.Budget.open, dps.Text),
    "demo": (write_listening_events,),
    "plan top": (dps.TopK, dps.By, dps.Method, dps.Question.forecast, dps.Population),
    "plan union": (dps.Question.forecast, dps.Population),
    "check": (dps.check,),
    "prepare": (dataset_of, dps.Dataset, dps.Dataset.prepare),
    "doctor": (),
    "completion": (),
    "inspect": (dataset_of, dps.Dataset),
    "serve": (demo.make, ServerSettings),
    "gateway check": (read,),
    "gateway token": (fresh_token,),
    "gateway example": (example,),
    "ledger init": (dps.Ledger.create,),
    "ledger data": (dps.Ledger.data,),
    "ledger grant": (dps.Account, dps.Ledger.grant),
    "ledger show": (dps.Account, dps.Ledger.balances),
    "ledger history": (dps.Account, dps.Ledger.entries),
    "ledger pending": (dps.Account, dps.Ledger.pending, dps.Ledger.give_back),
    "ledger verify": (dps.Ledger.verify,),
    "ledger export": (dps.Ledger.entries,),
    "ledger report": (report,),
}

# Options that are no parameters of these, with the reason of each.
ASKING = {"top", "choose", "histogram", "quantile", "union"}
PLANS = {"plan top", "plan union"}
EXCEPTIONS: dict[str, tuple[set[str], str]] = {
    "--format": (
        ASKING | PLANS | {"check", "ledger show", "ledger history", "ledger pending"},
        "methods of what comes back",
    ),
    "--output": (ASKING | PLANS | {"ledger export", "ledger report", "prepare"}, "methods of what comes back, or to="),
    "--weight": ({"prepare"}, "weights="),
    "--plot": (PLANS | {"ledger show", "ledger history"}, "Forecast.plot, Ledger.plot"),
    "--quiet": (ASKING | PLANS | {"demo", "prepare", "serve"}, "in Python nobody hears of progress without progress="),
    "--budget": ({"doctor"}, "it looks at a machine, for whoever sits at it"),
    "--engine": ({"doctor"}, "the same"),
    "--text": ({"union"}, "item=Text(column)"),
    "--data": ({"ledger grant", "ledger show", "ledger history", "ledger pending", "ledger report"}, "dataset="),
    "--exclude-from": ({"top", "union"}, "exclude=Column(source, column)"),
    "--domain-from": ({"top", "choose", "histogram"}, "domain=Column(source, column)"),
    "--domain-range": ({"top", "choose", "histogram"}, "domain=range(start, stop), with both ends"),
    "--domain-known": ({"plan top"}, "domain=a whole number, that of --items"),
    "--users-for": ({"plan union"}, "threshold="),
    "--domain-size": ({"top", "choose"}, "domain=a whole number"),
    "--measure": ({"top"}, "measures= is a list: the option comes once for each"),
    "--label": ({"choose"}, "scores are a mapping in Python: these are its keys"),
    "--score": ({"choose"}, "and these its values"),
    "--keep": ({"demo"}, "path: without one the data are not kept"),
    "--demo": ({"serve"}, "the function demo.make"),
    "--gateway": (ASKING, "the function connect"),
    "--token-file": (ASKING, "connect(token=)"),
    "--sources": ({"gateway check"}, "the function check_sources"),
    "--name": ({"gateway token"}, "only words around the token"),
    "--give-back": ({"ledger pending"}, "the method give_back"),
}


def leaves(command: Parser, name: str = "") -> Iterator[tuple[str, Parser]]:
    """Every command that does something: an action where a command has actions."""
    inner = command.filled().commands()
    for word, one in inner.items():
        yield from leaves(one, f"{name} {word}".strip())
    if not inner:
        yield name, command


def options() -> dict[tuple[str, str], argparse.Action]:
    """Every long option of every command, but for --help."""
    return {
        (name, option): action
        for name, command in leaves(parser())
        for option, action in command._option_string_actions.items()
        if option.startswith("--") and option != "--help"
    }


OPTIONS = options()


def parameters(command: str) -> dict[str, Any]:
    """What may be said in Python, of all that a command calls, and of its question."""
    verb = {"top": "top_k"}.get(command, command)
    of_question = kind(verb).fields() if command in ASKING else {}
    called = {
        name: parameter for call in PYTHON[command] for name, parameter in inspect.signature(call).parameters.items()
    }
    return called | of_question


def named(option: str, action: argparse.Action, known: dict[str, Any]) -> bool:
    """Is it a parameter of that name, and does a flag without a value turn over what holds unless it is said?"""
    name = option.removeprefix("--").replace("-", "_")
    if action.nargs == 0:
        turned = action.const is False
        name = name.removeprefix("no_") if turned else name
        return name in known and known[name].default is turned
    return name in known and not isinstance(known[name].default, bool)


def test_every_command_has_its_call_in_python() -> None:
    assert {name for name, _ in leaves(parser())} == set(PYTHON)
    assert len(OPTIONS) > 100


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=" ".join)
def test_an_option_is_a_parameter_or_says_why_not(command: str, option: str) -> None:
    excepted = command in EXCEPTIONS.get(option, ((), ""))[0]
    assert named(option, OPTIONS[command, option], parameters(command)) is not excepted


def test_no_exception_is_left_over() -> None:
    claimed = {(command, option) for option, (commands, _) in EXCEPTIONS.items() for command in commands}
    assert claimed <= set(OPTIONS)
    assert all(why for _, why in EXCEPTIONS.values())
