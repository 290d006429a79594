"""The table [server]: how the gateway runs, whom it listens to, and where it keeps what it must not lose."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpselect.gateway.settings import leaves
from dpselect.gateway.settings.places import Place, Reader, listed, made
from dpselect.gateway.settings.values import Oidc, Proxy, ServerSettings

_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def _host(place: Place) -> str:
    if not isinstance(place.value, str) or not _HOST.fullmatch(place.value):
        raise place.wrong("be a name or an address of this machine, such as 127.0.0.1")
    return place.value


def _header(place: Place) -> str:
    if not isinstance(place.value, str) or not _HEADER.fullmatch(place.value):
        raise place.wrong("be the name of a header, such as X-Forwarded-User")
    return place.value


def _network(place: Place) -> str:
    """An IP address or a network; not all of them."""
    must = "be an IP address or a network, such as 10.0.0.5 or 10.0.0.0/8"
    if not isinstance(place.value, str):
        raise place.wrong(must)
    try:
        found = ipaddress.ip_network(place.value, strict=False)
    except ValueError:
        raise place.wrong(must) from None
    if "/" in place.value and ipaddress.ip_interface(place.value).ip != found.network_address:
        raise place.wrong("be a network by its first address", f"did you mean {found}?")
    if found.prefixlen == 0:
        raise place.wrong("not be every address", "whoever reaches the gateway could say that they are anybody")
    return str(place.value)


def _folder(place: Place) -> Path:
    return Path(leaves.path(place))


def _together(place: Place, given: dict[str, Any]) -> None:
    """The questions of one person are no more than those of all."""
    each, all_of_them = given.get("waiting_each"), given.get("waiting", ServerSettings.waiting)
    if each is not None and each > all_of_them:
        place.refuse(f"must be at most waiting = {all_of_them}", "waiting_each")
    elif each is None and all_of_them < ServerSettings.waiting_each:
        given["waiting_each"] = all_of_them
    if "ledger" in given and given["ledger"] == str(given.get("folder")):
        place.refuse("must be another path than ledger", "folder")


READERS: Mapping[str, Reader] = {
    "ledger": leaves.ledger,
    "folder": _folder,
    "jobs": leaves.postgres,
    "host": _host,
    "port": leaves.whole(0, 65_535),
    "url": leaves.url,
    "workers": leaves.whole(1, 1_000),
    "waiting": leaves.whole(1, 1_000_000),
    "waiting_each": leaves.whole(1, 1_000_000),
    "rate": leaves.whole(1, 1_000_000),
    "body": leaves.whole(1_024, 1 << 30),
    "proxy": made(Proxy, {"addresses": listed(_network, "be a list of IP addresses or networks"), "header": _header}),
    "oidc": made(Oidc, {"issuer": leaves.url, "audience": leaves.text, "jwks": _folder, "claim": leaves.text}),
}
READ: Reader = made(ServerSettings, READERS, _together)
