"""What the command understands, how it helps, and that help costs nothing."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dpselect import __version__
from dpselect.command.options import parse_texts
from dpselect.command.parser import COMMANDS, EXAMPLES, QUESTION_COMMANDS, build_parser
from tests.end_to_end.conftest import Command

HELP = {"": EXAMPLES} | {name: one.load_options().examples() for name, one in build_parser().commands().items()}


def test_version(dpselect: Command) -> None:
    ended = dpselect("--version")
    assert (ended.status, ended.out, ended.err) == (0, f"dpselect {__version__}\n", "")


def test_no_command_shows_the_help(dpselect: Command) -> None:
    ended = dpselect()
    assert ended.status == 2
    assert ended.out == ""
    assert "commands:" in ended.err


@pytest.mark.parametrize("command", ["top", "choose", "quantile", "union", "demo"])
def test_help_teaches(command: str, dpselect: Command) -> None:
    ended = dpselect(command, "--help" if command == "demo" else "--help-all")
    assert ended.status == 0
    assert ended.err == ""
    assert 3 <= ended.out.count(f"\n  dpselect {command}") <= 8
    assert "\nepsilon: " in ended.out
    assert "\ndelta: " in ended.out


@pytest.mark.parametrize("command", QUESTION_COMMANDS)
def test_help_fits_a_screen_and_leaves_out_what_is_rare(
    command: str, dpselect: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    short, whole = dpselect(command, "--help").out, dpselect(command, "--help-all").out
    assert len(short.splitlines()) <= 55 < len(whole.splitlines())
    assert f"more examples: dpselect {command} --help-all" in short
    shown = set(re.findall(r"^  (?:-\w[^-]*, )?(--[\w-]+)", short, re.MULTILINE))
    everything = set(re.findall(r"^  (?:-\w[^-]*, )?(--[\w-]+)", whole, re.MULTILINE))
    rare = {
        one.option_strings[-1]
        for one in build_parser().commands()[command].load_options()._actions
        if getattr(one, "rare", 0)
    }
    assert everything - shown == rare | {"--help", "--help-all"}


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("x.csv --epsilon 1 --by a b", {"by": ["a", "b"]}),
        ("x.csv --epsilon 1 --by a,b --counts", {"by": ["a", "b"], "counts": True}),
        ("--epsilon 1 --by a x.csv", {"by": ["a"], "files": ["x.csv"]}),
        ("x.csv --by a --by b y --epsilon 1", {"by": ["a", "b", "y"]}),
        ("x.csv y.csv --by=a b --epsilon=1", {"by": ["a", "b"], "files": ["x.csv", "y.csv"]}),
        ("x.csv --groups DE FR --by country", {"groups": ["DE", "FR"], "by": ["country"]}),
        ("x.csv --during 2026-09 2026-10", {"during": ["2026-09", "2026-10"]}),
    ],
)
def test_several_values_stand_between_commas_or_one_after_the_other(words: str, read: dict[str, object]) -> None:
    found = build_parser().parse_args(["top", *words.split()])
    assert {name: getattr(found, name) for name in read} == read


def test_a_file_is_no_value_of_a_list(dpselect: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows would be left out of the question, and the answer paid for all the same."""
    monkeypatch.chdir(tmp_path)
    for name in ("january.csv", "february.csv"):
        (tmp_path / name).write_text("user,item\nann,tea\n")
    words = ["--user", "user", "--item", "item", "--epsilon", "1", "--exclude", "milk"]
    ended = dpselect("top", "january.csv", *words, "february.csv")
    assert ended.status == 2
    assert "february.csv is a file, and would be a value of --exclude: name all files before it" in ended.err
    assert dpselect("top", *words, "february.csv").status == 0
    assert dpselect("top", "january.csv", *words, "--exclude", "february.csv").status == 0


