"""Pairs of users and items as one 64-bit number each: the user's code above the item's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpselect.aggregates.user_sets import Int64

MOST_ROWS = 2**31 - 1  # so that every code fits into its half of a pair
LOW = 2**32


def sets_of(pairs: Int64) -> tuple[Int64, Int64]:
    """Offsets and codes of the distinct pairs. Sorts in place, and lets every array go as soon as it can."""
    pairs.sort()
    pairs = pairs[_first_of_a_run(pairs)]
    starts = np.flatnonzero(_first_of_a_run(pairs >> 32))
    pairs &= LOW - 1
    return np.append(starts, len(pairs)).astype(np.int64, copy=False), pairs


def _first_of_a_run(values: Int64) -> npt.NDArray[np.bool_]:
    first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first
