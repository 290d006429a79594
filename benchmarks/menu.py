"""Every method of a union and of a top k of an unknown domain beside each other, on the same data at the same price.

delta = 1e-6. Unions: the mean number of items, and CPU of a call. A top k: recall in per cent, the share of the k
places filled with an item that has at least as many users as the true k-th; a bound is on what users give to the union
of `discover`, and on counts. Only figures are printed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
from discover import DELTA, Data, loaded
from measure import single_threaded, table

import dpselect as dps
from dpselect._ground import methods
from dpselect.aggregates.count_groups import CountGroups
from dpselect.queries.top.method import best_unknown_method
from dpselect.queries.union.method import best_method
from dpselect.queries.union.plan import draw_union
from dpselect.testing import SeededDraws

BOUNDS = (1, 10, 100)


def numbered(data: Data) -> Data:
    """The same users, whose items are named by their codes: no engine is asked for names."""
    data.sets = replace(data.sets, label=int, label_many=np.ndarray.tolist)
    return data


def union(data: Data, method: str, epsilon: str, most: int, runs: int, *, counts: bool) -> tuple[str, float]:
    """How many items a method finds, and how long a call takes; with counts, how near most of these are, too."""
    bound = None if methods.method_row("union", method).bound is methods.NeedsBound.NONE else most
    asked = dps.Union(method=method, counts=counts).at(epsilon=epsilon, delta=DELTA, max_items_per_user=bound)
    draws, found, wide = SeededDraws(seed=1), [], []
    draw_union(data.sets, asked, draws, None)  # curves are made once
    start = time.process_time()
    for _ in range(runs):
        release = asked.answer(draw_union(data.sets, asked, draws, None))
        found.append(len(release))
        wide += [item.high - item.count for item in release.items if counts]
    seconds = (time.process_time() - start) / runs
    near = f" (within {statistics.median(wide):,.0f})" if wide else ""
    return f"{statistics.mean(found):,.0f}{near}", seconds


def unions(everything: list[Data], epsilon: str, runs: int, *, counts: bool) -> None:
    """A row for each method, a column for each data set and bound; what `auto` takes is bold."""
    cells = [(data, most) for data in everything for most in BOUNDS]
    rows = []
    for method in methods.names("union"):
        row, seconds = [method], []
        for data, most in cells:
            if methods.method_row("union", method).bound is methods.NeedsBound.NONE and most != 1:
                row.append("")
                continue
            told, taken = union(data, method, epsilon, most, runs, counts=counts)
            row.append(
                f"**{told}**"
                if method == best_method(Fraction(epsilon), Fraction(DELTA), most, counted=counts)
                else told
            )
            seconds.append(taken)
        rows.append([*row, f"{statistics.mean(seconds):.2f} s"])
    print(f"\nUnions{' with counts' if counts else ''}, epsilon = {epsilon}\n")
    table(["method", *(f"{data.name}, {most}" for data, most in cells), "CPU"], rows)


def recall(data: Data, k: int, epsilon: str, method: str, most: int | None, runs: int) -> float:
    """Of one method, in per cent."""
    selection = dps.TopK(k, method=method).at(epsilon=epsilon, delta=DELTA, max_items_per_user=most).selection
    best = np.argsort(-data.counts, kind="stable")[: 20 * k + 1001]
    ranking = CountGroups.from_items([int(code) for code in best], data.counts[best])
    draws, right = SeededDraws(seed=1), []
    for _ in range(runs):
        release = selection.select(data.sets if selection.needs_user_sets else ranking, draws)
        found = np.array([data.counts[int(label)] for label in release.labels])
        right.append(100 * np.count_nonzero(found >= data.falling[k - 1]) / k)
    return statistics.mean(right)


def tops(everything: list[Data], epsilons: list[str], ks: list[int], runs: int) -> None:
    """A row for each price, data set, k and bound, a column for each method, and how `auto` does in all of them."""
    names = methods.names("top_k", domain=False)
    rows, found, short = [], {name: [] for name in (*names, "auto")}, 0
    for epsilon, data, k in product(epsilons, everything, ks):
        ranked = {name: recall(data, k, epsilon, name, None, runs) for name in names if name != "discover"}
        for most in (1, 3, 10, 30, 100):
            try:
                told = {**ranked, "discover": recall(data, k, epsilon, "discover", most, runs)}
            except dps.DpselectError:  # no union of so many items at so little
                told = {**ranked, "discover": 0.0}
            taken = best_unknown_method(k, Fraction(epsilon), Fraction(DELTA), most)
            automatic = recall(data, k, epsilon, "auto", most, runs) if taken == "discover" else told[taken]
            for name in names:
                found[name].append(told[name])
            found["auto"].append(automatic)
            short += max(told.values()) - automatic > 10
            each = [f"**{told[name]:.0f}**" if name == taken else f"{told[name]:.0f}" for name in names]
            rows.append([epsilon, data.name, k, most, *each, f"{automatic:.0f}"])
    print("\nTop k: recall in per cent; auto discovers with 100 items of a user for bounds from 2 to 99\n")
    table(["epsilon", "data", "k", "items per user", *names, "auto"], rows)
    print("\nmeans: " + ", ".join(f"{name} {statistics.mean(each):.1f}" for name, each in found.items()))
    print(f"auto is over 10 points below another in {short} of {len(rows)}")


def main() -> None:
    """The tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["union", "top"])
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--ks", default="10,50")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--only", default="", help="only data whose name holds this")
    options = parser.parse_args()
    everything = [numbered(data) for data in loaded() if options.only in data.name and "heavy" not in data.name]
    epsilons = options.epsilons.split(",")
    if options.what == "top":
        tops(everything, epsilons, [int(k) for k in options.ks.split(",")], options.runs)
        return
    for epsilon in epsilons:
        unions(everything, epsilon, options.runs, counts=options.counts)


if __name__ == "__main__":
    single_threaded()
    main()
