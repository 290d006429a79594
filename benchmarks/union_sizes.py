"""How many items every set union finds: 10^5 users of about 9.4 Zipf items each, against the sizes to expect."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from math import exp, sqrt
from typing import Any

import numpy as np
from inputs import user_sets
from measure import single_threaded, table

from dpselect.accounting.gaussian_curve import smallest_deviation
from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms import (
    CountGaussian,
    CountLaplace,
    GreedyGeometric,
    RenyiShaped,
    SetUnion,
    TruncatedGeometric,
    WeightedGaussian,
)
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.set_union.release_laws import gaussian_tail, laplace_tail, root_up
from dpselect.papers import PolicyGaussian, PolicyLaplace, WeightedLaplace

DELTA = Fraction(exp(-10))
SETTINGS = [("0.5", 10), ("1", 10), ("1", 100), ("3", 10)]
Union = SetUnion | RenyiShaped
Build = Callable[[str, int], Union]


def of(kind: Callable[..., Union], **more: object) -> Build:
    """A mechanism at these settings."""
    return lambda epsilon, most: kind(epsilon=epsilon, delta=DELTA, max_items_per_user=most, **more)


def continuous(*, max_items_per_user: int, **terms: Any) -> CountLaplace:
    """Noise that is no whole number, as published."""
    made, most = CountLaplace(max_items_per_user=max_items_per_user, **terms), max_items_per_user
    law = laplace_tail(Fraction(made.epsilon) / most, Fraction(made.delta), most, lambda _: Fraction(1))
    set_fields(made, law=law)
    return made


def halves(*, max_items_per_user: int, **terms: Any) -> CountGaussian:
    """Noise and threshold get half of delta each, as published."""
    made, most = CountGaussian(max_items_per_user=max_items_per_user, **terms), max_items_per_user
    epsilon, delta = Fraction(made.epsilon), Fraction(made.delta) / 2
    deviation = smallest_deviation(epsilon, delta) * root_up(Fraction(most))
    set_fields(made, law=gaussian_tail(deviation, delta, most, lambda _: Fraction(1)))
    return made


# The sizes that others' formulas gave on the same inputs, means of five seeds, one a setting.
KNOWN: dict[str, tuple[Build, list[int | None]]] = {
    "count-laplace": (of(continuous), [285, 545, 55, 1542]),
    "count-gaussian, halves": (of(halves), [673, 1213, 411, 3050]),
    "weighted-laplace": (of(WeightedLaplace), [329, 629, 527, 1728]),
    "weighted-gaussian": (of(WeightedGaussian), [720, 1310, 1238, 3251]),
    "policy-laplace": (of(PolicyLaplace), [568, 1219, 1009, 4098]),
    "policy-gaussian, alpha 3": (of(PolicyGaussian, alpha=3), [777, 1506, 1393, 4177]),
    "greedy-geometric (a whole cutoff)": (of(GreedyGeometric), [862, 1651, None, 4862]),
}
MORE: dict[str, Build] = {
    "count-laplace, whole noise": of(CountLaplace),
    "count-gaussian": of(CountGaussian),
    "policy-gaussian": of(PolicyGaussian),
    "truncated-geometric": lambda epsilon, _: TruncatedGeometric(epsilon=epsilon, delta=DELTA),
    "renyi-shaped": of(RenyiShaped),
}


def data(seed: int) -> UserSets:
    """One input, its items numbered from 0."""
    offsets, items = user_sets(seed=seed)
    labels, codes = np.unique(items, return_inverse=True)
    return UserSets(
        offsets=offsets.astype(np.int64),
        codes=codes.astype(np.int64),
        size=len(labels),
        label=lambda code: int(labels[code]),
    )


def sizes(build: Build, epsilon: str, most: int, inputs: list[UserSets]) -> tuple[list[int], float]:
    """The sizes of one answer an input, and the mean CPU seconds of a call."""
    mechanism = build(epsilon, most)
    start = time.process_time()
    found = [len(mechanism(one)) for one in inputs]
    return found, (time.process_time() - start) / len(inputs)


def against(found: list[int], expected: int | None) -> str:
    """The size to expect, and how far from it the sizes found are."""
    return "-" if expected is None else f"{expected} ({errors_away(found, expected):+.1f})"


def errors_away(found: list[int], expected: int) -> float:
    """How many standard errors (of a difference of two means of five) from what was expected.

    The sizes to expect came with standard deviations of 1 to 3%: ours of five runs is taken as no less than 1%.
    """
    error = max(statistics.stdev(found), expected / 100) * sqrt(2 / len(found))
    return (statistics.mean(found) - expected) / error


def main() -> None:
    """Print the sizes as a table a setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="only methods whose name holds this")
    arguments = parser.parse_args()
    inputs = [data(seed) for seed in range(arguments.seeds)]
    for place, (epsilon, most) in enumerate(SETTINGS):
        rows: list[list[object]] = []
        for name, build, expected in [
            *((name, build, known[place]) for name, (build, known) in KNOWN.items()),
            *((name, build, None) for name, build in MORE.items()),
        ]:
            if arguments.only not in name:
                continue
            found, seconds = sizes(build, epsilon, most, inputs)
            spread = f"{statistics.stdev(found):.0f}"
            rows.append([name, f"{statistics.mean(found):.0f}", spread, against(found, expected), f"{seconds:.2f}"])
        print(f"\nepsilon = {epsilon}, max_items_per_user = {most}, delta = e^-10\n")
        table(["method", "mean size", "sd", "expected (standard errors away)", "CPU s"], rows)


if __name__ == "__main__":
    single_threaded()
    main()
