"""Sentences about a top k: why its method answers, how its items were selected, and how good they are."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, NO_ACCURACY, Accuracy
from dpselect.release.answers.group_sentences import in_each_group
from dpselect.release.scale import Scale

KNOWN_DOMAIN = "The domain is given, so peeling ranks exactly k of its items; items without users have count 0."
KNOWN_SET = "The domain is given, and k of its items are chosen all at once; items without users have count 0."
UNKNOWN_DOMAIN = "No domain is given, so limited domain looks only at the k_bar + 1 items with the most users."
UNKNOWN_SPARSE = (
    "No domain is given, so only the k_bar + 1 items with the most users are considered, and one noisy threshold "
    "decides which picks are returned."
)
DISCOVERED = (
    "No domain is given, so part of the price finds items that enough users share, and the rest ranks the best."
)
IN_ORDER = " It was chosen because the items are wanted in order."
LARGE_K = " It was chosen because k is large for epsilon."
LARGE_BY_GROUP = " It was chosen because k and the groups of a user are large for epsilon."
BOUND_HELPS = " With a max_items_per_user that few users exceed, a set union could find more."
NO_ORDER = {
    "canonical-set": " A whole set is drawn because no order is wanted and k is small enough for epsilon.",
    "peeling": " It was chosen because k is below 3, or too large for epsilon to draw a whole set.",
}
_OF_SUMS = {
    "items with the most users": "items of the largest sums",
    "items without users have count 0": "items without users have sum 0",
}
_OF_GAINS = {
    "with the most users": "that gained the most users",
    "have count 0": "have gain 0",
    "that enough users share": "that enough users share in the periods that are asked about",
}
_OF_LOSSES = {
    "with the most users": "that lost the most users",
    "have count 0": "have loss 0",
    "that enough users share": "that enough users shared in the periods before",
}
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
    return (
        f"{scale.score_plural.title()} carry discrete Laplace noise of scale {scale.format_about(1 / float(rate), 3)}."
    )


def describe_sharp_noise(shape: str, deviation: float, scale: Scale, *, shared: bool, by_group: bool = False) -> str:
    """Say how noisy counts are together, and of noise that they share what that means."""
    scores, spread = scale.score_plural, scale.format_about(deviation, 3)
    noise = f"{scores.title()} carry discrete {shape} noise of standard deviation {spread}"
    if not shared:
        return f"{noise}."
    of_group = " of a group" if by_group else ""
    return (
        f"{noise}, of which one part is the same for all of them{of_group}, so that differences of "
        f"{scores}{of_group} are more accurate than {scores}, and totals of several less."
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
        return NO_ACCURACY
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
        return NO_ACCURACY
    described = accuracy.ranking(gap, noun=accuracy.DISCOVERED, scale=scale)
    return in_each_group(described) if by_group else described


def limited_by_group(*, groups_listed: bool) -> str:
    """Return the reason for limited domain in every group."""
    reason = f"{_in_groups(groups_listed)}limited domain looks only at the k_bar + 1 items with the most users of each"
    return f"{reason}." if groups_listed else f"{reason}, and a group without an item is not shown."


def discovered_by_group(*, groups_listed: bool) -> str:
    """Return the reason for a union of pairs of group and item."""
    return (
        f"{_in_groups(groups_listed)}part of the price finds pairs of group and item that enough users share, and the "
        "rest ranks the best of each group."
    )


def _in_groups(groups_listed: bool) -> str:
    if groups_listed:
        return "Each listed group has its own answer: "
    return "Each group has its own answer, and groups need not be known: "


def describe_reason(reason: str, scale: Scale) -> str:
    """Return the reason of a selection by users as that of one by sums, by gained users, or by lost ones."""
    replacements = {} if scale.totals is None else _OF_SUMS
    if scale.gains:
        replacements = _OF_LOSSES if scale.lost else _OF_GAINS
    for phrase, replacement in replacements.items():
        reason = reason.replace(phrase, replacement)
    return reason


def describe_larger_bound(max_items_per_user: int) -> str:
    """Say why a discovery takes more items of a user than was said."""
    return f" It takes {max_items_per_user} items of a user, since a smaller max_items_per_user could find too little."
