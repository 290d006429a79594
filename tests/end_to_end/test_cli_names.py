"""One name for one thing: options that ask are parameters; others have the name of one in Python, or say why not."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

import pytest

import dpselect as dps
from dpselect.audit.report import report
from dpselect.command import options as options_of
from dpselect.command.parser import QUESTION_COMMANDS, Parser, build_parser
from dpselect.command.verbs import COMMAND_VERBS
from dpselect.demo import write_listening_events
from dpselect.flat import dataset_of
from dpselect.gateway import demo
from dpselect.gateway.settings.reading import read
from dpselect.gateway.settings.server import ServerSettings
from dpselect.gateway.settings.tokens import example, fresh_token
from dpselect.queries.planning import plan_class
from dpselect.questions.kinds import whole_number_kind

# Whose parameters the options of a command are.
PYTHON: dict[str, tuple[Callable[..., object], ...]] = {
    "demo": (write_listening_events,),
    "check": (dps.check,),
    "prepare": (dataset_of, dps.Dataset, dps.Dataset.prepare),
    "completion": (),
    "mcp": (dataset_of, dps.Dataset, dps.Account, dps.connect),
    "inspect": (dataset_of, dps.Dataset),
    "serve": (demo.make, ServerSettings),
    "gateway check": (read,),
    "gateway apply": (read,),
    "gateway token": (fresh_token,),
    "gateway example": (example,),
    "ledger init": (dps.Ledger.create,),
    "ledger data": (dps.Ledger.data,),
    "ledger grant": (dps.Account, dps.Ledger.grant),
    "ledger show": (dps.Account, dps.Ledger.all_standings),
    "ledger history": (dps.Account, dps.Ledger.entries),
    "ledger pay": (dps.Budget.open, dps.Budget.spend),
    "ledger pending": (dps.Account, dps.Ledger.pending, dps.Ledger.give_back),
    "ledger verify": (dps.Ledger.verify,),
    "ledger upgrade": (dps.Ledger.upgrade,),
    "ledger export": (dps.Ledger.entries,),
    "ledger report": (report,),
}

# Options that are no parameters of these, with the reason of each.
EXCEPTIONS: dict[str, tuple[set[str], str]] = {
    "--format": ({"check", "ledger show", "ledger history", "ledger pending"}, "methods of what comes back"),
    "--output": ({"ledger export", "ledger report", "prepare"}, "methods of what comes back, or to="),
    "--weight": ({"prepare"}, "weights="),
    "--type": ({"prepare", "inspect"}, "types="),
    "--plot": ({"ledger show", "ledger history"}, "Ledger.plot"),
    "--quiet": ({"demo", "prepare", "serve"}, "in Python nobody hears of progress without progress="),
    "--by": ({"mcp"}, "groups of the settings of a gateway"),
    "--filter": ({"mcp"}, "filters of these settings"),
    "--rows": ({"mcp"}, "their declared sizes"),
    "--max-share": ({"mcp"}, "max_share of a person in these settings"),
    "--max-a-day": ({"mcp"}, "the same"),
    "--config": ({"mcp"}, "words for a client"),
    "--token-file": ({"mcp", "check"}, "token="),
    "--run": ({"ledger pay"}, "the block of a with"),
    "--gateway": ({"check"}, "connect(url).answer(id)"),
    "--data": ({"mcp", "ledger grant", "ledger show", "ledger history", "ledger pending", "ledger report"}, "dataset="),
    "--keep": ({"demo"}, "path: without one the data are not kept"),
    "--demo": ({"serve"}, "the function demo.make"),
    "--sources": ({"gateway check"}, "the function check_sources"),
    "--name": ({"gateway token"}, "only words around the token"),
    "--give-back": ({"ledger pending"}, "the method give_back"),
}


def leaves(command: Parser, name: str = "") -> Iterator[tuple[str, Parser]]:
    """Every command that does something: an action where a command has actions."""
    inner = command.load_options().commands()
    for word, one in inner.items():
        yield from leaves(one, f"{name} {word}".strip())
    if not inner:
        yield name, command


def options() -> dict[tuple[str, str], argparse.Action]:
    """Every long option of every command that is written by hand, but for --help."""
    return {
        (name, option): action
        for name, command in leaves(build_parser())
        if name in PYTHON
        for option, action in command._option_string_actions.items()
        if option.startswith("--") and option not in ("--help", "--help-all")
    }


OPTIONS = options()


def parameters(command: str) -> dict[str, Any]:
    """What may be said in Python, of all that a command calls."""
    return {
        name: parameter for call in PYTHON[command] for name, parameter in inspect.signature(call).parameters.items()
    }


def named(option: str, action: argparse.Action, known: dict[str, Any]) -> bool:
    """Is it a parameter of that name, and does a flag without a value turn over what holds unless it is said?"""
    name = option.removeprefix("--").replace("-", "_")
    if action.nargs == 0:
        turned = action.const is False
        name = name.removeprefix("no_") if turned else name
        return name in known and known[name].default is turned
    return name in known and not isinstance(known[name].default, bool)


def test_every_command_has_its_call_in_python() -> None:
    assert {name for name, _ in leaves(build_parser())} == {*PYTHON, *QUESTION_COMMANDS, "plan top", "plan union"}
    assert len(OPTIONS) > 30


DATA = "files user item where table newlines_in_values type time period timezone during".split()
ASKED = "budget analyst data snapshot fresh gateway token_file format output explain quiet help".split()
LISTS = {"domain": ("from", "range", "size"), "exclude": ("from",), "groups": ("from",)}
MORE = {
    "top": ["split"],
    "union": ["split", "text"],
    "choose": "split label score sensitivity monotonic neighbors".split(),  # of candidates
    "histogram": ["split"],
    "quantile": [],
    "users": [],
}
LESS = {"users": {"item"}}  # of data


@pytest.mark.parametrize("command", QUESTION_COMMANDS)
def test_each_parameter_of_a_question_is_an_option_and_each_option_a_parameter(command: str) -> None:
    """A plan says which parameters there are: of the question, its price, and what it takes of the data."""
    fields = {*plan_class(COMMAND_VERBS[command].verb).fields(), "share"}
    ways = {f"{name}_{way}" for name in fields & set(LISTS) for way in LISTS[name]}
    known = {one.dest for one in build_parser().commands()[command].load_options()._actions}
    assert known == fields | ways | {*DATA, *ASKED, *MORE[command], "help_all"} - LESS.get(command, set())


def test_a_parameter_that_is_added_is_an_option_with_its_help() -> None:
    added = {
        "made_up": field(default=7, metadata={"kind": whole_number_kind(), "help": "so [many](x.md)", "rare": False})
    }
    command = Parser(prog="some")
    options_of.add_options(command, added)
    assert command.parse_args(["--made-up", "3"]).made_up == 3
    assert "--made-up N  so many (default 7)" in command.format_help()


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=" ".join)
def test_an_option_is_a_parameter_or_says_why_not(command: str, option: str) -> None:
    excepted = command in EXCEPTIONS.get(option, ((), ""))[0]
    assert named(option, OPTIONS[command, option], parameters(command)) is not excepted


def test_no_exception_is_left_over() -> None:
    claimed = {(command, option) for option, (commands, _) in EXCEPTIONS.items() for command in commands}
    assert claimed <= set(OPTIONS)
    assert all(why for _, why in EXCEPTIONS.values())
