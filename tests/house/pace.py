"""Keeps the everyday tests quick: CI names each test not marked `slow` whose call takes much processor time.

It fails none of them: how long a test takes says nothing about the code, and another machine may be slower.

Hypothesis tries ten examples every day and as many as a test says in CI.

The processor's time of this process and of the ended processes it started is compared, not the clock: a busy machine
makes a test wait, but hardly work more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import is_hypothesis_test, settings

USUAL = 3.0  # seconds that an everyday test may take
NAMED = 3 * USUAL  # a slow machine, and whatever it does beside, must not name a test that keeps to it

PROPERTY = "seconds of processor time"


def thorough() -> bool:
    """Do slow tests run too: in CI, and where SLOW=1 or SLOW=2 asks for them?"""
    return os.environ.get("CI") == "true" or os.environ.get("SLOW") in ("1", "2")


def examples(many: int) -> settings:
    """Hypothesis with so many examples in CI and with SLOW=1, and with ten every day."""
    return settings(max_examples=many if thorough() else min(many, 10), deadline=None)


def worked() -> float:
    """Seconds of processor time so far, with those of the processes that were started and have ended."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


def exempt(item: pytest.Item) -> bool:
    """Slow tests are, and those of Hypothesis: in CI they try many more examples than every day."""
    return item.get_closest_marker("slow") is not None or is_hypothesis_test(getattr(item, "obj", None))


class Pace:
    """The plugin: measures the call of each test, and names at the end those that passed but took too long."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._named: list[tuple[float, str]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        before = worked()
        try:
            yield
        finally:
            self._seconds = worked() - before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report = yield
        if call.when == "call" and report.passed and not exempt(item) and self._seconds > NAMED:
            report.user_properties.append((PROPERTY, self._seconds))  # which goes from a worker to who writes
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Every report comes by here where the summary is written."""
        if report.when == "call":
            self._named += [(s, report.nodeid) for name, s in report.user_properties if name == PROPERTY]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The tests, those that took longest first, and what to do about them."""
        if not self._named:
            return
        terminalreporter.section(
            f"more than {NAMED:g} s of processor time; a test that runs every day may take {USUAL:g} s"
        )
        for seconds, nodeid in sorted(self._named, reverse=True):
            terminalreporter.line(f"{seconds:.1f} s {nodeid}")
        terminalreporter.line(
            "hint: ask for less, share what is made once in a fixture, or mark it with @pytest.mark.slow"
        )
