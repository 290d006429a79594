"""A pytest plugin: notes which tests run each line of the judged rooms, and what each test costs.

Each worker writes two files: lines with their tests (an SQLite file of coverage), and JSON lines of

- [test, "setup" | "call" | "teardown", own seconds of processor time, those of ended children, seconds by the clock],
- [fixture, "made", the same three], for a fixture that several tests share and whose cost no test has,
- [test, "uses", the shared fixtures], [test, "failed"].

A line that a shared fixture runs is noted under its name: all tests that use the fixture judge this line.
Every test begins with empty caches, because a test that finds a result in a cache would not seem to need its lines.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import resource
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from coverage import Coverage

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "dpselect"
ROOMS = ("draws", "mechanisms", "accounting", "ledger", "queries", "engines")
FOLDER = "MUTANTS_FOLDER"  # the environment variable that names where to write


def pytest_configure(config: pytest.Config) -> None:
    """Who hands tests to workers runs none."""
    worker = getattr(config, "workerinput", None)
    if worker or not config.getoption("numprocesses", None):
        name = worker["workerid"] if worker else "main"
        config.pluginmanager.register(Lines(Path(os.environ[FOLDER]), name))


class Lines:
    """What one worker runs."""

    def __init__(self, folder: Path, worker: str) -> None:
        self._worker = worker
        self._notes = (folder / f"tests-{worker}.jsonl").open("w", encoding="utf-8", buffering=1)
        judged = [f"{PACKAGE / room}/*" for room in ROOMS]
        self._coverage = Coverage(str(folder / f"lines-{worker}.sqlite"), config_file=False, include=judged)
        self._coverage.set_option("run:core", "ctrace")  # the one that knows contexts
        self._coverage.set_option("run:disable_warnings", ["trace-changed"])
        self._contexts: list[str] = [""]
        self._number = itertools.count()
        self._inner = np.zeros(3)
        self._made: dict[int, str] = {}  # by the identity of pytest's definition of the fixture, the last one made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        self._coverage.start()
        try:
            return (yield)
        finally:
            self._coverage.stop()
            self._coverage.save()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        empty_caches()
        if type(sys.gettrace()).__name__ != "CTracer":  # a test that traces took its place
            self._coverage.stop()
            self._coverage.start()
        with self._context(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        with self._cost(item.nodeid, "setup"):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        with self._cost(item.nodeid, "call"):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: Any) -> Iterator[None]:
        used = {self._made[id(one)] for one in item._request._fixture_defs.values() if id(one) in self._made}
        self._note(item.nodeid, "uses", sorted(used))
        with self._cost(item.nodeid, "teardown"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        if fixturedef.scope == "function":
            return (yield)
        name = f"{fixturedef.baseid}::{fixturedef.argname} {next(self._number)} of {self._worker}"
        self._made[id(fixturedef)] = name
        with self._context(name), self._cost(name, "made"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report: Any = yield
        if report.failed:
            self._note(item.nodeid, "failed")
        return report

    @contextmanager
    def _context(self, name: str) -> Iterator[None]:
        """Lines that run meanwhile are noted under this name."""
        self._contexts.append(name)
        self._coverage.switch_context(name)
        try:
            yield
        finally:
            self._contexts.pop()
            self._coverage.switch_context(self._contexts[-1])

    @contextmanager
    def _cost(self, name: str, when: str) -> Iterator[None]:
        """Note what is done meanwhile, without what has a note of its own."""
        begin, outer, self._inner = worked(), self._inner, np.zeros(3)
        try:
            yield
        finally:
            all_of_it = worked() - begin
            self._note(name, when, *(all_of_it - self._inner).round(3).tolist())
            self._inner = outer + all_of_it

    def _note(self, *values: object) -> None:
        self._notes.write(json.dumps(values) + "\n")


def files() -> dict[str, str]:
    """The sources of the judged rooms, by their paths in the package."""
    paths = (path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py")))
    return {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in paths}


def worked() -> npt.NDArray[np.float64]:
    """Seconds of processor time of this process, and of its ended children, and the clock."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return np.array([own.ru_utime + own.ru_stime, ended.ru_utime + ended.ru_stime, time.monotonic()])


def empty_caches() -> None:
    """Forget the results of all functions of the package and of the tests that remember some."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("dpselect", "tests"):
            owners = [module, *(one for one in vars(module).values() if isinstance(one, type))]
            for one in [one for owner in owners for one in vars(owner).values()]:
                if isinstance(one, functools._lru_cache_wrapper):
                    one.cache_clear()
