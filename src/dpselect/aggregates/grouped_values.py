"""GroupedValues: how many users of each group have their value at which place of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpselect.aggregates.value_counts import UsersAt


@dataclass(frozen=True, eq=False, repr=False)
class GroupedValues:
    """Listed or found groups in their own order, and the values of each; a group may be without users.

    The names are public, or were released; the repr shows nothing, since the numbers of users are private.
    """

    groups: Sequence[object]
    users: Sequence[UsersAt]

    def __repr__(self) -> str:
        return "GroupedValues(private)"

    @classmethod
    def parted(
        cls, groups: Sequence[object], starts: Sequence[int], places: npt.ArrayLike, users: npt.ArrayLike
    ) -> GroupedValues:
        """From the rows of all groups, place and number of users; a row of number 0 says that a group is there."""
        at, number = np.asarray(places, dtype=np.int64), np.asarray(users, dtype=np.int64)
        ends = [*starts[1:], len(number)] if starts else []
        each = []
        for start, end in zip(starts, ends, strict=True):
            there = number[start:end] > 0
            each.append(UsersAt(at[start:end][there], number[start:end][there]))
        return cls(groups, each)
