"""Sentences about a set union, and its accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpselect._ground.privacy import weak_points
from dpselect.release import formatting
from dpselect.release.accuracy import Accuracy
from dpselect.release.scale import USERS, Scale, format_items
from dpselect.release.statement import Statement

IN_ONE_GROUP = " and are in no other group"
ADDED_IN_ENGINE = (
    "Weights were added up in the engine. Which items of a user take part is decided by a hash with a secret key that "
    "was made for it; the guarantee needs no randomness of that choice, and every decision about an item is drawn here."
)
_COMPOSES = "An account that composes would pay more for it."


def describe_method(method: str, *, was_named: bool) -> str:
    """Say which method answers, and who chose it."""
    choice = "It was named." if was_named else "It was chosen from epsilon, delta and max_items_per_user alone."
    return f"Items that enough users share, by {method}; every decision is one exact Bernoulli draw. {choice}"


def describe_levels(shares: Sequence[Fraction]) -> list[str]:
    """Say how the levels of a text share the price; nothing where there is one."""
    if len(shares) == 1:
        return []
    share_texts = ", ".join(str(share) for share in shares)
    return [
        f"Items of 1 to {len(shares)} tokens, level by level, for {share_texts} of the price of items; an item is a "
        "candidate only if both of its parts, all tokens but the last and all but the first, were released."
    ]


def describe_rare(*, in_groups: bool) -> str:
    """Say how seldom something appears that only one user has."""
    noun = "A pair of group and item" if in_groups else "An item"
    return f"{noun} that only one user has appears with probability at most delta."


def describe_bound(
    max_items_per_user: int | None, *, share_of_bound: Fraction | None, shared: bool = False, in_groups: bool = False
) -> str:
    """Say with how many items a user takes part; the bound was chosen privately if that took a share of epsilon."""
    if max_items_per_user is None:
        return "A user may have any number of items."
    number, _, noun = format_items(max_items_per_user, in_groups=in_groups).partition(" ")
    sentence = f"Each user contributes at most {number} random {noun}"
    if share_of_bound is None:
        return f"{sentence}."
    in_budget = ", in the same Rényi budget" if shared else ""
    return f"{sentence}; that number was chosen privately, with {share_of_bound} of epsilon{in_budget}."


def describe_choice_of_method(max_items_per_user: int, share: Fraction) -> str:
    """Say by which bound, chosen privately, the method was taken; users take part with all of their items."""
    return (
        f"About nine of ten users have at most {format_items(max_items_per_user)}; that number was chosen privately, "
        f"with {share} of epsilon, and decided the method. {_COMPOSES}"
    )


def describe_method_for_few(method: str, max_items_per_user: int) -> str:
    """Say which method answers in place of the planned one where users turn out to have few items."""
    items = format_items(max_items_per_user)
    return f"If about nine of ten users have at most {items}, {method} answers instead. {_COMPOSES}"


def describe_few_items(method: str, max_items_per_user: int) -> str:
    """Name the method that finds more where users have few items.

    It is not taken by itself, because an account that composes pays more for it.
    """
    finding = "often finds 10 to 50 % more items in such data, but costs more in a budget that composes"
    return f"About nine of ten users have at most {max_items_per_user} items: method={method!r} {finding}."


def describe_deciding_counts(noise: str, deviation: float, least: int, *, several: bool) -> str:
    """Describe noisy counts that decided which items were released."""
    exceptions = ", or less at some lengths," if several else ""
    return (
        f"Counts are the noisy numbers of users that selected the items, so they cost nothing extra: {noise} "
        f"noise of standard deviation {formatting.round_digits(deviation, 4)}{exceptions}, whole numbers. None is "
        f"below {least:,}."
    )


def describe_counts(deviation: float) -> str:
    """Describe counts with noise and a price of their own."""
    return (
        f"Counts carry Gaussian noise of standard deviation {formatting.round_digits(deviation, 4)}, or less, and cost "
        "a quarter of the price."
    )


def describe_counts_of_budget(deviation: float, share: Fraction) -> str:
    """Describe counts that share the Rényi budget of the items."""
    return (
        f"Counts carry Gaussian noise of standard deviation {formatting.round_digits(deviation, 4)}, or less, and take "
        f"{share} of the Rényi budget of the union."
    )


def describe_weak_points(epsilon: Fraction, delta: Fraction) -> list[str]:
    """Warn of a promise that is weak."""
    return [f"Mind: {text}" for text in weak_points(epsilon, delta)]


def describe_lengths(items_by_length: Mapping[str, int]) -> str:
    """Say how many items of a text have each number of tokens."""
    sizes = ", ".join(f"{size:,} of {length}" for length, size in items_by_length.items())
    return f"Items by number of tokens: {sizes}."


def add_in_engine(statement: Statement) -> Statement:
    """Return the statement with a sentence that the engine added the weights up."""
    parameters = {**statement.parameters, "in_engine": True}
    return replace(statement, parameters=parameters, sentences=(*statement.sentences, ADDED_IN_ENGINE))


def describe_found_items(
    users: int | None,
    users_for_half: int | None,
    users_of_many: int | None,
    *,
    max_items_per_user: int | None,
    looks_at_others: bool,
    longest: int = 1,
    users_condition: str = "",
    scale: Scale = USERS,
) -> Accuracy:
    """Say from how many users on an item of a union is found, and from how many if each has as many as the bound.

    `users_for_half` have a chance of one half. `looks_at_others`: what a user with several items adds depends on other
    users. `users_condition` and `scale` say which users are meant, if not all.
    """
    if users is None:
        return Accuracy(("How many users an item needs to be found is not known beforehand.",))
    noun = "An item" if longest == 1 else f"A candidate of {longest} tokens"
    numbers = {"found_with_users": users, "half_found_with_users": users_for_half}
    sentence = f"{noun} is found if {scale.format_score(users)} or more have it and no other item{users_condition}"
    sentence += f" (with {users_for_half:,} its chance is about one half)"
    if max_items_per_user is None or looks_at_others:
        others_sentence = (
            "What users with several items add to it depends on other users, so this says nothing about them."
        )
    else:
        bound = format_items(max_items_per_user, in_groups=users_condition == IN_ONE_GROUP)
        others_sentence = (
            f"A {scale.unit} with more than {bound} contributes {max_items_per_user:,} of them, chosen at random."
        )
        if users_of_many is not None:
            sentence += f", or {scale.format_score(users_of_many)} of at most {bound} each"
            numbers |= {"found_with_users_of_many": users_of_many, "items_of_many": max_items_per_user}
    return Accuracy((f"{sentence}. {others_sentence} A missing one may still exist, and need not be rare.",), numbers)
