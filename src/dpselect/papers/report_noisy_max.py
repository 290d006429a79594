"""Report noisy max, with Laplace or exponential noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import PureDP
from dpselect.draws import Draws
from dpselect.mechanisms import gaps
from dpselect.mechanisms.candidates import Candidates
from dpselect.mechanisms.choose.port import Choice, parse
from dpselect.mechanisms.port import set_fields
from dpselect.papers.noisy_draws import noisy
from dpselect.papers.noisy_max import Noise


@dataclass(frozen=True, kw_only=True)
class ReportNoisyMax(Choice):
    """Add noise of scale 2 sensitivity / epsilon to every score and choose the largest; only the winner is told.

    As published; dpselect takes PermuteAndFlip instead, because it never expects a larger loss at this epsilon.

    `noise="exponential"` has the distribution of permute-and-flip; `noise="laplace"` is the classic form.

    Guarantee: epsilon-DP.
    Neighbors: add-remove or replace-one of one user.
    Sensitivity: one user moves every score by at most `sensitivity`. With `monotonic=True` (one more user
        moves all scores the same way; add-remove only) the 2 falls away, which halves the price.
    Exactness: the noise is continuous and never rounded: noisy scores are compared as intervals that more random
        bits make smaller, until one is certain to be the largest.
    Cost: one pass over the scores and 8 random bytes for each.
    Source: Dwork and Roth 2014, Claim 3.9 (Laplace); Ding et al. 2021 (exponential noise, and both without the
        2 for monotonic scores).
    Example:
        >>> ReportNoisyMax(epsilon=2, monotonic=True, noise="exponential")({"left": 3, "right": 90})
        ['right']
    """

    step: ClassVar[type[PureDP]] = PureDP

    noise: Noise = Noise.LAPLACE

    def __post_init__(self) -> None:
        parse(self)
        hint = "Gumbel noise is the exponential mechanism"
        set_fields(self, noise=Noise(parameters.one_of("noise", self.noise, Noise, hint=hint)))

    def gap(self, beta: float, candidates: int) -> Fraction:
        """Return the most by which another score exceeds the chosen one, except with probability beta."""
        law = laplace_gap if self.noise is Noise.LAPLACE else gaps.flipped
        return law(self.rate, gaps.log_others(candidates), beta)

    def pick(self, among: Candidates, draws: Draws) -> tuple[int, int]:
        """Return the index of the largest noisy score."""
        return noisy(draws).noisy_max(among.weights(self.rate), self.noise)


def laplace_gap(rate: Fraction, many: float, beta: float) -> Fraction:
    """Return the gap of scores with Laplace noise: the least t with many (2 + rate t) e^(-rate t) / 4 <= beta."""
    if many == gaps.NONE:
        return Fraction(0)
    low, high = 0.0, 2 * (many - math.log(beta)) + 4
    while high - low > 1e-9 * high:
        x = (low + high) / 2
        low, high = (x, high) if many + math.log((2 + x) / 4) - x > math.log(beta) else (low, x)
    return Fraction(high * gaps.OUTWARD) / rate
