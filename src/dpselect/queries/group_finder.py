"""Groups that nobody lists: a set union over the groups of every user finds those that enough users share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpselect._ground.parameters import Progress
from dpselect.draws import Draws
from dpselect.engines.port import Engine
from dpselect.errors import ParameterError, came
from dpselect.queries.found import users_for
from dpselect.questions.payment import Payment
from dpselect.questions.questions import Union
from dpselect.release.accuracy import NOTHING, TIMES, Accuracy, said_users

SHARE = Fraction(1, 6)  # of epsilon; measured, docs/mechanisms/by-group.md
SAID = ("threshold", "cutoff", "slack", "rounds", "order")  # what a statement says of a set union


@dataclass(frozen=True, kw_only=True)
class GroupFinder:
    """A set union of the groups of users, each taking part with at most `most`, for a part of the price."""

    epsilon: Fraction
    delta: Fraction
    most: int
    method: str
    union: Any

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, most: int) -> GroupFinder:
        """By the method that a union of these parameters takes."""
        from dpselect.queries.facts import Facts
        from dpselect.queries.union import UnionPlan
        from dpselect.queries.union_terms import LARGEST_EPSILON, LEAST_EPSILON, chosen_method

        if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                "epsilon", "be between 6e-6 and 6e6 where groups are to be found", came(epsilon / SHARE)
            )
        payment, facts = Payment(epsilon=epsilon, delta=delta), Facts(max_items_per_user=most)
        plan = UnionPlan(question=Union(), payment=payment, facts=facts)
        (union,) = plan.mechanisms(most)
        return cls(epsilon=epsilon, delta=delta, most=most, method=chosen_method(plan, most), union=union)

    def found(self, engine: Engine, draws: Draws, progress: Progress | None) -> Any:
        """The groups that were found, as the engine keeps them; None where there are none."""
        codes = self.union(engine.group_sets(progress=progress), draws=draws, progress=progress)
        return engine.keep_groups(codes) if len(codes) else None

    @property
    def parameters(self) -> Mapping[str, object]:
        """What a statement says of it, for whoever checks it."""
        own = {f"{name}_of_groups": value for name in SAID if (value := getattr(self.union, name, None))}
        found = {"groups_found_by": type(self.union).__name__}
        return found | {"epsilon_of_groups": self.epsilon, "delta_of_groups": self.delta} | own

    @property
    def sentence(self) -> str:
        """How groups were found."""
        part = f"for {SHARE} of epsilon, by a set union ({self.method})"
        groups = "one group" if self.most == 1 else f"at most {self.most:,} groups"
        return (
            f"The groups were found first, {part} in which each user takes part with {groups}, chosen at random. A "
            "group that only a single user is in appears with a probability of at most delta."
        )

    @property
    def accuracy(self) -> Accuracy:
        """From how many users on a group is found."""
        sure, half = (users_for(self.union, chance, 1) for chance in (TIMES / 100, 0.5))
        if sure is None or half is None:
            return NOTHING
        said = f"A group is found if {said_users(sure)} or more are in it and in no other"
        said += f" (with {half:,} its chance is about one half). Missing here does not mean absent, nor rare."
        return Accuracy((said,), {"group_found_with_users": sure, "group_half_found_with_users": half})
