"""The menu of methods is the same in the code and in the help and the completion of the command."""

from __future__ import annotations

import pytest

from dpselect._ground.methods import names
from dpselect.command.parser import build_parser

COMMANDS = {"top": "top_k", "union": "union", "choose": "choose"}
WISHES = {"auto", "set", "by-bound"}  # and no names of methods


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_completion_list_the_methods_that_there_are(command: str) -> None:
    options = build_parser().commands()[command].load_options()._actions
    method = next(one for one in options if one.dest == "method")
    said = set(str(method.help).partition(": ")[2].split(", "))
    assert said == set(method.words)  # type: ignore[attr-defined]
    assert said - WISHES == set(names(COMMANDS[command]))
