"""CountGroups: what an engine hands to a mechanism. Scores by group, and the label of every member of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpselect._ground.dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CountGroups:
    """Counts of distinct users per item, items with equal counts in one group.

    `counts[g]` is the number of distinct users of each item in group g, `sizes[g]` how many items the group
    has, and `label(g, r)` names the r-th of them (0 <= r < sizes[g]) in an order that does not depend on the
    data. One user moves every count by at most 1 (and at most `max_items_per_user` of them when the
    engine bounded the users' contributions). The repr shows nothing: the counts are private.
    """

    counts: npt.NDArray[np.int64]
    sizes: Sequence[int]
    label: Callable[[int, int], object]

    def __repr__(self) -> str:
        return "CountGroups(private)"

    @classmethod
    def from_items(cls, items: Sequence[object], counts: npt.ArrayLike) -> CountGroups:
        """Return one group per item, in the order given (which must not depend on the data among equal counts)."""
        array = np.asarray(counts, dtype=np.int64)
        return cls(counts=array, sizes=(1,) * len(array), label=lambda group, _member: items[group])
