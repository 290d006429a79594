"""The pace of everyday tests is kept: CI names a long test that is not marked slow, and no other, and fails none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import pace

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import subprocess, sys, time
import pytest
from hypothesis import given, settings, strategies as st
from tests.house import pace

pace.NAMED = 0.2
WORK = "import time\\nwhile time.process_time() < 0.4: pass"

def work():
    end = time.process_time() + 0.4
    while time.process_time() < end: pass

def test_works(): work()
def test_has_others_work(): subprocess.run([sys.executable, "-c", WORK], check=True)
def test_waits(): time.sleep(0.4)
@pytest.mark.slow
def test_is_marked(): work()
@given(st.just(1))
@settings(max_examples=1, deadline=None, database=None)
def test_many_examples(one): work()
def test_fails_itself(): work(); assert False, "its own failure"
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_a_long_test_is_named_unless_it_is_marked_or_only_waits(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(
        "from tests.house.pace import Pace\npytest_plugins = []\n"
        "def pytest_configure(config): config.pluginmanager.register(Pace())\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *workers,
        "-p",
        "no:cacheprovider",
        "-o",
        "markers=slow: .",
        tmp_path,
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed, 5 passed" in done.stdout, done.stdout
    assert set(re.findall(r"^0\.\d s test_some.py::(\w+)$", done.stdout, re.M)) == {
        "test_works",
        "test_has_others_work",
    }
    assert done.stdout.count("hint: ") == 1


@pytest.mark.parametrize(("environment", "all_tests"), [({}, False), ({"CI": "true"}, True), ({"SLOW": "1"}, True)])
def test_slow_tests_run_where_they_are_asked_for(
    environment: dict[str, str], all_tests: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CI", "SLOW"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert pace.thorough() == all_tests
