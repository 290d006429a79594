"""Set unions of users of few items: what the greedy update finds, as a part of what `auto` does.

Users draw 1 + Poisson items from Zipf labels; the bound is that which nine of ten users do not exceed, as it would be
chosen. delta 1e-6; means of two inputs.
"""

from __future__ import annotations

import statistics
from fractions import Fraction

import numpy as np
from inputs import user_sets
from measure import table

from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms import GreedyGeometric, RenyiShaped
from dpselect.queries.union.bound import BOUNDS
from dpselect.testing import SeededDraws

DELTA = Fraction(1, 10**6)
EPSILONS = ("0.1", "0.5", "1", "3")
USERS = (3_000, 30_000, 100_000)
LABELS = (300, 10_000, 1_000_000)
MEANS = (2, 3, 4, 6)
FEW = 10  # items of either, below which a cell says nothing


def sets_of(users: int, labels: int, mean: int, seed: int) -> UserSets:
    """The items of all users."""
    starts, codes = user_sets(users, mean, labels, seed=seed)
    return UserSets(offsets=starts.astype(np.int64), codes=codes.astype(np.int64), size=labels, label=int)


def main() -> None:
    """Parts by the bound: geometric mean, least and most of all cells in which either finds ten items."""
    parts: dict[tuple[int, str], list[float]] = {}
    for users in USERS:
        for labels in LABELS:
            for mean in MEANS:
                inputs = [sets_of(users, labels, mean, seed) for seed in range(2)]
                many = np.quantile(np.diff(inputs[0].offsets), 0.9)
                most = next(bound for bound in BOUNDS if bound >= many)
                for epsilon in EPSILONS:
                    greedy = GreedyGeometric(epsilon=epsilon, delta=DELTA)
                    shaped = RenyiShaped(epsilon=epsilon, delta=DELTA, max_items_per_user=most)
                    sizes = [
                        sum(len(union(sets, draws=SeededDraws(seed=1))) for sets in inputs)
                        for union in (greedy, shaped)
                    ]
                    if max(sizes) >= 2 * FEW:
                        parts.setdefault((most, epsilon), []).append(sizes[0] / sizes[1])
    rows = []
    for most in sorted({most for most, _ in parts}):
        cells = [parts.get((most, epsilon), []) for epsilon in EPSILONS]
        shown = [f"{statistics.geometric_mean(c):.2f} ({min(c):.2f} to {max(c):.2f})" if c else "" for c in cells]
        rows.append([str(most), *shown])
    table(["nine of ten users have at most", *(f"epsilon {epsilon}" for epsilon in EPSILONS)], rows)


if __name__ == "__main__":
    main()
