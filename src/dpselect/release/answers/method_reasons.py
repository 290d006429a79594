"""Why a top k is answered by its method: the sentence of a plan, which a statement repeats."""

from __future__ import annotations

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


def describe_larger_bound(max_items_per_user: int) -> str:
    """Say why a discovery takes more items of a user than was said."""
    return f" It takes {max_items_per_user} items of a user, since a smaller max_items_per_user could find too little."


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


def reason_of_sums(reason: str) -> str:
    """Return the reason of a selection by users as that of one by sums."""
    return _replace_all(reason, _OF_SUMS)


def reason_of_gains(reason: str, *, lost: bool) -> str:
    """Return the reason of a selection by users as that of one by gained users, or by lost ones."""
    return _replace_all(reason, _OF_LOSSES if lost else _OF_GAINS)


def _replace_all(text: str, replacements: dict[str, str]) -> str:
    for phrase, replacement in replacements.items():
        text = text.replace(phrase, replacement)
    return text
