"""The top k of a domain of 10^12 items, of which 10^6 occur in the data, from arrays of items and counts.

Target: under a second of CPU, from the arrays to the names of the selected items.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
from inputs import Integers, zipf_counts
from measure import alternate, call, seconds, table, verdict

from dpselect.aggregates.count_groups import CountGroups
from dpselect.mechanisms import Peeling

DOMAIN = 10**12
SEEN = 10**6

Build = Callable[[Integers, Integers], CountGroups]


def grouped(items: Integers, counts: Integers) -> CountGroups:
    """Items with equal counts in one group, all items that do not occur in another."""
    order = np.lexsort((items, counts))
    ascending, names = counts[order], items[order]
    starts = np.flatnonzero(np.diff(ascending, prepend=-1))
    sizes = np.diff(starts, append=len(items))
    unseen = unseen_item(items)

    def label(group: int, member: int) -> int:
        return unseen(member) if group == len(starts) else int(names[starts[group] + member])

    return CountGroups(
        counts=np.append(ascending[starts], 0), sizes=[*sizes.tolist(), DOMAIN - len(items)], label=label
    )


def one_by_one(items: Integers, counts: Integers) -> CountGroups:
    """One group for each item that occurs, and one for all that do not."""
    unseen = unseen_item(items)

    def label(group: int, member: int) -> int:
        return unseen(member) if group == len(items) else int(items[group])

    sizes = [1] * len(items) + [DOMAIN - len(items)]
    return CountGroups(counts=np.append(counts, 0), sizes=sizes, label=label)


def unseen_item(items: Integers) -> Callable[[int], int]:
    """The r-th number of 0 ... DOMAIN - 1 that is not among the items."""
    before = np.sort(items) - np.arange(len(items))  # how many unseen ones come before each that is seen
    return lambda r: r + int(np.searchsorted(before, r, side="right"))


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    random = np.random.default_rng(0)
    items = random.permutation(np.unique(random.integers(DOMAIN, size=SEEN + 1000)))[:SEEN]
    counts = zipf_counts(SEEN) + 1

    rows = []
    for build, k, epsilon in itertools.product((grouped, one_by_one), (10, 100), ("1", "0.1", "0.01")):
        peeling = Peeling(k=k, epsilon=epsilon, delta="1e-6")

        def whole(build: Build = build, peeling: Peeling = peeling) -> object:
            return peeling(build(items, counts))

        costs = alternate({"build": partial(call, partial(build, items, counts)), "whole": partial(call, whole)}, runs)
        unseen = len(np.setdiff1d(np.asarray(whole()), items))
        whole_cost, built = costs["whole"], seconds(costs["build"].cpu)
        memory = f"{whole_cost.memory:.0f} MiB"
        rows.append([build.__name__, k, epsilon, built, verdict(whole_cost.cpu, 1), memory, unseen])
    print(f"{DOMAIN:.0e} items, {SEEN:.0e} seen, medians of {runs} runs\n")
    table(["groups", "k", "epsilon", "building", "seconds in all", "extra memory", "unseen in an answer"], rows)


if __name__ == "__main__":
    main()
