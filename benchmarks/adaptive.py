"""The certified optimum for adaptive steps: what it gains, what its grid loses, and what it costs.

The loss is against a grid with four times the nodes per step (its own loss is a sixteenth of that); times are CPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from measure import Cost, call, in_turns, median, seconds, single_threaded, table

from dpselect._ground.privacy import Steps
from dpselect.accounting.calibration import largest_epsilon, plan_of
from dpselect.accounting.composition import Composed, zcdp
from dpselect.accounting.optimal_adaptive import MOST_STEPS, adaptive_epsilon, default_resolution, largest_adaptive_pick

DELTA = Fraction(1, 10**6)


def main() -> None:
    """A table of calibrations for each total, and one of totals for each epsilon of a pick."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", type=int, nargs="+", default=[5, 10, 20, 50, 100, 200, 1000])
    parser.add_argument("--total", type=Fraction, nargs="+", default=[Fraction(1), Fraction(1, 10)])
    parser.add_argument("--pick", type=Fraction, nargs="+", default=[Fraction(1, 2)])
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    for counted in (False, True):
        for total in options.total:
            what = "picks and their counts" if counted else "picks"
            print(f"The largest pick for {what}: epsilon = {float(total):g} in all, delta = 1e-6\n")
            rows = [calibrated(k, k if counted else 0, total, options.runs) for k in options.k]
            table(["k", "others' pick", "pick", "gain", "loss of the grid", "search", "one total"], rows)
    for pick in options.pick:
        print(f"The total of picks of epsilon {float(pick):g}, delta = 1e-6\n")
        table(
            ["k", "others' total", "total", "loss of the grid", "one total"],
            [summed(k, pick, options.runs) for k in options.k],
        )


def others(steps: Sequence[Steps], delta: Fraction) -> Composed:
    """The best of the bounds that need no grid: the sum or zCDP."""
    return min(
        Composed(sum((s.value.epsilon * s.times for s in steps), Fraction(0)), "basic"),
        Composed(zcdp(steps, delta), "zCDP"),
        key=lambda total: total.epsilon,
    )


def calibrated(k: int, counted: int, total: Fraction, runs: int) -> list[object]:
    """One row: from a total to a pick."""
    plan = plan_of(k, counted)
    low = largest_epsilon(plan, total, DELTA, others)
    pick = largest_adaptive_pick(plan, total, DELTA, low)
    search = time(partial(largest_adaptive_pick, plan, total, DELTA, low), runs)
    shown = seconds(search.cpu) if k + counted <= MOST_STEPS else "not made"
    gain = f"{float(pick / low) - 1:.1%}"
    return [k, f"{float(low):.5f}", f"{float(pick):.5f}", gain, *loss(plan(pick)), shown, cost(plan(pick), runs)]


def summed(k: int, pick: Fraction, runs: int) -> list[object]:
    """One row: from a pick to a total."""
    steps = plan_of(k)(pick)
    found = adaptive_epsilon(steps, DELTA)
    return [k, f"{float(others(steps, DELTA).epsilon):.4f}", f"{float(found):.4f}", *loss(steps), cost(steps, runs)]


def loss(steps: Sequence[Steps]) -> list[str]:
    """How much larger the total is than on a grid four times as fine."""
    fine = 4 * default_resolution(sum(s.times for s in steps))
    return [f"{float(adaptive_epsilon(steps, DELTA) / adaptive_epsilon(steps, DELTA, resolution=fine)) - 1:.3%}"]


def cost(steps: Sequence[Steps], runs: int) -> str:
    """The CPU time of one total."""
    return seconds(time(partial(adaptive_epsilon, steps, DELTA), runs).cpu)


def time(function: partial[Fraction], runs: int) -> Cost:
    """The median of several calls."""
    return median(in_turns({"": partial(call, function)}, runs)[""])


if __name__ == "__main__":
    single_threaded()
    main()
