"""The gamma mechanism: noise for a whole vector of counts, of equal density wherever the largest noise is equal."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpselect import parameters
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import Answer, Candidates, Input, Picks, counted, enough
from dpselect.mechanisms.cube import cube_radius
from dpselect.mechanisms.port import secure
from dpselect.mechanisms.ranking import largest
from dpselect.mechanisms.widths import cube_width
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, Privacy, PureDP, neighbors, one_step


@dataclass(frozen=True, kw_only=True)
class GammaMechanism:
    """Select k of a known domain of size d by noisy counts, whose noise vector z weighs exp(-epsilon max |z_i|).

    Every count gets noise of size about d / (2 epsilon): hopeless but for a handful of candidates. Kept for comparison.
    All noisy counts are private together, so those of the answer come with it at no cost (`with_counts`).

    Guarantee: epsilon-DP, even if all noisy counts were published.
    Neighbors: add-remove or replace-one of one user.
    Sensitivity: one user moves every count by at most 1, as many of them as they like, either way.
    Exactness: whole noise of exactly this law: a radius n of weight exp(-epsilon n) (2n + 1)^d, then every z_i uniform
        on -n .. n. The continuous original has a Gamma(d + 1, 1 / epsilon) radius and uniform noise below it.
    Cost: one radius, then a uniform number for each candidate, listed or not.
    Source: the k-norm mechanism (Hardt and Talwar 2010) for the largest norm, which seed 000, Section 4, tried (its
        reference 13); on whole numbers and with the proof on its page.
    Example:
        >>> GammaMechanism(k=2, epsilon=4)([900, 5, 600, 7]).tolist()
        [0, 2]
    """

    k: int
    epsilon: Number
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        parsed = {
            "k": parameters.listed("k", self.k),
            "epsilon": parameters.epsilon("epsilon", self.epsilon),
            "neighbors": neighbors(self.neighbors),
        }
        for name, value in parsed.items():
            object.__setattr__(self, name, value)

    @property
    def privacy(self) -> Privacy:
        """One pure step."""
        return one_step(PureDP(Fraction(self.epsilon)), self.neighbors)

    def width(self, beta: float, candidates: int) -> int:
        """All noise lies within so many users of 0 at once, but with probability beta."""
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
        """The same, given the radius of the noise."""
        sizes = [1] * len(among.scores) if among.sizes is None else among.sizes.tolist()
        places = [(g, r) for g, size in enumerate(sizes) for r in range(size)]
        side = 2 * radius + 1
        noisy = [int(among.scores[g]) + draws.below(side) - radius for g, _ in places]
        best = largest(noisy, self.k, draws)
        return [places[i] for i in best], [noisy[i] for i in best]
