"""Whose a request is: by a token, a cookie, a proxy that is trusted, or an identity provider."""

from __future__ import annotations

import ipaddress
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from dpselect.errors import ParameterError
from dpselect.gateway.people import COOKIE, People
from dpselect.gateway.settings.values import Oidc, Person, Proxy, ServerSettings


class Identity:
    """Finds out who sends a request."""

    def __init__(self, people: People, server: ServerSettings) -> None:
        self._people, self._server = people, server

    async def of(self, request: Request) -> Person | None:
        """The person, or nobody. A token that is wrong is nobody, whatever else the request has."""
        given = request.headers.get("authorization")
        if given is not None:
            scheme, _, token = given.partition(" ")
            if scheme.lower() != "bearer":
                return None
            token = token.strip()
            found = self._people.of_token(token)
            if found is None and self._server.oidc is not None:
                found = self._of_provider(token, self._server.oidc)
            return found
        if self._server.proxy is not None and (subject := _said_by(request, self._server.proxy)) is not None:
            return self._people.of_subject(subject)
        cookie = request.cookies.get(COOKIE)
        return None if cookie is None else await run_in_threadpool(self._people.of_session, cookie)

    def _of_provider(self, token: str, oidc: Oidc) -> Person | None:
        subject = subject_of(token, oidc)
        return None if subject is None else self._people.of_subject(subject)


def _said_by(request: Request, proxy: Proxy) -> str | None:
    """Whom a proxy names, where the request really comes from it."""
    said = request.headers.getlist(proxy.header)
    # Twice may be once by the proxy and once by the caller.
    return said[0] if len(said) == 1 and _is_trusted(_peer(request), proxy) else None


def _peer(request: Request) -> str:
    return "" if request.client is None else request.client.host


def _is_trusted(address: str, proxy: Proxy) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    found = getattr(found, "ipv4_mapped", None) or found
    return any(found in ipaddress.ip_network(one, strict=False) for one in proxy.addresses)


# ---- tokens of an identity provider: signed, for us, and not too old -------------------------------------------------


ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]  # signatures by a key pair only
LONGEST = 10_000  # characters of a token


def check_installed() -> None:
    """Refuse to begin without what reads such tokens."""
    try:
        import joserfc  # noqa: F401 - is it there?
    except ImportError:
        hint = "pip install 'dpselect[oidc]'"
        raise ParameterError("oidc", "have joserfc installed", "an installation without", hint) from None


def subject_of(token: str, oidc: Oidc) -> str | None:
    """What the provider calls whoever the token is of; None where the token is not to be believed."""
    if not 0 < len(token) <= LONGEST:
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
