"""Report noisy max, with Laplace or exponential noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpselect import parameters
from dpselect.draws import Draws, Noise
from dpselect.mechanisms import choice, gaps
from dpselect.mechanisms.candidates import Answer, Input, candidates
from dpselect.mechanisms.port import secure
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, Privacy, PureDP, one_step


@dataclass(frozen=True, kw_only=True)
class ReportNoisyMax:
    """Add noise of scale 2 sensitivity / epsilon to every score and choose the largest; only the winner is told.

    `noise="exponential"` has the law of permute-and-flip; `noise="laplace"` is the classic form.

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

    epsilon: Number
    noise: Noise = Noise.LAPLACE
    k: int = 1
    sensitivity: Number = 1
    monotonic: bool = False
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        choice.parse(self)
        hint = "Gumbel noise is the exponential mechanism"
        object.__setattr__(self, "noise", Noise(parameters.one_of("noise", self.noise, Noise, hint=hint)))

    @property
    def privacy(self) -> Privacy:
        """One pure step."""
        return one_step(PureDP(Fraction(self.epsilon)), self.neighbors)

    def gap(self, beta: float, candidates: int) -> Fraction:
        """No candidate has a score that is larger by more than this, but with probability beta."""
        law = gaps.laplace if self.noise is Noise.LAPLACE else gaps.flipped
        return law(choice.rate(self), gaps.others(candidates), beta)

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """The chosen candidate, as one index or label."""
        among = candidates(counts)
        return among.names([secure(draws).noisy_max(among.weights(choice.rate(self)), self.noise)])
