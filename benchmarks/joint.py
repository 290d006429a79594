"""The joint mechanisms: CPU and memory of one private top-k as a set or a ranking, exact law included.

Published figures to compare with (floats, sequences only): the joint mechanism's public code 13 s CPU at d = 10^6,
k = 10, and 160 s with 6 GiB at k = 100; the pruned FastJoint 0.6 s at both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from inputs import Integers, uniform_counts, zipf_counts
from measure import alternate, call, seconds, single_threaded, table, verdict

from dpselect.aggregates.count_groups import CountGroups
from dpselect.mechanisms import CanonicalSet
from dpselect.papers import JointSequence, JointSet

D = 10**6
LARGE = 1000
SHAPES: dict[str, Callable[[int], Integers]] = {"Zipf(1.1)": zipf_counts, "uniform, 0 to 10 d": uniform_counts}
KINDS: dict[str, Callable[..., Callable[[object], object]]] = {
    "JointSet": JointSet,
    "JointSequence": JointSequence,
    "CanonicalSet": CanonicalSet,
}
TARGETS = {  # seconds of CPU at most, by mechanism and (k, epsilon)
    "JointSet": {(10, "1"): 0.25, (100, "1"): 0.25, (100, "0.1"): 2},
    "JointSequence": {(10, "1"): 0.15, (100, "1"): 0.15},
    "CanonicalSet": {(10, "1"): 0.15, (100, "1"): 0.15},
}


def listed(shape: str, k: int, runs: int) -> None:
    """An array of a million counts; sorting or grouping them is part of the call."""
    counts = SHAPES[shape](D)
    print(f"{shape}, d = {D:.0e}, k = {k}, medians of {runs} runs\n")
    rows = []
    for epsilon in ("1", "0.1", "0.01") if k == LARGE else ("1", "0.1"):
        contenders = {n: partial(call, partial(make(k=k, epsilon=epsilon), counts)) for n, make in KINDS.items()}
        for name, cost in alternate(contenders, runs).items():
            target = 2 if k == LARGE else TARGETS.get(name, {}).get((k, epsilon))
            met = "" if target is None else verdict(cost.cpu, target)
            rows.append([name, epsilon, seconds(cost.cpu), met, f"{cost.memory:.0f} MiB"])
    table(["mechanism", "epsilon", "CPU", "seconds", "extra memory"], rows)


def unseen(k: int, runs: int) -> None:
    """The same counts with the unseen items as one group, of a million and of a hundred million items in all."""
    seen = np.unique(zipf_counts(D), return_counts=True)
    rows = []
    for epsilon in ("1", "0.1"):
        for name, make in KINDS.items():
            costs = alternate(
                {
                    f"{d:.0e}": partial(call, partial(make(k=k, epsilon=epsilon), _grouped(*seen, d)))
                    for d in (D, 100 * D)
                },
                runs,
            )
            few, many = costs.values()
            rows.append([name, epsilon, seconds(few.cpu), seconds(many.cpu), f"{many.cpu / few.cpu:.2f}"])
    print(f"grouped counts, Zipf(1.1), k = {k}, medians of {runs} runs\n")
    table(["mechanism", "epsilon", f"d = {D:.0e}", f"d = {100 * D:.0e}", "ratio"], rows)


def _grouped(values: Integers, sizes: Integers, d: int) -> CountGroups:
    sizes = sizes.copy()
    sizes[0] += d - int(sizes.sum())
    return CountGroups(counts=values[::-1], sizes=sizes[::-1].tolist(), label=lambda group, member: (group, member))


def main() -> None:
    """A table for each shape and k, and one for grouped counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--large", action="store_true", help="k = 1000 too, three times (a minute)")
    options = parser.parse_args()
    for shape in SHAPES:
        for k in (10, 100):
            listed(shape, k, options.runs)
        if options.large:
            listed(shape, LARGE, 3)
    unseen(100, options.runs)


if __name__ == "__main__":
    single_threaded()
    main()
