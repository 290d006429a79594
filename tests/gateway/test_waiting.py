"""Waiting for the end of a question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest

from dpselect.gateway.web import desk
from dpselect.gateway.web.desk import Bell, wait_until_ended

STATES = ("queued", "queued", "running", "running", "answered")


class Still:
    """What nothing is heard of."""

    def watch(self, told: object) -> None:
        """Nobody is ever told."""


def test_an_end_that_nobody_tells_of_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "SECONDS_BETWEEN_OTHERS", 0.01)
    states: Iterator[str] = iter(STATES)

    async def look() -> dict[str, Any]:
        return {"state": next(states)}

    async def waited() -> dict[str, Any]:
        return await wait_until_ended(Bell(cast("Any", Still())), "1", look, 30)

    assert asyncio.run(waited()) == {"state": "answered"}
