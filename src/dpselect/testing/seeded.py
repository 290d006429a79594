"""Draws that repeat for a seed. They are not secure."""

from __future__ import annotations

from hashlib import shake_256

import numpy as np
import numpy.typing as npt

from dpselect.draws.certified import CertifiedDraws
from dpselect.draws.core import SLACK_BITS


class SeededBits:
    """Words repeat for a seed: they are SHAKE-256 of seed and counter."""

    def __init__(self, seed: int) -> None:
        self._seed, self._used = seed, 0

    def word(self) -> int:
        """Return one word."""
        return int(self.words(1)[0])

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        """Return n words."""
        self._used += 1
        return np.frombuffer(shake_256(f"{self._seed}:{self._used}".encode()).digest(8 * n), dtype="<u8")


class SeededDraws(CertifiedDraws):
    """The real draws over bits that repeat: for tests and examples only."""

    def __init__(self, seed: int, *, slack_bits: int = SLACK_BITS) -> None:
        super().__init__(SeededBits(seed), secure=False, slack_bits=slack_bits)
