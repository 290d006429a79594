"""Small answers leave at once: a head and its content are two pieces, and the second must not wait for the first."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from dpselect.gateway.serving import listen
from dpselect.gateway.settings.server import ServerSettings


def test_connections_do_not_wait_to_fill_a_packet(tmp_path: Path) -> None:
    listening = listen(ServerSettings(ledger="ledger.sqlite", folder=tmp_path, port=0))

    async def delays() -> bool:
        """Whether the system holds small pieces back, of a connection that was accepted."""
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        class Looking(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                found = transport.get_extra_info("socket")
                accepted.set_result(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
                transport.close()

        server = await asyncio.get_running_loop().create_server(Looking, sock=listening)
        async with server:
            _, writer = await asyncio.open_connection(*listening.getsockname()[:2])
            found = await accepted
            writer.close()
            await writer.wait_closed()
        return not found

    assert not asyncio.run(delays())
