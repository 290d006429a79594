"""A caller that sends a head byte by byte, or half of one, does not keep its connection.

The server's looks at a connection are made by hand here, so that nothing hangs on how fast the machine is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dpselect.gateway import serving

uvicorn = pytest.importorskip("uvicorn")
HEAD = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
HOUR = 3600.0


class Connection:
    """The server's end of one connection, and the caller's."""

    def __init__(self, protocol: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._protocol, self.reader, self._writer = protocol, reader, writer

    async def send(self, part: bytes) -> None:
        self._writer.write(part)
        await self._writer.drain()

    async def answer(self) -> bytes:
        return await self.reader.readuntil(b"\r\n\r\nok")

    def looked_at(self) -> bool:
        """Is it still open after one more look?"""
        self._protocol._next.cancel()
        self._protocol._look()
        return not self._protocol.transport.is_closing()


@asynccontextmanager
async def connected(monkeypatch: pytest.MonkeyPatch, go: asyncio.Event | None = None) -> AsyncIterator[Connection]:
    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001 - the shape of an application
        if go is not None:
            await go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    from uvicorn.server import ServerState

    monkeypatch.setattr(serving, "FIRST", HOUR)
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_keep_alive=HOUR)
    config.load()
    made: asyncio.Queue[Any] = asyncio.Queue()

    def protocol() -> Any:
        found = serving._protocol()(config, ServerState(), {})
        made.put_nowait(found)
        return found

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    found = await made.get()
    while found.transport is None:
        await asyncio.sleep(0)
    try:
        yield Connection(found, reader, writer)
    finally:
        writer.close()
        server.close()
        found._next.cancel()


@pytest.mark.parametrize("half", [b"", b"GET / HTT"])
def test_a_first_request_must_come_before_the_first_look(half: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def calls() -> None:
        async with connected(monkeypatch) as connection:
            await connection.send(half)
            assert not connection.looked_at()

    asyncio.run(calls())


@pytest.mark.parametrize("half", [b"", b"GET / HTT"])
def test_half_of_another_request_is_no_request(half: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def calls() -> None:
        async with connected(monkeypatch) as connection:
            for _ in range(3):
                await connection.send(HEAD)
                await connection.answer()
                assert connection.looked_at()
            await connection.send(half)
            assert not connection.looked_at()

    asyncio.run(calls())


def test_a_request_that_is_being_answered_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    async def calls() -> None:
        go = asyncio.Event()
        async with connected(monkeypatch, go) as connection:
            await connection.send(HEAD)
            while getattr(connection._protocol, "cycle", None) is None:
                await asyncio.sleep(0)
            assert all(connection.looked_at() for _ in range(3))
            go.set()
            await connection.answer()
            assert connection.looked_at()
            assert not connection.looked_at()

    asyncio.run(calls())
