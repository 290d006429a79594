"""Settings in words, for the owner who looks them over before the gateway starts, and what may not be meant."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dpselect._ground.parameters import shown
from dpselect.engines.postgres.address import is_postgres
from dpselect.engines.spark.source import is_spark
from dpselect.gateway.settings.kinds import ANY, is_address
from dpselect.gateway.settings.tokens import EXAMPLES
from dpselect.gateway.settings.values import DataSettings, Person, Role, Settings, Table

_WIDTH = 20
_LONG = 10  # values, of which only the number is said
_SECRET = {"token": "there is one"}


def said(settings: Settings) -> list[str]:
    """All that is declared, key by key; also what a key is that the file leaves out."""
    found: list[str] = []
    for data in settings.data.values():
        found += [f"data {data.name}", *_rows(data), ""]
    for person in settings.people.values():
        found += [f"person {person.name}", *_rows(person), ""]
    return [*found, "server", *_rows(settings.server)]


def _rows(table: Table) -> Iterator[str]:
    values = dict(table)
    if isinstance(table, DataSettings):
        values["unit"] = table.whom
    if isinstance(table, Person):
        values["data"] = table.data or "all"
    for name, value in values.items():
        if name != "name" and value not in (None, "", (), {}):
            lines = (_SECRET.get(name) or _text(value)).splitlines()
            yield f"  {name:<{_WIDTH}} {lines[0]}"
            yield from (f"  {'':<{_WIDTH}} {line}" for line in lines[1:])


def _text(value: Any) -> str:
    """A value; of an address no more than that it is one, since it may hold a password."""
    match value:
        case None:
            return ANY
        case bool():
            return "true" if value else "false"
        case Fraction():
            return f"{shown(value):.15g}"
        case str() if is_address(value):
            return "a database"
        case str() if not value.strip():
            return repr(value)
        case Table():
            return ", ".join(f"{name} {_text(inner)}" for name, inner in value if inner is not None)
        case dict():
            return ", ".join(f"{name} ({_text(inner)})" for name, inner in value.items())
        case tuple() if len(value) > _LONG:
            return f"{len(value)} values"
        case tuple():
            return ", ".join(f"({_text(one)})" if isinstance(one, tuple) else _text(one) for one in value)
        case _:
            return str(value)


# ---- what may not be meant -------------------------------------------------------------------------------------------


_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def warnings(settings: Settings, path: str | os.PathLike[str] | None = None) -> list[str]:
    """The sentences; `path` is the file that the settings were read from."""
    rights = () if path is None else _of_rights(settings, path)
    return [*rights, *_of_server(settings), *_of_data(settings), *_of_people(settings)]


def _of_rights(settings: Settings, path: str | os.PathLike[str]) -> Iterator[str]:
    """Who may change the file, or read what is secret in it. Where rights are kept otherwise (Windows), nothing."""
    mode = os.stat(path).st_mode if os.name == "posix" else 0
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield f"{os.fspath(path)} may be written by other users of this machine: chmod go-w {os.fspath(path)}"
    if mode & (stat.S_IRGRP | stat.S_IROTH) and any(map(_has_password, _addresses(settings))):
        yield f"{os.fspath(path)} holds a password, and other users of this machine may read it: chmod 600"


def _addresses(settings: Settings) -> Iterator[str]:
    yield settings.server.ledger
    yield settings.server.jobs or ""
    yield from (one.source for one in settings.data.values() if isinstance(one.source, str))


def _has_password(address: str) -> bool:
    if not is_postgres(address):
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return bool(parts.password) or "password" in parse_qs(parts.query)


def _of_server(settings: Settings) -> Iterator[str]:
    server = settings.server
    far = server.host not in _LOOPBACK
    if far and (server.url is None or not server.url.startswith("https://")):
        yield (
            f"host = {server.host!r} can be reached from other machines: people's tokens are safe on their way only "
            'behind a proxy with TLS, whose address is url = "https://..."'
        )
    elif server.url is not None and server.url.startswith("http://") and urlsplit(server.url).hostname not in _LOOPBACK:
        yield "url begins with http://: everybody on the way can read people's tokens; put TLS in front of it"


def _of_data(settings: Settings) -> Iterator[str]:
    owners = [one for one in settings.people.values() if one.role is Role.OWNER]
    for name, one in settings.data.items():
        elsewhere = isinstance(one.source, str) and (is_postgres(one.source) or is_spark(one.source))
        if elsewhere and one.snapshot is None:
            yield f"every question to {name} is paid anew, since a database does not say when it changed: set snapshot"
        if one.approve and not any(owner.data is None or name in owner.data for owner in owners):
            yield f"no question to {name} can run: approve = true, and it has no owner among the people"


def _of_people(settings: Settings) -> Iterator[str]:
    trusted = settings.server.proxy is not None or settings.server.oidc is not None
    if not any(one.role is Role.OWNER for one in settings.people.values()):
        yield "nobody is an owner: while the gateway runs no quota can be granted, and no question agreed to"
    for name, one in settings.people.items():
        if one.token is None and (one.subject is None or not trusted):
            lack = "token" if one.subject is None else "token, and no proxy or oidc that would say their subject"
            yield f"{name} cannot sign in: they have no {lack}"
        if one.token is not None and one.token.startswith(EXAMPLES):
            yield f"{name} cannot sign in: their token is the example's; dpselect gateway token makes one"
        if one.quota is not None and one.role is not Role.ANALYST:
            yield f"the quota of {name} has no use: only analysts ask"
