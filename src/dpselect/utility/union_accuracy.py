"""What a set union finds: from how many users on, by the distribution of its mechanism. Proofs: docs/accuracy.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.release.accuracy import CONFIDENCE_PERCENT, Accuracy
from dpselect.release.answers.union_sentences import describe_found_items
from dpselect.release.scale import USERS, Scale

FURTHEST = 2**40  # users; beyond, there is nothing to say


def found_accuracy(
    mechanism: Any, max_items: int | None, longest: int = 1, users_condition: str = "", scale: Scale = USERS
) -> Accuracy:
    """Return from how many users on an item of a union is found.

    `users_condition` and `scale` say which, if not all.
    """
    users, users_for_half, users_of_many = users_for(mechanism, CONFIDENCE_PERCENT / 100, 1), None, None
    adaptive = looks_at_others(mechanism)
    if users is not None:
        users_for_half = users_for(mechanism, 0.5, 1)
        if max_items not in (None, 1) and not adaptive:
            users_of_many = users_for(mechanism, CONFIDENCE_PERCENT / 100, max_items or 1)
    return describe_found_items(
        users,
        users_for_half,
        users_of_many,
        max_items_per_user=max_items,
        looks_at_others=adaptive,
        longest=longest,
        users_condition=users_condition,
        scale=scale.of_rows,
    )


def users_for(mechanism: Any, chance: float, items: int) -> int | None:
    """Return how many users of at most `items` items an item needs to be released with this chance; None if none do."""
    if isinstance(mechanism, RenyiShaped):
        likely = all(curve.chances[-1] >= chance for _, curve in mechanism.shares[-1])
        return max(1, mechanism.users_for(chance, items)) if likely else None
    law, share, cutoff = mechanism.law, mechanism.share(items), getattr(mechanism, "cutoff", None)

    def is_enough(users: int) -> bool:
        weight = users * share if cutoff is None else min(users * share, cutoff)
        return bool(law.at(weight).ball(64) >= chance)

    return least_number(is_enough)


def least_number(is_enough: Callable[[int], bool]) -> int | None:
    """Return the least whole number that is enough, where all above it are; None where it is beyond `FURTHEST`."""
    high = 1
    while not is_enough(high):
        high *= 2
        if high > FURTHEST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def looks_at_others(mechanism: Any) -> bool:
    """Return whether its users contribute by what others have contributed."""
    return getattr(mechanism, "cutoff", None) is not None
