"""Truncated geometric selection: the best that can be done when a user has one item."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from dpselect.draws import Draws
from dpselect.mechanisms.set_union.count import counted
from dpselect.mechanisms.set_union.laws import Geometric, geometric
from dpselect.mechanisms.set_union.ordering import as_they_stand
from dpselect.mechanisms.set_union.port import Progress, Weighed, parse, promise, released, settle, within
from dpselect.mechanisms.set_union.pouring import half_way
from dpselect.parameters import Number
from dpselect.privacy import Privacy
from dpselect.user_sets import Int64, UserSets


@dataclass(frozen=True, kw_only=True)
class TruncatedGeometric:
    """Release each item with the largest probability that its number of users allows; a user keeps one random item.

    p(n) = min(e^epsilon p(n - 1) + delta, 1 - e^-epsilon (1 - p(n - 1) - delta), 1), p(0) = 0.

    Guarantee: (epsilon, delta)-DP; no other release of single items has a larger probability at any count.
    Neighbors: add-remove.
    Sensitivity: a user keeps one random item and moves its count by 1.
    Exactness: the law is exact: each item is one coin of the closed form.
    Cost: one pass over the pairs, one coin an item.
    Source: Desfontaines, Voss and Gipson 2022: the recursion, its closed form, and that no release does better.
    Example:
        >>> TruncatedGeometric(epsilon=1, delta="1e-6")(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int = field(init=False, default=1, repr=False)
    threshold: Fraction = field(init=False)
    law: Geometric = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    cutoff: None = field(init=False, default=None, repr=False)
    slack: Fraction = field(init=False, default=Fraction(0), repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        law = geometric(epsilon, delta)
        settle(self, threshold=half_way(law), law=law, privacy=promise(epsilon, delta, "truncated geometric"))

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """One, to the item that is kept."""
        return Fraction(1)

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:  # noqa: ARG002 - quick
        """How many users each item has."""
        return counted(within(ordered, 1)), 1

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        return released(self, sets, 1, as_they_stand, draws, progress)