@pytest.mark.parametrize("option", ["--by", "--domain", "--exclude"])
@pytest.mark.parametrize("text", ["tea\nmilk", '"tea,milk', '"tea"s', ""])
def test_values_that_are_no_line_of_csv_are_refused(option: str, text: str, dpselect: Command) -> None:
    """Several lines, as those of a file, a quote that stays open, which would make one item of two, and nothing."""
    ended = dpselect("top", "x.csv", "--user", "u", "--item", "i", "-k", "1", "--epsilon", "1", option, text)
    assert ended.status == 2
    assert "must be values between commas, as one line of CSV has them" in ended.err


def test_a_space_after_a_comma_is_of_no_item() -> None:
    assert parse_texts("--domain", 'tea, milk," rum"') == ["tea", "milk", " rum"]


@pytest.mark.parametrize("words", ["--bounds -5 10", "--bounds -5,10", "--bounds=-5 10", "--bounds -5 --bounds 10"])
def test_numbers_below_zero_are_values(words: str) -> None:
    assert build_parser().parse_args(["quantile", "x.csv", *words.split()]).bounds == ["-5", "10"]


@pytest.mark.parametrize("text", HELP.values(), ids=HELP.keys())
def test_examples_are_understood(text: str) -> None:
    """Every line of the examples that is a command is one that the command line takes."""
    lines = re.findall(r"^  dpselect (.*?)(?: [>|] .*)?$", text, flags=re.MULTILINE)
    assert lines
    for line in lines:
        assert build_parser().parse_args(shlex.split(line)).command in COMMANDS


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("tpo x.csv", "did you mean top?"),
        ("unoin x.csv", "did you mean union?"),
        ("union x.csv --user u --item i --epsilon 1 --format line", "did you mean lines?"),
        ("top x.csv --user u --item i --epsilon 1 --epsilom 2", "did you mean --epsilon?"),
        ("top x.csv --user u --item i --epsilon 1 --label x", "--label belongs to dpselect choose"),
        ("ledger verify x.sqlite --no-such --quiet", "dpselect ledger verify --help shows examples"),
        (
            "top x.csv --user u --item i --epsilon 1 --max-item-per-user 2",
            "did you mean --max-items-per-user or --max-groups-per-user?",
        ),
        ("top x.csv --user u --item i --epsilon 1 --format jsn", "did you mean json?"),
        ("top x.csv --user u --item i --eps 1", "did you mean --epsilon?"),
        ("top x.csv --user u --item i --eps=1", "did you mean --epsilon?"),
        ("top x.csv --user u --item i --epsilon 1 --eps 1", "did you mean --epsilon?"),
        ("top x.csv -k10 --usr u --item i --epsilon -1", "did you mean --user or --users?"),
        ("union x.csv --user u --epsilon 1 --itme i", "did you mean --time or --item?"),
        ("ledger grant b.sqlite --analyst ann --epsilon 1 --dleta 1", "did you mean --delta or --data?"),
        ("median x.csv --user u --item i --epsilon 1", "did you mean quantile?"),
        ("ledger create b.sqlite", "did you mean init?"),
        ("top x.csv --user u --item i --epsilon 1 --group-by country", "did you mean --by?"),
        ("top x.csv --user u --item i --epsilon 1 --top 5", "did you mean --k?"),
        ("top", "dpselect top --help shows examples"),
        ("--versoin", "did you mean --version?"),
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


def after(arguments: list[str]) -> set[str]:
    """The modules that are loaded when the command has run."""
    code = (
        f"import sys; from dpselect.command.main import main; main({arguments}); print(*sys.modules, file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ended.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--help"], ["top", "--help"], ["union", "--help"]], ids=" ".join)
def test_help_loads_nothing_heavy_and_no_other_command(arguments: list[str]) -> None:
    loaded = after(arguments)
    assert not {"numpy", "duckdb", "flint", "psycopg"} & loaded
    assert ("dpselect.command.verbs" in loaded) is (arguments[0] in QUESTION_COMMANDS)
    assert not {name for name in COMMANDS if f"dpselect.command.{name}" in loaded}
