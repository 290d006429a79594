"""A second secret key, told from the first: which value a user takes part with is told apart from which groups."""

from __future__ import annotations

import hashlib

BYTES = 16


def value_key(key: bytes) -> bytes:
    """With one key for both, a user of the groups 1 and 2 who has the values 1 and 2 would keep the same of each."""
    return hashlib.blake2b(key, digest_size=BYTES, person=b"value").digest()
