"""Top k of an unknown domain where epsilon or users are few: what each way finds, and what none could find.

Recall is the share of the k places filled with an item that has at least as many users as the true k-th, in per cent;
means of the runs, delta = 1e-6, k_bar by default. Peeling knows the domain: nobody who does not should beat it.
Data: the Parquet files of the folder `DPSELECT_DATA`, and Zipf items; only figures about them are printed.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from typing import Any

import numpy as np
from discover import DELTA, Data, chosen, loaded
from measure import single_threaded, table

from dpselect.mechanisms import LimitedDomain, LimitedDomainSparse, Peeling
from dpselect.mechanisms.top_k.discover import picks, rank_best, users_of
from dpselect.queries.top.method import SPARSE, best_unknown_method
from dpselect.testing import SeededDraws

KS = (1, 2, 3, 5, 10, 20, 50, 100, 200)
SHARES = ("1/8", "1/6", "1/4", "1/3", "1/2")
CELLS = (("0.1", 3), ("0.1", 5), ("0.3", 10), ("0.3", 20), ("1", 50))


def least_users(epsilon: float, delta: float) -> float:
    """An item of fewer users comes back with a chance below one half, by whatever (epsilon, delta)-DP mechanism."""
    return math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon


def recall(data: Data, k: int, found: Any) -> float:
    """Per cent of the places that are rightly filled by an answer, given as true counts."""
    return 100 * np.count_nonzero(found >= data.falling[k - 1]) / k


def by_counts(data: Data, mechanism: Any, runs: int) -> float:
    """Of a mechanism that looks at counts alone."""
    draws = SeededDraws(seed=1)
    k_bar = len(data.falling) if isinstance(mechanism, Peeling) else mechanism.terms.k_bar
    looked_at = data.falling[: k_bar + 1]
    return float(
        np.mean([recall(data, mechanism.k, looked_at[mechanism(looked_at, draws=draws)]) for _ in range(runs)])
    )


def by_discovery(data: Data, epsilon: str, ks: list[int], runs: int) -> dict[int, float]:
    """Of discover, max_items_per_user chosen privately; a union does not depend on k, so each serves all of them."""
    draws, found_by_k = SeededDraws(seed=1), {k: [] for k in ks}
    for _ in range(runs):
        mechanism = chosen(data, epsilon, draws)
        found = mechanism.union(data.sets, draws=draws)
        users = users_of(data.sets, found)
        for k in ks:
            ranking = rank_best(k, found, users, mechanism.epsilon_per_pick(picks(k, found)), draws)
            found_by_k[k].append(recall(data, k, data.counts[ranking]))
    return {k: float(np.mean(each)) for k, each in found_by_k.items()}


def compared(data: Data, epsilons: list[str], runs: int) -> list[list[object]]:
    """A row for each epsilon and method."""
    rows: list[list[object]] = []
    ks = [k for k in KS if k <= len(data.falling)]
    for epsilon in epsilons:
        price = {"epsilon": epsilon, "delta": DELTA}
        discovered = by_discovery(data, epsilon, ks, max(3, runs // 8))
        cells: dict[str, list[float]] = {
            "limited-domain": [by_counts(data, LimitedDomain(k=k, **price), runs) for k in ks],
            SPARSE: [by_counts(data, LimitedDomainSparse(k=k, **price), runs) for k in ks],
            "discover": [discovered[k] for k in ks],
            "peeling, domain known": [by_counts(data, Peeling(k=k, **price), runs) for k in ks],
        }
        taken = [best_unknown_method(k, Fraction(epsilon), Fraction(DELTA), None) for k in ks]
        for name, each in cells.items():
            told = [f"**{x:.0f}**" if name == now else f"{x:.0f}" for x, now in zip(each, taken, strict=True)]
            rows.append([data.name, epsilon, name, *told, *("" for _ in KS[len(ks) :])])
    return rows


def by_shares(data: Data, epsilon: str, k: int, runs: int) -> list[str]:
    """Recall by the share of epsilon for the threshold."""
    price = {"k": k, "epsilon": epsilon, "delta": DELTA}
    return [f"{by_counts(data, LimitedDomainSparse(**price, threshold_share=s), runs):.0f}" for s in SHARES]


def main() -> None:
    """What each finds, shares of epsilon for the threshold, and where the data lie against the lower bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--epsilons", default="0.1,0.3,1,3")
    parser.add_argument("--only", default="", help="only data whose name holds this")
    parser.add_argument("--shares", action="store_true", help="shares of epsilon for the threshold, in its place")
    options = parser.parse_args()
    single_threaded()
    epsilons = options.epsilons.split(",")
    everything = [data for data in loaded() if options.only in data.name]
    if options.shares:
        tried = [[d.name, *cell, *by_shares(d, *cell, options.runs)] for d in everything for cell in CELLS]
        table(["data", "epsilon", "k", *(f"{share} for the threshold" for share in SHARES)], tried)
        return
    print("\nIn bold what `auto` takes\n")
    rows = [row for data in everything for row in compared(data, epsilons, options.runs)]
    table(["data", "epsilon", "method", *(f"k = {k}" for k in KS)], rows)
    least = [(e, least_users(float(e), float(DELTA))) for e in epsilons]
    rows = [
        [d.name, *(f"{h:.0f} users: {np.count_nonzero(d.counts >= h):,} items" for _, h in least)] for d in everything
    ]
    table(["data", *(f"epsilon {e}" for e, _ in least)], rows)


if __name__ == "__main__":
    main()
