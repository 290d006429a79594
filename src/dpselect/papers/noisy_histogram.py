"""The naive noisy histogram: what selection costs when every count is made private first."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import Neighbors, PureDP
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import Candidates
from dpselect.mechanisms.choose.port import Choice, parse
from dpselect.papers.noisy_draws import noisy
from dpselect.papers.noisy_max import Noise


@dataclass(frozen=True, kw_only=True)
class NoisyHistogram(Choice):
    """Choose the largest of counts that carry noise for the whole histogram: a comparison, not a recommendation.

    As published; dpselect takes PermuteAndFlip instead, because its noise does not grow with the items of a user.

    A user who touches m counts moves the histogram by m in the l1 norm, so the Laplace noise has scale
    m / epsilon, where m is `max_items_per_user` or, without that, the number of candidates. Replacing a user
    who touches m counts by another moves 2 m.

    Guarantee: epsilon-DP, even if all noisy counts were published with the winner.
    Neighbors: add-remove or replace-one of one user (twice the noise).
    Sensitivity: one user moves each of at most `max_items_per_user` counts by at most `sensitivity`.
    Exactness: as in ReportNoisyMax.
    Cost: one pass over the counts and 8 random bytes for each.
    Source: Dwork, McSherry, Nissim and Smith 2006, Proposition 1.
    Example:
        >>> NoisyHistogram(epsilon=2)({"left": 3, "right": 90})
        ['right']
    """

    step: ClassVar[type[PureDP]] = PureDP

    max_items_per_user: int | None = None

    def __post_init__(self) -> None:
        parse(self)
        if self.max_items_per_user is not None:
            parameters.whole_number("max_items_per_user", self.max_items_per_user, minimum=1)

    def pick(self, among: Candidates, draws: Draws) -> tuple[int, int]:
        """Return the index of the largest noisy count; whether counts are monotonic makes no difference here."""
        touched = min(self.max_items_per_user or among.count, among.count)
        moved = touched * (2 if self.neighbors is Neighbors.REPLACE_ONE else 1)
        rate = Fraction(self.epsilon) / (moved * Fraction(self.sensitivity))
        return noisy(draws).noisy_max(among.weights(rate), Noise.LAPLACE)
