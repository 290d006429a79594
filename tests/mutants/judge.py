"""A pytest plugin: collects the tests once, then runs those of each mutant in a process forked from this one.

A child runs its tests one by one until one fails, and writes what it does into a file. It has a folder of its own for
temporary files, and the system limits the processor's time of each test, so that a loop without end is killed. After
a child whatever it has left running is ended: its group of processes, and servers, which have its folder in their
environment.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

from tests.mutants.lines import worked
from tests.mutants.planting import Code, Functions, live_functions, plant

SLOWER = 10  # a test that takes so many times as long, and HANG seconds more, is in a loop without end
HANG = 5
WAITING = 6  # seconds by the clock for each of the processor's time


@dataclass(frozen=True)
class Job:
    """What one child does: the tests in this order, as long as the cost of the next one fits into its seconds."""

    name: str
    path: str
    code: Code  # empty to try the tests: then all run, also after one that failed
    tests: Sequence[tuple[str, float]]
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What became of it, with the seconds of the processor and the tests that failed."""

    verdict: str
    tests: int = 0
    seconds: float = 0.0
    failed: tuple[str, ...] = ()


Jobs = Callable[[set[str]], Iterator[Job]]  # hears which tests there are
Done = Callable[[Job, Outcome], None]


class Judge:
    """The plugin."""

    def __init__(self, paths: Iterable[str], jobs: Jobs, done: Done, at_once: int) -> None:
        self._paths, self._jobs, self._done, self._at_once = paths, jobs, done, at_once
        self._functions: Functions = {}
        self._failed = False

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Hypothesis need not find the smallest example of a failure."""
        from hypothesis import Phase, settings  # pytest wants to see its import

        settings.register_profile("judge", settings(), phases=[Phase.explicit, Phase.generate])
        settings.load_profile("judge")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        self._functions = live_functions(self._paths)
        gc.freeze()
        threads = sorted(one.read_text("utf-8").strip() for one in Path("/proc/self/task").glob("*/comm"))
        print(f"{len(items)} tests; threads that are not in a fork: {', '.join(threads[:-1]) or 'none'}", flush=True)
        jobs, running = self._jobs(set(items)), dict[int, _Child]()
        try:
            while True:
                while len(running) < self._at_once and (job := next(jobs, None)):
                    child = _Child(job)
                    running[os.fork() or self._in_child(child, items)] = child
                if not running:
                    return True
                time.sleep(0.02)
                for pid, child in list(running.items()):
                    if (outcome := child.ended(pid)) is not None:
                        del running[pid]
                        self._done(child.job, outcome)
        finally:
            for pid, child in running.items():
                child.ended(pid, at_once=True)

    def _in_child(self, child: _Child, items: dict[str, pytest.Item]) -> NoReturn:
        try:
            child.begin()
            if child.job.code and not plant(child.job.code, self._functions[child.job.path]):
                child.write("unplanted")
            else:
                self._run(child, [(items[name], cost) for name, cost in child.job.tests])
        finally:
            os._exit(0)

    def _run(self, child: _Child, tests: list[tuple[pytest.Item, float]]) -> None:
        begin, verdict, state = worked(), "survived", tests[0][0].session._setupstate
        for (item, cost), after in zip(tests, [*(item for item, _ in tests[1:]), None], strict=True):
            if sum((worked() - begin)[:2]) + cost > child.job.seconds:
                verdict = "undecided"
                continue
            state.teardown_exact(item)  # of what was left out before it
            spent = resource.getrusage(resource.RUSAGE_SELF)
            limit = int(spent.ru_utime + spent.ru_stime + HANG + SLOWER * cost) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            child.write(f"test {item.nodeid}")
            self._failed = False
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed:
                child.write(f"failed {item.nodeid}")
                if child.job.code:
                    break
        child.write(verdict)
        state.teardown_exact(None)


@dataclass
class _Child:
    """A child, seen from both sides."""

    job: Job
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="mutant-")))
    since: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """In the child: be alone, speak to nobody, leave nothing elsewhere."""
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for stream in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        self.folder.chmod(0o755)  # servers run as another user
        tempfile.tempdir = os.environ["TMPDIR"] = str(self.folder)
        os.environ["NUMBA_CACHE_DIR"] = str(self.folder)  # its keys do not see constants

    def write(self, word: str) -> None:
        """In the child: tell the parent."""
        with (self.folder / "told").open("a", encoding="utf-8") as file:
            file.write(f"{word}\n")

    def ended(self, pid: int, at_once: bool = False) -> Outcome | None:
        """In the parent: what became of it, once it has ended or had its time."""
        over = at_once or time.monotonic() - self.since > WAITING * self.job.seconds
        if over:
            os.kill(pid, signal.SIGKILL)
        found, status, used = os.wait4(pid, 0 if over else os.WNOHANG)
        if not found:
            return None
        _end_all(pid, str(self.folder))
        told = self.folder / "told"
        words = told.read_text("utf-8").splitlines() if told.exists() else ["unplanted"]
        shutil.rmtree(self.folder, ignore_errors=True)
        tests = [one.removeprefix("test ") for one in words if one.startswith("test ")]
        failed = [one.removeprefix("failed ") for one in words if one.startswith("failed ")]
        verdict = "failed" if failed else words[-1]
        if verdict.startswith("test "):  # nothing was written after it
            endless = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
            verdict = "undecided" if over else "endless" if endless else "crashed"
            failed = [] if over else tests[-1:]
        return Outcome(verdict, len(tests), round(used.ru_utime + used.ru_stime, 2), tuple(failed))


def _end_all(group: int, folder: str) -> None:
    """End what a child has left, until nothing is there."""
    left = {group: os.killpg}
    while left:
        for pid, end in left.items():
            with suppress(ProcessLookupError):
                end(pid, signal.SIGKILL)
        marked = f"TMPDIR={folder}\0".encode()
        left = {int(pid): os.kill for pid in os.listdir("/proc") if pid.isdigit() and marked in _environment(pid)}


def _environment(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
