"""What the one entry to a checkout says while it works."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.house.rules import ROOT


def test_each_step_of_the_site_is_named_before_it_begins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = runpy.run_path(str(ROOT / "dev"))["docs"]
    lines_before = []

    def run_nothing(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        lines_before.append(capsys.readouterr().err.splitlines())
        return subprocess.CompletedProcess([], 0)

    monkeypatch.setitem(docs.__globals__, "prepare", lambda _: Path(sys.executable))
    monkeypatch.setitem(docs.__globals__, "subprocess", SimpleNamespace(run=run_nothing))
    monkeypatch.setitem(docs.__globals__, "become", lambda command: run_nothing(command).returncode)
    assert docs(["--serve"]) == 0
    [build], [built, serve] = lines_before
    assert build.startswith("dev: building the pages of docs/ into site/: about a minute")
    assert built.startswith("dev: site/index.html after ")
    assert serve.startswith("dev: serving site/ at http://127.0.0.1:8001")


def test_temporary_files_of_all_tests_lie_in_memory_where_there_is_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dev = runpy.run_path(str(ROOT / "dev"))
    files_in_memory, names = dev["files_in_memory"], dev["check"].__globals__
    monkeypatch.setitem(names, "MEMORY", tmp_path)
    monkeypatch.setitem(names, "ROOM", 1)
    monkeypatch.delenv("TMPDIR", raising=False)
    asked = [
        sys.executable,
        "-c",
        "import tempfile; open(tempfile.mkstemp()[1], 'w').close(); print(tempfile.gettempdir())",
    ]
    with files_in_memory() as environment:
        there = Path(subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout.strip())
        assert there.parent == tmp_path
        assert len(list(there.iterdir())) == 1
        assert there.stat().st_mode & 0o777 == 0o755
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setitem(names, "ROOM", 2**80)
    with files_in_memory() as environment:
        assert "TMPDIR" not in environment
    monkeypatch.setitem(names, "ROOM", 1)
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())  # whoever has chosen a place keeps it
    with files_in_memory() as environment:
        assert environment == {**os.environ}
