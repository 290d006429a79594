"""The distribution of report noisy max in closed form: integrals of polynomials in z = e^-t.

In units of 1 / rate group g has the score a_g and h_g = e^(a_g). It wins with probability

    integral of n_g f(t - a_g) F(t - a_g)^(n_g - 1) x product over the others of F(t - a_h)^(n_h) dt.

Between neighbouring scores F is 1 - h z / 2 (score below t) or 1 / (2 h z) (score above t), and f dt is h dz / 2 or
dz / (2 h z^2), for Laplace noise; 1 - h z and h dz for exponential noise, where t is above the best score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import arb, ctx

from dpselect.draws.weights import Weights
from dpselect.papers.noisy_max import Noise

PRECISION = 256

Terms = dict[int, arb]  # power of z -> coefficient


def noisy_max_law(weights: Weights, noise: Noise) -> list[arb]:
    """Compute for each group the probability that the winner is in it."""
    groups = range(len(weights))
    best = max(weights.score(g) for g in groups)
    heights = [weights.ratio(g, best).ball(PRECISION) for g in groups]
    with ctx.workprec(PRECISION):
        half = arb(1) if noise is Noise.EXPONENTIAL else arb(1) / 2
        race = _Race(heights, [weights.size(g) for g in groups], half)
        return [race.wins(g) for g in groups]


@dataclass(frozen=True)
class _Race:
    heights: Sequence[arb]
    sizes: Sequence[int]
    half: arb

    def wins(self, winner: int) -> arb:
        """Compute the probability that the winner is in this group, piece by piece from t above all scores down."""
        order = sorted(range(len(self.heights)), key=lambda g: float(self.heights[g].mid()), reverse=True)
        pieces = 1 if self.half == 1 else len(order) + 1
        edges = [arb(0), *(1 / self.heights[g] for g in order), None]
        total = arb(0)
        for piece, (start, end) in enumerate(list(pairwise(edges))[:pieces]):
            total += _integral(self._integrand(winner, set(order[:piece])), start, end)
        return total

    def _integrand(self, winner: int, above: set[int]) -> Terms:
        terms: Terms = {0: arb(self.sizes[winner])}
        for group, height in enumerate(self.heights):
            times = self.sizes[group] - (group == winner)
            stays = {-1: self.half / height} if group in above else {0: arb(1), 1: -self.half * height}
            for _ in range(times):
                terms = _product(terms, stays)
        h = self.heights[winner]
        density = {-2: self.half / h} if winner in above else {0: self.half * h}
        return _product(terms, density)


def _product(left: Terms, right: Terms) -> Terms:
    found: Terms = {}
    for i, a in left.items():
        for j, b in right.items():
            found[i + j] = found.get(i + j, arb(0)) + a * b
    return found


def _integral(terms: Terms, start: arb | None, end: arb | None) -> arb:
    """Integrate sum c z^p from start to end; None is infinity, where every power is below -1."""
    total = arb(0)
    for power, c in terms.items():
        if power == -1:
            total += c * (end / start).log()  # type: ignore[operator]
        else:
            total += c * (_power(end, power + 1) - _power(start, power + 1)) / (power + 1)
    return total


def _power(edge: arb | None, power: int) -> arb:
    """Compute z^power at an edge; infinity has only negative powers here."""
    return arb(0) if edge is None else edge**power
