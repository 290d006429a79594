"""`dpselect demo`, and the line of progress."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import polars
import pytest

from dpselect.command.parser import build_parser
from dpselect.command.progress import Progress
from tests.end_to_end.conftest import Command, process


def test_the_real_command(tmp_path: Path) -> None:
    ended = process("demo", "--users", 20_000, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert len(re.findall(r"^ +\d+  \w", ended.stdout, flags=re.MULTILINE)) == 10
    assert "spent: epsilon 1, delta 1e-06 per user" in ended.stdout
    assert "20,000 invented users" in ended.stderr
    assert list(tmp_path.iterdir()) == []
    command = ended.stderr.splitlines()[-1].strip()
    assert command == "dpselect top plays.parquet --user user --item artist -k 10 --epsilon 1 --delta 1e-6"


def test_keeps_the_data(tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / "my plays.parquet"
    ended = dpselect("demo", "--users", 2000, "--keep", path)
    assert ended.status == 0, ended.err
    assert polars.read_parquet(path).columns == ["user", "artist", "country", "minutes"]
    program, *words = shlex.split(ended.err.splitlines()[-1])
    assert program == "dpselect"
    assert build_parser().parse_args(words).files == [str(path)]
    assert dpselect(*words).status == 0


def test_keeps_what_is_there(tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / "mine.parquet"
    path.write_text("mine", "utf-8")
    ended = dpselect("demo", "--users", 10, "--keep", path)
    assert ended.status == 2
    assert "--keep must name a file that is not there yet" in ended.err
    assert path.read_text("utf-8") == "mine"


# ---- progress ---------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def told(
    stream: io.StringIO, moments: list[tuple[float, float | None]], *, quiet: bool = False, estimate: bool = False
) -> str:
    clock = Clock()
    with Progress("counting", quiet=quiet, estimate=estimate, stream=stream, clock=clock) as progress:
        for clock.now, done in moments:
            progress(done)
    return stream.getvalue()


SLOW: list[tuple[float, float | None]] = [(0.5, 0.1), (1.5, 0.25), (1.51, 0.26), (2.0, None), (3.0, 1.2)]


def test_nothing_is_said_within_a_second() -> None:
    assert told(Terminal(), [(0.2, 0.1), (0.9, 0.9)]) == ""


def test_a_terminal_sees_one_line_that_is_wiped() -> None:
    text = told(Terminal(), SLOW)
    assert [line.strip() for line in text.split("\r\x1b[K")] == [
        "",
        "counting [======                  ]  25% 2 s",
        "counting 2 s",
        "counting [========================] 100% 3 s",
        "",
    ]


@pytest.mark.parametrize(("estimate", "left"), [(True, ", about 1 s left"), (False, "")])
def test_only_who_asks_for_an_estimate_gets_one(estimate: bool, left: str) -> None:
    text = told(Terminal(), [(0.5, 0.9), (3.0, 0.75)], estimate=estimate)
    assert text == f"\r\x1b[Kcounting [==================      ]  75% 3 s{left}\r\x1b[K"


def test_a_log_gets_one_line() -> None:
    assert told(io.StringIO(), SLOW) == "dpselect: counting, this takes a moment\n"


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_quiet_says_nothing(stream: io.StringIO) -> None:
    assert told(stream, SLOW, quiet=True) == ""


def test_a_broken_stream_is_no_failure() -> None:
    class Broken(Terminal):
        def write(self, _: str) -> int:
            raise OSError("gone")

    assert told(Broken(), SLOW) == ""
