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

from dpselect.draws import fresh_key
from dpselect.errors import DpselectError, ParameterError, install_hint
from dpselect.gateway.log import Log
from dpselect.gateway.settings.reading import read
from dpselect.gateway.settings.server import Oidc, Person, Proxy, ServerSettings
from dpselect.gateway.settings.tokens import digest
from dpselect.gateway.settings.values import Settings

if TYPE_CHECKING:
    from dpselect.gateway.store import Jobs

COOKIE = "dpselect"
SESSION = 12 * 3600.0  # seconds
CODE = 3600.0
MAX_SENT_CHARACTERS = 1000  # characters of what a caller may send


class People:
    """The people who may sign in. Whoever is taken out of the settings, or given another token, is out at once."""

    def __init__(
        self, people: Mapping[str, Person], secret: bytes, jobs: Jobs, server: ServerSettings | None = None
    ) -> None:
        """`jobs` remembers codes that were used and sessions that ended, for all processes of a gateway.

        `server` says which proxy and which identity provider are believed, if any is.
        """
        self._proxy, self._oidc = (None, None) if server is None else (server.proxy, server.oidc)
        if self._oidc is not None:
            check_installed()
        self._secret, self._jobs, self._lock = secret, jobs, threading.Lock()
        self.replace(people)

    def replace(self, people: Mapping[str, Person]) -> None:
        """Replace the people by these."""
        by_digest = {person.token: person for person in people.values() if person.token is not None}
        by_subject = {person.subject: person for person in people.values() if person.subject is not None}
        with self._lock:
            self._people, self._by_digest, self._by_subject = dict(people), by_digest, by_subject

    def find(self, name: str) -> Person | None:
        """Return the person of this name, if they may still sign in."""
        return _if_current(self._people.get(name))

    def find_by_token(self, token: str) -> Person | None:
        """Return the person whose token this is."""
        if not 0 < len(token) <= MAX_SENT_CHARACTERS:
            return None
        token_digest = digest(token)
        person = self._by_digest.get(token_digest)  # by a digest, whose beginning tells nothing of a token
        if person is None or not hmac.compare_digest(person.token or "", token_digest):
            return None
        return _if_current(person)

    def find_by_subject(self, subject: str) -> Person | None:
        """Return the person whom a proxy or an identity provider calls so."""
        return _if_current(self._by_subject.get(subject))

    async def authenticate(self, request: Request) -> Person | None:
        """Return the person who sent a request, or None. A wrong token is nobody's, whatever else the request has."""
        authorization, proxy, oidc = request.headers.get("authorization"), self._proxy, self._oidc
        if authorization is not None:
            scheme, _, token = authorization.partition(" ")
            if scheme.lower() != "bearer":
                return None
            person = self.find_by_token(token.strip())
            if person is None and oidc is not None and (subject := _subject_of(token.strip(), oidc)) is not None:
                return self.find_by_subject(subject)
            return person
        if proxy is not None and (subject := _subject_from_proxy(request, proxy)) is not None:
            return self.find_by_subject(subject)
        cookie = request.cookies.get(COOKIE)
        return None if cookie is None else await run_in_threadpool(self.find_by_session, cookie)

    # ---- cookies and codes --------------------------------------------------------------------------------

    def session(self, person: Person) -> str:
        """Return the value of a new session's cookie."""
        return self._sign("session", person, time.time() + SESSION)

    def find_by_session(self, value: str) -> Person | None:
        """Return the person whose cookie this is, until they sign out."""
        person = self._verify("session", value)
        return None if person is None or self._jobs.is_recorded(f"session {digest(value)}") else person

    def end_session(self, value: str) -> None:
        """End the session of this cookie, in all copies of it."""
        if self._verify("session", value) is not None:
            self._jobs.record_once(f"session {digest(value)}", time.time() + SESSION)

    def code(self, person: Person) -> str:
        """Return the code of a new sign-in link, which can be used once."""
        return self._sign("code", person, time.time() + CODE)

    def redeem_code(self, value: str) -> Person | None:
        """Return the person whose link this is, and use it up."""
        person = self._verify("code", value)
        return (
            person
            if person is not None and self._jobs.record_once(f"code {digest(value)}", time.time() + CODE)
            else None
        )

    def _sign(self, purpose: str, person: Person, until: float) -> str:
        payload = f"{int(until)}.{fresh_key(8).hex()}.{person.name}".encode()
        return f"{_encode(payload)}.{_encode(self._mac(purpose, person, payload))}"

    def _mac(self, purpose: str, person: Person, payload: bytes) -> bytes:
        context = f"{purpose}\0{person.token or ''}\0{person.subject or ''}\0{person.role}\0".encode()
        return hmac.digest(self._secret, context + payload, "sha256")

    def _verify(self, purpose: str, value: str) -> Person | None:
        if not 0 < len(value) <= MAX_SENT_CHARACTERS:
            return None
        try:
            payload, mac = (_decode(part) for part in value.split("."))
            until, _, name = payload.decode().split(".", 2)
            person, end = self.find(name), int(until)
        except (ValueError, binascii.Error):
            return None
        if person is None or not hmac.compare_digest(self._mac(purpose, person, payload), mac):
            return None
        return person if time.time() < end else None


