"""A few of the inputs of benchmarks/bad_inputs.py: each an answer or one of our errors, without data in it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


def bad(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "benchmarks" / "bad_inputs.py", "--show", "--seconds", "300", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("cases", [10])
def test_bad_inputs(cases: int):
    ended = bad("--cases", str(cases), "--workers", "1")
    assert ended.returncode == 0, ended.stdout


def test_the_script_finds_what_is_bad(tmp_path):
    """A library that lets an exception of another kind out is refused."""
    broken = tmp_path / "sitecustomize.py"
    lines = (
        "import dpselect._ground.parameters as p",
        "def broken(name, value, must, real=p.rational):",
        "    return value / 0 if name == 'epsilon' else real(name, value, must)",
        "p.rational = broken",
    )
    broken.write_text("\n".join(lines))
    command = [sys.executable, ROOT / "benchmarks" / "bad_inputs.py", "--cases", "12", "--kinds", "verbs", "--show"]
    command += ["--seconds", "300"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(tmp_path)})
    assert ended.returncode == 1
    assert "ZeroDivisionError" in ended.stdout
