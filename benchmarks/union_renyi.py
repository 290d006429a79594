"""RenyiShaped: how many items come back, beside the best others, and how long its curves take to find and to prove.

10^5 users of about 9.4 items each, Zipf over 10^6 labels; delta = e^-10; means over draws.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from fractions import Fraction
from statistics import fmean
from typing import Any

import numpy as np
from inputs import user_sets
from measure import seconds, single_threaded, table

from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms import GreedyGeometric, RenyiShaped
from dpselect.mechanisms.set_union.renyi_curve import steepest
from dpselect.mechanisms.set_union.renyi_shaped import _best_order

DELTA = Fraction(math.exp(-10))


def main() -> None:
    """A table of sizes, then one of times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilon", nargs="+", default=["0.5", "1", "3"])
    parser.add_argument("--most", type=int, nargs="+", default=[10, 100])
    options = parser.parse_args()
    starts, items = user_sets()
    names, codes = np.unique(items, return_inverse=True)
    sets = UserSets(offsets=starts.astype(np.int64), codes=codes.astype(np.int64), size=len(names), label=int)
    rows = [
        [
            epsilon,
            most,
            *(f"{fmean(sizes):,.0f} ({spread(sizes):.0f})" for sizes in every(sets, epsilon, most, options)),
        ]
        for most in options.most
        for epsilon in options.epsilon
    ]
    table(["epsilon", "items a user", "RenyiShaped", "GreedyGeometric"], rows)
    print()
    table(
        ["epsilon", "items a user", "order", "weights in the curves", "to construct", "a call"],
        [timed(sets, epsilon, most, options.runs) for most in options.most for epsilon in options.epsilon],
    )


def every(sets: UserSets, epsilon: str, most: int, options: Any) -> list[list[int]]:
    """The sizes of all runs of each mechanism."""
    terms = {"epsilon": epsilon, "delta": DELTA, "max_items_per_user": most}
    mechanisms = [RenyiShaped(**terms), GreedyGeometric(**terms)]
    return [[len(one(sets)) for _ in range(options.runs)] for one in mechanisms]


def spread(sizes: list[int]) -> float:
    """The standard error of the mean."""
    return float(np.std(sizes, ddof=1)) / math.sqrt(len(sizes)) if len(sizes) > 1 else math.nan


def timed(sets: UserSets, epsilon: str, most: int, runs: int) -> list[object]:
    """One row: the order, the length of the curves, and the least times."""

    def construct() -> RenyiShaped:
        steepest.cache_clear()
        _best_order.cache_clear()
        return RenyiShaped(epsilon=epsilon, delta=DELTA, max_items_per_user=most)

    mechanism = construct()
    lengths = " ".join(str(len(curve.chances)) for curve in mechanism.curves)
    return [
        epsilon,
        most,
        mechanism.order,
        lengths,
        seconds(least(construct, runs)),
        seconds(least(lambda: mechanism(sets), runs)),
    ]


def least(function: Callable[[], object], runs: int) -> float:
    """The shortest of some runs, in seconds."""
    found = []
    for _ in range(runs):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


if __name__ == "__main__":
    single_threaded()
    main()
