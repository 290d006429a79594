"""Docstrings of what users call: each parameter on a line of its own, in the words of the table that declares it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import pytest

import dpselect
from dpselect.errors import DpselectError
from dpselect.questions.parts import Payment
from dpselect.questions.questions import QUESTIONS
from dpselect.questions.value import help_sentence
from dpselect.verbs import Verbs

ARGS = re.compile(r"^Args:\n((?: {4}.+\n?)+)", re.MULTILINE)
ARG = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)
RETURNED = (dpselect.Release, dpselect.Forecast, dpselect.Plan, dpselect.Remote, dpselect.RemoteDataset)
OF_VERBS = {"median": "quantile"}  # a question of its own is quantile's


def described(what: Any) -> dict[str, str]:
    """The parameters of a docstring, with what it says of each."""
    found = ARGS.search(inspect.cleandoc(what.__doc__ or "") + "\n")
    return {name: " ".join(text.split()) for name, text in ARG.findall(found[1])} if found else {}


def parameters(what: Callable[..., Any]) -> list[str]:
    return [
        one.name
        for one in inspect.signature(what).parameters.values()
        if one.name not in ("self", "cls") and one.kind is not one.VAR_KEYWORD
    ]


def made_by_users() -> Iterator[Any]:
    """Functions, and classes that users construct: not answers, errors and warnings."""
    for name in dpselect.__all__:
        found = getattr(dpselect, name)
        called = inspect.isfunction(found) or (inspect.isclass(found) and not issubclass(found, (*RETURNED, Exception)))
        if called and parameters(found):
            yield pytest.param(found, id=name)


def with_args() -> Iterator[Any]:
    """Public methods whose docstring lists parameters."""
    for name in dpselect.__all__:
        found = getattr(dpselect, name)
        for key in dir(found) if inspect.isclass(found) and not issubclass(found, DpselectError) else ():
            method = getattr(found, key)
            if not key.startswith("_") and callable(method) and described(method):
                yield pytest.param(method, id=f"{name}.{key}")


@pytest.mark.parametrize("what", [*made_by_users()])
def test_every_parameter_of_what_users_make_has_its_line(what):
    assert list(described(what)) == parameters(what)


@pytest.mark.parametrize("method", [*with_args()])
def test_a_list_of_parameters_is_complete(method):
    assert list(described(method)) == parameters(method)


@pytest.mark.parametrize("verb", [*QUESTIONS, "median"])
def test_verbs_say_of_a_parameter_what_its_table_says(verb):
    table = {
        one.name: help_sentence(one) for kind in (QUESTIONS[OF_VERBS.get(verb, verb)], Payment) for one in fields(kind)
    }
    method = getattr(Verbs, verb)
    assert described(method) == {name: table[name] for name in parameters(method)}


def test_a_missing_line_is_noticed():
    def asked(k: int, by: str) -> None:
        """Ask.

        Args:
            k: How many.
        """

    assert list(described(asked)) == ["k"] != parameters(asked)
