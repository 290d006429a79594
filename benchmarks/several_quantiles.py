"""Several quantiles of one price: draws one by one against recursion, by the mean error in ranks, its bound and CPU."""

from __future__ import annotations

import argparse
from functools import partial
from typing import NamedTuple

import numpy as np
from inputs import Floats
from measure import call, in_turns, median, seconds, single_threaded, table

from dpselect.mechanisms import Quantile, RecursiveQuantiles


class Data(NamedTuple):
    """Values of users, and the grid that one would take for them."""

    values: Floats
    bounds: tuple[int, int]
    step: int | None


def data(n: int, seed: int = 0) -> dict[str, Data]:
    """Values that hardly tie, ages, stars, and ages of which half are one and the same."""
    rng = np.random.default_rng(seed)
    ages = rng.normal(42, 20, n).clip(0, 120).round()
    half = ages.copy()
    half[: n // 2] = 30
    return {
        "lognormal": Data(rng.lognormal(3, 0.7, n), (0, 1000), None),
        "ages": Data(ages, (0, 120), 1),
        "stars": Data(rng.choice(5, n, p=[0.08, 0.05, 0.12, 0.25, 0.5]).astype(float), (0, 4), 1),
        "half at 30": Data(half, (0, 120), 1),
    }


def errors(of: Data, mechanism: Quantile | RecursiveQuantiles, repeats: int) -> list[float]:
    """By how many users each answer misses its rank, of values on the grid."""
    grid, found = mechanism.grid, []
    places, shares = np.sort(grid.placed(of.values)), np.array([float(q) for q in mechanism.shares])
    n = len(places)
    for _ in range(repeats):
        answers = np.rint((np.array(mechanism(of.values), dtype=float) - float(grid.low)) / float(grid.step))
        below = np.searchsorted(places, answers, side="left")
        above = n - np.searchsorted(places, answers, side="right")
        found += np.maximum(0, np.maximum(below - shares * n, above - (1 - shares) * n)).tolist()
    return found


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=20_000)
    parser.add_argument("-m", type=int, nargs="+", default=[3, 9, 99], help="how many quantiles, evenly spaced")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for name, of in data(options.n).items():
        for m in options.m:
            q = [f"{i}/{m + 1}" for i in range(1, m + 1)]
            usual = {"q": q, "bounds": of.bounds, "step": of.step, "epsilon": options.epsilon, "delta": options.delta}
            both = {"one by one": Quantile(**usual), "recursion": RecursiveQuantiles(**usual)}
            taken = in_turns({who: partial(call, partial(one, of.values)) for who, one in both.items()}, options.runs)
            for who, one in both.items():
                found = errors(of, one, options.repeats)
                bound, cpu = f"{one.gap(0.05).__ceil__():,}", seconds(median(taken[who]).cpu)
                rows.append([name, f"{m}", who, f"{np.mean(found):.3g}", f"{np.max(found):.3g}", bound, cpu])
    print(f"{options.n:,} users, epsilon = {options.epsilon:g}, delta = {options.delta:g}\n")
    table(["data", "quantiles", "how", "mean error in ranks", "largest", "stated", "CPU"], rows)


if __name__ == "__main__":
    single_threaded()
    main()
