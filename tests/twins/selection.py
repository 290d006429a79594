"""Negative controls: mechanisms and bounds that are wrong on purpose. The tests must refuse every one of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect.aggregates.count_groups import CountGroups
from dpselect.aggregates.value_counts import Grid, UsersAt
from dpselect.draws import Draws, Weights
from dpselect.mechanisms.candidates import parse_candidates
from dpselect.mechanisms.quantile import NearRank, Quantile
from dpselect.mechanisms.top_k.limited_domain import LimitedDomain
from dpselect.mechanisms.top_k.top_rows import top_rows
from dpselect.papers import Noise
from dpselect.papers.noisy_draws import noisy


@dataclass(frozen=True)
class ForgottenTwo:
    """The exponential mechanism for general scores without the 2."""

    epsilon: Fraction

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        among = parse_candidates(counts)
        return among.names([draws.categorical(among.weights(self.epsilon))])


@dataclass(frozen=True)
class FlipForgottenTwo:
    """Permute-and-flip for general scores without the 2."""

    epsilon: Fraction

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        among = parse_candidates(counts)
        successes = draws.group_bernoullis(among.weights(self.epsilon))
        group, _ = successes[draws.below(len(successes))]  # every group is a single candidate here
        return among.names([(group, 0)])


@dataclass(frozen=True)
class FirstHeads:
    """Permute-and-flip without the permutation: the first heads in a fixed order."""

    epsilon: Fraction

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        successes = draws.group_bernoullis(parse_candidates(counts).weights(self.epsilon))
        return [min(g for g, _ in successes)]


@dataclass(frozen=True)
class LaplaceForgottenTwo:
    """Report noisy max for general scores without the 2."""

    epsilon: Fraction
    noise: Noise = Noise.LAPLACE

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        among = parse_candidates(counts)
        return among.names([noisy(draws).noisy_max(among.weights(self.epsilon), self.noise)])


@dataclass(frozen=True)
class PeelingForgottenK:
    """Top k where the whole epsilon is spent on every pick."""

    k: int
    epsilon: Fraction

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        among = parse_candidates(counts)
        return among.names(draws.peel(among.weights(self.epsilon), self.k))


@dataclass(frozen=True)
class ReusedNoise:
    """Top k that adds the k highest of one draw: the first pick's draw decides the later picks too."""

    k: int
    epsilon: Fraction

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        among = parse_candidates(counts)
        first, _ = draws.categorical(among.weights(self.epsilon / self.k))
        rest = sorted((g for g in range(len(counts)) if g != first), key=lambda g: (-counts[g], g))
        return [first, *rest[: self.k - 1]]


@dataclass(frozen=True)
class TiesByData:
    """The true best, and a coin only where it is tied: what a query with ORDER BY ... LIMIT 1 gives."""

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        best = [i for i, c in enumerate(counts) if c == max(counts)]
        return [best[draws.below(len(best))]]


@dataclass(frozen=True)
class BottomTwin:
    """Limited domain with another bottom: `plus` in place of + sensitivity, `swaps` of min(Delta, k_bar)."""

    right: LimitedDomain
    plus: int = 1
    swaps: int | None = None

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        terms = self.right.terms
        rows = top_rows(counts, terms.k_bar + 1)
        inside = rows.inside(terms.k_bar)
        swaps = terms.swaps(terms.k_bar) if self.swaps is None else self.swaps
        factors = [Fraction(1)] * len(inside) + [swaps / terms.delta_threshold]
        scores = np.array([*inside, rows.after(terms.k_bar) + self.plus], dtype=np.int64)
        candidates_left = min(terms.k, len(scores))
        picks = draws.peel(Weights(scores, terms.rate, factors=factors), candidates_left)
        found = []
        for group, _ in picks:
            if group >= len(inside):
                break
            found.append((group, 0))
        return rows.names(found) if found else []


@dataclass(frozen=True)
class TiesAtTheCut:
    """Limited domain whose k_bar best depend on the data among equal counts: later items win where the total is odd."""

    right: LimitedDomain

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        order = range(len(counts))
        names = list(reversed(order)) if sum(counts) % 2 else list(order)
        picked = self.right([counts[i] for i in names], draws=draws)
        return [names[i] for i in picked]


@dataclass(frozen=True)
class TiesByPlace:
    """Limited domain on a mapping whose equal counts are taken as they stand in it."""

    right: LimitedDomain

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        labels = list(counts)
        return [labels[i] for i in self.right(list(counts.values()), draws=draws)]


