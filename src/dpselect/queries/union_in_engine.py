"""Running a set union where its pairs are: the engine adds up weights, every decision about an item is drawn here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpselect.aggregates.user_sets import Int64
from dpselect.aggregates.value_counts import UsersAt
from dpselect.aggregates.weight_groups import PairsElsewhere
from dpselect.draws import Draws, fresh_key
from dpselect.engines.port import Progress
from dpselect.mechanisms.set_union.by_weight import release_elsewhere
from dpselect.mechanisms.widths import gaussian_width
from dpselect.queries.union_run import Run
from dpselect.queries.union_terms import BOUNDS, UnionTerms
from dpselect.release.accuracy import BETA, interval
from dpselect.release.release import Item, Release

SAID = (
    "Weights were added up in the engine. Which items of a user take part is decided by a hash with a secret key that "
    "was made for it; the guarantee needs no randomness of that choice, and every decision about an item is drawn here."
)


def union_of_pairs(pairs: PairsElsewhere, query: UnionTerms, draws: Draws, progress: Progress | None) -> Release:
    """The items that enough users share; neither users nor items that were not released come here."""
    most = chosen_bound(pairs, query, draws) if query.most is None else query.most
    run = Run(query, most, query.mechanisms(most), draws, progress)
    release_elsewhere(run.mechanisms[0], pairs, draws=draws, progress=progress)
    labels = pairs.names()
    counts: list[int | None] = [None] * len(labels)
    width = None
    if query.counts:
        variance = query.noise(0, most)
        width = gaussian_width(variance, BETA)
        counts = [int(n) + draws.gaussian(variance) for n in pairs.users(most, fresh_key())]
    told = zip(labels, counts, strict=True)
    items = dict(enumerate(Item(label, None, n, *interval(n, width)) for label, n in told))
    release = run.release([items])
    said = release.privacy
    parameters = {**said.parameters, "in_engine": True}
    return replace(release, privacy=replace(said, parameters=parameters, sentences=(*said.sentences, SAID)))


def chosen_bound(pairs: PairsElsewhere, query: UnionTerms, draws: Draws) -> int:
    """About how many items 9 of 10 users have at most, as in memory: by a private quantile of places in BOUNDS."""
    return BOUNDS[int(query.chooser(placed(*pairs.lengths(BOUNDS[-1])), draws=draws)[0])]


def placed(lengths: Int64, users: Int64) -> UsersAt:
    """How many users stand at which place in BOUNDS: the least that leaves them all they have."""
    at = np.searchsorted(BOUNDS, lengths)
    total = np.zeros(len(BOUNDS), dtype=np.int64)
    np.add.at(total, at, users)
    places = np.flatnonzero(total)
    return UsersAt(places.astype(np.int64), total[places])
