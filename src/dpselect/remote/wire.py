"""Requests to a gateway, over one connection for each thread. What is lost is sent again, what is busy waited for."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any

from dpselect._ground import json_text
from dpselect._ground.dataclass import dataclass
from dpselect._ground.processes import process_identity
from dpselect.errors import GatewayError
from dpselect.remote.address import GatewayAddress
from dpselect.remote.problems import error_of, escape_text, kind_of

MAX_REPLY_BYTES = 64 << 20  # bytes of a reply
CONNECT_TIMEOUT = 10.0  # seconds in which a connection must stand
_READ_TIMEOUT = 90.0  # seconds without a byte; a gateway holds a question back for 30 at most
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between two attempts
_BUSY = (429, 503)
JSON = "application/json"
CHECK_ADDRESS = "is the address right?"


@dataclass(frozen=True)
class Reply:
    """A reply as it came: nothing in it is to be trusted."""

    status: int
    media_type: str
    body: bytes
    pause: float | None  # seconds after which to try again


class _LostError(Exception):
    """The loss of a reply. `is_begun` says whether there was a connection, on which something may have arrived.

    `is_old` says that it stood before, so that the gateway may have closed it since, as one that nobody used.
    """

    def __init__(self, reason: str, *, is_begun: bool, is_old: bool = False) -> None:
        self.reason, self.is_begun, self.is_old = reason, is_begun, is_old
        super().__init__(reason)


class _Connection:
    """A connection of one thread of one process; it is closed when nobody keeps it any more."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection, self.process = connection, process_identity()
        weakref.finalize(self, connection.close)


