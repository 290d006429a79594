"""Counts: every user contributes 1 to each of their items. And the best release where that is one item."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import S, Sets, numbers_of_users
from dpselect.draws import Draws
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.set_union.port import SetUnion, Weighed, parse
from dpselect.mechanisms.set_union.release_laws import (
    geometric,
)


@dataclass(frozen=True)
class UserCounts:
    """Weights that are the numbers of users of the items."""

    cutoff: None = field(init=False, default=None)

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """Return 1: a user contributes one to each item."""
        return Fraction(1)

    def order(self, sets: S, draws: Draws) -> S:  # noqa: ARG002 - a policy draws an order
        """Return the sets as they are: integer sums do not depend on the order of users."""
        return sets

    def weigh(self, ordered: Sets, progress: Progress | None) -> Weighed:  # noqa: ARG002 - quick
        """Count the users of each item."""
        return numbers_of_users(ordered), 1


@dataclass(frozen=True, kw_only=True)
class TruncatedGeometric(SetUnion):
    """Release each item with the largest probability that its number of users allows; a user keeps one random item.

    p(n) = min(e^epsilon p(n - 1) + delta, 1 - e^-epsilon (1 - p(n - 1) - delta), 1), p(0) = 0.

    Guarantee: (epsilon, delta)-DP; no other release of single items has a larger probability at any count.
    Neighbors: add-remove.
    Sensitivity: a user keeps one random item and moves its count by 1.
    Exactness: each item is one exact Bernoulli draw of the closed form.
    Cost: one pass over the pairs, one draw an item.
    Source: Desfontaines, Voss and Gipson 2022: the recursion, its closed form, and that no release does better.
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> TruncatedGeometric(epsilon=1, delta="1e-9")(UserSets.from_sets(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    max_items_per_user: int = field(init=False, default=1, repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        privacy = promise(epsilon, delta, "truncated geometric")
        set_fields(self, weighting=UserCounts(), law=geometric(epsilon, delta), privacy=privacy)
