"""Unions with counts: by which method are most items found, and how near are their counts?

For each data set, epsilon and bound: the mean number of items, from how many users of no other item on the chance is
even, and how near a count far above the threshold is with 95 %. `apart` has counts for a quarter of epsilon and delta
by themselves. delta = 1e-6. Data: the Parquet files of the folder `DPSELECT_DATA`; only figures are printed.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from measure import single_threaded, table
from union_experiment import users

from dpselect.accounting.gaussian_curve import calibrations
from dpselect.mechanisms import CountGaussian, CountLaplace, RenyiShaped, TruncatedGeometric
from dpselect.mechanisms.gaps import gaussian_width
from dpselect.queries.union.method import COUNTS_OF_BUDGET, best_method
from dpselect.queries.union.terms import COUNT_SHARE
from dpselect.testing import SeededDraws
from dpselect.utility.union_accuracy import users_for

DELTA, DATA_SETS = Fraction(1, 10**6), ("lastfm", "msweb", "commits")
BOUNDS = (1, 2, 3, 5, 10, 30, 100)
BETA = 0.05


def shared(epsilon: Fraction, delta: Fraction, most: int) -> tuple[Any, int]:
    """Items and counts in one Rényi budget."""
    union = RenyiShaped(epsilon=epsilon, delta=delta, max_items_per_user=most, counts_share=COUNTS_OF_BUDGET)
    return union, gaussian_width(most / (2 * union.rho_of_counts), BETA)


def apart(epsilon: Fraction, delta: Fraction, most: int) -> tuple[Any, int]:
    """Items for three quarters of epsilon and delta, counts for the rest."""
    left = {"epsilon": epsilon * (1 - COUNT_SHARE), "delta": delta * (1 - COUNT_SHARE)}
    union = TruncatedGeometric(**left) if most == 1 else RenyiShaped(**left, max_items_per_user=most)
    found = calibrations(epsilon * COUNT_SHARE, delta * COUNT_SHARE, most)
    return union, gaussian_width(min(most / (2 * noise.rho) + noise.wider for noise in found), BETA)


def decided(kind: Any) -> Callable[[Fraction, Fraction, int], tuple[Any, int]]:
    """Counts that select the items."""

    def made(epsilon: Fraction, delta: Fraction, most: int) -> tuple[Any, int]:
        union = kind(epsilon=epsilon, delta=delta, max_items_per_user=most)
        return union, union.width(BETA)

    return made


METHODS = {
    "count-laplace": decided(CountLaplace),
    "count-gaussian": decided(CountGaussian),
    "renyi-shaped": shared,
    "apart": apart,
}


def rows(name: str, epsilon: str, most: int, runs: int) -> list[list[str]]:
    """A row for each method; that of `auto` is marked."""
    taken = best_method(Fraction(epsilon), DELTA, most, counted=True)
    found = []
    for method, make in METHODS.items():
        union, width = make(Fraction(epsilon), DELTA, most)
        items = statistics.mean(len(union(users(name, seed), draws=SeededDraws(seed))) for seed in range(runs))
        mark = "auto" if method == taken else ""
        found.append(
            [name, epsilon, str(most), method, f"{items:.1f}", str(users_for(union, 0.5, 1)), str(width), mark]
        )
    return found


def main() -> None:
    """All cells."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilons", default="0.3,1,3")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", default="", help="only data whose name holds this")
    options = parser.parse_args()
    every = [
        row
        for name in DATA_SETS
        if options.only in name
        for epsilon in options.epsilons.split(",")
        for most in BOUNDS
        for row in rows(name, epsilon, most, options.runs)
    ]
    table(["data", "epsilon", "bound", "method", "items", "even at", "within", ""], every)


if __name__ == "__main__":
    single_threaded()
    main()
