"""The counts of a union that decided which items it has: they are shown as they are, and cost nothing more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Sets
from dpselect.draws import Draws
from dpselect.mechanisms.set_union.count_gaussian import CountGaussian
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy
from dpselect.release.release import Item
from dpselect.release.scale import Scale


def level_with_counts(mechanism: CountGaussian, sets: Sets, draws: Draws, progress: Progress | None) -> dict[int, Item]:
    """What one level releases, by code, each with the noisy count that decided it."""
    codes, users = mechanism.weighed(sets, draws, progress)
    noisy = mechanism.noisy(users.astype("int64"), draws)
    within = {count: mechanism.interval(count, BETA) for count in set(noisy)}
    told = zip(codes.tolist(), sets.labels(codes), noisy, strict=True)
    return {code: Item(label, None, count, *within[count]) for code, label, count in told}


def accuracy_of(mechanisms: Sequence[CountGaussian], scale: Scale) -> Accuracy:
    """How near the counts of all levels are."""
    widths = [width(float(one.deviation)) for one in mechanisms]
    return accuracy.counts_that_decided(max(widths), scale)


def width(deviation: float) -> int:
    """How near a count is that lies far above the threshold."""
    return math.ceil(-NormalDist().inv_cdf(BETA / 2) * deviation)


def said_of(mechanisms: Sequence[CountGaussian]) -> tuple[dict[str, object], str]:
    """What is said of them: numbers, and a sentence."""
    deviation, least = max(float(one.deviation) for one in mechanisms), min(one.least for one in mechanisms)
    some = ", or less at some lengths," if len(mechanisms) > 1 else ""
    said = (
        f"Counts are the noisy numbers of users that decided which items are here, so they cost nothing more: Gaussian "
        f"noise of standard deviation {deviation:.4g}{some}, whole numbers. None is below {least:,}."
    )
    return {"deviation_of_counts": deviation, "counts_decided": True}, said
