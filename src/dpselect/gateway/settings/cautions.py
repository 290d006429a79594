"""What may not be meant in settings, for the owner who has them checked before the gateway starts."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

from dpselect.engines.address import Address, SourceKind
from dpselect.gateway.settings.tokens import EXAMPLES
from dpselect.gateway.settings.values import Role, Settings

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
    if Address.parse(address).kind is not SourceKind.POSTGRES:
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
        if Address.parse(one.source).is_elsewhere and one.snapshot is None:
            yield f"every question to {name} is charged again, because a database does not report changes: set snapshot"
        if one.approve and not any(owner.data is None or name in owner.data for owner in owners):
            yield f"no question to {name} can run: approve = true, and it has no owner among the people"


def _of_people(settings: Settings) -> Iterator[str]:
    trusted = settings.server.proxy is not None or settings.server.oidc is not None
    if not any(one.role is Role.OWNER for one in settings.people.values()):
        yield "nobody is an owner: while the gateway runs, no quota can be granted and no question approved"
    for name, one in settings.people.items():
        if one.token is None and (one.subject is None or not trusted):
            lack = "token" if one.subject is None else "token, and no proxy or oidc that would say their subject"
            yield f"{name} cannot sign in: they have no {lack}"
        if one.token is not None and one.token.startswith(EXAMPLES):
            yield f"{name} cannot sign in: their token is the example's; dpselect gateway token makes one"
        if one.quota is not None and one.role is not Role.ANALYST:
            yield f"the quota of {name} is useless: only analysts ask"