class Wire:
    """The way to one gateway, for one token. Threads share it; a forked child makes connections of its own.

    A request is sent again where its reply was lost, so each must be one that may arrive twice: a question is asked
    under a key, by which the gateway knows it again. `patience` is for how many seconds that goes on, and for how long
    a gateway that has too much to do is waited for. No redirection is followed: the token is for this address alone.
    """

    def __init__(self, address: GatewayAddress, token: str, patience: float) -> None:
        self.address = address
        self.patience = patience
        self._token = token
        self._thread_state = threading.local()
        self._has_replied = False

    def get(self, path: str) -> Any:
        """Return the JSON at a path."""
        return _read_json(self.reply("GET", path))

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> Any:
        """Send a body and return the JSON of the reply."""
        return _read_json(self.reply("POST", path, body, key=key))

    def delete(self, path: str, *, patience: float) -> Any:
        """Delete what is at a path, and return the JSON of the reply."""
        return _read_json(self.reply("DELETE", path, patience=patience))

    def reply(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        patience: float | None = None,
    ) -> Reply:
        """Return the reply to a request; raise the error of any other reply than a good one."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": JSON}
        headers |= {} if key is None else {"Idempotency-Key": key}
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers |= {} if body is None else {"Content-Type": JSON}
        deadline = time.monotonic() + (self.patience if patience is None else patience)
        pause, was_stale = FIRST_PAUSE, False
        while True:
            try:
                reply = self._send_once(method, self.address.path + path, content, headers)
            except _LostError as lost:
                if lost.is_old and not was_stale:
                    was_stale = True
                    continue
                error: GatewayError = GatewayError(f"{self.address} {lost.reason}")
                wait = pause if self._has_replied or lost.is_begun else None
            else:
                self._has_replied = True
                if reply.status not in _BUSY:
                    break
                error, wait = _busy_error(reply), max(pause, reply.pause or 0)
            if wait is None or time.monotonic() + wait > deadline:
                raise error
            time.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)
        if reply.status >= 300:
            raise _refusal_error(reply, self.address)
        return reply

    def close(self) -> None:
        """Close this thread's connection."""
        self._thread_state.kept = None

    def _send_once(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> Reply:
        kept_connection = self._find_connection()
        connection = self._connect() if kept_connection is None else kept_connection
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            body = answer.read(MAX_REPLY_BYTES + 1)
            if len(body) > MAX_REPLY_BYTES:
                raise GatewayError(
                    f"{self.address} sent more than {MAX_REPLY_BYTES >> 20} MB, which is not an answer", kind="reply"
                )
            if answer.length:
                raise http.client.IncompleteRead(b"")
        except (OSError, http.client.IncompleteRead) as error:
            self.close()
            raise _LostError(_describe_failure(error), is_begun=True, is_old=kept_connection is not None) from None
        except http.client.HTTPException:
            self.close()
            raise GatewayError(f"{self.address} did not answer with HTTP", CHECK_ADDRESS, kind="reply") from None
        except BaseException:
            self.close()  # half a reply, of which the next request would read the rest
            raise
        media_type = (answer.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        return Reply(answer.status, media_type, body, _parse_seconds(answer.getheader("Retry-After")))

    def _find_connection(self) -> http.client.HTTPConnection | None:
        """Return this thread's connection, if one stands."""
        thread_connection: _Connection | None = getattr(self._thread_state, "kept", None)
        if (
            thread_connection is not None
            and thread_connection.connection.sock is not None
            and thread_connection.process == process_identity()
        ):  # else it is the parent's
            return thread_connection.connection
        return None

    def _connect(self) -> http.client.HTTPConnection:
        """Open a new connection."""
        host, port = self.address.host, self.address.port
        if self.address.uses_tls:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=CONNECT_TIMEOUT, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_TIMEOUT)
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            hint = "SSL_CERT_FILE=FILE names the certificates of an authority of your own"
            reason = escape_text(error.verify_message)
            raise GatewayError(f"the certificate of {self.address} is not valid: {reason}", hint) from None
        except ssl.SSLError:
            if self._has_replied:
                raise _LostError("closed the connection", is_begun=False) from None
            raise GatewayError(f"{self.address} does not speak TLS", "check the port") from None
        except OSError as error:
            raise _LostError(_describe_failure(error), is_begun=False) from None
        connection.sock.settimeout(_READ_TIMEOUT)
        self._thread_state.kept = _Connection(connection)
        return connection


def _describe_failure(error: Exception) -> str:
    """Describe in our own words what happened to a connection."""
    match error:
        case socket.gaierror():
            return "is not known: no such host"
        case TimeoutError():
            return "does not answer"
        case ConnectionRefusedError():
            return "is not running: nothing listens at that address"
        case ConnectionError() | http.client.IncompleteRead():
            return "closed the connection"
        case _:
            return "cannot be reached"


def _parse_seconds(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch("[0-9]{1,6}", text) else None


def _read_json(reply: Reply) -> Any:
    value = parse_json(reply.body) if reply.media_type == JSON else None
    if not isinstance(value, dict):
        raise GatewayError("the reply does not come from a gateway", CHECK_ADDRESS, kind="reply")
    return value


def parse_json(body: bytes) -> Any:
    """Parse JSON; return None if it is none."""
    try:
        return json_text.parse_json(body)
    except ValueError:
        return None


def _busy_error(reply: Reply) -> GatewayError:
    details = _read_problem(reply)
    detail = escape_text(details.get("detail")) or "the gateway is overloaded"
    retry_time = "later" if reply.pause is None else f"in {reply.pause:.0f} seconds"
    return GatewayError(detail, f"try again {retry_time}", kind=kind_of(details) if details else "busy")


def _refusal_error(reply: Reply, address: GatewayAddress) -> Exception:
    details = _read_problem(reply)
    if details:
        return error_of(details)
    if reply.status == 401:
        return error_of({"type": "/problems/sign-in"})
    if reply.status < 400:
        hint = "a token is sent only to the address that you gave: give the new one"
        return GatewayError(f"{address} redirects to another address", hint, kind="reply")
    return GatewayError(f"{address} answers with status {reply.status}", CHECK_ADDRESS, kind="reply")


def _read_problem(reply: Reply) -> dict[str, Any]:
    details = parse_json(reply.body) if reply.media_type == "application/problem+json" else None
    return details if isinstance(details, dict) else {}
