"""The pace of everyday tests is kept: CI refuses a long test that is not marked slow, and no other."""

from __future__ import annotations

import os
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

pace.REFUSED = 0.2
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


def test_a_long_test_is_refused_unless_it_is_marked_or_only_waits(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(
        "from tests.house.pace import Pace\npytest_plugins = []\n"
        "def pytest_configure(config): config.pluginmanager.register(Pace())\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "markers=slow: .", tmp_path]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "3 failed, 3 passed" in done.stdout, done.stdout
    assert "test_some.py::test_works took" in done.stdout
    assert "test_some.py::test_has_others_work took" in done.stdout
    assert "its own failure" in done.stdout
    assert "hint: " in done.stdout


def test_the_complaint_names_the_test_and_the_time() -> None:
    said = pace.complaint("tests/test_x.py::test_y", 7.25)
    assert said.startswith("tests/test_x.py::test_y took 7.2 s of processor time")
    assert "@pytest.mark.slow" in said


@pytest.mark.parametrize(("environment", "all_tests"), [({}, False), ({"CI": "true"}, True), ({"SLOW": "1"}, True)])
def test_slow_tests_run_where_they_are_asked_for(
    environment: dict[str, str], all_tests: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CI", "SLOW"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert pace.thorough() == all_tests