def _if_current(person: Person | None) -> Person | None:
    """Return the person until the end of their last day, in UTC."""
    if person is not None and person.until is not None:
        return person if datetime.datetime.now(datetime.UTC).date() <= person.until else None
    return person


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    """Decode the one text that encodes these bytes: a code that has two spellings could be used twice."""
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _encode(data) != text:
        raise ValueError
    return data


def _subject_from_proxy(request: Request, proxy: Proxy) -> str | None:
    """Return the subject that a proxy names, if the request really comes from it."""
    subjects = request.headers.getlist(proxy.header)
    try:
        address = ipaddress.ip_address("" if request.client is None else request.client.host)
    except ValueError:
        return None
    address = getattr(address, "ipv4_mapped", None) or address
    trusted = any(address in ipaddress.ip_network(network, strict=False) for network in proxy.addresses)
    return (
        subjects[0] if trusted and len(subjects) == 1 else None
    )  # twice may be once by the proxy and once by the caller


# ---- tokens of an identity provider: signed, for us, and not too old -------------------------------------------------


_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]  # signatures by a key pair only
_LONGEST_SIGNED = 10_000  # characters of a token


def check_installed() -> None:
    """Refuse to begin without the library that reads such tokens."""
    try:
        import joserfc  # noqa: F401 - is it there?
    except ImportError:
        hint = install_hint("oidc")
        raise ParameterError("oidc", "have joserfc installed", "an installation without", hint) from None


def _subject_of(token: str, oidc: Oidc) -> str | None:
    """Return the provider's name of the token's holder, or None if the token is not to be believed."""
    if not 0 < len(token) <= _LONGEST_SIGNED:
        return None
    from joserfc import jwt
    from joserfc.errors import JoseError

    try:
        decoded = jwt.decode(token, _read_keys(oidc.jwks, oidc.jwks.stat().st_mtime_ns), algorithms=_ALGORITHMS)
        rules = jwt.JWTClaimsRegistry(
            iss={"essential": True, "values": [oidc.issuer, f"{oidc.issuer}/"]},
            aud={"essential": True, "value": oidc.audience},
            exp={"essential": True},
        )
        rules.validate(decoded.claims)
    except (JoseError, ValueError, KeyError, TypeError, OSError):
        return None
    subject = decoded.claims.get(oidc.claim)
    return subject if isinstance(subject, str) and subject else None


@lru_cache(maxsize=4)
def _read_keys(path: Path, _modified: int) -> Any:
    """Read the public keys, again after the file was written anew."""
    from joserfc.jwk import KeySet

    return KeySet.import_key_set(json.loads(path.read_text("utf-8")))


# ---- people come and go while the gateway runs -----------------------------------------------------------------------


SECONDS_BETWEEN_READS = 1.0  # seconds between two looks


class Renewal:
    """A watcher of the settings file. It takes only people from it; all else is read at the next start."""

    def __init__(self, path: Path, apply: Callable[[Settings], None], log: Log) -> None:
        self._path, self._apply, self._log = path, apply, log
        self._seen: tuple[int, ...] | None = None  # so that what was written since it was read is seen at once
        self._ending = threading.Event()
        threading.Thread(target=self._watch, name="people", daemon=True).start()

    def stop(self) -> None:
        """Stop watching the file."""
        self._ending.set()

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _watch(self) -> None:
        while not self._ending.wait(SECONDS_BETWEEN_READS):
            stamp = self._stamp()
            if stamp is None or stamp == self._seen:
                continue
            self._seen = stamp
            try:
                settings = read(self._path)
            except DpselectError as error:
                self._log.failed("the settings have mistakes, so people are unchanged", error)
            except Exception as error:
                self._log.failed("the settings cannot be read", error)
            else:
                self._apply_settings(settings)

    def _apply_settings(self, settings: Settings) -> None:
        try:
            self._apply(settings)
            self._log("people were read again")
        except Exception as error:
            self._log.failed("people were reloaded, but their quotas were not", error)
