"""README's examples answer something: a newcomer who pastes them sees items, in Python and in the shell."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import dpselect as dps
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()


def test_its_python_releases_items(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(compile(block, "README.md", "exec"), namespace)
    releases = {name: value for name, value in namespace.items() if isinstance(value, dps.Release)}
    assert {"release", "best", "artists", "middle", "top"} <= set(releases)
    for name, release in releases.items():
        assert len(release) > 0, name


def commands() -> list[str]:
    """The lines of README that call the command, in their order."""
    return [line for line in README.splitlines() if line.startswith("dpselect ")]


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, str]:
    """What each command shows, or writes where it writes a file."""
    folder = tmp_path_factory.mktemp("readme")
    found = {}
    for line in commands():
        words = shlex.split(line, comments=True)
        done = subprocess.run(
            [sys.executable, "-m", "dpselect", *words[1:]], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
        written = [Path(folder, after) for word, after in pairwise(words) if word == "-o"]
        found[line] = written[0].read_text() if written and written[0].is_file() else done.stdout
    return found


def test_there_are_commands_of_every_kind():
    asked = {line.split()[1] for line in commands()}
    assert {"demo", "top", "union", "quantile", "ledger"} <= asked
    assert any(line.startswith("dpselect union") and " --text " in line for line in commands())


@pytest.mark.parametrize("line", [line for line in commands() if line.split()[1] != "ledger"])
def test_a_command_releases_items(line, said):
    rows = [row for row in said[line].splitlines() if row.strip()]
    assert len(rows) > 1  # one line alone would be the head of an empty table
    assert "no items" not in said[line]
