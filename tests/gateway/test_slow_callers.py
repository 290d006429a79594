"""A caller that sends a head byte by byte, or half of one, does not keep its connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dpselect.gateway import serving

uvicorn = pytest.importorskip("uvicorn")
HEAD = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
LONG = 60  # seconds after which a test gives up


async def _app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001 - the shape of an application
    if scope["path"] == "/slow":
        await asyncio.sleep(1)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def _sent(*parts: bytes) -> bytes:
    """All that a server answers to these parts, until it closes the connection."""
    from uvicorn.server import ServerState

    config = uvicorn.Config(_app, log_config=None, access_log=False, timeout_keep_alive=10 * LONG)
    config.load()
    state, protocol = ServerState(), serving._protocol()
    server = await asyncio.get_running_loop().create_server(lambda: protocol(config, state, {}), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.05)
        found = await asyncio.wait_for(reader.read(), LONG)
        writer.close()
        return found


@pytest.mark.parametrize(
    ("parts", "answers"),
    [
        ((), 0),
        ((b"GET / HTT",), 0),
        ((HEAD, b"GET / HTT"), 1),
        ((HEAD, HEAD, b"G", b"E", b"T"), 2),
        ((HEAD.replace(b"/", b"/slow", 1),), 1),  # one that is being answered stays
        ((HEAD.replace(b"/", b"/slow", 1), HEAD, b"GET"), 2),
    ],
)
def test_a_connection_ends_without_a_whole_head(
    parts: tuple[bytes, ...], answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "FIRST", 0.2)
    assert asyncio.run(_sent(*parts)).count(b"200 OK") == answers
