"""Set unions of users of few items: what the greedy update finds, as a part of what `auto` does.

Users draw 1 + Poisson items from Zipf labels; the bound is that which nine of ten users do not exceed, as it would be
chosen. delta 1e-6; means of two inputs.

With `--chosen` whole questions whose bound is chosen: items that `auto` and `by-bound` find, means of the runs, on
`msweb` of the folder `DPSELECT_DATA` too, of which only figures are printed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from inputs import DATA, user_sets
from measure import table

import dpselect as dps
from dpselect.aggregates.user_sets import Sets, UserSets
from dpselect.mechanisms import GreedyGeometric, RenyiShaped
from dpselect.queries.union.bound import ITEM_BOUNDS
from dpselect.queries.union.plan import draw_union
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


def shapes() -> Iterator[tuple[str, Sets]]:
    """Users whose bound is chosen."""
    file = DATA / "msweb.parquet"
    if file.exists():
        with dps.Dataset(file, user="user", item="item").engine() as engine:
            yield "msweb", engine.contributions()
    for users in (3_000, 20_000, 100_000, 1_000_000):
        for mean in (2, 3, 5, 8, 30):
            for labels in (1_000, 1_000_000):
                if users < 1_000_000 or (mean, labels) == (3, 1_000_000):
                    yield f"{users:,} users of {mean} items of {labels:,}", sets_of(users, labels, mean, 0)


def chosen(runs: int) -> None:
    """Items found by both, the bounds that were chosen, and CPU of the last call."""
    rows = []
    for name, sets in shapes():
        for epsilon in ("0.3", "1", "3"):
            cells: list[object] = [name, epsilon]
            for method in ("auto", "by-bound"):
                plan = dps.Union(method=method).at(epsilon=epsilon, delta=DELTA)
                outcomes = []
                for seed in range(runs):
                    start = time.process_time()
                    outcomes.append(draw_union(sets, plan, SeededDraws(seed=seed), None))
                    seconds = time.process_time() - start
                bounds = sorted({outcome.max_items_per_user or 0 for outcome in outcomes})
                found = statistics.mean(len(outcome.items) for outcome in outcomes)
                cells += [f"{found:.1f}", f"{seconds:.2f} s"]
            rows.append([*cells, ", ".join(map(str, bounds))])
    table(["data", "epsilon", "auto", "CPU", "by-bound", "CPU", "bounds"], rows)


def main() -> None:
    """One of the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chosen", action="store_true")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    if options.chosen:
        chosen(options.runs)
    else:
        compare()


def compare() -> None:
    """Parts by the bound: geometric mean, least and most of all cells in which either finds ten items."""
    parts: dict[tuple[int, str], list[float]] = {}
    for users in USERS:
        for labels in LABELS:
            for mean in MEANS:
                inputs = [sets_of(users, labels, mean, seed) for seed in range(2)]
                many = np.quantile(np.diff(inputs[0].offsets), 0.9)
                most = next(bound for bound in ITEM_BOUNDS if bound >= many)
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
