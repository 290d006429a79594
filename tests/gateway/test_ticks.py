"""Answers and failures leave when parameters say, a worker is free again then, and who is late is told once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dpselect.engines.duckdb.workspace import Workspace
from dpselect.forecast import work
from dpselect.gateway import gateway as gateways
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.jobs import FINAL, Job, JobState
from dpselect.gateway.log import Log
from dpselect.gateway.problems import TooLateError
from dpselect.gateway.settings.kinds import LATEST
from dpselect.gateway.settings.reading import read
from dpselect.gateway.store import Jobs
from dpselect.gateway.turn import Turn
from tests.gateway.processes import make, write_broken_rows
from tests.gateway.served import at_its_ticks

TICK = 0.15
BODY: dict[str, Any] = {"verb": "top_k", "k": 3, "epsilon": "1/100", "fresh": True}


@contextmanager
def gateway(folder: Path, workers: int) -> Iterator[Gateway]:
    """One with sound rows and rows that cannot be read to their end."""
    world = make(folder, analysts=1, tick=TICK, workers=workers, data=("plays", "broken"))
    write_broken_rows(folder / "broken.parquet")
    with at_its_ticks(read(world.settings())) as found:
        yield found


def ended(found: Gateway, names: list[str]) -> list[Job]:
    """One question after the other about these data, as they ended."""
    ann = found.settings.people["ann0"]
    numbers = [str(found.ask(ann, {**BODY, "data": name})["id"]) for name in names]
    while any(found.job(ann, number)["state"] in ("queued", "running") for number in numbers):
        time.sleep(TICK / 4)
    jobs = [found.jobs.find(number) for number in numbers]
    return [job for job in jobs if job is not None]


@pytest.mark.parametrize("workers", [1, 3])
def test_success_and_failure_leave_on_one_grid(tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "bound_work", lambda *_: work.WorkBound(0.0, 6 * TICK / workers))  # eight ticks
    with gateway(tmp_path, workers) as found:
        jobs = ended(found, ["plays", "broken", "plays", "broken"])
        cost = [job.cost for job in jobs]
    assert [job.state for job in jobs] == [JobState.ANSWERED, JobState.FAILED] * 2
    assert all(one is not None and float(str(one["share"])) > 0 for one in cost)
    assert len({job.base_window for job in jobs}) == 1, "one question has one tick, whatever became of it"
    if workers == 1:
        for before, after in pairwise(jobs):
            assert before.due is not None
            assert after.started_at is not None
            assert after.started_at > before.due - 1e-3


def test_what_the_rows_left_is_cleared_up_before_anything_is_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else how long that takes would be seen between the settling, at its time, and the answer in everybody's list."""
    done: list[str] = []

    def told(what: str, run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: (done.append(what), run(*given))[1]

    with gateway(tmp_path, workers=1) as found:
        for where, name in ((Workspace, "close"), (Turn, "wait_to_settle"), (Jobs, "record_answer")):
            monkeypatch.setattr(where, name, told(name, getattr(where, name)))
        answered, failed = ended(found, ["plays", "broken"])
    assert (answered.state, failed.state) == (JobState.ANSWERED, JobState.FAILED)
    assert done == ["close", "wait_to_settle", "record_answer", "close", "wait_to_settle"]


class Clock:
    """A time that passes where somebody sleeps."""

    def __init__(self) -> None:
        self.at = 0.0
        self.events: list[tuple[float, Callable[[], None]]] = []

    def sleep(self, seconds: float) -> None:
        """Up to then, with what happens meanwhile."""
        self.at += seconds
        while self.events and self.events[0][0] <= self.at:
            self.events.pop(0)[1]()


def turn_at(clock: Clock, tick: float = 1.0) -> Turn:
    return Turn(tick, began=0.0, may_have_read=True, now=lambda: clock.at, sleep=clock.sleep)


def test_an_answer_is_settled_and_leaves_at_its_tick_whenever_it_is_ready() -> None:
    seen = set()
    for ready in (0.0, 0.3, 0.7499):
        clock = Clock()
        turn = turn_at(clock)
        clock.sleep(ready)
        turn.wait_to_settle()
        settled = clock.at
        turn.wait()
        seen.add((round(settled, 6), round(clock.at, 6)))
    assert seen == {(0.75, 1.0)}


def test_somebody_elses_slip_moves_the_answers_that_wait() -> None:
    clock = Clock()
    turn = turn_at(clock)
    clock.events = [(0.5, lambda: setattr(turn, "slips", 1))]
    turn.wait_to_settle()
    assert clock.at == pytest.approx(1.5)
    assert turn.times_late == 0
    turn.wait()
    assert clock.at == pytest.approx(2.0)


def test_what_is_late_once_is_an_answer_and_twice_is_none() -> None:
    for late in (1, 2):
        clock = Clock()
        turn = turn_at(clock)
        clock.sleep(0.76)
        assert turn.is_late

        def slip(turn: Turn = turn) -> None:
            assert turn.is_late
            turn.times_late += 1
            turn.slips += 1

        clock.events = [(0.80, slip)] + [(1.6, slip)] * (late - 1)
        clock.sleep(0.9)  # of work
        if late == 1:
            clock.at = 1.2
        with pytest.raises(TooLateError) if late == 2 else nullcontext():
            turn.wait_to_settle()
        turn.wait()
        assert clock.at == pytest.approx(2.0 if late == 1 else 4.0)


def test_work_that_ended_with_nothing_to_settle_is_not_late() -> None:
    clock = Clock()
    turn = turn_at(clock)
    clock.sleep(0.8)
    assert turn.is_late
    turn.work_ended = True
    assert not turn.is_late


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Jobs]:
    """A table of questions, with two data sets."""
    found = Jobs(tmp_path / "questions.sqlite")
    for name in ("plays", "films"):
        found.declare(name, Fraction(1))
    yield found
    found.close()


