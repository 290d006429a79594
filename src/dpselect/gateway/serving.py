"""A server of our own around the application: uvicorn. Slow callers are left to a proxy (docs/gateway.md)."""

from __future__ import annotations

import socket
from collections.abc import Callable

from dpselect.errors import OutputError
from dpselect.gateway.settings.server import ServerSettings
from dpselect.gateway.web.guards import App

MAX_HEAD_BYTES = 32 * 1024  # bytes of a request's head
IDLE = 15  # seconds for which a connection is kept
_LEAVING = 25  # seconds in which open requests may end


def listen(server: ServerSettings) -> socket.socket:
    """Return a socket that listens at the server's address, so that whoever is told of it finds it open."""
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    # The protocol by name: asyncio sends small answers at once only where a socket says that it is TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((server.host, server.port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        address = f"{server.host}:{server.port}"
        raise OutputError(f"cannot listen at {address}: {error.strerror}", "name another port with --port") from None
    return listening


def serve(app: App, listening: socket.socket, started: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; what runs then ends first."""
    import uvicorn

    class _AnnouncingServer(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                started()

    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,  # who is believed is a matter of the settings
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=_LEAVING,
    )
    _AnnouncingServer(config).run(sockets=[listening])
