"""The exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpselect.draws import Draws
from dpselect.mechanisms import choice, gaps
from dpselect.mechanisms.candidates import Answer, Input, candidates
from dpselect.mechanisms.port import secure
from dpselect.parameters import Number
from dpselect.privacy import BoundedRange, Neighbors, Privacy, one_step


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism:
    """Choose one candidate with probability in proportion to exp(epsilon x score / (2 sensitivity)).

    Guarantee: epsilon-DP; as one epsilon-bounded-range step it is also epsilon^2/8-zCDP.
    Neighbors: add-remove or replace-one of one user.
    Sensitivity: one user moves every score by at most `sensitivity`. With `monotonic=True` (one more user
        moves all scores the same way; add-remove only) the 2 falls away, which halves the price.
    Exactness: the law is exact; scores are ints, Fractions, or floats taken as the rationals they are.
    Cost: one pass over the scores, then one draw.
    Source: McSherry and Talwar 2007, Theorem 6; seed 002 for monotonic scores; seed 003, Lemma 4.3 for the
        bounded range (its epsilon is the rate of the weights, ours the price of the call).
    Example:
        >>> votes = {"Network Effect": 90, "Hench": 2, "The Relentless Moon": 1}
        >>> ExponentialMechanism(epsilon=2, monotonic=True)(votes)
        ['Network Effect']
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
        """One epsilon-bounded-range step."""
        return one_step(BoundedRange(Fraction(self.epsilon)), self.neighbors)

    def gap(self, beta: float, candidates: int) -> Fraction:
        """No candidate has a score that is larger by more than this, but with probability beta."""
        return gaps.exponential(choice.rate(self), gaps.others(candidates), beta)

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """The chosen candidate, as one index or label."""
        among = candidates(counts)
        return among.names([secure(draws).categorical(among.weights(choice.rate(self)))])
