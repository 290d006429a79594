"""Tokens of an identity provider: signed, for us, and not too old; checked with its public keys from a file."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpselect.errors import ParameterError
from dpselect.gateway.settings.values import Oidc

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
