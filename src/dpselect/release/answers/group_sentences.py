"""Sentences about answers in every group, and about how unlisted groups are found."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpselect.release.accuracy import NO_ACCURACY, Accuracy
from dpselect.release.scale import Scale

GROUPS_LISTED = (
    "The groups are listed, and each is answered, even without users; with few users an answer is mostly noise."
)


def describe_finding(share: Fraction, method: str, max_groups: int) -> str:
    """Say how groups were found: for a share of epsilon, by a set union in which a user takes part with so many."""
    groups = "one group" if max_groups == 1 else f"at most {max_groups:,} groups"
    return (
        f"The groups were found first, for {share} of epsilon, by a set union ({method}) in which each user takes "
        f"part with {groups}, chosen at random. A group with only one user appears with probability at most delta."
    )


def in_each_group(accuracy: Accuracy) -> Accuracy:
    """Return the accuracy of an answer as that of the answer in every group."""
    return replace(accuracy, sentences=tuple(f"In a group: {sentence}" for sentence in accuracy.sentences))


def describe_found_groups(users: int | None, users_for_half: int | None, scale: Scale) -> Accuracy:
    """Say from how many users on a group is found, and from how many with a chance of one half."""
    if users is None or users_for_half is None:
        return NO_ACCURACY
    sentence = f"A group is found if {scale.of_rows.format_score(users)} or more are in it and in no other"
    sentence += (
        f" (with {users_for_half:,} its chance is about one half). A missing one may still exist, and need not be rare."
    )
    return Accuracy((sentence,), {"group_found_with_users": users, "group_half_found_with_users": users_for_half})
