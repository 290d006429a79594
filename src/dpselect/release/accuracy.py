"""How good an answer is, in words that need no theory, and the numbers in them. Proofs: docs/accuracy.md.

Each sentence holds with 95 % confidence, whatever the data: it follows from the parameters, the number of candidates
and the answer itself, never from a true count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpselect.release import formatting
from dpselect.release.formatting import Json
from dpselect.release.scale import GROUP_USERS, USERS, Scale, score_column

TIMES = 95  # of 100 answers
BETA = 1 - TIMES / 100


@dataclass(frozen=True)
class Accuracy:
    """What holds with `TIMES` % confidence, each sentence for itself; `numbers` are those in the sentences."""

    sentences: tuple[str, ...] = ()
    numbers: Mapping[str, object] = field(default_factory=dict)

    def __add__(self, other: Accuracy) -> Accuracy:
        return Accuracy((*self.sentences, *other.sentences), {**self.numbers, **other.numbers})

    @property
    def without_items(self) -> Accuracy:
        """What of it holds where nothing came back."""
        kept = [one for one in self.sentences if any(mark in one for mark in OF_NOTHING)]
        return Accuracy(tuple(one.replace(f"{SHORT}no missing item", "No item") for one in kept), self.numbers)

    @property
    def opening_and_remainder(self) -> tuple[str, tuple[str, ...]]:
        """The first sentence as it follows on an answer, and all that it leaves to say."""
        if not self.sentences or not self.numbers:  # a sentence without a number says what cannot be said
            return "", self.sentences
        first, _, more = self.sentences[0].partition(". ")
        inner = ": ".join(f"{part[0].lower()}{part[1:]}" for part in first.removesuffix(".").split(": "))
        return f"With {TIMES} % confidence, {inner}.", (more, *self.sentences[1:]) if more else self.sentences[1:]

    def to_dict(self) -> dict[str, Json]:
        """JSON types only."""
        numbers = {name: formatting.plain(value) for name, value in self.numbers.items()}
        return {"confidence_percent": TIMES, **numbers, "statement": list(self.sentences)}


NOTHING = Accuracy()
SHORT = "If fewer are returned than asked for: "  # begins what a list of all that was asked for need not say
OF_NOTHING = (SHORT, " is found if ", " to be found ")  # what is said of what is missing, also where all is
CHOSEN = ("No other item of the domain has", "No other score is")  # of one that was chosen
BELOW = "that is left out or ranked below another has"  # of items best first
OF_VALUES = "By counted values ("  # and then which
PAIRS = "For all pairs"  # begins what is said of differences of counts
LEAD = "lead"  # the least difference of two counts by which the larger is certain to be of more
TOO_MANY = ("too_many_below", "too_many_above")  # the columns of quantiles that say how far they are from their ranks
ABOUT_VALUES = "), "  # and then what is said of them
AT_ONCE = "are between low and high at once"  # of counts whose intervals hold together
EXCLUDED = "excluded_items"  # the parameter of a statement: how many items a list leaves out, or its column
AS_ASKED = ", as was asked."  # ends what an accuracy that was asked for comes to
NONE, NO_OTHER = "none could be released", "no other could be released"


DISCOVERED, OF_DOMAIN = "A discovered item", "An item of the domain"


def largest_whole_below(gap: Fraction) -> int:
    """Counts are whole: a gap that is below t is at most the largest whole number below t."""
    return max(0, gap.__ceil__() - 1)


# ---- what was chosen --------------------------------------------------------------------------------------


def chosen_item(gap: Fraction, scale: Scale | None) -> Accuracy:
    """Of one that was chosen; no scale is that of the caller's own scores."""
    if scale is not None:
        most = scale.format_score(largest_whole_below(gap))
        return Accuracy((f"{CHOSEN[0]} over {most} more than this one.",), {"gap": largest_whole_below(gap)})
    return Accuracy((f"{CHOSEN[1]} over {formatting.price(gap)} higher than that of this one.",), {"gap": gap})


def ranking(gap: int, *, what: str = "An item", scale: Scale = USERS) -> Accuracy:
    """Of items best first: of all that there are, of a domain, or of those that were discovered."""
    said = f"{what} {BELOW} at most {scale.format_score(gap)} more than that other."
    return Accuracy((said,), {"gap": scale.value(gap)})


def unordered_set(gap: int, scale: Scale = USERS) -> Accuracy:
    """Of a set of items of a domain."""
    said = f"{OF_DOMAIN} that is left out has at most {scale.format_score(gap)} more than any one here."
    return Accuracy((said,), {"gap": scale.value(gap)})


def early_end(reach: int, after: int, scale: Scale = USERS) -> Accuracy:
    """Of a list that may come back shorter than k."""
    said = (
        f"{SHORT}no missing item has over {scale.format_score(reach)} more than the "
        f"item at rank {after:,} (over {scale.format_score(reach)} in total, if there are fewer items)."
    )
    return Accuracy((said,), {"reach": scale.value(reach), "rank_of_reach": after})


def planned_ranks(
    gap: int, added: int | None, several: bool, values: str, scale: Scale, *, shared: int | None = None
) -> Accuracy:
    """Of quantiles that are not drawn yet, of the counted `values`, whatever the data are.

    What an answer states is `added` above what is true on average, where that is less than the gap. `shared` is the
    number of users at one value that the gap is for.
    """
    whom = "any of the values" if several else "the value"
    said = (
        f"{OF_VALUES}{values}{ABOUT_VALUES}at most {scale.format_score(gap)} too many will lie below {whom}, or above."
    )
    if shared is not None:
        said += f" Where over {shared // 10**6} million users share one value, it may be more."
    numbers: dict[str, object] = {"gap": gap}
    if added is not None:
        numbers["added_by_noise"] = added
        said += (
            f" The answer states how many by counts with noise, on average about {added:,} more than there are, if all "
            "values differ."
        )
    return Accuracy((said,), numbers)


