"""Statements and accuracy of quantiles and choices in every group, and of how unlisted groups are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect._ground.privacy import Privacy
from dpselect.release.accuracy import NOTHING, Accuracy, said_users
from dpselect.release.scale import Scale
from dpselect.release.statement import Statement

_LISTED = "The groups are listed, and each is answered, even without users; with few users an answer is mostly noise."


@dataclass(frozen=True, kw_only=True)
class FoundGroups:
    """The set union that found the groups, its price and its own parameters; a user takes part with `max_groups`."""

    mechanism: str
    method: str
    epsilon: Fraction
    delta: Fraction
    share: Fraction  # of all epsilon
    max_groups: int
    own: Mapping[str, object]

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters in a statement, by which a check plans the union again."""
        own = {f"{name}_of_groups": value for name, value in self.own.items()}
        price = {"epsilon_of_groups": self.epsilon, "delta_of_groups": self.delta}
        return {"groups_found_by": self.mechanism} | price | own

    @property
    def sentence(self) -> str:
        """The sentence that says how groups were found."""
        part = f"for {self.share} of epsilon, by a set union ({self.method})"
        groups = "one group" if self.max_groups == 1 else f"at most {self.max_groups:,} groups"
        return (
            f"The groups were found first, {part} in which each user takes part with {groups}, chosen at random. A "
            "group with only one user appears with probability at most delta."
        )


def state_groups(
    privacy: Privacy,
    mechanism: str,
    parameters: Mapping[str, object],
    sentences: tuple[str, ...],
    *,
    max_groups_per_user: int,
    found: FoundGroups | None,
    scale: Scale,
) -> Statement:
    """State a question in every group: how groups were found, if they are not listed, and then what is said of one."""
    of_groups = {"groups_listed": True} if found is None else found.parameters
    used = {**parameters, "max_groups_per_user": max_groups_per_user, **of_groups, **scale.parameters}
    how = _LISTED if found is None else found.sentence
    return Statement.of(privacy, mechanism, used, (how, *scale.sentences, *sentences))


def in_each_group(accuracy: Accuracy) -> Accuracy:
    """Return the accuracy of an answer as that of the answer in every group."""
    return replace(accuracy, sentences=tuple(f"In a group: {sentence}" for sentence in accuracy.sentences))


def describe_found_groups(users: int | None, users_for_half: int | None) -> Accuracy:
    """Say from how many users on a group is found, and from how many with a chance of one half."""
    if users is None or users_for_half is None:
        return NOTHING
    sentence = f"A group is found if {said_users(users)} or more are in it and in no other"
    sentence += (
        f" (with {users_for_half:,} its chance is about one half). A missing one may still exist, and need not be rare."
    )
    return Accuracy((sentence,), {"group_found_with_users": users, "group_half_found_with_users": users_for_half})
