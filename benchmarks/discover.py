"""An unknown domain: discover then peel, or limited domain? The share of the true top k that each finds.

Recall is the share of the k places filled with an item that has at least as many users as the true k-th; in brackets
the users of the returned items together, in per cent of those of the true top k. Medians of the runs, delta = 1e-6.
Data: the Parquet files of the folder `DPSELECT_DATA`, and Zipf items; only figures about them are printed.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from inputs import DATA, Integers, user_sets
from measure import single_threaded, table

import dpselect as dps
from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms import LimitedDomain
from dpselect.mechanisms.set_union.rounds import bounded
from dpselect.mechanisms.top_k.discover import DiscoverThenPeel, picks, rank_best, users_of
from dpselect.queries.top.discovery import Discovery
from dpselect.testing import SeededDraws

FILES: dict[str, str | dps.Split] = {
    "lastfm": "item",
    "ml100k": "item",
    "msweb": "item",
    "commits": dps.Split("text", " "),
}
DELTA = "1e-6"
KS = (1, 2, 5, 10, 20, 50, 100, 200)
CHOSEN = "chosen"


@dataclass(frozen=True)
class Score:
    """Per cent of places rightly filled, and of the users that could be."""

    recall: float
    users: float

    def __str__(self) -> str:
        return f"{self.recall:.0f} ({self.users:.0f})"


class Data:
    """One data set: the items of its users, and how many users each item has."""

    def __init__(self, name: str, sets: UserSets) -> None:
        self.name, self.sets = name, sets
        self.counts = np.bincount(sets.codes, minlength=sets.size)
        self.falling = np.sort(self.counts)[::-1]

    def score(self, found: Integers, k: int) -> Score:
        """Of an answer, as true counts."""
        right = np.count_nonzero(found >= self.falling[k - 1])
        return Score(100 * right / k, 100 * float(found.sum()) / float(self.falling[:k].sum()))


def loaded() -> Iterator[Data]:
    """All that is there."""
    for name, item in FILES.items():
        file = DATA / f"{name}.parquet"
        if file.exists():
            with dps.Dataset(file, user="user", item=item).engine() as engine:
                yield Data(name, engine.contributions())
        else:
            print(f"skipped {name}: set DPSELECT_DATA to a folder with {name}.parquet\n")
    for name, heavy in (("Zipf", False), ("Zipf, heavy users", True)):
        offsets, items = user_sets(heavy=heavy)
        labels, codes = np.unique(items, return_inverse=True)
        yield Data(name, UserSets(offsets=offsets, codes=codes, size=len(labels), label=lambda code: code))


def discovered(data: Data, epsilon: str, share: str, bound: str, ks: list[int], runs: int) -> dict[int, Score]:
    """Medians for each k; a union does not depend on k, so each serves all of them."""
    draws = SeededDraws(seed=1)
    scores: dict[int, list[Score]] = {k: [] for k in ks}
    for _ in range(runs):
        mechanism = chosen(data, epsilon, draws) if bound == CHOSEN else made(Fraction(epsilon), int(bound), share)
        found = mechanism.union(data.sets, draws=draws)
        users = users_of(data.sets, found)
        for k in ks:
            ranking = rank_best(k, found, users, mechanism.epsilon_per_pick(picks(k, found)), draws)
            scores[k].append(data.score(data.counts[ranking], k))
    return {k: medians(found) for k, found in scores.items()}


def chosen(data: Data, epsilon: str, draws: SeededDraws) -> DiscoverThenPeel:
    """A mechanism whose k is given later, for a bound that is chosen in the budget of all of it."""
    asked = Discovery(k=1, epsilon=Fraction(epsilon), delta=Fraction(DELTA), max_items_per_user=None, counted=False)
    return asked.mechanism(asked.bound_choice.of_sets(data.sets, draws))


@cache
def made(epsilon: Fraction, most: int, share: str) -> DiscoverThenPeel:
    """A mechanism whose k is given later."""
    return DiscoverThenPeel(k=1, epsilon=epsilon, delta=DELTA, max_items_per_user=most, union_share=share)


def limited(data: Data, epsilon: str, k: int, runs: int, most: int | None = None) -> Score:
    """Limited domain over all items of all users, or of a sample of them."""
    draws = SeededDraws(seed=1)
    mechanism = LimitedDomain(k=k, epsilon=epsilon, delta=DELTA, max_items_per_user=most)
    scores = []
    for _ in range(runs):
        sets = bounded(data.sets, most, draws)
        counts = np.bincount(sets.codes, minlength=sets.size)
        scores.append(data.score(data.counts[np.asarray(mechanism(counts, draws=draws))], k))
    return medians(scores)


def medians(scores: list[Score]) -> Score:
    """The median of each figure."""
    return Score(statistics.median(s.recall for s in scores), statistics.median(s.users for s in scores))


def main() -> None:
    """One table a data set and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--epsilons", default="0.3,1,3")
    parser.add_argument("--shares", default="2/3")
    parser.add_argument("--bounds", default=f"{CHOSEN},30")
    parser.add_argument("--only", default="", help="only data whose name holds this")
    options = parser.parse_args()
    shares, bounds = options.shares.split(","), options.bounds.split(",")
    sampled = [None, *(int(b) for b in bounds if b != CHOSEN)]
    for data in loaded():
        if options.only not in data.name:
            continue
        ks = [k for k in KS if k <= len(data.falling)]
        for epsilon in options.epsilons.split(","):
            rows: list[list[object]] = []
            for most in sampled:
                name = "limited domain" if most is None else f"limited domain, {most} items a user"
                rows.append([name, *(limited(data, epsilon, k, options.runs, most) for k in ks)])
            for bound in bounds:
                for share in shares:
                    scores = discovered(data, epsilon, share, bound, ks, options.runs)
                    rows.append([f"discover, {bound} items a user, {share} for the union", *scores.values()])
            print(f"\n{data.name}, epsilon = {epsilon}\n")
            table(["method", *(f"k = {k}" for k in ks)], rows)


if __name__ == "__main__":
    single_threaded()
    main()
