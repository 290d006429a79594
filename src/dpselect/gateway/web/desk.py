"""What one person may keep busy, threads that compute and connections that wait; and how a question is waited for."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import chain
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.jobs import FINAL
from dpselect.gateway.problems import Refused
from dpselect.gateway.turn import THREADS
from dpselect.release import Json

THREADS_PER_PERSON = 1  # thread that reads and prices questions, for one person: a price may take seconds
MAX_WAITING_REQUESTS = 100  # requests of one person that wait for a thread
MAX_HELD_CONNECTIONS = 50  # connections on which one person waits for questions to end
V = TypeVar("V")


class SlowRequests:
    """A desk for requests that take long: a few of each person at once, off the threads that answer all others."""

    def __init__(self) -> None:
        self._threads = CapacityLimiter(THREADS)
        self._semaphores: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._line, self._held = Counter[str](), Counter[str]()

    async def run(self, name: str, call: Callable[..., V], *arguments: object, **keywords: object) -> V:
        """Run a call in a thread, in its turn, and return its value."""
        with _hold_place(self._line, name, MAX_WAITING_REQUESTS, "requests"):
            turn = self._semaphores.get(name) or asyncio.Semaphore(THREADS_PER_PERSON)
            self._semaphores[name] = turn
            async with turn:
                value, error = await to_thread.run_sync(
                    _catch, partial(call, *arguments, **keywords), limiter=self._threads
                )
            if error is None:
                return value  # type: ignore[return-value] # without an error it is the value
            try:
                raise error
            finally:
                del error  # or this frame and the error would hold each other, and a long body, until a collection

    @contextlib.contextmanager
    def holding(self, name: str) -> Iterator[None]:
        """Hold a place for a connection that stays open until something happens."""
        with _hold_place(self._held, name, MAX_HELD_CONNECTIONS, "connections"):
            yield


def _catch(call: Callable[[], V]) -> tuple[V | None, Exception | None]:
    """Return an error as a value: a future that raises one would keep it, and with it all arguments of the call."""
    try:
        return call(), None
    except Exception as error:
        return None, error


@contextlib.contextmanager
def _hold_place(counts: Counter[str], name: str, limit: int, noun: str) -> Iterator[None]:
    if counts[name] >= limit:
        raise Refused("too-many", f"{limit} {noun} of yours wait already, which is the most.", after=1)
    counts[name] += 1
    try:
        yield
    finally:
        counts[name] -= 1
        if not counts[name]:
            del counts[name]


def slow_requests_of(request: Request) -> SlowRequests:
    """Return the desk of the application."""
    desk: SlowRequests = request.app.state.desk
    return desk


async def run_for_person(request: Request, action: Callable[..., V], *arguments: object, **keywords: object) -> V:
    """Call the gateway for the person who asks, where that takes a processor for long."""
    gateway, person = request.state.gateway, request.state.person
    return await slow_requests_of(request).run(person.name, action, gateway, person, *arguments, **keywords)


# ---- waiting for a question ------------------------------------------------------------------------------------------


SECONDS_BETWEEN_OTHERS = 0.5  # seconds between two looks, for questions that another process may run
MAX_WAIT_SECONDS = 30.0
Look = Callable[[], Awaitable[dict[str, Json]]]


class Bell:
    """A bell that wakes whoever waits for a question that has changed, and all when people have: some may be out."""

    def __init__(self, gateway: Gateway) -> None:
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._loop = asyncio.get_running_loop()
        self._longest = SECONDS_BETWEEN_OTHERS if gateway.jobs.is_shared else MAX_WAIT_SECONDS
        gateway.watch(self._notify)

    def _notify(self, number: str | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring, number)

    def _ring(self, number: str | None) -> None:
        numbers = [*self._waiting] if number is None else [number]
        for event in chain.from_iterable(self._waiting.get(one, ()) for one in numbers):
            event.set()

    @contextlib.contextmanager
    def listening(self, number: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set at each change of a question."""
        event = asyncio.Event()
        self._waiting[number].add(event)
        try:
            yield event
        finally:
            self._waiting[number].discard(event)
            if not self._waiting[number]:
                del self._waiting[number]

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        """Wait until an event is set, for so many seconds at most, or until another process may have changed more."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), min(seconds, self._longest))


async def wait_until_ended(bell: Bell, number: str, look: Look, seconds: float) -> dict[str, Json]:
    """Return the job when it has ended, or as it is after so many seconds."""
    deadline = time.monotonic() + min(seconds, MAX_WAIT_SECONDS)
    with bell.listening(number) as changed:  # before the first look, so that no change falls between
        while True:
            changed.clear()
            job = await look()
            left = deadline - time.monotonic()
            if job["state"] in FINAL or left <= 0:
                return job
            await bell.wait(changed, left)
