"""What the one entry to a checkout says while it works."""

from __future__ import annotations

import runpy
import subprocess
import sys
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
