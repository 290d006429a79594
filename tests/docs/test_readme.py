"""README's examples work as they stand: a newcomer who pastes them sees what is printed beneath."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import dpselect as dps
from dpselect.testing import SeededDraws, drawing
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
COMMANDS = [line for line in README.splitlines() if line.startswith("dpselect ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands were run, one after the other; `said` holds what each printed."""
    place = tmp_path_factory.mktemp("readme")
    for number, line in enumerate(COMMANDS):
        words = [sys.executable, "-m", "dpselect", *shlex.split(line, comments=True)[1:]]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        (place / f"said {number}").write_text(done.stdout)
    return place


def test_it_starts_with_two_commands_of_the_checkout() -> None:
    first = re.search(r"```\n(.*?)```", README, re.DOTALL)
    assert first is not None
    commands = [shlex.split(line, comments=True) for line in first[1].splitlines()]
    assert commands[:3] == [["./dev", "demo"], ["./dev", "check"], ["pip", "install", "."]]
    done = subprocess.run([sys.executable, ROOT / "dev", "help"], capture_output=True, text=True, check=True)
    for _, name in commands[:2]:
        assert re.search(rf"^  {name} ", done.stdout, re.MULTILINE)


def masked(text: str) -> str:
    """A text in which no number, name or width of a column matters."""
    return re.sub(r"\s+", " ", re.sub(r"[\d,.]+", "0", text))


def test_the_printed_answer_is_what_the_command_prints(folder: Path) -> None:
    assert [line.split()[1] for line in COMMANDS] == ["demo", "top"]
    (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    said = masked((folder / "said 1").read_text())
    by_luck = masked("ranks and counts have separate noise, so they may disagree")
    said = said.replace(by_luck, "no lower or missing item has over 0 users more")
    head, rows, price = re.split(r"\nrank.*\n|\n +\.\.\.\n", shown)
    assert masked(head).strip() in said
    assert masked(price).strip() in said
    assert len(re.findall(r"^ +\d+  .*", rows, re.MULTILINE)) == 3
    assert "rank item count low high" in said


def test_python_prints_what_the_page_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    namespace: dict[str, object] = {}
    with drawing(SeededDraws(1)):  # at epsilon 0.1 a list of secure draws is empty now and then
        for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
            exec(compile(block, "README.md", "exec"), namespace)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "{('Sleepy Hedgehog',)}"
    assert printed[0] in README
    releases = {name: value for name, value in namespace.items() if isinstance(value, dps.Release)}
    assert {"release", "artists", "by_country", "middle", "best", "top"} <= set(releases)
    for name, release in releases.items():
        assert len(release) > 0, name


def test_it_is_short() -> None:
    assert len(README.split()) <= 900
