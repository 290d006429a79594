"""A release by weights: do its sums, its cap and its unit fit together?"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.checking.finding import Finding, fails
from tests.judge.numbers import Parameters, UnfitError

if TYPE_CHECKING:
    from dpselect.release.release import Release

WEIGHT = "by_weight"
LARGEST = 10**300  # of a sum
BY_WEIGHT = {
    "LimitedDomain",
    "LimitedDomainByGroup",
    "LimitedDomainSparse",
    "Peeling",
    "CanonicalSet",
}


def weighed(release: Release, said: Parameters) -> Iterator[Finding]:
    """What is wrong, where items were selected by a weight. What a mechanism costs does not hang on the cap."""
    if not said.has(WEIGHT):
        return
    if not isinstance(said.of[WEIGHT], str):
        raise UnfitError(f"{WEIGHT} is no name of a column")
    cap, unit = said.number("at_most"), said.number("weight_unit")
    if (cap / unit).denominator != 1:
        yield fails(
            "at_most is no whole number of units, so one user may move a sum by more than the noise is made for"
        )
    if release.privacy.mechanism not in BY_WEIGHT:
        yield fails(f"{release.privacy.mechanism:.60} is about numbers of users, not about sums of weights")
    for item in release.items:
        if item.count is not None and not _whole(item.count, unit):
            yield fails("a sum is no whole number of units")
            return


def _whole(count: float, unit: Fraction) -> bool:
    """Is it a sum of whole units, and one that floats hold?"""
    exact = round(Fraction(count) / unit) * unit
    return abs(exact) < LARGEST and float(exact) == count