def asked(store: Jobs, number: int, data: str = "plays", analyst: str = "ann", tick: float = 1.0) -> Job:
    job = Job(
        id=str(number), analyst=analyst, data=data, repeat_key=f"k{number}", body={}, state=JobState.QUEUED,
        asked_at=float(number), base_window=tick,
    )  # fmt: skip
    store.add(job)
    return job


def test_one_slip_doubles_the_ticks_of_all_that_run_and_follow_and_is_counted_once(store: Jobs) -> None:
    for number, (data, tick) in enumerate([("plays", 1.0), ("plays", 4.0), ("films", 1.0)]):
        asked(store, number, data, analyst=f"ann{number}", tick=tick)
    running = [store.claim() for _ in range(3)]
    late = [job for job in running if job is not None and job.data == "plays"]
    assert [store.slip(job, 0) for job in late] == [True, False], "two that are late at once tell it once"
    assert store.slips() == {"0": 1, "1": 1, "2": 0}
    found = [store.find(str(number)) for number in range(3)]
    assert [None if job is None else job.window for job in found] == [2.0, 8.0, 1.0]
    asked(store, 3, "plays", analyst="bob", tick=4.0)
    after = store.claim()
    assert after is not None
    assert after.window == 8.0
    store.declare("plays", Fraction(1))
    assert store.slips_of("plays") == 1, "a start with the same settings forgets nothing"
    store.declare("plays", Fraction(2))
    assert store.slips_of("plays") == 0


def test_no_question_begins_when_its_tick_would_be_over_an_hour(store: Jobs) -> None:
    told = 0
    while True:
        asked(store, told)
        job = store.claim()
        assert job is not None
        if job.window > LATEST:
            break
        assert store.slip(job, told)
        told += 1
    assert told == 12, "2 ** 11 seconds are less than an hour"


