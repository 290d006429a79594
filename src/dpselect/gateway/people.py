"""Who somebody is: by a token, by a code in a sign-in link, or by the cookie of a page.

Of tokens only digests are kept. A cookie and a code are signed with the gateway's secret, and with the token of whoever
they are for, so that they end with it.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hmac
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from dpselect.draws.entropy import fresh_key
from dpselect.errors import DpselectError
from dpselect.gateway.log import Log
from dpselect.gateway.settings.reading import read
from dpselect.gateway.settings.tokens import digest
from dpselect.gateway.settings.values import Person, Settings

COOKIE = "dpselect"
SESSION = 12 * 3600.0  # seconds
CODE = 3600.0
LONGEST = 1000  # characters of what a caller may send


class UsedCodes(Protocol):
    """What remembers codes that were used and sessions that were ended, for all processes of a gateway."""

    def once(self, name: str, until: float) -> bool:
        """Is this the first time that anybody says so?"""
        ...

    def said(self, name: str) -> bool:
        """Has anybody said so?"""
        ...


class People:
    """Everybody who may sign in. Who is taken out of the settings, or given another token, is out at once."""

    def __init__(self, people: Mapping[str, Person], secret: bytes, used: UsedCodes) -> None:
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
                self._taken(read(self._path))
                self._log("people were read again")
            except DpselectError as error:
                self._log.failed("the settings have mistakes, so people stay as they were", error)
            except Exception as error:
                self._log.failed("the settings cannot be read", error)
