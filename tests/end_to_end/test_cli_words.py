"""What the command understands, how it helps, and that help costs nothing."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from dpselect import __version__, ledger_arguments, plan_arguments
from dpselect.arguments import CHOOSE_EXAMPLES, DEMO_EXAMPLES, EXAMPLES, TOP_EXAMPLES, parser
from dpselect.union_arguments import UNION_EXAMPLES, VOCAB_EXAMPLES
from tests.end_to_end.conftest import Command

COMMANDS = {"top", "choose", "quantile", "union", "vocab", "demo", "ledger", "plan"}
HELP = [
    TOP_EXAMPLES,
    CHOOSE_EXAMPLES,
    UNION_EXAMPLES,
    VOCAB_EXAMPLES,
    DEMO_EXAMPLES,
    EXAMPLES,
    ledger_arguments.EXAMPLES,
    plan_arguments.EXAMPLES,
]


def test_version(dpselect: Command) -> None:
    ended = dpselect("--version")
    assert (ended.status, ended.out, ended.err) == (0, f"dpselect {__version__}\n", "")


def test_no_command_shows_the_help(dpselect: Command) -> None:
    ended = dpselect()
    assert ended.status == 2
    assert ended.out == ""
    assert "commands:" in ended.err


@pytest.mark.parametrize("command", ["top", "choose", "union", "vocab", "demo"])
def test_help_teaches(command: str, dpselect: Command) -> None:
    ended = dpselect(command, "--help")
    assert ended.status == 0
    assert ended.err == ""
    assert 3 <= ended.out.count(f"\n  dpselect {command}") <= 6
    assert "\nepsilon: " in ended.out
    assert "\ndelta: " in ended.out


@pytest.mark.parametrize("text", HELP)
def test_examples_are_understood(text: str) -> None:
    """Every line of the examples that is a command is one that the command line takes."""
    for line in re.findall(r"^  dpselect (.*)$", text, flags=re.MULTILINE):
        assert parser().parse_args(shlex.split(line)).command in COMMANDS


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("tpo x.csv", "did you mean top?"),
        ("vocba x.csv", "did you mean vocab?"),
        ("union x.csv --user u --item i --epsilon 1 --format line", "did you mean lines?"),
        ("top x.csv --user u --item i --epsilon 1 --epsilom 2", "did you mean --epsilon?"),
        ("top x.csv --user u --item i --epsilon 1 --label x", "--label belongs to dpselect choose"),
        ("ledger verify x.sqlite --no-such --quiet", "dpselect --help shows examples"),
        ("top x.csv --user u --item i --epsilon 1 --max-item-per-user 2", "did you mean --max-items-per-user?"),
        ("top x.csv --user u --item i --epsilon 1 --format jsn", "did you mean json?"),
        ("top x.csv --user u --item i --eps 1", "dpselect top --help shows examples"),
        ("top x.csv", "dpselect top --help shows examples"),
        ("top x.csv --user u --item i --epsilon 1 -k ten", "dpselect top --help shows examples"),
        ("top x.csv --user u --item i --epsilon 1 --domain a --domain-size 3", "--help shows examples"),
    ],
)
def test_mistyped_words_get_a_hint(arguments: str, hint: str, dpselect: Command) -> None:
    ended = dpselect(*arguments.split())
    assert ended.status == 2
    assert ended.out == ""
    message, last = ended.err.splitlines()
    assert message.startswith("dpselect")
    assert last.startswith("hint: ")
    assert last.endswith(hint)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from dpselect.cli import main; main(['top', '--help']);"
        "print({'numpy', 'duckdb', 'flint', 'psycopg'} & set(sys.modules), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr == "set()\n"
