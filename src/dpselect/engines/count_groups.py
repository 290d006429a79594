"""From how many items have each count to a histogram that can name the r-th item of a group, seen or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import UNSEEN, Domain, Size, Span
from dpselect.aggregates.count_groups import CountGroups


def histogram_of(
    counts_and_sizes: Sequence[Sequence[Any]],
    domain: Domain | None,
    *,
    item: Callable[[int], Any],
    seen_before: Callable[[int, int], int],
) -> CountGroups:
    """Return groups (count, items), most first, and then the items of the domain that have no row.

    `item(position)` is the item at that position among all seen ones, group after group. `seen_before(start, r)` is how
    many seen numbers stand before the r-th unseen one.
    """
    counts, sizes = [row[0] for row in counts_and_sizes], [row[1] for row in counts_and_sizes]
    unseen = _unseen(domain, sum(sizes))
    if unseen:
        counts, sizes = [*counts, 0], [*sizes, unseen]
    names = _Names(tuple(sizes), domain, bool(unseen), item, seen_before)
    return CountGroups(counts=np.array(counts, dtype=np.int64), sizes=sizes, label=names)


def _unseen(domain: Domain | None, items_seen: int) -> int:
    """Return the number of items of the domain that have no row and are in no table."""
    if isinstance(domain, Span):
        return domain.stop - domain.start - items_seen
    return max(0, domain.items - items_seen) if isinstance(domain, Size) else 0


@dataclass(frozen=True, repr=False)
class _Names:
    """The labels of a grouped histogram, asked for one at a time."""

    sizes: tuple[int, ...]
    domain: Domain | None
    has_unlisted: bool  # the last group are items of the domain that stand in no table
    item: Callable[[int], Any]
    seen_before: Callable[[int, int], int]

    def __call__(self, group: int, member: int) -> object:
        if not (0 <= group < len(self.sizes) and 0 <= member < self.sizes[group]):
            raise IndexError("there is no such member of a group")
        unseen = self.has_unlisted and group == len(self.sizes) - 1
        index = sum(self.sizes[:group]) + member
        if not isinstance(self.domain, Span):
            return UNSEEN if unseen else self.item(index)
        start = self.domain.start
        return start + member + self.seen_before(start, member) if unseen else int(self.item(index))


def span_groups(domain: Span, numbers_and_users: Iterable[Sequence[Any]]) -> CountGroups:
    """Return all numbers of a span in their order, one group each, from those that some row has and their counts."""
    counts = np.zeros(domain.stop - domain.start, dtype=np.int64)
    for number, users in numbers_and_users:
        counts[int(number) - domain.start] = users
    return CountGroups.from_items(range(domain.start, domain.stop), counts)
