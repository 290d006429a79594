"""Permute-and-flip, without permuting."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import PureDP
from dpselect.draws import Draws, Weights
from dpselect.mechanisms import gaps
from dpselect.mechanisms.candidates import Candidates
from dpselect.mechanisms.choose.port import Choice


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Choice):
    """Choose one candidate; never worse in expectation than the exponential mechanism at the same epsilon.

    In random order, candidate i is accepted with probability exp(-epsilon (best - score_i) / (2 sensitivity)). All
    are flipped at once here and the answer is uniform among those accepted, which is the same distribution.

    Guarantee: epsilon-DP. Its bounded range is larger than epsilon, so it has the zCDP of any pure mechanism,
        epsilon^2/2, not that of the exponential mechanism.
    Neighbors: add-remove or replace-one of one user.
    Sensitivity: one user moves every score by at most `sensitivity`. With `monotonic=True` (one more user
        moves all scores the same way; add-remove only) the 2 falls away, which halves the price.
    Exactness: the distribution is exact; scores are ints, Fractions, or floats taken as the rationals they are.
    Cost: one pass over the scores, then a Bernoulli draw for each candidate near the best.
    Source: McKenna and Sheldon 2020, Algorithm 1 and Theorem 1; changed as said, proof on its page.
    Example:
        >>> PermuteAndFlip(epsilon=2, monotonic=True)({"left": 3, "right": 90})
        ['right']
    """

    step: ClassVar[type[PureDP]] = PureDP

    def gap(self, beta: float, candidates: int) -> Fraction:
        """Return the gap: no candidate has a score that is larger by more, but with probability beta."""
        return gaps.flipped(self.rate, gaps.log_others(candidates), beta)

    def pick(self, candidates: Candidates, draws: Draws) -> tuple[int, int]:
        """Draw uniformly among the candidates that were accepted, as (group, member)."""
        weights = candidates.weights(self.rate)
        heads = draws.group_bernoullis(weights)
        head = draws.below(sum(count for _, count in heads))
        for group, count in heads:
            if head < count:
                return _alike(weights, group, draws)
            head -= count
        raise AssertionError("a place below the number of heads falls into a group")


def _alike(weights: Weights, group: int, draws: Draws) -> tuple[int, int]:
    """Draw any candidate of the same score: they are exchangeable, and the heads of all may stand under one of them."""
    if weights.sizes is not None:
        return group, draws.below(weights.size(group))
    equal = np.flatnonzero(weights.scores == weights.scores[group])
    return int(equal[draws.below(len(equal))]), 0
