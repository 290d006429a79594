"""Waiting for the end of a question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from dpselect.gateway.web import desk
from dpselect.gateway.web.desk import MAX_WAIT_SECONDS, Bell, wait_until_ended

PATIENCE = 20  # seconds, fewer than a caller may wait
STATES = ("queued", "queued", "running", "running", "answered")


class Questions:
    """Where questions are kept, as much of it as waiting needs, and who is told of changes."""

    def __init__(self, *, is_shared: bool) -> None:
        self.jobs, self.is_shared = self, is_shared
        self.tell: Callable[[str], object] = str

    def watch(self, told: Callable[[str], object]) -> None:
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


def test_nobody_looks_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file that belongs to one process: two hundred who wait cost nothing."""
    monkeypatch.setattr(desk, "SECONDS_BETWEEN_OTHERS", 0.01)
    questions, states, looks = Questions(is_shared=False), ["running"], 0

    def end() -> None:
        states[0] = "answered"
        questions.tell("1")

    async def look() -> dict[str, Any]:
        nonlocal looks
        looks += 1
        if looks == 1:
            asyncio.get_running_loop().call_later(0.2, end)
        return {"state": states[0]}

    assert waited(questions, look) == {"state": "answered"}
    assert looks == 2


def test_other_changes_end_no_wait() -> None:
    questions, states = Questions(is_shared=False), iter(STATES)

    async def look() -> dict[str, Any]:
        state = next(states)
        asyncio.get_running_loop().call_soon(questions.tell, "1")
        return {"state": state}

    assert waited(questions, look) == {"state": "answered"}
