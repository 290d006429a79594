"""The distribution of the k largest Laplace-noisy scores, in order: nested integrals in closed form.

With z = e^-t (in units of 1 / rate, counted from the best score) a larger noisy score is a smaller z. Candidate i
with h_i = e^(a_i) has f dt = h_i dz / 2 for z <= 1 / h_i and dz / (2 h_i z^2) beyond, and F = 1 - h_i z / 2 or
1 / (2 h_i z). So

    A_0(z) = 1,    A_j(z) = integral from 0 to z of A_(j-1) times the density of the j-th,
    P(order) = integral of A_(k-1) x the density of the k-th x the product of F over all others.

Between neighbouring 1 / h everything is a sum of c z^p (ln z)^q, and integrals of such sums are such sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flint import arb, ctx

from dpselect.draws.weights import Weights

PRECISION = 320

Terms = dict[tuple[int, int], arb]  # (power of z, power of ln z) -> coefficient
Pieces = list[Terms]  # one for each interval between edges


def noisy_top_law(weights: Weights, k: int) -> dict[tuple[int, ...], arb]:
    """Compute the probability of every order of groups among the k best; each candidate of a group counts."""
    sizes = [weights.size(g) for g in range(len(weights))]
    best = max(weights.score(g) for g in range(len(weights)))
    heights = [weights.ratio(g, best).ball(PRECISION) for g in range(len(weights))]
    with ctx.workprec(PRECISION):
        return _Orders(heights, sizes).law(k)


class _Orders:
    def __init__(self, heights: Sequence[arb], sizes: Sequence[int]) -> None:
        self.heights, self.sizes = heights, sizes
        self.ranked = sorted(range(len(heights)), key=lambda g: float(heights[g].mid()), reverse=True)
        self.edges: list[arb | None] = [arb(0), *(1 / heights[g] for g in self.ranked), None]

    def law(self, k: int) -> dict[tuple[int, ...], arb]:
        """Compute the probability of every order of k groups, from the first place on."""
        found: dict[tuple[int, ...], arb] = {}
        self._extend((), [{(0, 0): arb(1)} for _ in self.edges[1:]], arb(1), k, found)
        return found

    def _extend(
        self, order: tuple[int, ...], before: Pieces, ways: arb, k: int, found: dict[tuple[int, ...], arb]
    ) -> None:
        for group, size in enumerate(self.sizes):
            left = size - order.count(group)
            if left == 0:
                continue
            pieces = [_product(a, self._density(group, n)) for n, a in enumerate(before)]
            longer = (*order, group)
            if len(longer) < k:
                self._extend(longer, self._up_to(pieces), ways * left, k, found)
            else:
                found[longer] = ways * left * self._whole(pieces, longer)

    def _beyond(self, group: int, piece: int) -> bool:
        """Say whether this piece lies beyond 1 / h of the group, that is, below its score."""
        return self.ranked.index(group) < piece

    def _density(self, group: int, piece: int) -> Terms:
        h = self.heights[group]
        return {(-2, 0): 1 / (2 * h)} if self._beyond(group, piece) else {(0, 0): h / 2}

    def _stays(self, group: int, piece: int) -> Terms:
        h = self.heights[group]
        return {(-1, 0): 1 / (2 * h)} if self._beyond(group, piece) else {(0, 0): arb(1), (1, 0): -h / 2}

    def _up_to(self, pieces: Pieces) -> Pieces:
        """Integrate from 0 to z, piece by piece."""
        done: Pieces = []
        so_far = arb(0)
        for (start, end), terms in zip(pairwise(self.edges), pieces, strict=True):
            primitive = _primitive(terms)
            base = so_far - _at(primitive, start)
            done.append(_sum(primitive, {(0, 0): base}))
            so_far = base + _at(primitive, end)
        return done

    def _whole(self, pieces: Pieces, order: tuple[int, ...]) -> arb:
        total = arb(0)
        for n, (start, end) in enumerate(pairwise(self.edges)):
            terms = pieces[n]
            for group, size in enumerate(self.sizes):
                for _ in range(size - order.count(group)):
                    terms = _product(terms, self._stays(group, n))
            primitive = _primitive(terms)
            total += _at(primitive, end) - _at(primitive, start)
        return total


def _product(left: Terms, right: Terms) -> Terms:
    found: Terms = {}
    for (p, q), a in left.items():
        for (r, s), b in right.items():
            found[p + r, q + s] = found.get((p + r, q + s), arb(0)) + a * b
    return found


def _sum(left: Terms, right: Terms) -> Terms:
    return {key: left.get(key, arb(0)) + right.get(key, arb(0)) for key in {*left, *right}}


def _primitive(terms: Terms) -> Terms:
    """By parts, the integral of z^p ln^q is z^(p+1) ln^q / (p+1) less q / (p+1) times that of z^p ln^(q-1)."""
    found: Terms = {}
    for (p, q), c in terms.items():
        if p == -1:
            found[0, q + 1] = found.get((0, q + 1), arb(0)) + c / (q + 1)
            continue
        factor = c / (p + 1)
        for power in range(q, -1, -1):
            found[p + 1, power] = found.get((p + 1, power), arb(0)) + factor
            factor = -factor * power / (p + 1)
    return found


def _at(terms: Terms, edge: arb | None) -> arb:
    """Return the value at an edge. At infinity the integrand falls like z^-2; at 0 it is a polynomial."""
    if edge is None:
        return sum((c for (p, q), c in terms.items() if p == q == 0), arb(0))
    if edge == 0:
        return terms.get((0, 0), arb(0))
    return sum((c * edge**p * edge.log() ** q for (p, q), c in terms.items()), arb(0))
