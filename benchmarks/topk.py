"""The ranked top k of a known domain: Peeling against a float one-shot Gumbel in NumPy, and OpenDP's noisy top-k.

The NumPy form is what people write by hand. It has the same law up to rounding, and it is not private: its
float noise can be attacked (Mironov 2012), and its generator can be predicted. It is the bar for cost only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt
import opendp.prelude as dp
from inputs import Integers, distinct_counts, spread_counts, zipf_counts
from measure import alternate, call, seconds, single_threaded, table, verdict

from dpselect.mechanisms import Peeling

DELTA = "1e-6"
SHAPES: dict[str, tuple[Callable[[int], Integers], float]] = {  # and the most CPU, in units of NumPy's
    "Zipf(1.1)": (zipf_counts, 1),
    "all distinct, 0 to d - 1": (distinct_counts, 3),
    "all distinct, up to 1e12": (spread_counts, 3),
}


def one_shot_gumbel(counts: Integers, k: int, rate: float, random: np.random.Generator) -> npt.NDArray[np.intp]:
    """The k largest of counts with Gumbel noise, best first. For comparison only: not private."""
    noisy = counts + random.gumbel(scale=1 / rate, size=len(counts))
    top = np.argpartition(noisy, -k)[-k:]
    return top[np.argsort(-noisy[top])]


def against_numpy(d: int, k: int, epsilon: str, runs: int) -> None:
    """Same counts, same epsilon for each pick."""
    peeling = Peeling(k=k, epsilon=epsilon, delta=DELTA)
    rate, random = float(Fraction(peeling.epsilon_per_pick or 0)), np.random.default_rng()
    print(f"d = {d:.0e}, k = {k}, epsilon = {epsilon}, delta = {DELTA} in all, medians of {runs} runs\n")
    rows = []
    for shape, (make, target) in SHAPES.items():
        counts = make(d)
        costs = alternate(
            {
                "NumPy": partial(call, partial(one_shot_gumbel, counts, k, rate, random)),
                "Peeling": partial(call, partial(peeling, counts)),
            },
            runs,
        )
        floats, exact = costs["NumPy"], costs["Peeling"]
        memory = f"{floats.memory:.0f} / {exact.memory:.0f} MiB"
        ratio = verdict(exact.cpu / floats.cpu, target)
        rows.append([shape, seconds(floats.cpu), seconds(exact.cpu), ratio, memory])
    table(["counts", "NumPy floats", "Peeling", "ratio", "extra memory"], rows)


def against_opendp(d: int, k: int, runs: int) -> None:
    """Pure epsilon = 1 in all, which is what OpenDP offers: k picks of epsilon / k."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    counts, peeling = zipf_counts(d), Peeling(k=k, epsilon=1)
    print(f"d = {d:.0e}, k = {k}, epsilon = 1, Zipf(1.1) counts, medians of {runs} runs\n")
    peers = {
        "permute-and-flip": dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=k, scale=float(k)),
        "exponential": dp.m.make_noisy_top_k(*space, dp.zero_concentrated_divergence(), k=k, scale=float(k)),
    }
    assert abs(peers["permute-and-flip"].map(1) - 1) < 1e-9
    contenders = {name: partial(call, partial(peer, counts)) for name, peer in peers.items()}
    costs = alternate(contenders | {"Peeling": partial(call, partial(peeling, counts))}, runs)
    mine = costs.pop("Peeling")
    rows = [["Peeling", seconds(mine.cpu), f"{mine.memory:.0f} MiB", ""]]
    for name, cost in costs.items():
        ratio = verdict(cost.cpu / mine.cpu, 300, least=True)
        rows.append([f"OpenDP, {name}", seconds(cost.cpu), f"{cost.memory:.0f} MiB", ratio])
    table(["who", "CPU", "extra memory", "times our CPU"], rows)


def main() -> None:
    """Three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--skip-opendp", action="store_true")
    options = parser.parse_args()
    for epsilon in ("1", "0.1"):
        against_numpy(10**6, 100, epsilon, options.runs)
    if not options.skip_opendp:
        against_opendp(10**5, 10, 3)


if __name__ == "__main__":
    single_threaded()
    main()
