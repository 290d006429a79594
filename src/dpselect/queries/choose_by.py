"""A choice in every group: from counts of a known domain by group to one item of each, of all that the domain has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from dpselect._ground.keys import apart
from dpselect.aggregates.count_groups import CountGroups
from dpselect.aggregates.grouped_counts import GroupedCounts
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import candidates
from dpselect.mechanisms.choose.port import Choice


def chosen_by_group(mechanism: Choice, found: GroupedCounts, names: Sequence[object], draws: Draws) -> list[object]:
    """The item of each group that the mechanism chooses; `names` are all items of the domain."""
    ends = np.cumsum(found.sizes)
    starts = ends - found.sizes
    picks = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        group, member = mechanism.pick(candidates(_histogram(found.counts[start:end], len(names))), draws)
        picks.append((start + group if group < end - start else end, member))
    return list(_named(found, starts, ends, picks, names))


def _histogram(counts: np.ndarray, items: int) -> CountGroups:
    """The counts of one group over the whole domain: those of its rows, and 0 for all other items."""
    unseen, sizes = items - len(counts), [1] * len(counts)
    if unseen:
        counts, sizes = np.append(counts, 0), [*sizes, unseen]
    return CountGroups(counts=counts, sizes=sizes, label=lambda group, member: (group, member))


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
    theirs = [list(islice(labels, len(part))) for part in asked]
    of_none = [each for each, end, (place, _) in zip(theirs, ends.tolist(), picks, strict=True) if place == end]
    seen = {apart(item) for each in of_none for item in each}
    places = {key: at for at, name in enumerate(names if of_none else ()) if (key := apart(name)) in seen}
    for each, end, (place, member) in zip(theirs, ends.tolist(), picks, strict=True):
        if place < end:
            yield each[0]
            continue
        at = member
        for before in sorted(places[apart(item)] for item in each):
            at += before <= at
        yield names[at]
