"""Sentences about what no item is searched for: a histogram, numbers of users, and a choice of one by its score."""

from __future__ import annotations

from fractions import Fraction

from dpselect._ground.privacy import Neighbors
from dpselect.release import formatting
from dpselect.release.answers.items_left_out import describe_sampling

_COUNTS = " If each is a number of users, say monotonic=True: the answer is as good at half the epsilon."


def describe_histogram(noise: str, max_items_per_user: int | None) -> tuple[str, str]:
    """Describe the counts of a whole domain, with this noise."""
    sampled = describe_sampling(max_items_per_user)
    return (
        f"The domain is given, and the numbers of users of all its items are released together.{sampled}",
        f"Each count carries discrete {noise}; it may be negative.",
    )


def describe_gaussian(variance: Fraction) -> str:
    """Describe Gaussian noise, which is taken only where it is nearer."""
    deviation = formatting.round_digits(float(variance) ** 0.5, 3)
    return f"Gaussian noise of standard deviation {deviation} users, which is nearer here"


def describe_laplace(rate: Fraction) -> str:
    """Describe Laplace noise of this rate."""
    return f"Laplace noise of scale {formatting.round_digits(float(1 / rate), 4)} users"


def describe_shared(variance: Fraction, *, gaussian: bool) -> str:
    """Describe noise of which all counts have one part in common, and what that means for differences and sums."""
    deviation = formatting.round_digits(float(variance) ** 0.5, 3)
    shape = "Gaussian" if gaussian else "Laplace"
    return (
        f"{shape} noise of standard deviation {deviation} users, of which one part is the same for all counts, so that "
        "differences of counts are more accurate than counts, and sums less"
    )


def describe_laplace_exactly(rate: Fraction) -> str:
    """Describe Laplace noise of this rate, whose scale has few digits."""
    return f"Laplace noise of scale {formatting.short(1 / rate)} users"


def describe_users(noise: str, *, in_groups: bool) -> tuple[str, str, str]:
    """Describe the number of all users, or those of listed groups, with this noise."""
    return (
        "The groups are listed, and the numbers of users of all of them are released together."
        if in_groups
        else "The number of distinct users in all selected rows.",
        f"{'Each' if in_groups else 'The'} number carries discrete {noise}; below 0 it is shown as 0.",
        "Any selected row makes its user count, even one without an item.",
    )


def describe_scores(*, of_users: bool, monotonic: bool, sensitivity: Fraction, neighbors: Neighbors) -> str:
    """Say what is assumed of the scores: counts of distinct users, or the caller's own."""
    scores = "Scores are counts of distinct users" if of_users else "Scores are the caller's"
    effect = "all scores the same way (monotonic)" if monotonic else "scores in either direction (factor 2)"
    sentence = f"{scores}; one user moves each by at most {float(sensitivity):g}, and {effect}."
    if not of_users and not monotonic and neighbors is Neighbors.ADD_REMOVE:
        sentence += _COUNTS
    return sentence
