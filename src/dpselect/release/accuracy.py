"""How good an answer is, in words that need no theory, and the numbers in them. Proofs: docs/accuracy.md.

Each sentence holds with 95 % confidence, whatever the data: it follows from the parameters, the number of candidates
and the answer itself, never from a true count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction

from dpselect._ground.dataclass import dataclass
from dpselect.release import formatting
from dpselect.release.formatting import Json
from dpselect.release.scale import GROUP_USERS, USERS, Scale, score_column

CONFIDENCE_PERCENT = 95  # of 100 answers
BETA = 1 - CONFIDENCE_PERCENT / 100


@dataclass(frozen=True)
class Accuracy:
    """Sentences that hold with `CONFIDENCE_PERCENT` % confidence, each by itself, and the `numbers` in them."""

    sentences: tuple[str, ...] = ()
    numbers: Mapping[str, object] = field(default_factory=dict)

    def __add__(self, other: Accuracy) -> Accuracy:
        return Accuracy((*self.sentences, *other.sentences), {**self.numbers, **other.numbers})

    @property
    def without_items(self) -> Accuracy:
        """Accuracy of an answer without items: the sentences that hold of missing items."""
        sentences = [sentence for sentence in self.sentences if any(mark in sentence for mark in OF_NOTHING)]
        return Accuracy(
            tuple(sentence.replace(f"{IF_FEWER}no missing item", "No item") for sentence in sentences), self.numbers
        )

    @property
    def opening_and_remainder(self) -> tuple[str, tuple[str, ...]]:
        """First sentence as it continues the headline of an answer, and the sentences that remain."""
        if not self.sentences or not self.numbers:  # a sentence without a number says what cannot be said
            return "", self.sentences
        first, _, remainder = self.sentences[0].partition(". ")
        clause = ": ".join(f"{part[0].lower()}{part[1:]}" for part in first.removesuffix(".").split(": "))
        return f"With {CONFIDENCE_PERCENT} % confidence, {clause}.", (
            remainder,
            *self.sentences[1:],
        ) if remainder else self.sentences[1:]

    def to_dict(self) -> dict[str, Json]:
        """Return the accuracy in JSON types."""
        numbers = {name: formatting.plain(value) for name, value in self.numbers.items()}
        return {"confidence_percent": CONFIDENCE_PERCENT, **numbers, "statement": list(self.sentences)}


NO_ACCURACY = Accuracy()
IF_FEWER = "If fewer are returned than asked for: "  # begins what a list of all that was asked for need not say
OF_NOTHING = (IF_FEWER, " is found if ", " to be found ")  # what is said of what is missing, also where all is
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
    """Return the largest count below a gap, since counts are whole; at least 0."""
    return max(0, gap.__ceil__() - 1)


# ---- what was chosen --------------------------------------------------------------------------------------


def chosen_item(gap: Fraction, scale: Scale | None) -> Accuracy:
    """Return the accuracy of an item that was chosen; without a scale, by scores of the caller's own."""
    if scale is not None:
        score = scale.format_score(largest_whole_below(gap))
        return Accuracy((f"{CHOSEN[0]} over {score} more than this one.",), {"gap": largest_whole_below(gap)})
    return Accuracy((f"{CHOSEN[1]} over {formatting.price(gap)} higher than that of this one.",), {"gap": gap})


def ranking(gap: int, *, noun: str = "An item", scale: Scale = USERS) -> Accuracy:
    """Return the accuracy of items best first: of all items, of a domain, or of those that were discovered."""
    sentence = f"{noun} {BELOW} at most {scale.format_score(gap)} more than that other."
    return Accuracy((sentence,), {"gap": scale.value(gap)})


def unordered_set(gap: int, scale: Scale = USERS) -> Accuracy:
    """Return the accuracy of a set of items of a domain."""
    sentence = f"{OF_DOMAIN} that is left out has at most {scale.format_score(gap)} more than any one here."
    return Accuracy((sentence,), {"gap": scale.value(gap)})


def early_end(reach: int, after: int, scale: Scale = USERS) -> Accuracy:
    """Return the accuracy of a list that may be shorter than k."""
    sentence = (
        f"{IF_FEWER}no missing item has over {scale.format_score(reach)} more than the "
        f"item at rank {after:,} (over {scale.format_score(reach)} in total, if there are fewer items)."
    )
    return Accuracy((sentence,), {"reach": scale.value(reach), "rank_of_reach": after})


def planned_ranks(
    gap: int, added: int | None, several: bool, values: str, scale: Scale, *, shared: int | None = None
) -> Accuracy:
    """Return the accuracy of quantiles that are not drawn yet, of the counted `values`, for any data.

    What an answer states is `added` above what is true on average, where that is less than the gap. `shared` is the
    number of users at one value that the gap is for.
    """
    subject = "any of the values" if several else "the value"
    sentence = (
        f"{OF_VALUES}{values}{ABOUT_VALUES}at most {scale.format_score(gap)} too many will lie below {subject}, "
        "or above."
    )
    if shared is not None:
        sentence += f" Where over {shared // 10**6} million users share one value, it may be more."
    numbers: dict[str, object] = {"gap": gap}
    if added is not None:
        numbers["added_by_noise"] = added
        sentence += (
            f" The answer states how many by counts with noise, on average about {added:,} more than there are, if all "
            "values differ."
        )
    return Accuracy((sentence,), numbers)


