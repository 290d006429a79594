"""What a set union finds: from how many users on, by the distribution of its mechanism. Proofs: docs/accuracy.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.release.accuracy import TIMES, Accuracy
from dpselect.release.answers.union_sentences import describe_found_items
from dpselect.release.scale import USERS, Scale

FURTHEST = 2**40  # users; beyond, there is nothing to say


def found_by(mechanism: Any, most: int | None, longest: int = 1, among: str = "", scale: Scale = USERS) -> Accuracy:
    """Return from how many users on an item of a union is found; `among` and `scale` say which, if not all."""
    users, half, of_many = users_for(mechanism, TIMES / 100, 1), None, None
    others = looks_at_others(mechanism)
    if users is not None:
        half = users_for(mechanism, 0.5, 1)
        if most not in (None, 1) and not others:
            of_many = users_for(mechanism, TIMES / 100, most or 1)
    return describe_found_items(
        users,
        half,
        of_many,
        max_items_per_user=most,
        looks_at_others=others,
        longest=longest,
        users_condition=among,
        scale=scale.of_rows,
    )


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
