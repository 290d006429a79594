"""Measures of items: what they cost, and whether the release has those of which it speaks."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.checking.finding import Finding, fails
from tests.judge.numbers import Parameters, UnfitError

if TYPE_CHECKING:
    from dpselect.release.release import Release

MEASURES, PRICE = "measures", "epsilon_per_measure"
TOLD_WITH = {  # what measures may follow: their price is recomputed with it
    *("LimitedDomain", "Peeling", "CanonicalSet"),
    *("LimitedDomainSparse", "DiscoverThenPeel"),
}
NOISES = {"sum": 1, "mean": 2}  # a mean is a noisy sum over a noisy number of users


def noises(said: Parameters) -> int:
    """How many noisy numbers each item comes with, beside its count."""
    if not said.has(MEASURES):
        return 0
    kinds = [str(one).partition("(")[0] for one in said.several(MEASURES)]
    if not set(kinds) <= NOISES.keys():
        raise UnfitError("measures are no sums and means")
    return sum(NOISES[kind] for kind in kinds)


def of_one_sign(said: Parameters) -> int:
    """How many of them are sums that every user moves in the same direction, by their bounds."""
    return sum(1 for one in said.several(MEASURES) if _has_one_sign(str(one)))


def _has_one_sign(text: str) -> bool:
    kind, _, inside = text.removesuffix(")").partition("(")
    ends = [one.strip() for one in inside.rsplit(",", 3) if not one.strip().startswith("unit=")][-2:]
    try:
        low, high = map(Fraction, ends)
    except ValueError:
        raise UnfitError("bounds of a measure are no numbers") from None
    return kind == "sum" and (low >= 0 or high <= 0)


def price(said: Parameters) -> Fraction:
    """The epsilon of each noisy number."""
    return said.epsilon(PRICE)


def moved(said: Parameters) -> int:
    """Of how many items one user moves the measures."""
    k = said.whole("k")
    return min(k, said.whole("max_items_per_user")) if said.has("max_items_per_user") else k


def measured(release: Release, said: Parameters) -> Iterator[Finding]:
    """What is wrong, where items have measures."""
    if not said.has(MEASURES):
        if any(item.measures for item in release.items):
            yield fails("the items have measures, and nothing says what they are and how noisy")
        return
    noises(said), price(said)
    fit = release.privacy.mechanism in TOLD_WITH and release.groups is None
    if not fit or said.has("by_weight") or not said.has("k"):
        yield fails(f"{release.privacy.mechanism:.60} is not told with measures of one list of items by users")
