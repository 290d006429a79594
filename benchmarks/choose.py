"""Choosing one of many: our mechanisms against OpenDP's exact noisy max, on Zipf counts.

OpenDP draws permute-and-flip under MaxDivergence and the exponential mechanism under ZeroConcentratedDivergence.
A ratio compares with the form that has the same law; Laplace noise, which OpenDP lacks, with the cheaper one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import opendp.prelude as dp
from inputs import Integers, zipf_counts
from measure import Cost, call, in_turns, median, seconds, single_threaded, table, verdict

from dpselect.mechanisms import ExponentialMechanism, PermuteAndFlip
from dpselect.papers import Noise, ReportNoisyMax

TARGETS = {10**6: 100, 10**7: 50}


def ours(epsilon: float) -> dict[str, tuple[Callable[[Integers], object], str]]:
    """Our mechanisms and OpenDP's form of the same law."""
    return {
        "ExponentialMechanism": (ExponentialMechanism(epsilon=epsilon, monotonic=True), "exponential"),
        "PermuteAndFlip": (PermuteAndFlip(epsilon=epsilon, monotonic=True), "permute-and-flip"),
        "ReportNoisyMax, exponential": (
            ReportNoisyMax(epsilon=epsilon, monotonic=True, noise=Noise.EXPONENTIAL),
            "permute-and-flip",
        ),
        "ReportNoisyMax, laplace": (ReportNoisyMax(epsilon=epsilon, monotonic=True), "the cheaper"),
    }


def theirs(epsilon: float) -> dict[str, Callable[[Integers], object]]:
    """OpenDP's two forms at the same epsilon, for counts that all move the same way."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    make = partial(dp.m.make_noisy_max, *space, scale=1 / epsilon)
    pure, concentrated = make(dp.max_divergence()), make(dp.zero_concentrated_divergence())
    assert abs(pure.map(1) - epsilon) < 1e-9
    assert abs(concentrated.map(1) - epsilon**2 / 8) < 1e-9
    return {"permute-and-flip": pure, "exponential": concentrated}


def main() -> None:
    """One table for each d and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-d", type=int, nargs="+", default=[10**6])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    for d in options.d:
        counts = zipf_counts(d)
        for epsilon in options.epsilon:
            print(f"d = {d:.0e}, epsilon = {epsilon:g}, Zipf(1.1) counts, medians of {options.runs} runs\n")
            compare(counts, epsilon, options.runs)


def compare(counts: Integers, epsilon: float, runs: int) -> None:
    """Every contender on the same counts."""
    forms, peers = ours(epsilon), theirs(epsilon)

    def run(mechanism: Callable[[Integers], object]) -> Callable[[], Cost]:
        return partial(call, partial(mechanism, counts))

    contenders = {f"OpenDP, {name}": run(peer) for name, peer in peers.items()}
    contenders |= {name: run(mechanism) for name, (mechanism, _) in forms.items()}
    taken = in_turns(contenders, runs)
    costs = {name: median(found) for name, found in taken.items()}
    cheaper = min((f"OpenDP, {name}" for name in peers), key=lambda name: costs[name].cpu)
    rows = [[name, *figures(taken[name]), ""] for name in costs if name.startswith("OpenDP")]
    for name, (_, law) in forms.items():
        peer = costs[cheaper if law == "the cheaper" else f"OpenDP, {law}"]
        ratio = verdict(peer.cpu / costs[name].cpu, TARGETS.get(len(counts), 1), least=True)
        rows.append([name, *figures(taken[name]), ratio])
    table(["who", "CPU", "fastest to slowest run", "extra memory", "times less CPU"], rows)


def figures(costs: list[Cost]) -> list[str]:
    """CPU and memory for a table."""
    cpu = sorted(cost.cpu for cost in costs)
    middle = median(costs)
    return [seconds(middle.cpu), f"{seconds(cpu[0])} to {seconds(cpu[-1])}", f"{middle.memory:.0f} MiB"]


if __name__ == "__main__":
    single_threaded()
    main()
