"""The command asks a gateway: the same forms of answers, its own exit status, and no option that it would not heed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dpselect as dps
from dpselect.command.from_gateway import NOT_AT_A_GATEWAY
from dpselect.command.main import main
from dpselect.command.parser import build_parser
from dpselect.questions.questions import QUESTIONS
from tests.remote.small_gateway import LOST, TOKEN, SmallGateway, problem

VERBS = {
    "top": ["-k", "2", "--epsilon", "5", "--counts"],
    "union": ["--epsilon", "5", "--max-items-per-user", "1"],
    "choose": ["--domain", "Bach,Dion", "--epsilon", "5"],
    "histogram": ["--domain", "ABBA,Bach", "--epsilon", "5"],
    "users": ["--epsilon", "5"],
    "quantile": ["--item", "age", "--bounds", "0", "120", "--step", "1", "--epsilon", "5"],
}


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSELECT_TOKEN", TOKEN)


@pytest.mark.parametrize("command", VERBS)
def test_every_verb_asks(command: str, gateway: SmallGateway, capsys: pytest.CaptureFixture[str]) -> None:
    words = [command, "listening", "--gateway", gateway.url, *VERBS[command], "--format", "json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["items"]) >= 1
    assert found["charged"]["questions_left"] == 3
    body = next(one.body for one in gateway.seen if one.method == "POST")
    assert (body["data"], body["epsilon"]) == ("listening", "5")
    assert main([*words[:-2], "--fresh", "--quiet"]) == 0
    assert "charged: 25 % of the budget of ann" in capsys.readouterr().out
    assert gateway.seen[-2].body["fresh"] is True


def test_it_is_written_as_any_answer(gateway: SmallGateway, tmp_path: Path) -> None:
    file = tmp_path / "top.csv"
    words = ["top", "listening", "--gateway", gateway.url, "-k", "1", "--share", "1%", "--where", "age > 17"]
    assert main([*words, "--during", "2026-10, 2026-11", "--max-items-per-user", "2", "-o", str(file)]) == 0
    assert file.read_text().startswith("rank,item\n1,")
    body = next(one.body for one in gateway.seen if one.method == "POST")
    assert (body["share"], body["where"], body["during"]) == ("1%", "age > 17", ["2026-10", "2026-11"])
    assert (body["max_items_per_user"], "epsilon" in body) == (2, False)


def test_the_token_may_be_in_a_file(
    gateway: SmallGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DPSELECT_TOKEN")
    words = ["top", "listening", "--gateway", gateway.url, *VERBS["top"]]
    assert main(words) == 2
    assert "DPSELECT_TOKEN holds it, or the file that --token-file names" in capsys.readouterr().err
    file = tmp_path / "token"
    assert main([*words, "--token-file", str(file)]) == 2
    file.write_bytes(b"\xff")
    assert main([*words, "--token-file", str(file)]) == 2
    file.write_text(f"{TOKEN}\n")
    assert gateway.seen == []
    assert main([*words, "--token-file", str(file)]) == 0
    assert main(["top", "x.csv", "--user", "u", "--item", "i", "--epsilon", "1", "--token-file", str(file)]) == 2
    said = capsys.readouterr()
    assert "--gateway must be given with --token-file" in said.err
    assert TOKEN not in said.out + said.err


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        (
            lambda _: problem("sign-in", detail="the token is not known"),
            9,
            "dpselect: the gateway rejected this token\nhint: ",
        ),
        (lambda _: problem("budget", detail="it costs 40 %"), 5, "dpselect: it costs 40 %\n"),
        (
            lambda _: problem("parameter", parameter="item", must="be known", came="'x'"),
            2,
            "item must be known, got 'x'",
        ),
    ],
)
def test_exit_statuses(
    change: object, status: int, said: str, gateway: SmallGateway, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway.before = change  # type: ignore[assignment]
    assert main(["top", "listening", "--gateway", gateway.url, *VERBS["top"]]) == status
    assert said in capsys.readouterr().err


def test_an_address_that_is_not_safe_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "listening", "--gateway", "http://gateway.example.org", *VERBS["top"]]) == 2
    assert "--gateway must start with https://" in capsys.readouterr().err


def given(option: str) -> list[str]:
    """The option with a value, where it takes one."""
    flag = option in ("--newlines-in-values", "--no-lower", "--monotonic")
    return [option] if flag else [option, "x:y"]


REFUSED_OPTIONS = {f"--{'no-' if name == 'lower' else ''}{name.replace('_', '-')}" for name in NOT_AT_A_GATEWAY}
SCORES = {"--label", "--score", "--sensitivity", "--monotonic", "--neighbors"}  # refused with --gateway, too
COMMANDS = build_parser().commands()
CASES = [
    (command, option)
    for command in VERBS
    for option in sorted(REFUSED_OPTIONS | SCORES)
    if option in COMMANDS[command].option_names()
]


@pytest.mark.parametrize(("command", "option"), CASES)
def test_options_that_a_gateway_does_not_take_are_refused_by_name(
    command: str, option: str, gateway: SmallGateway, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        word for word in VERBS[command] if not option.startswith("--domain") or word not in ("--domain", "Bach,Dion")
    ]
    words = ["--epsilon", "5"] if option == "--domain-from" else words
    assert main([command, "listening", "--gateway", gateway.url, *words, *given(option)]) == 2
    assert f"{option} must be left out with --gateway" in capsys.readouterr().err
    assert gateway.seen == []


# What a command passes on to a gateway, or does with the answer; every other option must be refused. A question goes
# there as JSON, with all of its parameters.
TAKEN = """--gateway --token-file --item --where --during --max-items-per-user --epsilon --share --delta --within
--threshold -k --exclude --domain-range --domain-size --fresh --format -o --output --explain --quiet -h --help
--help-all""".split()
TAKEN += [f"--{name.replace('_', '-')}" for kind in QUESTIONS.values() for name in kind.flat_names()]


@pytest.mark.parametrize("command", VERBS)
def test_every_option_is_either_taken_or_refused(command: str) -> None:
    known = set(build_parser().commands()[command].option_names())
    assert known - set(TAKEN) == known & (REFUSED_OPTIONS | SCORES)


def test_several_files_are_no_name(gateway: SmallGateway, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "a", "b", "--gateway", gateway.url, *VERBS["top"]]) == 2
    assert "FILE must be the name of data, with --gateway" in capsys.readouterr().err


def test_a_hostile_gateway_steers_no_terminal(gateway: SmallGateway, capsys: pytest.CaptureFixture[str]) -> None:
    gateway.before = lambda _: problem("state", detail="\x1b[2J\u202e", hint="\x9b")
    assert main(["top", "listening", "--gateway", gateway.url, *VERBS["top"]]) == 9
    assert capsys.readouterr().err == "dpselect: \\x1b[2J\\u202e\nhint: \\x9b\n"


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for another process")
def test_ctrl_c_says_what_became_of_the_question(gateway: SmallGateway) -> None:
    gateway.looks = 10**6
    words = ["top", "listening", "--gateway", gateway.url, *VERBS["top"]]
    asking = subprocess.Popen([sys.executable, "-m", "dpselect", *words], stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 60
        while not any("wait=" in one.path for one in gateway.seen) and time.monotonic() < end:
            time.sleep(0.05)
        asking.send_signal(signal.SIGINT)
        _, said = asking.communicate(timeout=60)
    finally:
        asking.kill()
        asking.wait()
    assert asking.returncode == 130
    assert said.splitlines()[-1] == "dpselect: interrupted: the question was cancelled; nothing was charged"
    assert gateway.jobs["q1"]["state"] == "cancelled"


def test_a_gateway_that_is_gone_is_status_9(gateway: SmallGateway, capsys: pytest.CaptureFixture[str]) -> None:
    url = gateway.url.rpartition(":")[0] + ":1"
    assert main(["top", "listening", "--gateway", url, *VERBS["top"]]) == 9
    assert "nothing listens at that address" in capsys.readouterr().err
    assert LOST.status is None
    assert issubclass(dps.GatewayError, dps.DpselectError)
