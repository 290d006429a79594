"""Which mechanism finds the true top k of a known domain, and what can be told from k and epsilon alone?

Recall is the share of the k that were chosen which have at least as many users as the true k-th. Data: the Parquet
files of the folder `DPSELECT_DATA`, and counts that were made up; only figures about them are printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from accuracy import counts_of
from inputs import DATA, Integers, uniform_counts, zipf_counts
from measure import table

from dpselect.mechanisms import CanonicalSet, Peeling
from dpselect.papers import JointSequence, JointSet
from dpselect.testing import SeededDraws

MECHANISMS: Mapping[str, Callable[[int, str], Any]] = {
    "peeling, pure": lambda k, e: Peeling(k=k, epsilon=e),
    "peeling, delta 1e-6": lambda k, e: Peeling(k=k, epsilon=e, delta="1e-6"),
    "joint sequence": lambda k, e: JointSequence(k=k, epsilon=e),
    "joint set": lambda k, e: JointSet(k=k, epsilon=e),
    "canonical": lambda k, e: CanonicalSet(k=k, epsilon=e),
}


def inputs() -> dict[str, Integers]:
    """Counts by name, of real data where they are there."""
    found = {
        name: counts_of(name)
        for name in ("lastfm", "ml100k", "msweb", "commits")
        if (DATA / f"{name}.parquet").exists()
    }
    found["Zipf(1.1), 10^5"] = np.sort(zipf_counts(10**5, draws=10**6))[::-1]
    found["Zipf(0.7), 10^4"] = np.sort(zipf_counts(10**4, exponent=0.7, draws=10**6))[::-1]
    found["uniform, 10^4"] = np.sort(uniform_counts(10**4))[::-1]
    return found


def recall(mechanism: Any, counts: Integers, repeats: int) -> float:
    """The mean over the repeats."""
    least, draws = counts[mechanism.k - 1], SeededDraws(seed=1)
    found = [np.count_nonzero(counts[np.asarray(mechanism(counts, draws=draws))] >= least) for _ in range(repeats)]
    return float(np.mean(found)) / float(mechanism.k)


def main() -> None:
    """A row for each data set, k and epsilon; then means over the data sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--k", nargs="+", type=int, default=[1, 5, 10, 30, 100])
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.3", "1", "3"])
    options = parser.parse_args()
    data = inputs()
    rows, means = [], []
    for epsilon in options.epsilon:
        for k in options.k:
            cases = []
            for name, counts in data.items():
                if k < len(counts):
                    cells = [recall(make(k, epsilon), counts, options.repeats) for make in MECHANISMS.values()]
                    cases.append(cells)
                    rows.append([name, epsilon, k, *(f"{100 * cell:.0f}" for cell in cells)])
            means.append([epsilon, k, *(f"{100 * cell:.0f}" for cell in np.mean(cases, axis=0))])
    print("Recall in percent\n")
    table(["data", "epsilon", "k", *MECHANISMS], rows)
    print("Means over the data\n")
    table(["epsilon", "k", *MECHANISMS], means)


if __name__ == "__main__":
    main()
