"""Several quantiles by recursion against one draw for each: mean and largest error in ranks, what is stated, and CPU.

Three kinds of values: lognormal ones without a step, ages in whole years, and ratings of 0 to 4 stars.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import numpy as np
from inputs import Floats
from measure import seconds, single_threaded, table

from dpselect.mechanisms import Quantile, RecursiveQuantiles
from dpselect.testing import SeededDraws

STARS = (0.08, 0.05, 0.12, 0.25, 0.5)
Values = tuple[Floats, tuple[int, int], int | None]


def values(n: int, seed: int = 1) -> dict[str, Values]:
    """Values, their bounds and their step."""
    random = np.random.default_rng(seed)
    return {
        "lognormal": (random.lognormal(3, 0.7, n).clip(0, 1000), (0, 1000), None),
        "ages": (random.normal(42, 20, n).clip(0, 120).round(), (0, 120), 1),
        "stars": (random.choice(5, n, p=STARS).astype(np.float64), (0, 4), 1),
    }


def errors(kind: type[Quantile | RecursiveQuantiles], of: Values, m: int, options: argparse.Namespace) -> list[str]:
    """Errors of repeated answers at the ranks i / (m + 1), the stated error, and CPU."""
    x, bounds, step = of
    q = [Fraction(i, m + 1) for i in range(1, m + 1)]
    mechanism = kind(q=q, bounds=bounds, step=step, epsilon=options.epsilon, delta=options.delta)
    size = float(mechanism.grid.step)
    places, n, began = np.sort(np.rint((x - bounds[0]) / size)), len(x), time.process_time()
    answers = [mechanism(x, draws=SeededDraws(seed)) for seed in range(options.repeats)]
    cpu = (time.process_time() - began) / options.repeats
    found = []
    for answer in answers:
        at = np.rint((np.array(answer) - bounds[0]) / size)
        low, high = places.searchsorted(at, "left"), n - places.searchsorted(at, "right")
        wanted = np.array([float(one) for one in q]) * n
        found.append(np.maximum(0, np.maximum(low - wanted, high - (n - wanted))))
    return [f"{np.mean(found):.3g}", f"{np.max(found):.3g}", f"{float(mechanism.gap(0.05)):.0f}", seconds(cpu)]


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=20_000)
    parser.add_argument("--m", type=int, nargs="+", default=[3, 9, 99])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    rows = []
    for name, of in values(options.n).items():
        for m in options.m:
            single, levels = (errors(kind, of, m, options) for kind in (Quantile, RecursiveQuantiles))
            rows.append([name, f"{m}", *(f"{a} / {b}" for a, b in zip(single, levels, strict=True))])
    table(["values", "quantiles", "mean error", "largest error", "stated (95 %)", "CPU"], rows)


if __name__ == "__main__":
    single_threaded()
    main()
