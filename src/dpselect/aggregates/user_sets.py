"""UserSets: what an engine hands to a set union. The distinct items of every user, as two arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class UserSets:
    """User v has the items `codes[offsets[v] : offsets[v + 1]]`, each once; `label(code)` names an item.

    `labels(codes)` names many at once; an engine that can do so in one go gives `label_many`.

    Codes are 0 .. size - 1. A user is one whole person, however many rows, files or partitions they came from.
    Neither the order of users nor the numbering of items may decide anything: both depend on the data. The repr shows
    nothing: all of this is private.
    """

    offsets: Int64
    codes: Int64
    size: int
    label: Callable[[int], object]
    label_many: Callable[[Int64], list[object]] | None = None

    def __repr__(self) -> str:
        return "UserSets(private)"

    @property
    def users(self) -> int:
        """How many users there are, those without items included."""
        return len(self.offsets) - 1

    def labels(self, codes: npt.ArrayLike) -> list[object]:
        """The names of these codes, in their order. Ask for released items only."""
        asked = np.asarray(codes, dtype=np.int64)
        return [self.label(int(code)) for code in asked] if self.label_many is None else self.label_many(asked)

    @classmethod
    def of(cls, sets: Iterable[Iterable[Hashable]]) -> UserSets:
        """From one collection of items per user; an item that stands in it twice counts once."""
        known: dict[Hashable, int] = {}
        codes: list[int] = []
        offsets = [0]
        for items in sets:
            codes.extend(known.setdefault(item, len(known)) for item in dict.fromkeys(items))
            offsets.append(len(codes))
        labels = list(known)
        return cls(
            offsets=np.array(offsets, dtype=np.int64),
            codes=np.array(codes, dtype=np.int64),
            size=len(labels),
            label=lambda code: labels[code],
        )


MOST_ROWS = 2**31 - 1  # so that every code fits into its half of a pair
LOW = 2**32


def sets_of(pairs: Int64) -> tuple[Int64, Int64]:
    """Offsets and codes of the distinct pairs, each one number: the user's code above the item's.

    Sorts in place, and lets every array go as soon as it can.
    """
    pairs.sort()
    pairs = pairs[_first_of_a_run(pairs)]
    starts = np.flatnonzero(_first_of_a_run(pairs >> 32))
    pairs &= LOW - 1
    return np.append(starts, len(pairs)).astype(np.int64, copy=False), pairs


def _first_of_a_run(values: Int64) -> npt.NDArray[np.bool_]:
    first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first
