"""The median of 10^6 values against OpenDP's private quantile: CPU, and the error in ranks at the same epsilon.

OpenDP scores a list of candidates, here equally spaced ones between the bounds; it draws permute-and-flip under
MaxDivergence. Ours has 10^9 points or more without a step, and as many as OpenDP's candidates with one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
import opendp.prelude as dp
from inputs import Floats
from measure import call, in_turns, median, seconds, single_threaded, table, verdict

from dpselect.mechanisms import Quantile

BOUNDS = (0, 120)
TARGET_SECONDS, TARGET_RATIO = 0.3, 10

Contender = Callable[[Floats], float]


def values(n: int, seed: int = 0) -> Floats:
    """Ages of a kind: a normal law, hardly anything beyond the bounds."""
    return np.random.default_rng(seed).normal(45, 15, n)


def ours(q: float, epsilon: float, step: float | None) -> Contender:
    """Our quantile of an array."""
    mechanism = Quantile(q=q, bounds=BOUNDS, step=step, epsilon=epsilon)
    return lambda x: mechanism(x)[0]


def theirs(q: float, epsilon: float, candidates: int) -> Contender:
    """OpenDP's, for add-remove neighbours and a private number of users, with the scale that gives epsilon."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    points = np.linspace(*BOUNDS, candidates)
    make = partial(dp.m.make_private_quantile, *space, dp.max_divergence(), points.tolist(), alpha=q)
    scale = dp.binary_search_param(lambda s: make(scale=s), 1, epsilon, bounds=(1e-9, 1e9))
    assert abs(make(scale=scale).map(1) - epsilon) < 1e-6
    return make(scale=scale)


def main() -> None:
    """One table for each q."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=10**6)
    parser.add_argument("--q", type=float, nargs="+", default=[0.5, 0.9])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--candidates", type=int, default=10**5)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=40, help="answers for the mean error")
    options = parser.parse_args()
    x = values(options.n)
    for q in options.q:
        print(f"q = {q:g} of {options.n:.0e} values, epsilon = {options.epsilon:g}, medians of {options.runs} runs\n")
        compare(x, q, options)


def compare(x: Floats, q: float, options: argparse.Namespace) -> None:
    """CPU in alternating runs, then the mean error over repeated answers."""
    step = (BOUNDS[1] - BOUNDS[0]) / (options.candidates - 1)
    peer = f"OpenDP, {options.candidates:,} candidates"
    contenders = {
        peer: theirs(q, options.epsilon, options.candidates),
        "Quantile, as many points": ours(q, options.epsilon, step),
        "Quantile, no step": ours(q, options.epsilon, None),
    }
    taken = in_turns({name: partial(call, partial(one, x)) for name, one in contenders.items()}, options.runs)
    costs = {name: median(found) for name, found in taken.items()}
    ordered = np.sort(x)
    rows = []
    for name, one in contenders.items():
        errors = [abs(float(np.searchsorted(ordered, one(x))) - q * len(x)) for _ in range(options.repeats)]
        cpu, fewer = costs[name].cpu, costs[peer].cpu / costs[name].cpu
        said = "" if name == peer else verdict(fewer, TARGET_RATIO, least=True)
        limit = "" if name == peer else verdict(cpu, TARGET_SECONDS)
        error = f"{np.mean(errors):.3g} +- {np.std(errors) / options.repeats**0.5:.2g}"
        rows.append([name, seconds(cpu), f"{costs[name].memory:.0f} MiB", error, said, limit])
    table(["who", "CPU", "extra memory", "mean error in ranks", "times less CPU", "seconds"], rows)


if __name__ == "__main__":
    single_threaded()
    main()
