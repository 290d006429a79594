"""What an owner starts from: an example of the file, and tokens, which a person shows to be let in.

The settings hold digests of tokens only, which let nobody in.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from importlib.resources import files

TOKEN_BYTES = 32  # random bytes
EXAMPLES = "0" * 60  # how the digests of the example begin, whose tokens nobody knows


def fresh_token() -> str:
    """Return a new token: 43 characters that can stand in a header or an address."""
    from dpselect.draws import fresh_key

    return urlsafe_b64encode(fresh_key(TOKEN_BYTES)).decode("ascii").rstrip("=")


def digest(token: str) -> str:
    """Return the SHA-256 of a token in hexadecimal. A token is random, so that nothing slower is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def example() -> str:
    """Return a settings file with every key; it reads without mistakes, and nobody knows the tokens of its digests."""
    return (files("dpselect.gateway.settings") / "example.toml").read_text("utf-8")