def ranks(too_many: tuple[int, int], users: int, width: int, several: bool, values: str, scale: Scale) -> Accuracy:
    """Return the accuracy of quantiles: `too_many` of about `users` lie below and above at most."""
    too_many_below, too_many_above = too_many
    subject = "any of these values" if several else "the value"
    sentence = (
        f"{OF_VALUES}{values}{ABOUT_VALUES}of about {scale.format_score(max(0, users))} "
        f"{format_at_most(too_many_below)} too many lie below {subject}, and "
        f"{format_at_most(too_many_above)} too many above"
    )
    if several:
        sentence += "; too_many_below and too_many_above have the numbers of each value, which hold at once"
    sentence += "."
    users_sentence = f"The {scale.true_number} is {max(0, users):,} plus or minus {width:,}."
    numbers = {
        "too_many_below": too_many_below,
        "too_many_above": too_many_above,
        "users": users,
        "width_of_users": width,
    }
    return Accuracy((sentence, users_sentence), numbers)


def format_at_most(number: int) -> str:
    """Format an upper bound on a number."""
    return f"at most {number:,}" if number else "none"


def ranks_of_groups(too_many: tuple[int, int], several: bool, values: str, scale: Scale) -> Accuracy:
    """Return the accuracy of quantiles in every group; `too_many` are the largest numbers of all groups."""
    sentence = (
        f"{OF_VALUES}{values}{ABOUT_VALUES}at most too_many_below {scale.counted_prefix}users too many lie below "
        f"{'a' if several else 'the'} value, and at most too_many_above too many above"
    )
    sentence += "; the numbers of all values of a group hold at once." if several else "."
    numbers = {"too_many_below": too_many[0], "too_many_above": too_many[1]}
    return Accuracy((sentence,), numbers)


# ---- counts -----------------------------------------------------------------------------------------------


Number = int | float
ONE_ROW = "any one row, chosen beforehand,"
ROWS_OUTSIDE = "about 1 in 20 rows may be outside"


def score_interval(count: int | None, width: int | None, scale: Scale = USERS) -> tuple[Number | None, Number | None]:
    """Return the ends between which the score without noise lies; none is below 0."""
    if count is None or width is None:
        return None, None
    return scale.value(max(0, count - width)), scale.value(max(0, count + width))


def separate_counts(width: int, scale: Scale = USERS, nearer: str = "") -> Accuracy:
    """Return the accuracy of counts with noise of their own, on which the choice of the items does not depend."""
    spread = f"{scale.value(width):,}{nearer}"
    sentence = (
        f"The {scale.true_number} of {ONE_ROW} is between low and high: {scale.noisy_number} plus or minus {spread}; "
        f"{ROWS_OUTSIDE}."
    )
    return Accuracy((sentence,), {"width_of_counts": scale.value(width)})


def leads(lead: int, scale: Scale = USERS, noun: str = "item", within: str = "") -> Accuracy:
    """Return the accuracy of differences of counts: of all pairs at once, by noise that has not chosen the items.

    `within` says of which items, where not of all.
    """
    least_difference = f"n - {scale.value(lead - 1):,}" if lead > 1 else "n"
    sentence = (
        f"{PAIRS} of {noun}s{within} at once: where {scale.noisy_number} of one is larger by n, its "
        f"{scale.true_number} is larger by at least {least_difference}. Certain places among them follow from this."
    )
    return Accuracy((sentence,), {LEAD: scale.value(lead)})


def users_of_groups(width: int, scale: Scale = USERS) -> Accuracy:
    """Return the accuracy of noisy numbers of users of groups; with weights, of users who give an item something."""
    truth = "number of counted users" if scale.bounds else "true number of users"
    sentence = (
        f"The {truth} of any one group, chosen beforehand, is between low and high: "
        f"{score_column(GROUP_USERS, scale.parameters)} plus or minus {width:,}."
    )
    return Accuracy((sentence,), {"width_of_group_users": width})


def count_of_users(width: int, scale: Scale = USERS) -> Accuracy:
    """Return the accuracy of the number of all users."""
    sentence = f"The {scale.true_number} is between low and high: {scale.noisy_number} plus or minus {width:,}."
    return Accuracy((sentence,), {"width_of_counts": width})


def counts_of_all(width: int, single_width: int, scale: Scale = USERS, noun: str = "item") -> Accuracy:
    """Return the accuracy of the counts of a whole domain, each with noise of its own."""
    single = (
        f"That of one {noun}, chosen before the counts are seen, is within {scale.format_score(single_width)} of its "
        "count."
    )
    return Accuracy(
        (_at_once(width, scale, noun), single), {"width_of_counts": width, "width_of_one_count": single_width}
    )


def _at_once(width: int, scale: Scale, noun: str = "item") -> str:
    """Return the sentence that all intervals hold at once."""
    truth = scale.true_number.replace("number", "numbers", 1)
    return f"The {truth} of all {noun}s {AT_ONCE}: {scale.noisy_number} plus or minus {width:,}."


def union_counts(widths: Sequence[int], scale: Scale) -> Accuracy:
    """Return the accuracy of the counts of a union, in which every user counts for a few of their items."""
    return separate_counts(max(widths), scale, ", or nearer" if len(set(widths)) > 1 else "")


def selecting_counts(width: int, scale: Scale) -> Accuracy:
    """Return the accuracy of the noisy counts that decided which items a union has."""
    sentence = (
        f"The {scale.true_number} of {ONE_ROW} is between low and high, even if noise lifted it above the threshold: "
        f"for counts far above it, {scale.noisy_number} plus or minus {width:,}; {ROWS_OUTSIDE}."
    )
    return Accuracy((sentence,), {"width_of_counts": width})


def format_users(number: int) -> str:
    """Format a number of users."""
    return USERS.format_score(number)
