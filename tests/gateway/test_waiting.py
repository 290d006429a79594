"""Waiting for the end of a question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from dpselect.gateway.jobs import FINAL, JobState
from dpselect.gateway.web import desk
from dpselect.gateway.web.desk import MAX_WAIT_SECONDS, Bell, wait_until_ended
from tests.gateway.served import Served, serving

PATIENCE = 20  # seconds, fewer than a caller may wait
STATES = ("queued", "queued", "running", "running", "answered")


class Questions:
    """Where questions are kept, as much of it as waiting needs, and who is told of changes."""

    def __init__(self, *, is_shared: bool) -> None:
        self.jobs, self.is_shared = self, is_shared
        self.tell: Callable[[str | None], object] = str

    def watch(self, told: Callable[[str | None], object]) -> None:
        """Remember whom to tell."""
        self.tell = told


def waited(questions: Questions, look: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    """The job for which somebody waited."""

    async def wait() -> dict[str, Any]:
        waiting = wait_until_ended(Bell(cast("Any", questions)), "1", look, MAX_WAIT_SECONDS)
        return await asyncio.wait_for(waiting, PATIENCE)

    return asyncio.run(wait())


def test_an_end_that_another_process_made_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "SECONDS_BETWEEN_OTHERS", 0.01)
    states = iter(STATES)

    async def look() -> dict[str, Any]:
        return {"state": next(states)}

    assert waited(Questions(is_shared=True), look) == {"state": "answered"}


def test_a_change_during_the_first_look_is_heard() -> None:
    questions, states = Questions(is_shared=False), iter(("running", "answered"))

    async def look() -> dict[str, Any]:
        state = next(states)
        questions.tell("1")
        await asyncio.sleep(0)  # the bell rings before the look ends
        return {"state": state}

    assert waited(questions, look) == {"state": "answered"}


class Watched:
    """A question that runs until it is ended, and how often somebody looked."""

    def __init__(self, questions: Questions, then: Callable[[], object]) -> None:
        """`then` is called after the first look."""
        self._questions, self._then = questions, then
        self._state, self.looks = "running", 0

    async def look(self) -> dict[str, Any]:
        """Look, once more."""
        self.looks += 1
        if self.looks == 1:
            loop = asyncio.get_running_loop()
            loop.call_later(0.05, self._then)
            loop.call_later(0.2, self._end)
        return {"state": self._state}

    def _end(self) -> None:
        self._state = "answered"
        self._questions.tell("1")


@pytest.mark.parametrize(
    ("told", "looks"), [([], 2), (["2"], 2), (["1"], 3), ([None], 3)], ids=["nothing", "another", "itself", "people"]
)
def test_each_change_is_looked_at_once_and_nothing_else_is(
    told: list[str | None], looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file that belongs to one process: two hundred who wait cost nothing. People who change may be out."""
    monkeypatch.setattr(desk, "SECONDS_BETWEEN_OTHERS", 0.01)
    questions = Questions(is_shared=False)
    watched = Watched(questions, lambda: [questions.tell(number) for number in told])
    assert waited(questions, watched.look) == {"state": "answered"}
    assert watched.looks == looks


def approved(served: Served, number: str) -> None:
    """Let the question run to its end."""
    served.olga.post(f"/v1/questions/{number}/approve", {})


def removed(served: Served, number: str) -> None:
    """Take its asker out, so that it is refused when it runs."""
    served.remove("ann")
    approved(served, number)


ENDS: dict[str, Callable[[Served, str], object]] = {
    "cancelled": lambda served, number: served.ann.send("DELETE", f"/v1/questions/{number}"),
    "rejected": lambda served, number: served.olga.post(f"/v1/questions/{number}/reject", {}),
    "answered": approved,
    "refused": removed,
}


@pytest.mark.parametrize("state", ENDS)
def test_every_end_of_a_question_rings(state: str, tmp_path: Path) -> None:
    """Who waits looks when it rings, and so must find the end then."""
    with serving(tmp_path, data="approve = true") as served:
        number = served.ann.post("/v1/questions", {"verb": "top_k", "data": "plays", "k": 2, "epsilon": "1/5"}).json()[
            "id"
        ]
        rung: list[JobState] = []

        def ring(one: str | None) -> None:
            job = served.gateway.jobs.find(number)
            if one == number and job is not None:
                rung.append(job.state)

        served.gateway.watch(ring)
        ENDS[state](served, number)
        served.until(lambda: any(seen in FINAL for seen in rung))
        assert str(rung[-1]) == state
