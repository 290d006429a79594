"""Events of 317 invented users, and the command called in this process or in one of its own."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import polars
import pytest

import dpselect as dps
from dpselect._ground.parameters import Number
from dpselect.command import progress
from dpselect.command.main import main

USERS = 317
# No message may ever show one of these, nor a count of the data.
CANARY_ITEM = "canary-item"
CANARY_USER = "canary-user"
COUNTS = {"ant": USERS, "bee": 207, "cat": 113}


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it said where."""

    status: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def dpselect(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command, in this process.

    Progress goes by the clock, and on a busy machine any question takes longer than it waits: it is not told.
    """
    monkeypatch.setattr(progress, "SECONDS_BEFORE_PROGRESS", float("inf"))

    def call(*arguments: object) -> Ended:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ended(status, captured.out, captured.err)

    return call


@pytest.fixture(autouse=True)
def no_word_about_large_epsilons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers here are all but certain, for prices that are warned of; tests/border has the warning."""
    monkeypatch.setenv("PYTHONWARNINGS", "ignore::UserWarning")


def process(
    *arguments: object, cwd: Path | None = None, stdin: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own; whoever wants silence asks for --quiet, for progress goes by the clock."""
    return subprocess.run(
        [sys.executable, "-m", "dpselect", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1200,
        check=False,
    )


def ledger_of(path: Path, epsilon: Number, delta: Number = "1e-5", data: str = "default") -> list[object]:
    """A ledger in which ann may use half of the delta of a promise; the words that name her account."""
    with dps.Ledger.create(path) as made:
        made.data(data, epsilon, 2 * Fraction(delta))
        made.grant(dps.Account(data, "ann"), epsilon, delta)
    return ["--budget", path, "--data", data, "--analyst", "ann"]


def write_events(path: Path) -> None:
    """Each of 317 users with up to three animals, one with an item that nobody else has."""
    rows = [
        (f"{CANARY_USER}-{user}", item, "dry" if user % 2 else "wet", len(item) + user % 3)
        for item, count in COUNTS.items()
        for user in range(count)
    ]
    rows += [(f"{CANARY_USER}-0", f"{CANARY_ITEM}-{number}", "dry", 9) for number in range(5)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "animal", "weather", "size"])
        writer.writerows(rows + rows[:50])  # some rows come twice, for users are counted once


@pytest.fixture(scope="session")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The events as CSV."""
    path = tmp_path_factory.mktemp("events") / "events.csv"
    write_events(path)
    return path


@pytest.fixture(scope="session")
def typed(events: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as Parquet, with sizes as numbers, in a folder of its own: messages name the files beside a file."""
    path = tmp_path_factory.mktemp("typed") / "events.parquet"
    polars.read_csv(events).write_parquet(path)
    return path


def ask(events: Path, *more: object) -> list[object]:
    """A question whose answer is all but certain: epsilon is large, the counts are far apart."""
    item = [] if "--item" in more else ["--item", "animal"]
    return ["top", events, "--user", "user", *item, "-k", 3, "--epsilon", 30, *more]


@pytest.fixture(autouse=True, scope="module")
def questions_share_a_duckdb(one_duckdb: None) -> None:
    """A new one takes longer than an answer."""