@dataclass(frozen=True)
class NarrowLaplaceCounts:
    """Noisy counts with half of the noise."""

    epsilon_per_count: Fraction

    def __call__(self, counts: Any, *, draws: Draws) -> list[int]:
        rate = 2 * self.epsilon_per_count
        return [int(c) + draws.geometric(rate) - draws.geometric(rate) for c in counts]


@dataclass(frozen=True)
class OneSharedNoise:
    """Noisy counts that all carry the same noise."""

    epsilon_per_count: Fraction

    def __call__(self, counts: Any, *, draws: Draws) -> list[int]:
        noise = draws.geometric(self.epsilon_per_count) - draws.geometric(self.epsilon_per_count)
        return [int(c) + noise for c in counts]


def rows_for_users(rows: list[tuple[int, int]], items: int) -> tuple[int, ...]:
    """Counts of rows where counts of distinct users are promised."""
    return tuple(sum(1 for _, item in rows if item == i) for i in range(items))


def users_per_item(rows: list[tuple[int, int]], items: int) -> tuple[int, ...]:
    """What is right: distinct users."""
    return tuple(len({user for user, item in rows if item == i}) for i in range(items))


def histogram(counts: tuple[int, ...]) -> CountGroups:
    """A CountGroups with one group for each count, labels being indices."""
    values = sorted(set(counts), reverse=True)
    members = [[i for i, c in enumerate(counts) if c == v] for v in values]
    return CountGroups(
        counts=np.array(values, dtype=np.int64), sizes=[len(m) for m in members], label=lambda g, r: members[g][r]
    )


@dataclass(frozen=True)
class QuantileRate:
    """A quantile drawn with a rate that is too large by a factor."""

    right: Quantile
    factor: Fraction

    def __call__(self, values: Any, *, draws: Draws) -> list[int]:
        (q,) = self.right.shares
        stretches = NearRank.all(at(self.right.grid, values), self.right.grid.points).stretches
        rate = self.factor * self.right.rate(q) / q.denominator
        group, member = draws.categorical(Weights(-stretches.misses(q), rate, stretches.sizes))
        return [int(stretches.starts[group]) + member]


@dataclass(frozen=True)
class QuantileOtherScore:
    """A quantile by -|#{v < x} - rank|, the rank rounded from n, at the price of one that moves by max(q, 1 - q)."""

    right: Quantile

    def __call__(self, values: Any, *, draws: Draws) -> list[int]:
        (q,) = self.right.shares
        stretches = NearRank.all(at(self.right.grid, values), self.right.grid.points).stretches
        rank = round(q * stretches.total)
        scores = -abs(stretches.below - rank)
        group, member = draws.categorical(Weights(scores, self.right.rate(q), stretches.sizes))
        return [int(stretches.starts[group]) + member]


@dataclass(frozen=True)
class QuantileOfDataBounds:
    """A median whose bounds are the smallest and the largest value, so that one user decides what can come out."""

    epsilon: Fraction

    def __call__(self, values: Any, *, draws: Draws) -> list[float]:
        if not values or min(values) == max(values):
            return list(values[:1])
        return Quantile(bounds=(min(values), max(values)), step=1, epsilon=self.epsilon)(values, draws=draws)


def at(grid: Grid, values: Any) -> UsersAt:
    """Users at the points of a grid."""
    return UsersAt.counted(np.sort(grid.indices_of(values)))


@dataclass(frozen=True)
class OneShotForgottenK:
    """The k largest counts with Laplace noise for one pick: scale 2 / epsilon."""

    k: int
    epsilon: Fraction

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        among = parse_candidates(counts)
        return among.names(noisy(draws).noisy_top(among.weights(self.epsilon / 2), self.k))


@dataclass(frozen=True)
class OneShotForgottenTwo:
    """The k largest counts that may move either way, with the scale k / epsilon of counts that cannot."""

    k: int
    epsilon: Fraction

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        among = parse_candidates(counts)
        return among.names(noisy(draws).noisy_top(among.weights(self.epsilon / self.k), self.k))


@dataclass(frozen=True)
class SelectionNoiseReleased:
    """The largest noisy count, told with the noise that made it the largest."""

    epsilon: Fraction

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        noisy = [int(c) + draws.laplace(self.epsilon / 2) for c in counts]
        best = max(range(len(noisy)), key=lambda i: (noisy[i], -i))
        return best, noisy[best]


def ranked_by_place(noisy: list[int], k: int) -> list[int]:
    """The k largest noisy counts, equal ones as their rows stand: in the order of the true counts."""
    return sorted(range(len(noisy)), key=lambda i: (-noisy[i], i))[:k]
