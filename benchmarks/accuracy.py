"""How much of the true top k does limited domain find, and which k_bar should be its default?

Recall is the share of the k places filled with an item that has at least as many users as the true k-th.
Data: the Parquet files of the folder `DPSELECT_DATA`; only figures about them are printed, no items.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import duckdb
import numpy as np
from inputs import DATA, Integers
from measure import table

from dpselect.mechanisms import LimitedDomain
from dpselect.mechanisms.top_k.limited_domain import default_k_bar
from dpselect.papers import ChosenKBar
from dpselect.testing import SeededDraws

ITEMS = {"lastfm": "item", "ml100k": "item", "msweb": "item", "commits": "unnest(split(text, ' '))"}
DELTA = "1e-6"

RULES: dict[str, Callable[[int], int]] = {
    "k": lambda k: k,
    "2 k": lambda k: 2 * k,
    "5 k": lambda k: 5 * k,
    "10 k": lambda k: 10 * k,
    "20 k": lambda k: 20 * k,
    "50 k": lambda k: 50 * k,
    "max(10 k, 100)": lambda k: max(10 * k, 100),
    "max(10 k, 300)": lambda k: max(10 * k, 300),
    "max(20 k, 300)": lambda k: max(20 * k, 300),
    "max(10 k, 1000)": lambda k: max(10 * k, 1000),
    "max(20 k, 1000)": lambda k: max(20 * k, 1000),
    "max(10 k, 2000)": lambda k: max(10 * k, 2000),
    "500": lambda _: 500,
    "700": lambda _: 700,
    "1500": lambda _: 1500,
    "5000": lambda _: 5000,
}


@dataclass(frozen=True)
class Found:
    """Means over the repeats."""

    recall: float
    items: float


class Trials:
    """Repeats of a mechanism on the largest counts of one data set, each (k, epsilon, k_bar) done once."""

    def __init__(self, name: str, repeats: int) -> None:
        self.name, self.repeats = name, repeats
        self.counts = counts_of(name)

    @cache  # noqa: B019 - lives as long as the script
    def __call__(self, k: int, epsilon: str, k_bar: int, *, chosen: bool = False) -> Found:
        """Mean recall and number of items."""
        kind = ChosenKBar if chosen else LimitedDomain
        mechanism = kind(k=k, epsilon=epsilon, delta=DELTA, k_bar=k_bar)
        counts = self.counts[: k_bar + 1]
        least = self.counts[k - 1]
        draws = SeededDraws(seed=1)
        answers = [counts[mechanism(counts, draws=draws)] for _ in range(self.repeats)]
        return Found(
            recall=float(np.mean([np.count_nonzero(a >= least) / k for a in answers])),
            items=float(np.mean([len(a) for a in answers])),
        )


def counts_of(name: str) -> Integers:
    """Distinct users of each item, descending."""
    query = f'SELECT count(DISTINCT "user") AS n FROM (SELECT "user", {ITEMS[name]} AS i FROM $1) GROUP BY i'
    file = (DATA / f"{name}.parquet").as_posix()
    counts = duckdb.execute(query.replace("$1", f"'{file}'")).fetchnumpy()["n"]
    return np.sort(counts.astype(np.int64))[::-1]


def variants(trials: Trials, epsilons: list[str]) -> Iterator[list[str]]:
    """Recall and items of k = 10, a row for each k_bar; then k_bar chosen privately."""
    k = 10
    default = default_k_bar(k)
    for k_bar in sorted({20, 50, 100, 300, 1000, default}):
        name = f"{k_bar} (default)" if k_bar == default else str(k_bar)
        yield [trials.name, name, *(shown(trials(k, e, k_bar)) for e in epsilons)]
    for k_bar in (300, 1000):
        cells = (shown(trials(k, e, k_bar, chosen=True)) for e in epsilons)
        yield [trials.name, f"chosen, up to {k_bar}", *cells]


def shown(found: Found) -> str:
    """A cell."""
    return f"{100 * found.recall:.0f} % / {found.items:.1f}"


def rules(all_trials: list[Trials], epsilons: list[str], ks: list[int]) -> Iterator[list[str]]:
    """How many points of recall each rule loses against the best of all rules for that data set, k and epsilon."""
    cases = [(t, k, e) for k in ks for t in all_trials for e in epsilons if k <= len(t.counts)]
    recall = {
        rule: np.array([100 * t(k, e, function(k)).recall for t, k, e in cases]) for rule, function in RULES.items()
    }
    best = np.max(list(recall.values()), axis=0)
    for rule, found in recall.items():
        lost = best - found
        by_k = [lost[np.array([case[1] == k for case in cases])].mean() for k in ks]
        yield [f"`{rule}`", f"{lost.mean():.1f}", f"{lost.max():.1f}", *(f"{x:.1f}" for x in by_k)]


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    present = [name for name in ITEMS if (DATA / f"{name}.parquet").exists()]
    for name in ITEMS.keys() - set(present):
        print(f"skipped {name}: set DPSELECT_DATA to a folder with {name}.parquet\n")
    all_trials = [Trials(name, repeats) for name in present]
    if not all_trials:
        return

    print(f"k = 10, delta = {DELTA}, {repeats} repeats: mean recall / mean number of items\n")
    epsilons = ["0.1", "0.3", "1", "3"]
    table(
        ["data", "k_bar", *(f"epsilon {e}" for e in epsilons)],
        [row for trials in all_trials for row in variants(trials, epsilons)],
    )

    ks = [5, 10, 20, 50, 100]
    print("Default rules: points of recall lost against the best rule of each case, epsilon 0.3 and 1\n")
    ranked = sorted(rules(all_trials, ["0.3", "1"], ks), key=lambda row: float(row[1]))
    table(["k_bar", "mean", "worst", *(f"k = {k}" for k in ks)], ranked)


if __name__ == "__main__":
    main()
