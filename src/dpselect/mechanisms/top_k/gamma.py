"""The gamma mechanism: joint noise for all counts, whose probability depends on its l-infinity norm only."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpselect import parameters
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import Answer, Candidates, Input, Picks, counted, enough
from dpselect.mechanisms.port import secure, settle
from dpselect.mechanisms.top_k.gamma_radius import cube_radius
from dpselect.mechanisms.top_k.noisy_ranking import largest
from dpselect.mechanisms.widths import cube_width
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, Privacy, PureDP, neighbors, one_step


@dataclass(frozen=True, kw_only=True)
class GammaMechanism:
    """Select k of a known domain of size d by noisy counts, with noise z of weight exp(-epsilon max |z_i|).

    Every count gets noise of size about d / (2 epsilon): useless except for a handful of candidates. Kept for
    comparison. All noisy counts together are private, so those of the answer are released free (`with_counts`).

    Guarantee: epsilon-DP, even if all noisy counts were published.
    Neighbors: add-remove or replace-one of one user.
    Sensitivity: one user changes every count by at most 1, any number of them, in either direction.
    Exactness: integer noise with exactly this distribution: a radius n of weight exp(-epsilon n) (2n + 1)^d, then
        every z_i uniform on -n .. n. The continuous original has a Gamma(d + 1, 1 / epsilon) radius and uniform noise
        below it.
    Cost: one radius, then a uniform number for each candidate, listed or not.
    Source: the k-norm mechanism (Hardt and Talwar 2010) for the l-infinity norm, which Gillenwater et al.
        2021, Section 4, tried; for integers, with the proof on its page.
    Example:
        >>> GammaMechanism(k=2, epsilon=4)([900, 5, 600, 7]).tolist()
        [0, 2]
    """

    k: int
    epsilon: Number
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        k, epsilon = parameters.listed("k", self.k), parameters.epsilon("epsilon", self.epsilon)
        settle(self, k=k, epsilon=epsilon, neighbors=neighbors(self.neighbors))

    @property
    def privacy(self) -> Privacy:
        """One pure step."""
        return one_step(PureDP(Fraction(self.epsilon)), self.neighbors)

    def width(self, beta: float, candidates: int) -> int:
        """The bound in users on all noises at once that holds except with probability beta."""
        return cube_width(candidates, Fraction(self.epsilon), beta)

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """k indices or labels, best first."""
        return self.with_counts(counts, draws=draws)[0]

    def with_counts(self, counts: Input, *, draws: Draws | None = None) -> tuple[Answer, list[int]]:
        """k indices or labels, best first, and their noisy counts."""
        among = counted(counts)
        picks, noisy = self.picks_with_counts(among, secure(draws))
        return among.names(picks), noisy

    def picks_with_counts(self, among: Candidates, draws: Draws) -> tuple[Picks, list[int]]:
        """k candidates as (group, member), best first, and their noisy counts."""
        enough(self.k, among)
        return self.within(cube_radius(draws, among.count, Fraction(self.epsilon)), among, draws)

    def within(self, radius: int, among: Candidates, draws: Draws) -> tuple[Picks, list[int]]:
        """`picks_with_counts`, given the radius of the noise."""
        sizes = [1] * len(among.scores) if among.sizes is None else among.sizes.tolist()
        places = [(g, r) for g, size in enumerate(sizes) for r in range(size)]
        side = 2 * radius + 1
        noisy = [int(among.scores[g]) + draws.below(side) - radius for g, _ in places]
        best = largest(noisy, self.k, draws)
        return [places[i] for i in best], [noisy[i] for i in best]
