"""What one person may keep busy, threads that compute and connections that wait; and how a question is waited for."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.jobs import FINAL
from dpselect.gateway.problems import Refused
from dpselect.gateway.work import THREADS
from dpselect.release.formatting import Json

EACH = 1  # thread that reads and prices questions, for one person: a price may take seconds
LINE = 100  # requests of one person that wait for a thread
HELD = 50  # connections on which one person waits for questions to end
V = TypeVar("V")


class Desk:
    """Takes requests that take long, a few of each person at once, away from the threads that answer all others."""

    def __init__(self) -> None:
        self._threads = CapacityLimiter(THREADS)
        self._semaphores: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._line, self._held = Counter[str](), Counter[str]()

    async def run(self, name: str, call: Callable[..., V], *given: object, **more: object) -> V:
        """The same, in a thread, in its turn."""
        with _one_of(self._line, name, LINE, "requests"):
            turn = self._semaphores.get(name) or asyncio.Semaphore(EACH)
            self._semaphores[name] = turn
            async with turn:
                found, error = await to_thread.run_sync(_caught, partial(call, *given, **more), limiter=self._threads)
            if error is None:
                return found  # type: ignore[return-value] # without an error it is the value
            try:
                raise error
            finally:
                del error  # or this frame and the error would hold each other, and a long body, until a collection

    @contextlib.contextmanager
    def holding(self, name: str) -> Iterator[None]:
        """A connection that stays open until something happens."""
        with _one_of(self._held, name, HELD, "connections"):
            yield


def _caught(call: Callable[[], V]) -> tuple[V | None, Exception | None]:
    """An error as a value: a future that raises one holds itself by it, and with it all that the call was given."""
    try:
        return call(), None
    except Exception as error:
        return None, error


@contextlib.contextmanager
def _one_of(counts: Counter[str], name: str, most: int, what: str) -> Iterator[None]:
    if counts[name] >= most:
        raise Refused("too-many", f"{most} {what} of yours wait already, which is the most.", after=1)
    counts[name] += 1
    try:
        yield
    finally:
        counts[name] -= 1
        if not counts[name]:
            del counts[name]


def desk_of(request: Request) -> Desk:
    """That of the application."""
    found: Desk = request.app.state.desk
    return found


async def thinking(request: Request, what: Callable[..., V], *given: object, **more: object) -> V:
    """What the gateway says to the person who asks, where that takes a processor for long."""
    gateway, person = request.state.gateway, request.state.person
    return await desk_of(request).run(person.name, what, gateway, person, *given, **more)


# ---- waiting for a question ------------------------------------------------------------------------------------------


LOOK = 0.5  # seconds between two looks, for questions that another process runs
LONGEST = 30.0
Look = Callable[[], Awaitable[dict[str, Json]]]


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


async def ended(bell: Bell, number: str, look: Look, seconds: float) -> dict[str, Json]:
    """The job when it has ended, or as it is after so many seconds."""
    until = time.monotonic() + min(seconds, LONGEST)
    job = await look()
    while job["state"] not in FINAL and (left := until - time.monotonic()) > 0:
        await bell.change(number, min(left, LOOK))
        job = await look()
    return job
