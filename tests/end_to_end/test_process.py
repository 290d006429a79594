"""The command as a process: how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

START = "import atexit, sys; from dpselect.command.main import process; atexit.register(print, 'the end')"


def ended(*words: str, out: object = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    code = f"{START}; sys.argv = {['dpselect', *words]!r}; process()"
    return subprocess.run([sys.executable, "-c", code], stdout=out, stderr=subprocess.PIPE, text=True, check=False)


def test_what_was_asked_for_the_end_is_done() -> None:
    done = ended("--version")
    assert (done.returncode, done.stdout.splitlines()[1:], done.stderr) == (0, ["the end"], "")


def test_its_status_says_how_it_ended() -> None:
    done = ended("top", "no such file.csv", "--user", "u", "--item", "i", "--epsilon", "1")
    assert (done.returncode, done.stdout) == (3, "the end\n")
    assert "must be a file that exists" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_that_does_not_go_out_is_no_success() -> None:
    with Path("/dev/full").open("w") as full:
        done = ended("--version", out=full)
    assert done.returncode != 0
    assert "No space left" in done.stderr