def ranks(most: tuple[int, int], users: int, width: int, several: bool, values: str, scale: Scale) -> Accuracy:
    """Of quantiles of the counted `values`, of about so many users, of whom `most` too many lie below and above."""
    below, above = most
    whom = "any of these values" if several else "the value"
    said = f"{OF_VALUES}{values}{ABOUT_VALUES}of about {scale.format_score(max(0, users))} {format_at_most(below)} too many lie below "
    said += f"{whom}, and {format_at_most(above)} too many above"
    if several:
        said += "; too_many_below and too_many_above have the numbers of each value, which hold at once"
    said += "."
    of_users = f"The {scale.truth} is {max(0, users):,} plus or minus {width:,}."
    numbers = {"too_many_below": below, "too_many_above": above, "users": users, "width_of_users": width}
    return Accuracy((said, of_users), numbers)


def format_at_most(number: int) -> str:
    """How many there are at most, before what they are."""
    return f"at most {number:,}" if number else "none"


def ranks_of_groups(most: tuple[int, int], several: bool, values: str, scale: Scale) -> Accuracy:
    """Of quantiles in every group, whose numbers the table has; `most` are the largest of all groups."""
    said = (
        f"{OF_VALUES}{values}{ABOUT_VALUES}at most too_many_below {scale.counted}users too many lie below "
        f"{'a' if several else 'the'} value, and at most too_many_above too many above"
    )
    said += "; the numbers of all values of a group hold at once." if several else "."
    numbers = {"too_many_below": most[0], "too_many_above": most[1]}
    return Accuracy((said,), numbers)


# ---- counts -----------------------------------------------------------------------------------------------


Number = int | float
ONE_ROW = "any one row, chosen beforehand,"
OUTSIDE = "about 1 in 20 rows may be outside"


def score_interval(count: int | None, width: int | None, scale: Scale = USERS) -> tuple[Number | None, Number | None]:
    """Between which scores the true one lies; none is below 0."""
    if count is None or width is None:
        return None, None
    return scale.value(max(0, count - width)), scale.value(max(0, count + width))


def separate_counts(width: int, scale: Scale = USERS, nearer: str = "") -> Accuracy:
    """Of counts with noise of their own, which the choice of the items has not seen."""
    spread = f"{scale.value(width):,}{nearer}"
    said = f"The {scale.truth} of {ONE_ROW} is between low and high: {scale.noisy} plus or minus {spread}; {OUTSIDE}."
    return Accuracy((said,), {"width_of_counts": scale.value(width)})


def leads(lead: int, scale: Scale = USERS, what: str = "item", within: str = "") -> Accuracy:
    """Of differences of counts: all pairs at once, of noise that has not chosen the items.

    `within` says of which items, where not of all.
    """
    less = f"n - {scale.value(lead - 1):,}" if lead > 1 else "n"
    said = (
        f"{PAIRS} of {what}s{within} at once: where {scale.noisy} of one is larger by n, its {scale.truth} is larger "
        f"by at least {less}. Certain places among them follow from this."
    )
    return Accuracy((said,), {LEAD: scale.value(lead)})


def users_of_groups(width: int, scale: Scale = USERS) -> Accuracy:
    """Of the noisy numbers of users of groups; of weights these are users who give an item something."""
    truth = "number of counted users" if scale.bounds else "true number of users"
    said = (
        f"The {truth} of any one group, chosen beforehand, is between low and high: "
        f"{score_column(GROUP_USERS, scale.parameters)} plus or minus {width:,}."
    )
    return Accuracy((said,), {"width_of_group_users": width})


def count_of_users(width: int, scale: Scale = USERS) -> Accuracy:
    """Of the number of all users."""
    said = f"The {scale.truth} is between low and high: {scale.noisy} plus or minus {width:,}."
    return Accuracy((said,), {"width_of_counts": width})


def counts_of_all(width: int, one: int, scale: Scale = USERS, what: str = "item") -> Accuracy:
    """Of the counts of a whole domain, each with noise of its own."""
    single = f"That of one {what}, chosen before the counts are seen, is within {scale.format_score(one)} of its count."
    return Accuracy((_at_once(width, scale, what), single), {"width_of_counts": width, "width_of_one_count": one})


def _at_once(width: int, scale: Scale, what: str = "item") -> str:
    """That all intervals hold together."""
    truth = scale.truth.replace("number", "numbers", 1)
    return f"The {truth} of all {what}s {AT_ONCE}: {scale.noisy} plus or minus {width:,}."


def union_counts(widths: Sequence[int], scale: Scale) -> Accuracy:
    """Of the counts of a union, in which every user counts for a few of their items."""
    return separate_counts(max(widths), scale, ", or nearer" if len(set(widths)) > 1 else "")


def selecting_counts(width: int, scale: Scale) -> Accuracy:
    """Of the noisy counts of a union that decided which items it has."""
    said = (
        f"The {scale.truth} of {ONE_ROW} is between low and high, even if noise lifted it above the threshold: "
        f"for counts far above it, {scale.noisy} plus or minus {width:,}; {OUTSIDE}."
    )
    return Accuracy((said,), {"width_of_counts": width})


def format_users(number: int) -> str:
    """So many users."""
    return USERS.format_score(number)
