"""Permute-and-flip, without permuting."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpselect.draws import Draws
from dpselect.mechanisms import choice, gaps
from dpselect.mechanisms.candidates import Answer, Input, candidates
from dpselect.mechanisms.port import secure
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, Privacy, PureDP, one_step


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip:
    """Choose one candidate; never worse in expectation than the exponential mechanism at the same epsilon.

    In random order, candidate i is accepted with probability exp(-epsilon (best - score_i) / (2 sensitivity)). All
    coins are flipped at once here and the answer is uniform among the heads, which is the same law.

    Guarantee: epsilon-DP. Its bounded range is larger than epsilon, so it has the zCDP of any pure mechanism,
        epsilon^2/2, not that of the exponential mechanism.
    Neighbors: add-remove or replace-one of one user.
    Sensitivity: one user moves every score by at most `sensitivity`. With `monotonic=True` (one more user
        moves all scores the same way; add-remove only) the 2 falls away, which halves the price.
    Exactness: the law is exact; scores are ints, Fractions, or floats taken as the rationals they are.
    Cost: one pass over the scores, then a coin for each candidate near the best.
    Source: McKenna and Sheldon 2020, Algorithm 1 and Theorem 1; changed as said, proof on its page.
    Example:
        >>> PermuteAndFlip(epsilon=2, monotonic=True)({"left": 3, "right": 90})
        ['right']
    """

    epsilon: Number
    k: int = 1
    sensitivity: Number = 1
    monotonic: bool = False
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        choice.parse(self)

    @property
    def privacy(self) -> Privacy:
        """One pure step."""
        return one_step(PureDP(Fraction(self.epsilon)), self.neighbors)

    def gap(self, beta: float, candidates: int) -> Fraction:
        """No candidate has a score that is larger by more than this, but with probability beta."""
        return gaps.flipped(choice.rate(self), gaps.others(candidates), beta)

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """The chosen candidate, as one index or label."""
        among, draws = candidates(counts), secure(draws)
        weights = among.weights(choice.rate(self))
        heads = draws.heads(weights)
        place = draws.below(sum(count for _, count in heads))
        for group, count in heads:
            if place < count:
                return among.names([(group, draws.below(weights.size(group)))])
            place -= count
        raise AssertionError("a place below the number of heads falls into a group")
