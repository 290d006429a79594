"""Bits: uniform 64-bit words. This file alone reads the operating system's randomness."""

from __future__ import annotations

import os
from struct import unpack
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpselect._ground.processes import process_identity

if TYPE_CHECKING:
    import numpy.typing as npt

_BLOCK = 512


class Bits(Protocol):
    """A source of independent uniform 64-bit words."""

    def word(self) -> int:
        """Return one word."""
        ...

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        """Return n words."""
        ...


class SystemBits:
    """Words from `os.urandom`, read in blocks; a forked child never sees its parent's unused words."""

    def __init__(self) -> None:
        self._block: list[int] = []
        self._home = process_identity()

    def word(self) -> int:
        """Return one word; a word that was handed out is forgotten."""
        if not self._block or self._home != process_identity():
            self._home = process_identity()
            self._block = list(unpack(f"<{_BLOCK}Q", os.urandom(8 * _BLOCK)))
        return self._block.pop()

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        """Return n fresh words."""
        return np.frombuffer(os.urandom(8 * n), dtype="<u8")


def fresh_key(size: int = 16) -> bytes:
    """Make a secret key for a keyed hash, used once."""
    return os.urandom(size)
