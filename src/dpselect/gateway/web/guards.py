"""What every request passes before anything is done: limits, and where it came from; and what every answer says.

Plain ASGI, so that a body is cut off while it arrives, and not when it is there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders

from dpselect.gateway.problems import PROBLEM_KINDS, problem
from dpselect.gateway.settings.server import ServerSettings
from dpselect.release import PICTURE_STYLE_DIGEST, STYLE_DIGEST

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_POLICY = (  # the styles of a page itself are those of a release and of its picture
    f"default-src 'none'; style-src 'self' {STYLE_DIGEST} {PICTURE_STYLE_DIGEST}; script-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none, a form over plain HTTP would say that it comes from nowhere
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
MAX_HEADER_BYTES = 32 * 1024  # bytes of all headers of a request
SAFE = ("GET", "HEAD", "OPTIONS")
_BURST = 4.0  # seconds of a rate that may come at once


class Guards:
    """Middleware around the whole application: limits, origins and the headers of answers."""

    def __init__(self, app: App, server: ServerSettings) -> None:
        self._app, self._server = app, server
        self._hosts = _hosts(server)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        send_with_headers = _with_headers(send, scope["path"])
        refusal = self._find_refusal(scope, headers)
        if refusal is not None:
            await refuse(send_with_headers, *refusal)
            return
        body: bytes | None = b"" if scope["method"] in ("GET", "HEAD") else await self._read_body(receive)
        if body is None:
            await refuse(send_with_headers, "too-large", f"A request may have at most {self._server.body:,} bytes.")
            return
        await self._app(scope, _replay_body(body, receive), send_with_headers)

    def _find_refusal(self, scope: Scope, headers: Headers) -> tuple[str, str] | None:
        host = headers.get("host", "")
        if self._hosts is not None and host.lower() not in self._hosts:
            return "host", "The request is for another server."
        if sum(len(name) + len(value) for name, value in headers.raw) > MAX_HEADER_BYTES:
            return "too-large", f"The headers of a request may have at most {MAX_HEADER_BYTES:,} bytes."
        length = headers.get("content-length")
        if length is not None and (not length.isascii() or not length.isdigit() or len(length) > 15):
            return "malformed", "The length of the request is not a number."
        if length is not None and int(length) > self._server.body:
            return "too-large", f"A request may have at most {self._server.body:,} bytes."
        if scope["method"] not in SAFE and not _is_same_site(headers, host):
            return "cross-site", "The request came from another site and was ignored."
        return None

    async def _read_body(self, receive: Receive) -> bytes | None:
        """Read the body; return None if it is too large."""
        received = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return bytes(received)
            received += message.get("body", b"")
            if len(received) > self._server.body:
                return None
            if not message.get("more_body", False):
                return bytes(received)


def _is_same_site(headers: Headers, host: str) -> bool:
    """Return whether a request is no cross-site one of a browser.

    A browser says where a request comes from; a caller that says nothing is no browser, and has no cookie of one.
    """
    if "authorization" in headers:  # which a page of another site cannot add
        return True
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site in ("same-origin", "none")
    if origin is not None:
        return urlsplit(origin).netloc.lower() == host.lower()
    return "cookie" not in headers


def _hosts(server: ServerSettings) -> set[str] | None:
    """Return the names under which this server may be asked, or None for any name."""
    if server.url is not None:
        names = {urlsplit(server.url).netloc.lower()}
    elif server.host in ("127.0.0.1", "localhost", "::1"):
        names = set()
    else:
        return None
    return names | {f"{name}:{server.port}" for name in ("127.0.0.1", "localhost", "[::1]")}


def _with_headers(send: Send, path: str) -> Send:
    """Return a `send` that adds security headers, and forbids caching of all but static files."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
            if not path.startswith("/static/"):
                headers["Cache-Control"] = "no-store"
        await send(message)

    return send_with_headers


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body that was read already, then whatever else comes."""
    is_given = False

    async def receive_again() -> Message:
        nonlocal is_given
        if not is_given:
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return receive_again


async def refuse(send: Send, kind: str, detail: str) -> None:
    """Send a problem, without any handler."""
    body = json.dumps(problem(kind, detail)).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": PROBLEM_KINDS[kind].status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Rates:
    """The rates of people's requests: a number a second, and a few seconds of it at once."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._tokens: dict[str, tuple[float, float]] = {}

    def allow(self, name: str) -> bool:
        """Return whether a person may send one more request now, and count it."""
        now, capacity = time.monotonic(), self._rate * _BURST
        tokens, checked_at = self._tokens.get(name, (capacity, now))
        tokens = min(capacity, tokens + (now - checked_at) * self._rate)
        self._tokens[name] = (max(0.0, tokens - 1), now)
        return tokens >= 1
