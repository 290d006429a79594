"""Sentences about a choice: of one item of a domain, or of one of the caller's own scores."""

from __future__ import annotations

from fractions import Fraction

from dpselect._ground.privacy import Neighbors

_COUNTS = " If each is a number of users, say monotonic=True: the answer is as good at half the epsilon."


def describe_scores(*, of_users: bool, monotonic: bool, sensitivity: Fraction, neighbors: Neighbors) -> str:
    """Say what is assumed of the scores: counts of distinct users, or the caller's own."""
    scores = "Scores are counts of distinct users" if of_users else "Scores are the caller's"
    effect = "all scores the same way (monotonic)" if monotonic else "scores in either direction (factor 2)"
    sentence = f"{scores}; one user moves each by at most {float(sensitivity):g}, and {effect}."
    if not of_users and not monotonic and neighbors is Neighbors.ADD_REMOVE:
        sentence += _COUNTS
    return sentence
