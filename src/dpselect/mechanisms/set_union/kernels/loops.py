"""The loops over users: what each contributes to their items, one after another. `weights` is changed in place.

User v has the items codes[offsets[v] : offsets[v + 1]], in an order that does not depend on the data. The same source
runs on lists and, compiled, on arrays: integers below 2^62, or floats, no allocation, no library but math. A float
is only added, subtracted, multiplied, divided and rooted, in the order that is written: the bound on its rounding
(docs/mechanisms/set-union-policies.md) is for exactly these operations.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence


def greedy(offsets: Sequence[int], codes: Sequence[int], weights: MutableSequence[int], cutoff: int, unit: int) -> None:
    """Greedy update: a user fills one item after another up to the cutoff until `unit` is spent."""
    for v in range(len(offsets) - 1):
        rest = unit
        for j in range(offsets[v], offsets[v + 1]):
            code = codes[j]
            gap = cutoff - weights[code]
            if gap < rest:
                weights[code] = cutoff
                rest -= gap
            else:
                weights[code] += rest
                break


def l1_descent(
    offsets: Sequence[int], codes: Sequence[int], weights: MutableSequence[int], cutoff: int, unit: int
) -> None:
    """l1-descent: `unit` is spent one by one, round and round over the user's items below the cutoff.

    After `high` full rounds an item has got min(gap, high); what is left goes one each to the first that have room.
    """
    for v in range(len(offsets) - 1):
        start = offsets[v]
        end = offsets[v + 1]
        high = 0
        taken = 0
        active = 1
        while active > 0:
            taken = 0
            active = 0
            for j in range(start, end):
                gap = cutoff - weights[codes[j]]
                if gap <= high:
                    taken += gap
                else:
                    active += 1
            if active > 0:
                higher = (unit - taken) // active
                if higher == high:
                    break
                high = higher
        rest = unit - taken - high * active
        for j in range(start, end):
            code = codes[j]
            if cutoff - weights[code] <= high:
                weights[code] = cutoff
            elif rest > 0:
                weights[code] += high + 1
                rest -= 1
            else:
                weights[code] += high


def l2_descent(offsets: Sequence[int], codes: Sequence[int], weights: MutableSequence[float], cutoff: float) -> None:
    """l2-descent: the user's weights move straight towards the cutoff by a Euclidean distance of at most 1."""
    for v in range(len(offsets) - 1):
        start = offsets[v]
        end = offsets[v + 1]
        squares = 0.0
        for j in range(start, end):
            gap = cutoff - weights[codes[j]]
            squares += gap * gap
        norm = math.sqrt(squares)
        if norm <= 1.0:
            for j in range(start, end):
                weights[codes[j]] = cutoff
        else:
            for j in range(start, end):
                code = codes[j]
                weights[code] = min(weights[code] + (cutoff - weights[code]) / norm, cutoff)
