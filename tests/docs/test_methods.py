"""The menu of methods is the same in the code, in the help of the command and on its page."""

from __future__ import annotations

import re

import pytest

from dpselect._ground.methods import names
from dpselect.command.parser import parser
from tests.conftest import ROOT

COMMANDS = {"top": "top_k", "union": "union", "choose": "choose"}
PAGE = (ROOT / "docs" / "command.md").read_text("utf-8")

WISHES = {"auto", "set"}  # and no names of methods


def words(text: str) -> set[str]:
    """The names in a list in words: 'a, b or c; with a domain d'."""
    return set(re.split(r"; with a domain |, | or ", text))


def said_in_help(command: str) -> set[str]:
    """The methods that --help lists."""
    options = parser().commands()[command].filled()._actions
    return words(next(str(one.help) for one in options if "--method" in one.option_strings)) - WISHES


def said_on_page(page: str, command: str) -> set[str]:
    """The methods that the page lists in the section of a command."""
    section = page.partition(f"## `dpselect {command} ")[2].partition("\n## ")[0]
    line = next(line for line in section.splitlines() if "`--method`" in line)
    listed = line.partition("`--method`")[2]
    listed = (
        listed.partition("(")[2].partition(")")[0] if listed.startswith(" (") else listed.partition("| `method` |")[2]
    )
    return set(re.findall(r"`([\w-]+)`", listed)) - WISHES


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_page_list_the_methods_that_there_are(command: str) -> None:
    known = set(names(COMMANDS[command]))
    assert said_in_help(command) == known
    assert said_on_page(PAGE, command) == known
