"""What the tests of RenyiShaped compare with: a slow curve, an audit of what curves spend, laws of coins and calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from dpselect.draws import Draws
from dpselect.testing import Law, law
from tests.exact.union_laws import sets_of


def divergence(p: Any, q: Any, order: int) -> Any:
    """Renyi divergence of this order of a coin of q from a coin of p: ln(q^a p^(1 - a) + ...) / (a - 1)."""
    logs = np.log([q, 1 - q]) * order - np.log([p, 1 - p]) * (order - 1)
    return np.logaddexp(*logs) / (order - 1)


def both_ways(p: Any, q: Any, order: int) -> Any:
    """The larger of the two divergences of a pair."""
    return np.maximum(divergence(p, q, order), divergence(q, p, order))


def delta_of(order: int, spent: float, epsilon: float) -> float:
    """The delta of Canonne, Kamath and Steinke 2020, Proposition 12: max over x of (1 - x) x^n e^(n (c - epsilon))."""
    a = order
    return (1 / a) * (1 - 1 / a) ** (a - 1) * math.exp(min((a - 1) * (spent - epsilon), 700))


def hidden(chances: Any, steps: Sequence[tuple[int, int]]) -> float:
    """The chance that an item is released which only one user has, at its worst."""
    return max(-math.expm1(t * math.log1p(-chances[min(share, len(chances) - 1)])) for t, share in steps)


def spent(chances: Any, steps: Sequence[tuple[int, int]], order: int) -> float:
    """The Renyi budget that a user can make these coins spend, at its worst."""
    least = min(share for _, share in steps)
    found = [0.0]
    for t, share in steps:
        low = chances[least:]
        high = chances[np.minimum(np.arange(least, len(chances)) + share, len(chances) - 1)]
        with np.errstate(divide="ignore", invalid="ignore"):
            found.append(t * float(np.max(both_ways(low, high, order))))
    return max(found)


def audited(curves: Sequence[Any], steps: Sequence[Sequence[tuple[int, int]]], order: int, epsilon: float) -> float:
    """The delta that these rounds prove, from the curves alone: whatever they were made for."""
    budget = sum(spent(c.chances, s, order) for c, s in zip(curves, steps, strict=True))
    return delta_of(order, budget, epsilon) + sum(hidden(c.chances, s) for c, s in zip(curves, steps, strict=True))


def audit(mechanism: Any) -> float:
    """`audited` for a whole mechanism."""
    steps = [terms.steps for terms in mechanism.conditions]
    return audited(mechanism.curves, steps, mechanism.order, float(mechanism.epsilon))


def chance_of(shares: Any, users: Sequence[int]) -> float:
    """The chance of an item that users[t - 1] users of t items each have: the largest over all curves."""
    weights = [sum(n * one.share(t) for t, n in enumerate(users, 1)) for one, _ in shares]
    return float(max(c.chances[min(w, len(c.chances) - 1)] for w, (_, c) in zip(weights, shares, strict=True)))


def spent_by_users(shares: Any, order: int, grid: Sequence[Sequence[int]], chance: Any = chance_of) -> float:
    """The most that one user's coins spend where an item has any of these numbers of users of 1, 2, ... items."""
    found = 0.0
    for users in grid:
        p = chance(shares, users)
        for t in range(1, len(users) + 1):
            q = chance(shares, [n + (i == t) for i, n in enumerate(users, 1)])
            found = max(found, t * float(both_ways(p, q, order)) if q > p else 0.0)
    return found


def slow_curve(
    t: int, order: int, budget: float, delta: float, measure: Callable[[Any, Any, int], Any] = both_ways
) -> list[float]:
    """The steepest curve for users of t items of share 1, by halving, weight after weight."""
    chances = [0.0, -math.expm1(math.log1p(-delta) / t)]
    while 1 - chances[-1] > 2**-20 and len(chances) < 3000:
        p, low, high = chances[-1], chances[-1], 1 - 2**-30
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if measure(p, middle, order) * t <= budget else (low, middle)
        chances.append(low)
    return chances


def worst_product(chances: Any, t: int, share: int, epsilon: float, points: int) -> float:
    """The largest hockey-stick divergence of t coins that one user of t items moves, over a grid of weights."""
    end = len(chances) - 1
    grid = np.unique(np.concatenate([[0], np.linspace(share, end, points).astype(int), range(share, share + 3)]))
    weights = np.array(list(combinations_with_replacement(grid[grid <= end], t)))
    before, after = (chances[np.minimum(weights + move, end)] for move in (0, share))
    left, right = np.ones((len(weights), 1)), np.ones((len(weights), 1))
    for i in range(t):
        p, q = before[:, i : i + 1], after[:, i : i + 1]
        left = np.concatenate([left * (1 - p), left * p], axis=1)
        right = np.concatenate([right * (1 - q), right * q], axis=1)
    gaps = (left - math.exp(epsilon) * right, right - math.exp(epsilon) * left)
    return max(float(np.maximum(gap, 0).sum(axis=1).max()) for gap in gaps)


def call_law(mechanism: Any, database: Sequence[Sequence[int]], size: int) -> Law:
    """The law of the real call: every sample, every coin, every round."""
    sets = sets_of(database, size)

    def run(draws: Draws) -> tuple[int, ...]:
        return tuple(mechanism(sets, draws=draws).tolist())

    return law(run)


def heavy(levels: Sequence[int], size: int) -> list[tuple[tuple[int, ...], ...]]:
    """Databases where item i has levels[...] users of their own, up to the names of the items."""
    return [
        tuple((i,) for i, n in enumerate(counts) for _ in range(n))
        for counts in product(levels, repeat=size)
        if list(counts) == sorted(counts)
    ]
