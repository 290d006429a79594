"""A choice in every group: from counts of a known domain by group to one item of each, of all that the domain has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from dpselect.aggregates.grouped_counts import GroupedCounts
from dpselect.aggregates.histogram import Histogram
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import candidates
from dpselect.mechanisms.choose.port import Choice
from dpselect.release.groups import told_apart


def chosen_by_group(mechanism: Choice, found: GroupedCounts, names: Sequence[object], draws: Draws) -> list[object]:
    """The item of each group that the mechanism chooses; `names` are all items of the domain."""
    ends = np.cumsum(found.sizes)
    starts = ends - found.sizes
    picks = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        group, member = mechanism.pick(candidates(_histogram(found.counts[start:end], len(names))), draws)
        picks.append((start + group if group < end - start else end, member))
    return list(_named(found, starts, ends, picks, names))


def _histogram(counts: np.ndarray, items: int) -> Histogram:
    """The counts of one group over the whole domain: those of its rows, and 0 for all other items."""
    unseen, sizes = items - len(counts), [1] * len(counts)
    if unseen:
        counts, sizes = np.append(counts, 0), [*sizes, unseen]
    return Histogram(counts=counts, sizes=sizes, label=lambda group, member: (group, member))


def _named(
    found: GroupedCounts,
    starts: np.ndarray,
    ends: np.ndarray,
    picks: Sequence[tuple[int, int]],
    names: Sequence[object],
) -> Iterator[object]:
    """The items by name: of a group's rows, or, where its end was picked, of the items that have none there.

    All rows are asked for at once. Which items a group has is needed only where one was picked that it has not.
    """
    asked = [
        range(start, end) if place == end else range(place, place + 1)
        for start, end, (place, _) in zip(starts.tolist(), ends.tolist(), picks, strict=True)
    ]
    rows = np.array([row for part in asked for row in part], dtype=np.int64)
    labels = iter(found.items(rows))
    for part, end, (place, member) in zip(asked, ends.tolist(), picks, strict=True):
        theirs = list(islice(labels, len(part)))
        if place < end:
            yield theirs[0]
            continue
        seen = {told_apart((item,)) for item in theirs}
        yield next(islice((name for name in names if told_apart((name,)) not in seen), member, None))
