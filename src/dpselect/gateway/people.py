"""Who somebody is: by a token, a code in a sign-in link, the cookie of a page, a proxy, or an identity provider.

Of tokens only digests are kept. A cookie and a code are signed with the gateway's secret, and with the token of whoever
they are for, so that they end with it.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hmac
import ipaddress
import json
import threading
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from dpselect.draws.entropy import fresh_key
from dpselect.errors import DpselectError, ParameterError, install_hint
from dpselect.gateway.log import Log
from dpselect.gateway.settings.reading import read
from dpselect.gateway.settings.tokens import digest
from dpselect.gateway.settings.values import Oidc, Person, Proxy, ServerSettings, Settings

if TYPE_CHECKING:
    from dpselect.gateway.store import Jobs

COOKIE = "dpselect"
SESSION = 12 * 3600.0  # seconds
CODE = 3600.0
LONGEST = 1000  # characters of what a caller may send


class People:
    """Everybody who may sign in. Who is taken out of the settings, or given another token, is out at once."""

    def __init__(
        self, people: Mapping[str, Person], secret: bytes, used: Jobs, server: ServerSettings | None = None
    ) -> None:
        """`used` remembers codes that were used and sessions that ended, for all processes of a gateway.

        `server` says which proxy and which identity provider are believed, if any is.
        """
        self._proxy, self._oidc = (None, None) if server is None else (server.proxy, server.oidc)
        if self._oidc is not None:
            check_installed()
        self._secret, self._used, self._lock = secret, used, threading.Lock()
        self.replace(people)

    def replace(self, people: Mapping[str, Person]) -> None:
        """From now on it is these."""
        by_digest = {person.token: person for person in people.values() if person.token is not None}
        by_subject = {person.subject: person for person in people.values() if person.subject is not None}
        with self._lock:
            self._people, self._by_digest, self._by_subject = dict(people), by_digest, by_subject

    def named(self, name: str) -> Person | None:
        """Somebody by name, who may still sign in."""
        return _still(self._people.get(name))

    def of_token(self, token: str) -> Person | None:
        """Whose token it is."""
        if not 0 < len(token) <= LONGEST:
            return None
        kept = digest(token)
        person = self._by_digest.get(kept)  # by a digest, whose beginning tells nothing of a token
        if person is None or not hmac.compare_digest(person.token or "", kept):
            return None
        return _still(person)

    def of_subject(self, subject: str) -> Person | None:
        """Whom a proxy or an identity provider calls so."""
        return _still(self._by_subject.get(subject))

    async def of(self, request: Request) -> Person | None:
        """Whose a request is, or nobody's. A token that is wrong is nobody, whatever else the request has."""
        given, proxy, oidc = request.headers.get("authorization"), self._proxy, self._oidc
        if given is not None:
            scheme, _, token = given.partition(" ")
            if scheme.lower() != "bearer":
                return None
            found = self.of_token(token.strip())
            if found is None and oidc is not None and (subject := subject_of(token.strip(), oidc)) is not None:
                return self.of_subject(subject)
            return found
        if proxy is not None and (subject := _said_by(request, proxy)) is not None:
            return self.of_subject(subject)
        cookie = request.cookies.get(COOKIE)
        return None if cookie is None else await run_in_threadpool(self.of_session, cookie)

    # ---- cookies and codes --------------------------------------------------------------------------------

    def session(self, person: Person) -> str:
        """What a cookie holds."""
        return self._signed("session", person, time.time() + SESSION)

    def of_session(self, value: str) -> Person | None:
        """Whose cookie it is, until they sign out."""
        person = self._read("session", value)
        return None if person is None or self._used.said(f"session {digest(value)}") else person

    def end(self, value: str) -> None:
        """The session of this cookie is over, in whichever copy of it."""
        if self._read("session", value) is not None:
            self._used.once(f"session {digest(value)}", time.time() + SESSION)

    def code(self, person: Person) -> str:
        """What a sign-in link holds. It can be used once."""
        return self._signed("code", person, time.time() + CODE)

    def of_code(self, value: str) -> Person | None:
        """Whose link it is; it is used up."""
        person = self._read("code", value)
        return person if person is not None and self._used.once(f"code {digest(value)}", time.time() + CODE) else None

    def _signed(self, purpose: str, person: Person, until: float) -> str:
        said = f"{int(until)}.{fresh_key(8).hex()}.{person.name}".encode()
        return f"{_text(said)}.{_text(self._mac(purpose, person, said))}"

    def _mac(self, purpose: str, person: Person, said: bytes) -> bytes:
        whose = f"{purpose}\0{person.token or ''}\0{person.subject or ''}\0{person.role}\0".encode()
        return hmac.digest(self._secret, whose + said, "sha256")

    def _read(self, purpose: str, value: str) -> Person | None:
        if not 0 < len(value) <= LONGEST:
            return None
        try:
            said, mac = (_bytes(part) for part in value.split("."))
            until, _, name = said.decode().split(".", 2)
            person, ends = self.named(name), int(until)
        except (ValueError, binascii.Error):
            return None
        if person is None or not hmac.compare_digest(self._mac(purpose, person, said), mac):
            return None
        return person if time.time() < ends else None


