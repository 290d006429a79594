"""What a set union finds: from how many users on, by the distribution of its mechanism. Proofs: docs/accuracy.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.release.accuracy import TIMES, Accuracy, said_items, said_users

IN_ONE = " and are in no other group"
FURTHEST = 2**40  # users; beyond, there is nothing to say


def found_by(mechanism: Any, most: int | None, longest: int = 1, among: str = "") -> Accuracy:
    """From how many users on an item of a union is found; `among` says which users those are, if not all."""
    what = "an item" if longest == 1 else f"a candidate of {longest} tokens"
    sure = users_for(mechanism, TIMES / 100, 1)
    if sure is None:
        return Accuracy(("How many users an item needs to be found is not known beforehand.",))
    half = users_for(mechanism, 0.5, 1)
    numbers = {"found_with_users": sure, "half_found_with_users": half}
    said = f"{what.capitalize()} is found if {said_users(sure)} or more have it and no other item{among}"
    said += f" (with {half:,} its chance is about one half)"
    if most is None or looks_at_others(mechanism):
        more = "What users with several items add to it depends on other users, so this says nothing about them."
    else:
        more = f"A user with more than {said_items(most)} contributes {most:,} of them, chosen at random."
        many = None if most == 1 else users_for(mechanism, TIMES / 100, most)
        if many is not None:
            said += f", or {said_users(many)} of at most {said_items(most)} each"
            numbers |= {"found_with_users_of_many": many, "items_of_many": most}
    return Accuracy((f"{said}. {more} A missing one may still exist, and need not be rare.",), numbers)


def users_for(mechanism: Any, chance: float, items: int) -> int | None:
    """How many users of at most so many items each an item needs to be released with this chance; None if none do."""
    if isinstance(mechanism, RenyiShaped):
        likely = all(curve.chances[-1] >= chance for _, curve in mechanism.shares[-1])
        return max(1, mechanism.users_for(chance, items)) if likely else None
    law, share, cutoff = mechanism.law, mechanism.share(items), getattr(mechanism, "cutoff", None)

    def enough(users: int) -> bool:
        weight = users * share if cutoff is None else min(users * share, cutoff)
        return bool(law.at(weight).ball(64) >= chance)

    return least(enough)


def least(enough: Callable[[int], bool]) -> int | None:
    """The least whole number that is enough, where all above it are; None where it is beyond `FURTHEST`."""
    high = 1
    while not enough(high):
        high *= 2
        if high > FURTHEST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def looks_at_others(mechanism: Any) -> bool:
    """Do its users give by what others have given?"""
    return getattr(mechanism, "cutoff", None) is not None
