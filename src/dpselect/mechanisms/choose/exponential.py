"""The exponential mechanism."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import BoundedRange
from dpselect.draws import Draws
from dpselect.mechanisms import gaps
from dpselect.mechanisms.candidates import Candidates
from dpselect.mechanisms.choose.port import Choice


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism(Choice):
    """Choose one candidate with probability in proportion to exp(epsilon x score / (2 sensitivity)).

    Guarantee: epsilon-DP; as one epsilon-bounded-range step it is also epsilon^2/8-zCDP.
    Neighbors: add-remove or replace-one of one user.
    Sensitivity: one user moves every score by at most `sensitivity`. With `monotonic=True` (one more user
        moves all scores the same way; add-remove only) the 2 falls away, which halves the price.
    Exactness: the distribution is exact; scores are ints, Fractions, or floats taken as the rationals they are.
    Cost: one pass over the scores, then one draw.
    Source: McSherry and Talwar 2007, Theorem 6; Durfee and Rogers 2019, Lemma 4.3, for monotonic scores
        and the bounded range (their epsilon is the rate of the weights, ours the price of the call).
    Example:
        >>> votes = {"Network Effect": 90, "Hench": 2, "The Relentless Moon": 1}
        >>> ExponentialMechanism(epsilon=2, monotonic=True)(votes)
        ['Network Effect']
    """

    step: ClassVar[type[BoundedRange]] = BoundedRange

    def gap(self, beta: float, candidates: int) -> Fraction:
        """Return the gap: no candidate has a score that is larger by more, but with probability beta."""
        return gaps.exponential(self.rate, gaps.log_others(candidates), beta)

    def pick(self, candidates: Candidates, draws: Draws) -> tuple[int, int]:
        """Draw a candidate as (group, member) in proportion to its weight."""
        return draws.categorical(candidates.weights(self.rate))
