"""Statements of counts that are released without a selection: a histogram, and numbers of users."""

from __future__ import annotations

from fractions import Fraction

from dpselect._ground.privacy import Privacy
from dpselect.release import formatting
from dpselect.release.answers.items_left_out import describe_sampling
from dpselect.release.scale import Scale
from dpselect.release.statement import Statement


def describe_histogram(
    privacy: Privacy,
    mechanism: str,
    *,
    items: int,
    max_items_per_user: int,
    bound: int | None,
    noise: Fraction,
    gaussian: bool,
    scale: Scale,
) -> Statement:
    """State the counts of a whole domain of `items`; `noise` is a variance if `gaussian`, or else a Laplace rate.

    `max_items_per_user` counts move with one user; `bound` is the sampling of users' items that makes it so.
    """
    parameters: dict[str, object] = {"items": items, "max_items_per_user": max_items_per_user}
    if gaussian:
        parameters["variance"] = noise
        deviation = formatting.few(float(noise) ** 0.5, 3)
        shape = f"Gaussian noise of standard deviation {deviation} users, which is nearer here"
    else:
        parameters["epsilon_per_count"] = noise
        shape = f"Laplace noise of scale {formatting.few(float(1 / noise), 4)} users"
    sampled = describe_sampling(bound)
    sentences = (
        f"The domain is given, and the numbers of users of all its items are released together.{sampled}",
        f"Each count carries discrete {shape}; it may be negative.",
        *scale.sentences,
    )
    return Statement.of(privacy, mechanism, parameters | scale.parameters, sentences)


def describe_users(
    privacy: Privacy,
    mechanism: str,
    *,
    numbers: int,
    max_groups_per_user: int,
    rate: Fraction,
    columns: tuple[str, ...],
    scale: Scale,
) -> Statement:
    """State the number of all users, or those of each listed group of some columns, with Laplace noise."""
    parameters: dict[str, object] = {"items": numbers, "max_items_per_user": max_groups_per_user}
    parameters |= {"epsilon_per_count": rate, "users_by": columns}
    noise = f"discrete Laplace noise of scale {formatting.short(1 / rate)} users; below 0 it is shown as 0"
    sentences = (
        "The groups are listed, and the numbers of users of all of them are released together."
        if columns
        else "The number of distinct users in all selected rows.",
        f"{'Each' if columns else 'The'} number carries {noise}.",
        "Any selected row makes its user count, even one without an item.",
        *scale.sentences,
    )
    return Statement.of(privacy, mechanism, parameters | scale.parameters, sentences)
