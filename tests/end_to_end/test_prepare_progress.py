"""How far a long preparation is, and when it may be done: on a terminal, live, and wiped at the end."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dpselect.command.progress import format_time_left
from dpselect.engines import waiting
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.flat import prepare
from tests.end_to_end.prepared_rows import asked, right, write


@pytest.mark.parametrize(
    ("done", "seconds", "said"),
    [
        (None, 50, ""),
        (0.0, 50, ""),
        (0.09, 50, ""),
        (0.1, 50, ", about 450 s left"),
        (0.25, 30, ", about 90 s left"),
        (0.5, 10, ", about 10 s left"),
        (1.0, 50, ", about 0 s left"),
        (1.2, 50, ""),
    ],
)
def test_the_rest_takes_as_long_as_what_is_done_did(done: float | None, seconds: float, said: str) -> None:
    assert format_time_left(done, seconds) == said


SOON = """
import sys
import threading
from dpselect.command import progress
from dpselect.command.main import main
from dpselect.engines import waiting


class Asked(threading.Event):
    asked = False

    def wait(self, timeout=None):
        before, self.asked = self.asked, True
        return before and super().wait(timeout)


progress.SECONDS_BEFORE_PROGRESS = progress.PAUSE = 0.0
waiting.Event = Asked  # each piece of work is told of once, however quick it is
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
@pytest.mark.parametrize("quiet", [False, True])
def test_a_terminal_is_told(quiet: bool, tmp_path: Path) -> None:
    """At once, for this test, and of every step: how long one takes is no matter for it."""
    import pty

    rows = write(tmp_path, 0)
    words = ["prepare", rows, "--user", "user", "--item", "item", "--keep", "country", "--weight", "minutes"]
    words += ["--type", "minutes=INTEGER", "--type", "day=DATE"]
    words += ["--time", "day", "--period", "month", "-o", tmp_path / "data.prepared", *(["--quiet"] if quiet else [])]
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", SOON, *map(str, words)]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE) as process:
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # so does a terminal end on Linux
            while block := os.read(ours, 1000):
                text += block
        os.close(ours)
    assert process.returncode == 0
    assert asked(tmp_path / "data.prepared", "all") == right("all", 0)
    if quiet:
        assert text == b""
    else:
        lines = text.decode().split("\r\x1b[K")
        assert lines[-1] == ""
        assert [line for line in lines if re.fullmatch(r"preparing \[=+ *\] +\d+% \d+ s, about \d+ s left", line)], (
            lines
        )


class AskedTwice(threading.Event):
    """Work that is told of twice, however quick it is."""

    asked = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.asked += 1
        return self.asked > 2 and super().wait(timeout)


def test_it_never_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement of a step is a new beginning to the engine."""
    parts: list[float | None] = []
    of_statements = itertools.cycle([0.9, 0.5])
    monkeypatch.setattr(waiting, "Event", AskedTwice)
    monkeypatch.setattr(Workspace, "_progress_share", lambda _: next(of_statements))
    prepare(write(tmp_path, 0), to=tmp_path / "data.prepared", user="user", item="item", progress=parts.append)
    assert len(parts) == 10
    assert parts == sorted(parts)
