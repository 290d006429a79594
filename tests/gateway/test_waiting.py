"""Waiting for a question: for its end, or for whatever changes first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest

from dpselect.gateway.web import desk
from dpselect.gateway.web.desk import Bell, changed, ended

STATES = ("queued", "queued", "running", "running", "answered")


class Still:
    """What nothing is heard of."""

    def watch(self, told: object) -> None:
        """Nobody is ever told."""


@pytest.mark.parametrize(("which", "state"), [("end", "answered"), ("change", "running")])
def test_a_change_is_told_before_the_end(which: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "LOOK", 0.01)
    states: Iterator[str] = iter(STATES)

    async def look() -> dict[str, Any]:
        return {"state": next(states)}

    async def waited() -> dict[str, Any]:
        bell = Bell(cast("Any", Still()))
        if which == "end":
            return await ended(bell, "1", look, 30)
        return await changed(bell, "1", look, 30, {"state": "queued"})

    assert asyncio.run(waited()) == {"state": state}
