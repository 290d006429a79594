"""Where a gateway is: an https:// address, or an http:// one that does not leave this computer."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from dpselect._ground.dataclass import dataclass
from dpselect.errors import ParameterError, came

_REQUIREMENT = "be the address of a gateway"
_HINT = "for example https://gateway.example.org"
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_PATH = re.compile(r"[A-Za-z0-9._~/-]*")


@dataclass(frozen=True)
class GatewayAddress:
    """The address of a gateway, checked. `path` is what stands before the paths of requests."""

    uses_tls: bool  # does TLS protect what is sent?
    host: str
    port: int | None
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"http{'s' if self.uses_tls else ''}://{host}{port}{self.path}"


def parse_address(url: object, *, insecure: bool = False) -> GatewayAddress:
    """Parse the address of a gateway. A token must not travel in the open, unless somebody says so.

    >>> print(parse_address("https://gateway.example.org/"), parse_address("http://127.0.0.1:8080"))
    https://gateway.example.org http://127.0.0.1:8080
    """
    if isinstance(url, str) and "@" in url:  # not parsed before: a password may hold a /, which would end the host
        raise ParameterError("url", "hold no name and no password", "one that does", "token= says who asks")
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        raise ParameterError("url", _REQUIREMENT, came(url), _HINT)
    try:
        parts, port = urlsplit(url), urlsplit(url).port
    except ValueError:
        raise ParameterError("url", _REQUIREMENT, url, _HINT) from None
    _check_parts(url, parts)
    host, uses_tls = parts.hostname or "", parts.scheme == "https"
    if not uses_tls and not insecure and not _is_this_computer(host):
        hint = "insecure=True sends it anyway, on a trusted network"
        raise ParameterError(
            "url", "start with https://, or anybody on the network could read the token", came(url), hint
        )
    return GatewayAddress(uses_tls, host, port, parts.path.rstrip("/"))


def _check_parts(url: str, parts: SplitResult) -> None:
    is_valid = parts.scheme in ("http", "https") and _HOST.fullmatch(parts.hostname or "")
    if not is_valid or parts.query or parts.fragment or not _PATH.fullmatch(parts.path):
        raise ParameterError("url", _REQUIREMENT, came(url), _HINT)


def _is_this_computer(host: str) -> bool:
    """Return whether what is sent to a host never leaves this computer."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
