"""One person's long requests keep nobody else waiting."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import weakref

import pytest

from dpselect.gateway.problems import Refused
from dpselect.gateway.turn import THREADS
from dpselect.gateway.web.desk import MAX_HELD_CONNECTIONS, MAX_WAITING_REQUESTS, THREADS_PER_PERSON, SlowRequests
from tests.gateway.served import Served


def test_a_person_has_a_few_threads_and_leaves_the_others() -> None:
    async def all_at_once() -> None:
        desk, go, running = SlowRequests(), threading.Event(), threading.Semaphore(0)

        def slow() -> None:
            running.release()
            go.wait(60)

        greedy = [asyncio.create_task(desk.run("ann", slow)) for _ in range(MAX_WAITING_REQUESTS)]
        for _ in range(THREADS_PER_PERSON):
            await asyncio.to_thread(running.acquire, timeout=60)
        assert await desk.run("bob", lambda: 7) == 7  # while hundred of ann wait
        assert not running.acquire(blocking=False)
        with pytest.raises(Refused, match="wait already"):
            await desk.run("ann", slow)
        go.set()
        await asyncio.gather(*greedy)
        await desk.run("ann", slow)

    assert THREADS_PER_PERSON < THREADS
    asyncio.run(all_at_once())


def test_a_call_that_fails_leaves_nothing_behind() -> None:
    """A body of a megabyte must not wait for the collector, which counts objects and not bytes."""

    class Body:
        pass

    def fails(body: Body) -> None:
        raise ValueError(body)

    async def calls() -> bool:
        body, desk = Body(), SlowRequests()
        kept = weakref.ref(body)
        with contextlib.suppress(ValueError):
            await desk.run("ann", fails, body)
        del body
        await desk.run("ann", int)  # the thread has its last call in hand until the next
        return kept() is None

    gc.disable()
    try:
        assert asyncio.run(calls())
    finally:
        gc.enable()


def test_connections_that_wait_are_counted_until_they_end() -> None:
    desk = SlowRequests()
    for _ in range(2):
        with desk.holding("ann"):
            pass
    open_ = [desk.holding("ann") for _ in range(MAX_HELD_CONNECTIONS)]
    for one in open_:
        one.__enter__()
    with pytest.raises(Refused), desk.holding("ann"):
        pass
    with desk.holding("bob"):
        pass
    for one in open_:
        one.__exit__(None, None, None)
    with desk.holding("ann"):
        pass


def test_prices_and_waits_of_one_person_are_refused_beyond_that(served: Served) -> None:
    desk: SlowRequests = served.http.app._app.state.desk  # type: ignore[attr-defined]
    job = served.ann.ask({"verb": "top_k", "data": "plays", "k": 2, "epsilon": "1/5"})
    address = f"/v1/questions/{job['id']}"
    desk._held["ann"], desk._line["ann"] = MAX_HELD_CONNECTIONS, MAX_WAITING_REQUESTS
    try:
        found = served.ann.get(f"{address}?wait=1")
        assert (found.status_code, found.json()["type"], found.headers["retry-after"]) == (
            429,
            "/problems/too-many",
            "1",
        )
        assert served.ann.get(address).status_code == 200
        price = {"verb": "top_k", "data": "plays", "k": 2, "epsilon": "1/5"}
        assert served.ann.post("/v1/price", price).status_code == 429
        assert served.bob.post("/v1/price", price).status_code == 200
    finally:
        del desk._held["ann"], desk._line["ann"]
    assert served.ann.get(f"{address}?wait=1").status_code == 200
    assert not desk._held
