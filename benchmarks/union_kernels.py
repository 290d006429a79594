"""How many users a second do the loops of a set union serve, and from which size on is compiling worth its start?"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import numpy as np
from dpselect.mechanisms.set_union.kernels import compiled, plain
from measure import Cost, alternate, call, median, process, seconds, single_threaded, table, verdict

UNIT = 1 << 30
# Cutoffs of epsilon = 1, delta = e^-10, 10 items per user: threshold + 3 x scale.
TERMS = {"greedy": (int(13.30685 * UNIT), UNIT), "l1_descent": (int(14.70942 * UNIT), UNIT), "l2_descent": (27.1909,)}
MECHANISM = {"greedy": "GreedyGeometric", "l1_descent": "PolicyLaplace", "l2_descent": "PolicyGaussian"}
LEAST = {"l1_descent": 2.0, "l2_descent": 5.0}  # million users per CPU second


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=10, help="rows per user")
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    single_threaded()
    start = starts(options.runs)
    sets = user_sets(options.users, options.items, options.labels)
    large = throughput(sets, options.runs)
    small = interpreted(sets, options.runs)
    print("Items from which on a loop is faster compiled: start / (plain - compiled) seconds per item\n")
    rows = [[name, f"{start / (small[name] - large[name]):,.0f}", f"{compiled.WORTH[name]:,}"] for name in TERMS]
    table(["loop", "measured", "set"], rows)


def user_sets(users: int, items: int, labels: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Zipf(1.05) over labels in no order, each once a user, users and their items in a random order."""
    rng = np.random.default_rng(7)
    popular = np.cumsum(np.arange(1, labels + 1) ** -1.05)
    codes = rng.permutation(labels)[np.searchsorted(popular, rng.random(users * items) * popular[-1])]
    pairs = np.unique(np.repeat(np.arange(users), items) * labels + codes)
    user = pairs // labels
    pairs = pairs[np.lexsort((rng.random(len(pairs)), user))]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(user, minlength=users))])
    return offsets, pairs % labels, labels


def starts(runs: int) -> float:
    """Seconds of CPU until a loop can run, beyond Python's own; returns those with the machine code on disk."""
    code = "from dpselect.mechanisms.set_union.kernels import compiled; compiled.compiled('l1_descent')"
    base = [sys.executable, "-c", code.split(";", maxsplit=1)[0]]
    warm = [sys.executable, "-c", code]
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, NUMBA_CACHE_DIR=folder):
        first = process(warm)
        costs = alternate({"plain": lambda: process(base), "cached": lambda: process(warm)}, runs)
    rows = [
        [name, seconds(cost.cpu - costs["plain"].cpu), seconds(cost.wall - costs["plain"].wall)]
        for name, cost in (("the first time on a machine", first), ("machine code on disk", costs["cached"]))
    ]
    print("From import to a loop that can run, one loop\n")
    table(["", "CPU", "clock"], rows)
    return costs["cached"].cpu - costs["plain"].cpu


def throughput(sets: tuple[np.ndarray, np.ndarray, int], runs: int) -> dict[str, float]:
    """Million users a CPU second; returns seconds per item."""
    offsets, codes, size = sets
    gifts = np.array([0, *(UNIT // n for n in range(1, int(np.diff(offsets).max()) + 1))])
    contenders: dict[str, Callable[[], Cost]] = {
        name: partial(call, partial(compiled.run, name, *sets, *terms)) for name, terms in TERMS.items()
    }
    contenders["count"] = partial(call, lambda: np.bincount(codes, minlength=size))
    contenders["weighted"] = partial(call, partial(weighted, sets, gifts))
    contenders["read"] = partial(call, lambda: np.zeros(size, dtype=np.int64)[codes])
    with patch.object(compiled, "WORTH", dict.fromkeys(TERMS, 0)):
        for warm in contenders.values():
            warm()
        costs = alternate(contenders, runs)
    users = len(offsets) - 1
    print(f"{users:,} users, {len(codes):,} items of theirs, {size:,} labels: medians of {runs} runs, one thread\n")
    rows = []
    for name, cost in costs.items():
        rate = users / cost.cpu / 1e6
        shown = verdict(rate, LEAST[name], least=True) if name in LEAST else f"{rate:.3g}"
        rows.append([MECHANISM.get(name, name), seconds(cost.cpu), shown, f"{cost.cpu / costs['read'].cpu:.2g}"])
    table(["", "CPU", "million users a second", "against reading every item's weight once"], rows)
    return {name: costs[name].cpu / len(codes) for name in TERMS}


def weighted(sets: tuple[np.ndarray, np.ndarray, int], gifts: np.ndarray) -> np.ndarray:
    """The same share for each item of a user, in whole numbers."""
    offsets, codes, size = sets
    weights = np.zeros(size, dtype=np.int64)
    sizes = np.diff(offsets)
    np.add.at(weights, codes, np.repeat(gifts[sizes], sizes))
    return weights


def interpreted(sets: tuple[np.ndarray, np.ndarray, int], runs: int) -> dict[str, float]:
    """Seconds per item of the interpreter, its lists made, on a tenth of the users."""
    offsets, codes, size = sets
    users = (len(offsets) - 1) // 10
    offsets, codes = offsets[: users + 1], codes[: offsets[users]]
    found = {}
    for name, terms in TERMS.items():
        cost = median([call(partial(plain.run, name, offsets, codes, size, *terms)) for _ in range(min(runs, 3))])
        found[name] = cost.cpu / len(codes)
    print("The same loops by the interpreter\n")
    rate = {name: users / (each * len(codes)) / 1e6 for name, each in found.items()}
    table(["", "million users a second"], [[MECHANISM[name], f"{r:.2g}"] for name, r in rate.items()])
    return found


if __name__ == "__main__":
    main()