def _still(person: Person | None) -> Person | None:
    """Until the end of their last day, in UTC."""
    if person is not None and person.until is not None:
        return person if datetime.datetime.now(datetime.UTC).date() <= person.until else None
    return person


def _text(said: bytes) -> str:
    return base64.urlsafe_b64encode(said).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    """Of one text alone: a code that could be spelled in two ways could be used twice."""
    said = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _text(said) != text:
        raise ValueError
    return said


def _said_by(request: Request, proxy: Proxy) -> str | None:
    """Whom a proxy names, where the request really comes from it."""
    said = request.headers.getlist(proxy.header)
    try:
        found = ipaddress.ip_address("" if request.client is None else request.client.host)
    except ValueError:
        return None
    found = getattr(found, "ipv4_mapped", None) or found
    trusted = any(found in ipaddress.ip_network(one, strict=False) for one in proxy.addresses)
    return said[0] if trusted and len(said) == 1 else None  # twice may be once by the proxy and once by the caller


# ---- tokens of an identity provider: signed, for us, and not too old -------------------------------------------------


ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]  # signatures by a key pair only
LONGEST_SIGNED = 10_000  # characters of a token


def check_installed() -> None:
    """Refuse to begin without what reads such tokens."""
    try:
        import joserfc  # noqa: F401 - is it there?
    except ImportError:
        hint = install_hint("oidc")
        raise ParameterError("oidc", "have joserfc installed", "an installation without", hint) from None


def subject_of(token: str, oidc: Oidc) -> str | None:
    """What the provider calls whoever the token is of; None where the token is not to be believed."""
    if not 0 < len(token) <= LONGEST_SIGNED:
        return None
    from joserfc import jwt
    from joserfc.errors import JoseError

    try:
        decoded = jwt.decode(token, _keys(oidc.jwks, oidc.jwks.stat().st_mtime_ns), algorithms=ALGORITHMS)
        rules = jwt.JWTClaimsRegistry(
            iss={"essential": True, "values": [oidc.issuer, f"{oidc.issuer}/"]},
            aud={"essential": True, "value": oidc.audience},
            exp={"essential": True},
        )
        rules.validate(decoded.claims)
    except (JoseError, ValueError, KeyError, TypeError, OSError):
        return None
    found = decoded.claims.get(oidc.claim)
    return found if isinstance(found, str) and found else None


@lru_cache(maxsize=4)
def _keys(path: Path, _written: int) -> Any:
    """The public keys; read again once the file is written anew."""
    from joserfc.jwk import KeySet

    return KeySet.import_key_set(json.loads(path.read_text("utf-8")))


# ---- people come and go while the gateway runs -----------------------------------------------------------------------


LOOK = 1.0  # seconds between two looks


class Renewal:
    """Watches one file. Only people are taken from it; all else is read at the next start."""

    def __init__(self, path: Path, taken: Callable[[Settings], None], log: Log) -> None:
        self._path, self._taken, self._log = path, taken, log
        self._seen: tuple[int, ...] | None = None  # so that what was written since it was read is seen at once
        self._ending = threading.Event()
        threading.Thread(target=self._watch, name="people", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._ending.set()

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _watch(self) -> None:
        while not self._ending.wait(LOOK):
            now = self._stamp()
            if now is None or now == self._seen:
                continue
            self._seen = now
            try:
                settings = read(self._path)
            except DpselectError as error:
                self._log.failed("the settings have mistakes, so people are unchanged", error)
            except Exception as error:
                self._log.failed("the settings cannot be read", error)
            else:
                self._take(settings)

    def _take(self, settings: Settings) -> None:
        try:
            self._taken(settings)
            self._log("people were read again")
        except Exception as error:
            self._log.failed("people were reloaded, but their quotas were not", error)
