"""A choice in every group: from counts of a known domain by group to one item of each, of all that the domain has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from dpselect.aggregates.grouped_counts import GroupedCounts
from dpselect.aggregates.histogram import Histogram
from dpselect.draws import Draws
from dpselect.release.groups import told_apart


def chosen_by_group(
    mechanism: Callable[..., Any], found: GroupedCounts, names: Sequence[object], draws: Draws
) -> list[object]:
    """The item of each group that the mechanism chooses; `names` are all items of the domain."""
    ends = np.cumsum(found.sizes)
    histograms = (
        histogram(found, int(end - size), int(end), names) for size, end in zip(found.sizes, ends, strict=True)
    )
    return [next(iter(mechanism(one, draws=draws))) for one in histograms]


def histogram(found: GroupedCounts, start: int, end: int, names: Sequence[object]) -> Histogram:
    """The counts of one group over the whole domain: the rows from start to end, and all other items with count 0."""
    unseen = len(names) - (end - start)
    counts, sizes = found.counts[start:end], [1] * (end - start)
    if unseen:
        counts, sizes = np.append(counts, 0), [*sizes, unseen]

    def label(group: int, member: int) -> object:
        if group < end - start:
            return found.items(np.array([start + group], dtype=np.int64))[0]
        seen = {told_apart((item,)) for item in found.items(np.arange(start, end))}
        others = (name for name in names if told_apart((name,)) not in seen)
        return next(islice(others, member, None))

    return Histogram(counts=counts, sizes=sizes, label=label)
