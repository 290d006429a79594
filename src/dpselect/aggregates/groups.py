"""What an engine hands over where the same is asked in every group, and the groups that a set union found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.aggregates.value_counts import UsersAt

if TYPE_CHECKING:
    import numpy.typing as npt

Int64: TypeAlias = "npt.NDArray[np.int64]"
Names = Callable[[Int64], Sequence[object]]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupedCounts:
    """Counts of distinct users per item in every group, or their sums, groups in their own order, most first in each.

    `sizes[g]` is how many rows group g has in `counts`, which holds those of the first group, then of the second.
    `groups(indices)` names groups, `items(indices)` the items of rows of `counts`, `users(indices)` says how many
    distinct users groups have: ask for released ones only. The repr shows nothing: the counts are private.
    """

    sizes: Int64
    counts: Int64
    groups: Names
    items: Names
    users: Callable[[Int64], Int64]

    def __repr__(self) -> str:
        return "GroupedCounts(private)"

    @classmethod
    def from_counts(
        cls, counts_by_group: Mapping[object, Mapping[object, int]], users: Mapping[object, int] | None = None
    ) -> GroupedCounts:
        """Return the counts of {group: {item: count}}, groups and items in an order that the data do not decide."""
        names = sorted(counts_by_group, key=_fixed)
        rows = [
            (item, count)
            for group in names
            for item, count in sorted(counts_by_group[group].items(), key=lambda row: (-row[1], _fixed(row[0])))
            if count > 0
        ]
        sizes = [sum(count > 0 for count in counts_by_group[group].values()) for group in names]
        group_users = [] if users is None else [users[group] for group in names]
        return cls(
            sizes=np.array(sizes, dtype=np.int64),
            counts=np.array([count for _, count in rows], dtype=np.int64),
            groups=lambda indices: [names[index] for index in indices],
            items=lambda indices: [rows[index][0] for index in indices],
            users=lambda indices: np.array([group_users[index] for index in indices], dtype=np.int64),
        )


def _fixed(label: object) -> tuple[str, str]:
    """Return a key that orders any values by the values alone."""
    return type(label).__name__, repr(label)


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
        cls, groups: Sequence[object], starts: Sequence[int], grid_indices: npt.ArrayLike, users: npt.ArrayLike
    ) -> GroupedValues:
        """Return the values of the rows of all groups; a row with 0 users only keeps its group in the list."""
        indices, numbers_of_users = np.asarray(grid_indices, dtype=np.int64), np.asarray(users, dtype=np.int64)
        ends = [*starts[1:], len(numbers_of_users)] if starts else []
        users_by_group = []
        for start, end in zip(starts, ends, strict=True):
            has_users = numbers_of_users[start:end] > 0
            users_by_group.append(UsersAt(indices[start:end][has_users], numbers_of_users[start:end][has_users]))
        return cls(groups, users_by_group)


@dataclass(frozen=True, repr=False)
class FoundGroups:
    """A list of groups that were released, to be asked for in the engine that made it and in no other."""

    stored_at: str  # where that engine keeps it

    def __repr__(self) -> str:
        return "FoundGroups"
