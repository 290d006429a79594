"""A plain notebook: a kernel without ipywidgets and without %matplotlib inline."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

CELLS = [
    """
import dpselect as dps
from dpselect.demo import write_listening_events
write_listening_events("events.parquet", users=5_000)
events = dps.Dataset("events.parquet", user="user", item="artist")
""",
    "release = events.top_k(5, epsilon=3, counts=True)\nrelease",
    "release.plot()",
    "seen = []\nlen(events.ask(dps.Union(), epsilon=3, progress=seen.append).items) > 0",
    "events.top_k(5, epsilon=-1)",
    """
small = dps.Dataset("events.parquet", user="user", item="artist", budget=dps.Budget(epsilon=1))
small.top_k(5, epsilon=2)
""",
    "print(events)\n1 / 0",
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> list[list[dict[str, object]]]:
    """What the cells show, in one kernel."""
    assert find_spec("ipywidgets") is None  # else this is not the plain notebook that it speaks of
    command = [sys.executable, Path(__file__).with_name("notebook.py"), tmp_path_factory.mktemp("notebook")]
    done = subprocess.run(command, input=json.dumps(CELLS), capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout)


def test_data_are_opened_in_silence(shown):
    assert shown[0] == []


def test_a_release_is_a_table(shown):
    (result,) = shown[1]
    assert result["kind"] == "execute_result"
    assert "<table" in result["data"]["text/html"]


def test_a_plot_that_ends_a_cell_is_a_picture(shown):
    (result,) = shown[2]
    assert result["kind"] == "execute_result"
    assert {"image/png", "image/svg+xml", "text/html"} & set(result["data"])


def test_progress_asks_for_no_widgets(shown):
    (result,) = shown[3]
    assert result["data"]["text/plain"] == "True"


def test_a_mistake_says_what_must_be(shown):
    (result,) = shown[4]
    assert result["ename"] == "ParameterError"
    assert result["evalue"].startswith("epsilon must be a positive, finite number")
    assert result["traceback"] == ["ParameterError: epsilon must be a positive, finite number, got -1"]


def test_what_a_budget_refuses_is_a_message_and_a_hint(shown):
    (result,) = shown[5]
    assert result["ename"] == "BudgetError"
    said, hint = result["traceback"]
    assert said.startswith("BudgetError: the question must reserve up to ")
    assert hint.startswith("hint: ")


def test_other_errors_have_their_traceback(shown):
    *_, result = shown[6]
    assert result["ename"] == "ZeroDivisionError"
    assert len(result["traceback"]) > 2
