"""The workspace: progress, Ctrl-C, memory, and what it says when something fails."""

from __future__ import annotations

import os
import signal
import threading

import duckdb
import pytest

from dpselect.engines.duckdb import workspace as duckdb_workspace
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.errors import DataError
from tests.engines.opened import DuckDBEngine


@pytest.fixture(scope="module", autouse=True)
def own_duckdb() -> None:
    """Each workspace has its own here."""


SLOW = "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE hash(a.range, b.range) = 9"


@pytest.fixture
def workspace():
    made = Workspace()
    yield made
    made.close()


def test_progress_is_told_in_the_callers_thread(workspace):
    told = []

    def progress(done: float | None) -> None:
        told.append((done, threading.current_thread() is threading.main_thread()))
        if len(told) == 4:
            workspace.connection.interrupt()

    with pytest.raises(DataError):
        workspace.fetch(SLOW, progress=progress)
    assert len(told) >= 4
    assert all(here and (done is None or done in [part / 20 for part in range(21)]) for done, here in told)


def test_progress_does_not_tell_how_many_rows_there_are(workspace, monkeypatch):
    """What DuckDB says of a scan are rows done of all rows, exactly."""

    class Scanning:
        def query_progress(self) -> float:
            return 100 * 2048 / 123_457

    with monkeypatch.context() as patched:
        patched.setattr(workspace, "connection", Scanning())
        assert workspace._progress_share() == 0.0


@pytest.mark.parametrize("ask", ["grouped", "contributions"])
def test_every_statement_of_a_question_tells(monkeypatch, ask):
    told, guarded = [], Workspace.guarded

    def watched(self, work, *, progress=None):
        told.append(progress)
        return guarded(self, work, progress=progress)

    def progress(_: float | None) -> None:
        """What the caller gave."""

    with DuckDBEngine({"user": [1, 2], "item": ["a", "b"]}, user="user", item="item", key=b"k") as engine:
        monkeypatch.setattr(Workspace, "guarded", watched)
        getattr(engine, ask)(progress=progress)
    assert set(told) == {progress}


def test_questions_that_end_before_the_first_look_tell_nothing(monkeypatch):
    # A busy machine needs more than a look's usual time.
    monkeypatch.setattr("dpselect.engines.waiting.POLL_SECONDS", 600)
    told = []
    with DuckDBEngine({"user": [1], "item": [1]}, user="user", item="item", key=b"k") as engine:
        engine.top(3, progress=told.append)
        engine.grouped(progress=told.append)
    assert told == []


@pytest.mark.skipif(os.name == "nt", reason="signals work differently there")
def test_ctrl_c_stops_the_query(workspace):
    """Sent while the query runs, which would not end otherwise."""
    timers = []

    def press(_done: float | None) -> None:
        if not timers:
            timers.append(threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    with pytest.raises(KeyboardInterrupt):
        workspace.fetch(SLOW, progress=press)
    assert workspace.fetch("SELECT 1") == [(1,)]


def test_an_error_of_the_callers_progress_stops_the_query(workspace):
    def progress(_done: float | None) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        workspace.fetch(SLOW, progress=progress)
    assert workspace.fetch("SELECT 1") == [(1,)]


def test_too_little_memory_is_said_so(workspace):
    def work() -> None:
        raise duckdb.OutOfMemoryException("CANARY")

    with pytest.raises(DataError, match="do not fit into memory") as caught:
        workspace.guarded(work)
    assert "CANARY" not in str(caught.value)
    assert caught.value.__context__ is None


def test_our_own_errors_pass(workspace):
    def work() -> None:
        raise DataError("as it is")

    with pytest.raises(DataError, match="as it is"):
        workspace.guarded(work)


def test_nothing_is_fetched_from_the_network(workspace):
    assert workspace.fetch("SELECT current_setting('autoinstall_known_extensions')") == [(False,)]


def test_quoting():
    assert duckdb_workspace.quoted('a"b') == '"a""b"'
    assert duckdb_workspace.literal("a'b") == "'a''b'"
