"""The naive noisy histogram: what selection costs when every count is made private first."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpselect import parameters
from dpselect.draws import Draws, Noise
from dpselect.mechanisms import choice
from dpselect.mechanisms.candidates import Answer, Input, candidates
from dpselect.mechanisms.port import secure
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, Privacy, PureDP, one_step


@dataclass(frozen=True, kw_only=True)
class NoisyHistogram:
    """Choose the largest of counts that carry noise for the whole histogram: a comparison, not a recommendation.

    A user who touches m counts moves the histogram by m in the l1 norm, so the Laplace noise has scale
    m / epsilon, where m is `max_items_per_user` or, without that, the number of candidates. Replacing a user
    who touches m counts by another moves 2 m.

    Guarantee: epsilon-DP, even if all noisy counts were published with the winner.
    Neighbors: add-remove or replace-one of one user (twice the noise).
    Sensitivity: one user moves each of at most `max_items_per_user` counts by at most `sensitivity`.
    Exactness: as in ReportNoisyMax.
    Cost: one pass over the counts and 8 random bytes for each.
    Source: seed 002, its "why don't we just do that?"; Dwork, McSherry, Nissim and Smith 2006, Proposition 1.
    Example:
        >>> NoisyHistogram(epsilon=2)({"left": 3, "right": 90})
        ['right']
    """

    epsilon: Number
    max_items_per_user: int | None = None
    k: int = 1
    sensitivity: Number = 1
    monotonic: bool = False  # makes no difference here: the noise is for the whole histogram
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        choice.parse(self)
        if self.max_items_per_user is not None:
            parameters.whole("max_items_per_user", self.max_items_per_user, least=1)

    @property
    def privacy(self) -> Privacy:
        """One pure step."""
        return one_step(PureDP(Fraction(self.epsilon)), self.neighbors)

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """The chosen candidate, as one index or label."""
        among = candidates(counts)
        touched = min(self.max_items_per_user or among.count, among.count)
        moved = touched * (2 if self.neighbors is Neighbors.REPLACE_ONE else 1)
        rate = Fraction(self.epsilon) / (moved * Fraction(self.sensitivity))
        return among.names([secure(draws).noisy_max(among.weights(rate), Noise.LAPLACE)])
