"""Waiting for a question: until something changes, or its answer is due; never by asking the disk all the time."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.jobs import FINAL
from dpselect.release.formatting import Json

LOOK = 0.5  # seconds between two looks, for questions that another process runs
LONGEST = 30.0
Look = Callable[[], Awaitable[dict[str, Json]]]
_FINAL = frozenset(map(str, FINAL))


class Bell:
    """Wakes whoever waits for a question that has changed."""

    def __init__(self, gateway: Gateway) -> None:
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._loop = asyncio.get_running_loop()
        gateway.watch(self._changed)

    def _changed(self, number: str) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring, number)

    def _ring(self, number: str) -> None:
        for event in self._waiting.get(number, ()):
            event.set()

    async def change(self, number: str, seconds: float) -> None:
        """Until the question changes, for so long at most."""
        event = asyncio.Event()
        self._waiting[number].add(event)
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            return
        finally:
            self._waiting[number].discard(event)
            if not self._waiting[number]:
                del self._waiting[number]


def is_final(job: dict[str, Json]) -> bool:
    """Will it never change again?"""
    return job["state"] in _FINAL


async def ended(bell: Bell, number: str, look: Look, seconds: float) -> dict[str, Json]:
    """The job when it has ended, or as it is after so many seconds."""
    return await _once(is_final, bell, number, look, seconds)


async def changed(bell: Bell, number: str, look: Look, seconds: float, before: dict[str, Json]) -> dict[str, Json]:
    """The job when it is not as before any more, or as it is after so many seconds."""
    return await _once(lambda job: job != before, bell, number, look, seconds)


async def _once(
    enough: Callable[[dict[str, Json]], bool], bell: Bell, number: str, look: Look, seconds: float
) -> dict[str, Json]:
    until = time.monotonic() + min(seconds, LONGEST)
    job = await look()
    while not enough(job) and (left := until - time.monotonic()) > 0:
        await bell.change(number, min(left, LOOK))
        job = await look()
    return job
