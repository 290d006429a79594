"""Gillenwater et al. 2021, Section 4: the error of the joint mechanism beside peeling, noise, and later relatives.

Error: max over i of (i-th largest count of all) - (i-th largest count of what was chosen); k = 5; means of 100 trials.
All of them are pure epsilon-DP for the whole call. The ratings are those of ml100k.parquet in `DPSELECT_DATA`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from inputs import DATA, Integers, uniform_counts
from measure import table

from dpselect.mechanisms import CanonicalSet, Peeling
from dpselect.papers import GammaMechanism, JointSequence, JointSet, OneShotLaplace
from dpselect.testing import SeededDraws

K = 5
RATINGS = DATA / "ml100k.parquet"
SIZES = {"uniform": (10, 20, 50, 100, 200, 500, 1000, 2000), "ratings": (10, 20, 50, 100, 200, 500, 1000, 1682)}
EPSILONS = ("1", "0.1")
PAPER: Mapping[str, Callable[[str], Any]] = {
    "joint": lambda e: JointSet(k=K, epsilon=e),
    "peeling": lambda e: Peeling(k=K, epsilon=e),
    "Laplace": lambda e: OneShotLaplace(k=K, epsilon=e),
    "gamma": lambda e: GammaMechanism(k=K, epsilon=e),
}
LATER: Mapping[str, Callable[[str], Any]] = {
    "joint sequence": lambda e: JointSequence(k=K, epsilon=e),
    "canonical": lambda e: CanonicalSet(k=K, epsilon=e),
}
MECHANISMS = {**PAPER, **LATER}


def counts_of(data: str, d: int, trial: int) -> Integers:
    """Fresh uniform counts for each trial, or those of the d most rated films."""
    return uniform_counts(d, seed=trial) if data == "uniform" else ratings()[:d]


def ratings() -> Integers:
    """Ratings of every film, most first."""
    found = duckdb.sql(f"SELECT count(*) n FROM read_parquet('{RATINGS}') GROUP BY item ORDER BY n DESC").fetchall()
    return np.array([n for (n,) in found], dtype=np.int64)


def error(counts: Integers, chosen: Any) -> int:
    """The l-infinity error of a set."""
    best = np.sort(counts)[::-1][:K]
    return int((best - np.sort(counts[np.asarray(chosen)])[::-1]).max())


def errors(data: str, d: int, epsilon: str, trials: int) -> dict[str, float]:
    """The mean error of every mechanism."""
    found = {}
    all_counts = [counts_of(data, d, trial) for trial in range(trials if data == "uniform" else 1)]
    for name, make in MECHANISMS.items():
        mechanism, draws = make(epsilon), SeededDraws(seed=d)
        each = [error(c, mechanism(c, draws=draws)) for c in (all_counts[t % len(all_counts)] for t in range(trials))]
        found[name] = float(np.mean(each))
    return found


def main() -> None:
    """The tables, and the picture where a path is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the curves too")
    options = parser.parse_args()
    curves: dict[tuple[str, str], dict[int, dict[str, float]]] = {}
    for data, sizes in SIZES.items():
        if data == "ratings" and not RATINGS.exists():
            print("skipped the ratings: set DPSELECT_DATA to a folder with ml100k.parquet")
            continue
        for epsilon in EPSILONS:
            found = {d: errors(data, d, epsilon, options.trials) for d in sizes}
            curves[data, epsilon] = found
            print(f"{data}, epsilon = {epsilon}: mean error of {options.trials} trials\n")
            table(["d", *MECHANISMS], [[d, *(f"{each[name]:.4g}" for name in MECHANISMS)] for d, each in found.items()])
    if options.plot:
        draw(curves, options.plot)


def draw(curves: Mapping[tuple[str, str], Mapping[int, Mapping[str, float]]], path: Path) -> None:
    """One panel for each data set and epsilon."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "dpselect"
    figure = Figure(figsize=(10, 7), layout="constrained")
    for place, ((data, epsilon), found) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(2, 2, place)
        for number, name in enumerate(MECHANISMS):
            style = "-" if name in PAPER else "--"
            axes.plot(list(found), [max(e[name], 0.1) for e in found.values()], style, color=f"C{number}", label=name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(f"{data}, epsilon = {epsilon}", fontsize=9)
        axes.set_xlabel("items d", fontsize=8)
        axes.set_ylabel("mean error", fontsize=8)
    figure.axes[0].legend(fontsize=7, frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