@pytest.fixture
def late(tmp_path: Path) -> Iterator[tuple[Gateway, Clock, list[tuple[Job, Turn]]]]:
    """Two questions at work whose rows may have been read, and a clock that the test moves."""
    found, clock = Gateway(read(make(tmp_path, analysts=2, tick=1.0).settings()), Log(StringIO())), Clock()
    at_work = []
    for number in range(2):
        asked(found.jobs, number, analyst=f"ann{number}")
        job = found.jobs.claim()
        assert job is not None
        at_work.append((job, turn_at(clock)))
        found.runner._turns[job.id] = at_work[-1]
    yield found, clock, at_work
    found.jobs.close()
    found.books.close()


def test_of_several_that_are_late_at_once_one_misses_its_turn(
    late: tuple[Gateway, Clock, list[tuple[Job, Turn]]],
) -> None:
    found, clock, at_work = late
    for at, missed in ((0.7, 0), (0.8, 1), (0.9, 1), (1.6, 2)):
        clock.at = at
        found.runner.record_slips()
        assert sum(turn.times_late for _, turn in at_work) == missed == found.jobs.slips_of("plays")


def test_a_question_that_hangs_slips_twice_and_ends_while_its_work_goes_on(
    late: tuple[Gateway, Clock, list[tuple[Job, Turn]]],
) -> None:
    found, clock, ((job, turn), (_, other)) = late
    other.is_ready = True
    ends = []
    for tenth in range(300):
        clock.at = tenth / 10
        found.runner.record_slips()
        for thread in threading.enumerate():
            if thread.name == "give-up":
                thread.join()
        now = found.jobs.find(job.id)
        assert now is not None
        if now.state in FINAL:
            ends.append((clock.at, str(now.state), str((now.problem or {})["type"])))
    assert found.jobs.slips_of("plays") == 2 == turn.times_late
    assert ends[0] == (4.0, "failed", "/problems/late")
    with pytest.raises(TooLateError):
        turn.wait_to_settle()


def test_a_question_that_another_server_has_is_given_up_here_without_a_slip(
    late: tuple[Gateway, Clock, list[tuple[Job, Turn]]],
) -> None:
    found, clock, ((job, turn), _) = late
    found.jobs.change(job, process_id="another")
    clock.at = 0.8
    found.runner.record_slips()
    assert turn.is_given_up
    with pytest.raises(TooLateError):
        turn.wait_to_settle()


def test_a_question_that_no_worker_has_is_asked_again(late: tuple[Gateway, Clock, list[tuple[Job, Turn]]]) -> None:
    found, _, ((job, _), (other, _)) = late
    del found.runner._turns[job.id]
    found.runner.recover()
    states = [now.state for one in (job, other) if (now := found.jobs.find(one.id)) is not None]
    assert states == [JobState.QUEUED, JobState.RUNNING]


def test_a_worker_that_a_lost_question_keeps_counts_for_who_asked_it(store: Jobs) -> None:
    for number, who in enumerate(("hog", "ann")):
        asked(store, number, analyst=who)
    assert store.claim({"hog": 1, "ann": 1}, last=True) is None
    first = store.claim({"hog": 1})
    assert first is not None
    assert first.analyst == "ann"


def test_people_take_turns_and_nobody_takes_the_last_worker_twice(store: Jobs) -> None:
    for number in range(6):
        asked(store, number, analyst="hog")
    first = store.claim()
    assert first is not None
    assert store.claim(last=True) is None
    asked(store, 6, analyst="ann")
    small = store.claim(last=True)
    assert small is not None
    assert small.analyst == "ann"
    for job in (first, small):
        store.change(job, state=JobState.ANSWERED)
    asked(store, 7, analyst="ann")
    asked(store, 8, analyst="bob")
    order = []
    for _ in range(3):
        job = store.claim()
        assert job is not None
        store.change(job, state=JobState.ANSWERED)
        order.append(job.analyst)
    assert order == ["bob", "hog", "ann"], "whoever was served longest ago comes first"
