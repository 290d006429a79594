"""Ranking noisy counts: largest first, ties in random order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpselect.draws import Draws, Weights


def largest(noisy: Sequence[int], k: int, draws: Draws) -> list[int]:
    """The positions of the k largest numbers (all if there are fewer), best first.

    Among equal numbers every order is equally likely, so the answer reveals nothing about the positions themselves,
    which are in the order of the true counts.
    """
    if not noisy:
        return []
    values = np.array(noisy, dtype=np.int64)
    least = np.partition(values, len(values) - k)[len(values) - k] if k < len(values) else values.min()
    among = np.flatnonzero(values >= least)
    alike = Weights(np.zeros(len(among), dtype=np.int64), Fraction(1))
    shuffled = among[[place for place, _ in draws.peel(alike, len(among))]]
    found: list[int] = shuffled[np.argsort(-values[shuffled], kind="stable")][:k].tolist()
    return found
