"""Answers and failures leave on one grid of times, and a worker is free again at its tick, never before."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.jobs import Job, State
from dpselect.gateway.log import Log
from dpselect.gateway.settings.reading import read
from tests.gateway.processes import make, write_broken_rows

TICK = 0.1
BODY: dict[str, Any] = {"verb": "top_k", "k": 3, "epsilon": "1/100", "fresh": True}


@contextmanager
def gateway(folder: Path, workers: int) -> Iterator[Gateway]:
    """One with sound rows and rows that cannot be read to their end."""
    world = make(folder, analysts=1, tick=TICK, workers=workers, data=("plays", "broken"))
    write_broken_rows(folder / "broken.parquet")
    found = Gateway(read(world.settings()), Log(StringIO()))
    found.start()
    try:
        yield found
    finally:
        found.stop()


def ended(found: Gateway, names: list[str]) -> list[Job]:
    """One question after the other about these data, as they ended."""
    ann = found.settings.people["ann0"]
    numbers = [str(found.ask(ann, {**BODY, "data": name})["id"]) for name in names]
    while any(found.job(ann, number)["state"] in ("queued", "running") for number in numbers):
        time.sleep(TICK / 4)
    jobs = [found._jobs.find(number) for number in numbers]
    return [job for job in jobs if job is not None]


@pytest.mark.parametrize("workers", [1, 3])
def test_success_and_failure_leave_on_one_grid(tmp_path: Path, workers: int) -> None:
    with gateway(tmp_path, workers) as found:
        jobs = ended(found, ["plays", "broken", "plays", "broken"])
        cost = [job.cost for job in jobs]
    assert [job.state for job in jobs] == [State.ANSWERED, State.FAILED] * 2
    assert all(one is not None and float(str(one["share"])) > 0 for one in cost)
    for job in jobs:
        assert job.started_at is not None
        assert job.ready_at is not None
        ticks = (job.ready_at - job.started_at) / TICK
        assert round(ticks).bit_count() == 1
        assert abs(ticks - round(ticks)) < 1e-3  # of rounding to microseconds
    if workers == 1:
        for before, after in pairwise(jobs):
            assert before.ready_at is not None
            assert after.started_at is not None
            assert after.started_at > before.ready_at - 1e-3


def test_an_end_is_hidden_up_to_its_tick_however_far_that_is() -> None:
    job = Job(
        id="1", analyst="ann", data="plays", key="k", body={}, state=State.ANSWERED, asked_at=0.0, tick=TICK,
        started_at=1000.0, ready_at=1000 + 8 * TICK, answer="2",
    )  # fmt: skip
    assert not any(job.seen(1000 + ticks * TICK) for ticks in (0.5, 1, 4.5, 7.9))
    assert job.to_dict(1000 + 4.5 * TICK)["answer"] is None
    assert job.seen(1000 + 8.01 * TICK)
    assert job.seen(900), "a clock that was set back by far hides nothing"
