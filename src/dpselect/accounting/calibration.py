"""Calibration: from a wanted total back to the largest epsilon of one pick."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpselect.accounting.adaptive import adaptive_epsilon, largest_adaptive_pick
from dpselect.accounting.composition import Total, advanced, basic, bounded_range, compose_quickly, zcdp
from dpselect.accounting.renyi import renyi_epsilon
from dpselect.privacy import BoundedRange, Plan, Steps

Bound = Callable[[Sequence[Steps], Fraction], Total]
"""From steps and a delta to their total epsilon."""

STEPS = 30  # bisections: an epsilon of one pick is found to one part in 2^30, rounded down


def largest_epsilon(plan: Plan, epsilon: Fraction, delta: Fraction, bound: Bound | None = None) -> Fraction:
    """The largest x (on a fine grid) for which composing `plan(x)` at `delta` stays within `epsilon`, under one bound

    or, without `bound`, under the smallest that holds. The total grows with x, so bisection finds it; every answer was
    checked by the certified bound itself. Adding up is linear in x and gives the exact place to start from.
    """
    low, high = epsilon / basic(plan(Fraction(1))), epsilon
    if low >= high or delta == 0:
        return low
    added = low
    quick = compose_quickly if bound is None else bound
    for _ in range(STEPS):
        middle = (low + high) / 2
        fits = quick(plan(middle), delta).epsilon <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    if bound is not None:
        return low
    found = largest_adaptive_pick(plan, epsilon, delta, low)
    return found if found * 100 > added * 101 else added  # delta is kept where it would buy less than 1 %


PICK_BOUNDS: dict[str, Callable[[Sequence[Steps], Fraction], Fraction]] = {
    "basic": lambda steps, _: basic(steps),
    "advanced": advanced,
    "bounded range": bounded_range,
    "zCDP": zcdp,
    "Renyi": renyi_epsilon,
    "adaptive optimum": adaptive_epsilon,
}
"""The bounds that hold for picks that depend on earlier ones."""


def largest_under_each(epsilon: Fraction, delta: Fraction, k: int, queries: int = 1) -> dict[str, Fraction]:
    """The largest epsilon of one pick, by bound, for `queries` questions of k picks each within (epsilon, delta)."""

    def plan(x: Fraction) -> tuple[Steps, ...]:
        return (Steps(BoundedRange(x), k * queries),)

    def largest(name: str) -> Fraction:
        return largest_epsilon(plan, epsilon, delta, lambda steps, d: Total(PICK_BOUNDS[name](steps, d), name, d))

    return {name: largest(name) for name in PICK_BOUNDS}


@dataclass(frozen=True)
class Split:
    """How a total delta is divided: `threshold` for unknown items, `composition` for the picks."""

    threshold: Fraction
    composition: Fraction
    epsilon_per_pick: Fraction


def split_delta(plan: Plan, epsilon: Fraction, delta: Fraction, swaps: int, bound: Bound | None = None) -> Split:
    """The split that makes the threshold of seed 003 lowest: ln(swaps / delta) / epsilon_per_pick.

    Parts depend on parameters only, so any split is private. The share is found with the closed form
    epsilon_per_pick ~ sqrt(epsilon + L) - sqrt(L), L = ln(1 / delta of composition) (Bun and Steinke 2016);
    it competes with basic composition, which leaves all of delta to the threshold.
    """

    def height(split: Split) -> float:
        return (math.log(swaps) - math.log(split.threshold)) / float(split.epsilon_per_pick)

    def proxy(share: Fraction) -> float:
        length = -math.log(delta * (1 - share))
        pick = float(epsilon) / (math.sqrt(epsilon + length) + math.sqrt(length))  # the same, uncancelled
        return (math.log(swaps) - math.log(delta * share)) / pick

    share = min((Fraction(i, 64) for i in range(1, 64)), key=proxy)
    parts = [(delta, Fraction(0)), (delta * share, delta * (1 - share))]
    return min((Split(t, c, largest_epsilon(plan, epsilon, c, bound)) for t, c in parts), key=height)
