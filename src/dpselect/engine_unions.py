"""Running a set union where its pairs are: the engine adds up weights, every decision about an item is drawn here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpselect.accuracy import BETA, interval
from dpselect.draws import Draws, fresh_key
from dpselect.errors import ParameterError
from dpselect.grid import UsersAt
from dpselect.mechanisms.set_union.grouped import GROUPED, MOST_SHARES, PairsElsewhere, release_elsewhere
from dpselect.mechanisms.widths import gaussian_width
from dpselect.release import Item, Release
from dpselect.union_answers import Progress, Run
from dpselect.unions import AUTO, BOUNDS, METHODS, UnionTerms
from dpselect.user_sets import Int64

NAMES = tuple(name for name, make in METHODS.items() if make in GROUPED)
SAID = (
    "Weights were added up in the engine. Which items of a user take part is decided by a hash with a secret key that "
    "was made for it; the guarantee needs no randomness of that choice, and every decision about an item is drawn here."
)


def check(terms: UnionTerms, *, text: bool) -> None:
    """Refuse what the engine cannot add up, before a row is read and before anything is paid."""
    if text:
        raise ParameterError("in_engine", "be left out where text is given", "True")
    if terms.method != AUTO and terms.method not in NAMES:
        hint = "in the others users look at what others gave, so their pairs must be in memory"
        raise ParameterError("method", f"be auto, {', '.join(NAMES)} where in_engine is given", terms.method, hint)
    if terms.most is not None and terms.most > MOST_SHARES:
        raise ParameterError("max_items_per_user", f"be at most {MOST_SHARES} where in_engine is given", terms.most)


def union_of_pairs(pairs: PairsElsewhere, terms: UnionTerms, draws: Draws, progress: Progress | None) -> Release:
    """The items that enough users share; neither users nor items that were not released come here."""
    most = chosen_bound(pairs, terms, draws) if terms.most is None else terms.most
    run = Run(terms, most, terms.mechanisms(most), draws, progress)
    release_elsewhere(run.mechanisms[0], pairs, draws=draws, progress=progress)
    labels = pairs.names()
    counts: list[int | None] = [None] * len(labels)
    width = None
    if terms.counted:
        variance = terms.noise(0, most)
        width = gaussian_width(variance, BETA)
        counts = [int(n) + draws.gaussian(variance) for n in pairs.users(most, fresh_key())]
    told = zip(labels, counts, strict=True)
    items = dict(enumerate(Item(label, None, n, *interval(n, width)) for label, n in told))
    release = run.release([items])
    said = release.privacy
    parameters = {**said.parameters, "in_engine": True}
    return replace(release, privacy=replace(said, parameters=parameters, sentences=(*said.sentences, SAID)))


def chosen_bound(pairs: PairsElsewhere, terms: UnionTerms, draws: Draws) -> int:
    """About how many items 9 of 10 users have at most, as in memory: by a private quantile of places in BOUNDS."""
    return BOUNDS[int(terms.chooser(placed(*pairs.lengths(BOUNDS[-1])), draws=draws)[0])]


def placed(lengths: Int64, users: Int64) -> UsersAt:
    """How many users stand at which place in BOUNDS: the least that leaves them all they have."""
    at = np.searchsorted(BOUNDS, lengths)
    total = np.zeros(len(BOUNDS), dtype=np.int64)
    np.add.at(total, at, users)
    places = np.flatnonzero(total)
    return UsersAt(places.astype(np.int64), total[places])
