"""Sentences about a top k: by picks, as a whole set, in every group, or of discovered items; and their accuracy."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, NOTHING, Accuracy
from dpselect.release.answers.group_sentences import in_each_group
from dpselect.release.scale import Scale

ANY_NUMBER = "One user counts for any number of items in the ranking."
A_SET = "The items are a set: their order says nothing, unless noisy counts give one."


class Counter(Protocol):
    """The accuracy of counts with noise, as intervals and leads."""

    def width(self, beta: float, times: int = 1) -> int:
        """Return the error that one count, or any of so many, exceeds with probability at most beta."""
        ...

    def lead(self, beta: float, times: int) -> int:
        """Return the least lead of one count over another that is certain, of so many, for all pairs at once."""
        ...


def describe_noise(rate: Fraction, scale: Scale) -> str:
    """Say how noisy counts are."""
    return f"{scale.scores.title()} carry discrete Laplace noise of scale {scale.format_about(1 / float(rate), 3)}."


def describe_sharp_noise(shape: str, deviation: float, scale: Scale, *, shared: bool, by_group: bool = False) -> str:
    """Say how noisy counts are together, and of noise that they share what that means."""
    noise = (
        f"{scale.scores.title()} carry discrete {shape} noise of standard deviation {scale.format_about(deviation, 3)}"
    )
    if not shared:
        return f"{noise}."
    of_group = " of a group" if by_group else ""
    return (
        f"{noise}, of which one part is the same for all of them{of_group}, so that differences of "
        f"{scale.scores}{of_group} are more accurate than {scale.scores}, and totals of several less."
    )


def describe_limited_domain(height: float, k_bar: int, scale: Scale) -> list[str]:
    """Describe picks that end at bottom, which is `height` above the item at rank k_bar + 1."""
    return [ANY_NUMBER, f"{_describe_bottom(height, k_bar, scale)}."]


def describe_limited_domain_by_group(height: float, k_bar: int, scale: Scale) -> list[str]:
    """Describe limited domain in every group."""
    sentences = []
    if scale.totals is not None:
        sentences.append(
            "A user has only the groups in which they give an item a unit; what they give is added up in each."
        )
    return [*sentences, ANY_NUMBER, f"{_describe_bottom(height, k_bar, scale)} of its group."]


def _describe_bottom(height: float, k_bar: int, scale: Scale) -> str:
    """Say how high bottom is, in a sentence without its full stop."""
    return (
        f"An item is returned only if it exceeds a noisy threshold (bottom), {scale.format_about(height)} above "
        f"the {scale.score} at rank k_bar + 1 = {k_bar + 1:,}"
    )


def describe_sparse_limited_domain(height: float, k_bar: int, scale: Scale) -> list[str]:
    """Describe picks that end at the first one below one noisy threshold."""
    return [
        ANY_NUMBER,
        f"Picks are shown in their order while their {scale.score}s pass one noisy threshold, which is at most "
        f"{scale.format_about(height)} above the {scale.score} of rank k_bar + 1 = {k_bar + 1:,}; "
        "the first one below it ends the list.",
    ]


def describe_discovery(
    k: int,
    discovered: int,
    max_items_per_user: int,
    *,
    share_of_bound: Fraction | None,
    shared: bool = False,
    by_group: bool,
    scale: Scale,
) -> list[str]:
    """Describe a union and the ranking of what it found; a bound that was chosen privately took a share of epsilon."""
    bound = f"Every user takes part in the discovery with at most {max_items_per_user} random items"
    if share_of_bound is not None:
        bound += f"; that number was chosen privately, with 1/{1 / share_of_bound} of epsilon"
        bound += ", in the same Rényi budget" if shared else ""
    ranked = f"the best {k} of them are" if discovered > k else "all of them are"
    ranked = f"of each group the best {k} are" if by_group else ranked
    ranked_by = "the numbers of all their users"
    if scale.gains:
        ranked_by = f"what they {'lost' if scale.lost else 'gained'} of all users"
    limits = "max_items_per_user limits the discovery only"
    return [f"{bound}.", f"Items discovered: {discovered:,}; {ranked} ranked by {ranked_by}: {limits}."]


def describe_chosen_groups(chosen: int, largest: int, share: Fraction) -> str:
    """Say how a bound on the groups of a user was chosen, for a share of epsilon."""
    return (
        f"max_groups_per_user = {chosen} was chosen privately, with {share} of epsilon, so that 9 of 10 users "
        f"are in no more groups. The choice is noisy, and with a few thousand users mostly random; at most "
        f"{largest} can be chosen."
    )


# ---- accuracy ---------------------------------------------------------------------------------------------


def describe_counts(counter: Counter | None, scale: Scale, items: int, *, by_group: bool = False) -> Accuracy:
    """Say how near counts with noise of their own are, and from which lead on their order is certain.

    Nothing where none were asked for. `items` is how many there are, in the largest group.
    """
    if counter is None:
        return NOTHING
    described = accuracy.separate_counts(counter.width(BETA), scale)
    if items < 2:
        return described
    of_one_group = " of any one group, chosen beforehand," if by_group else ""
    return described + accuracy.leads(counter.lead(BETA, items), scale, within=of_one_group)


def describe_unknown_domain(gap: int, reach: int, k_bar: int, scale: Scale) -> Accuracy:
    """Say how good a list is that may end early."""
    return accuracy.ranking(gap, scale=scale) + accuracy.early_end(reach, k_bar + 1, scale)


def describe_ranking_by_group(
    gap: int, reach: int, k_bar: int, *, counts: Accuracy, group_width: int | None, scale: Scale
) -> Accuracy:
    """Say how good the list of each group is, its counts and, where asked for, its number of users."""
    described = in_each_group(describe_unknown_domain(gap, reach, k_bar, scale)) + counts
    return described if group_width is None else described + accuracy.users_of_groups(group_width, scale)


def describe_discovered_ranking(gap: int | None, scale: Scale, *, by_group: bool) -> Accuracy:
    """Say how good the ranking of discovered items is; of none or one there is nothing to say."""
    if gap is None:
        return NOTHING
    described = accuracy.ranking(gap, noun=accuracy.DISCOVERED, scale=scale)
    return in_each_group(described) if by_group else described
