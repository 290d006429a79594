"""What may not be meant in settings, for the owner who has them checked before the gateway starts."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

from dpselect.engines import Address, SourceKind
from dpselect.gateway.settings.tokens import EXAMPLES
from dpselect.gateway.settings.values import Role, Settings

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def warnings(settings: Settings, path: str | os.PathLike[str] | None = None) -> list[str]:
    """List sentences about what may not be meant; `path` is the file that the settings were read from."""
    file_cautions = () if path is None else _file_cautions(settings, path)
    return [*file_cautions, *_server_cautions(settings), *_data_cautions(settings), *_people_cautions(settings)]


def _file_cautions(settings: Settings, path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield sentences if other users may change the file or read a secret in it; none on Windows."""
    mode = os.stat(path).st_mode if os.name == "posix" else 0
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield f"{os.fspath(path)} may be written by other users of this machine: chmod go-w {os.fspath(path)}"
    if mode & (stat.S_IRGRP | stat.S_IROTH) and any(map(_has_password, _addresses(settings))):
        yield f"{os.fspath(path)} holds a password, and other users of this machine may read it: chmod 600"


def _addresses(settings: Settings) -> Iterator[str]:
    yield settings.server.ledger
    yield settings.server.jobs or ""
    yield from (data.source for data in settings.data.values() if isinstance(data.source, str))


def _has_password(address: str) -> bool:
    if Address.parse(address).kind is not SourceKind.POSTGRES:
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return bool(parts.password) or "password" in parse_qs(parts.query)


def _server_cautions(settings: Settings) -> Iterator[str]:
    server = settings.server
    is_reachable = server.host not in _LOOPBACK
    if is_reachable and (server.url is None or not server.url.startswith("https://")):
        yield (
            f"host = {server.host!r} can be reached from other machines: people's tokens are safe on their way only "
            'behind a proxy with TLS, whose address is url = "https://..."'
        )
    elif server.url is not None and server.url.startswith("http://") and urlsplit(server.url).hostname not in _LOOPBACK:
        yield "url begins with http://: everybody on the way can read people's tokens; put TLS in front of it"


def _data_cautions(settings: Settings) -> Iterator[str]:
    owners = [person for person in settings.people.values() if person.role is Role.OWNER]
    for name, data in settings.data.items():
        if Address.parse(data.source).is_elsewhere and data.snapshot is None:
            yield f"every question to {name} is charged again, because a database does not report changes: set snapshot"
        if data.approve and not any(owner.data is None or name in owner.data for owner in owners):
            yield f"no question to {name} can run: approve = true, and it has no owner among the people"


def _people_cautions(settings: Settings) -> Iterator[str]:
    has_other_sign_in = settings.server.proxy is not None or settings.server.oidc is not None
    if not any(person.role is Role.OWNER for person in settings.people.values()):
        yield "nobody is an owner: while the gateway runs, no quota can be granted and no question approved"
    for name, person in settings.people.items():
        if person.token is None and (person.subject is None or not has_other_sign_in):
            missing = "token" if person.subject is None else "token, and no proxy or oidc that would say their subject"
            yield f"{name} cannot sign in: they have no {missing}"
        if person.token is not None and person.token.startswith(EXAMPLES):
            yield f"{name} cannot sign in: their token is the example's; dpselect gateway token makes one"
        if person.quota is not None and person.role is not Role.ANALYST:
            yield f"the quota of {name} is useless: only analysts ask"
