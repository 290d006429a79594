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
from dataclasses import dataclass
from typing import Any

from dpselect._ground import json_text
from dpselect._ground.processes import process_identity
from dpselect.errors import GatewayError
from dpselect.remote.address import GatewayAddress
from dpselect.remote.problems import error_of, kind_of, plainly

MOST = 64 << 20  # bytes of a reply
REACH = 10.0  # seconds in which a connection must stand
SILENCE = 90.0  # seconds without a byte; a gateway holds a question back for 30 at most
FIRST, LONGEST = 0.1, 5.0  # seconds between two attempts
BUSY = (429, 503)
JSON = "application/json"
WRONG = "is the address right?"


@dataclass(frozen=True)
class Reply:
    """What came back, as it came: nothing in it is to be trusted."""

    status: int
    sort: str
    body: bytes
    pause: float | None  # seconds after which to try again


class _LostError(Exception):
    """No whole reply came. `begun` says whether there was a connection, on which something may have arrived.

    `old` says that it stood before, so that the gateway may have closed it since, as one that nobody used.
    """

    def __init__(self, why: str, *, begun: bool, old: bool = False) -> None:
        self.why, self.begun, self.old = why, begun, old
        super().__init__(why)


class _Kept:
    """A connection that stands, of one thread of one process; it is closed when nobody keeps it any more."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection, self.home = connection, process_identity()
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
        self._mine = threading.local()
        self._heard = False

    def get(self, path: str) -> Any:
        """The JSON at a path."""
        return _json(self.reply("GET", path))

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> Any:
        """The JSON that answers a body."""
        return _json(self.reply("POST", path, body, key=key))

    def delete(self, path: str, *, patience: float) -> Any:
        """The JSON that is left of what was taken away."""
        return _json(self.reply("DELETE", path, patience=patience))

    def reply(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        patience: float | None = None,
    ) -> Reply:
        """The reply to a request, which is a good one: an error of ours is raised for any other."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": JSON}
        headers |= {} if key is None else {"Idempotency-Key": key}
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers |= {} if body is None else {"Content-Type": JSON}
        end = time.monotonic() + (self.patience if patience is None else patience)
        pause, stale = FIRST, False
        while True:
            try:
                reply = self._once(method, self.address.path + path, content, headers)
            except _LostError as lost:
                if lost.old and not stale:
                    stale = True
                    continue
                last: GatewayError = GatewayError(f"{self.address} {lost.why}")
                wanted = pause if self._heard or lost.begun else None
            else:
                self._heard = True
                if reply.status not in BUSY:
                    break
                last, wanted = _busy(reply), max(pause, reply.pause or 0)
            if wanted is None or time.monotonic() + wanted > end:
                raise last
            time.sleep(wanted)
            pause = min(2 * pause, LONGEST)
        if reply.status >= 300:
            raise _refusal(reply, self.address)
        return reply

    def close(self) -> None:
        """Close this thread's connection."""
        self._mine.kept = None

    def _once(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> Reply:
        kept = self._kept()
        connection = self._made() if kept is None else kept
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            body = answer.read(MOST + 1)
            if len(body) > MOST:
                raise GatewayError(
                    f"{self.address} sent more than {MOST >> 20} MB, which is not an answer", kind="reply"
                )
            if answer.length:
                raise http.client.IncompleteRead(b"")
        except (OSError, http.client.IncompleteRead) as error:
            self.close()
            raise _LostError(_why(error), begun=True, old=kept is not None) from None
        except http.client.HTTPException:
            self.close()
            raise GatewayError(f"{self.address} did not answer with HTTP", WRONG, kind="reply") from None
        except BaseException:
            self.close()  # half a reply, of which the next request would read the rest
            raise
        sort = (answer.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        return Reply(answer.status, sort, body, _seconds(answer.getheader("Retry-After")))

    def _kept(self) -> http.client.HTTPConnection | None:
        """This thread's connection, if one stands."""
        kept: _Kept | None = getattr(self._mine, "kept", None)
        if kept is not None and kept.connection.sock is not None and kept.home == process_identity():  # no parent's
            return kept.connection
        return None

    def _made(self) -> http.client.HTTPConnection:
        """A new one, which stands."""
        host, port = self.address.host, self.address.port
        if self.address.safe:
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=REACH, context=ssl.create_default_context()
            )
        else:
            made = http.client.HTTPConnection(host, port, timeout=REACH)
        try:
            made.connect()
        except ssl.SSLCertVerificationError as error:
            hint = "SSL_CERT_FILE=FILE names the certificates of an authority of your own"
            why = plainly(error.verify_message)
            raise GatewayError(f"the certificate of {self.address} is not valid: {why}", hint) from None
        except ssl.SSLError:
            if self._heard:
                raise _LostError("closed the connection", begun=False) from None
            raise GatewayError(f"{self.address} does not speak TLS", "check the port") from None
        except OSError as error:
            raise _LostError(_why(error), begun=False) from None
        made.sock.settimeout(SILENCE)
        self._mine.kept = _Kept(made)
        return made


def _why(error: Exception) -> str:
    """What became of a connection, in words of ours."""
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


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch("[0-9]{1,6}", text) else None


def _json(reply: Reply) -> Any:
    found = parsed(reply.body) if reply.sort == JSON else None
    if not isinstance(found, dict):
        raise GatewayError("the reply does not come from a gateway", WRONG, kind="reply")
    return found


def parsed(body: bytes) -> Any:
    """JSON; None where it is none."""
    try:
        return json_text.parse_json(body)
    except ValueError:
        return None


def _busy(reply: Reply) -> GatewayError:
    found = _problem(reply)
    said = plainly(found.get("detail")) or "the gateway is overloaded"
    when = "later" if reply.pause is None else f"in {reply.pause:.0f} seconds"
    return GatewayError(said, f"try again {when}", kind=kind_of(found) if found else "busy")


def _refusal(reply: Reply, address: GatewayAddress) -> Exception:
    found = _problem(reply)
    if found:
        return error_of(found)
    if reply.status == 401:
        return error_of({"type": "/problems/sign-in"})
    if reply.status < 400:
        hint = "a token is sent only to the address that you gave: give the new one"
        return GatewayError(f"{address} redirects to another address", hint, kind="reply")
    return GatewayError(f"{address} answers with status {reply.status}", WRONG, kind="reply")


def _problem(reply: Reply) -> dict[str, Any]:
    found = parsed(reply.body) if reply.sort == "application/problem+json" else None
    return found if isinstance(found, dict) else {}
