"""Calibration: the largest epsilon of one pick that fits a requested total, and the price of k picks.

Bounds: docs/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import (
    ZCDP,
    AnySteps,
    BoundedRange,
    Neighbors,
    Privacy,
    PureDP,
    SpentSteps,
    Steps,
    StepsOfPick,
)
from dpselect.accounting.composition import (
    Composed,
    advanced,
    basic,
    bounded_range,
    compose,
    compose_quickly,
    frugal,
    zcdp,
    zcdp_to_epsilon,
)
from dpselect.accounting.optimal_adaptive import adaptive_epsilon, largest_adaptive_pick
from dpselect.accounting.renyi import renyi_epsilon
from dpselect.errors import ParameterError

Bound = Callable[[Sequence[Steps], Fraction], Composed]
"""From steps and a delta to their total epsilon."""

LEAST_RATIO = Fraction(1, 10**300)  # its logarithm is still taken in floats

FINEST = Fraction(1, 2**40)  # rho is a multiple of this part of its power of two
STEPS = 30  # an epsilon of one pick is found on a grid of 2^30 points, rounded down


def largest_epsilon(plan: StepsOfPick, epsilon: Fraction, delta: Fraction, bound: Bound | None = None) -> Fraction:
    """Return the largest x, on a fine grid, for which `plan(x)` composed at `delta` stays within `epsilon`.

    Composition is by `bound`, or without it by the smallest bound that holds. The total grows with x, so a search
    between two ends finds it, and the certified bound itself checks every answer. Basic composition is linear in x and
    gives the exact starting point.
    """
    low, high = epsilon / basic(plan(Fraction(1))), epsilon
    if low >= high or delta == 0:
        return low
    basic_pick = low
    quick = compose_quickly if bound is None else bound
    low = _largest(lambda x: quick(plan(x), delta).epsilon, low, high, epsilon)
    if bound is not None:
        return low
    adaptive = largest_adaptive_pick(plan, epsilon, delta, low)
    return (
        adaptive if adaptive * 100 > basic_pick * 101 else basic_pick
    )  # delta is kept where it would buy less than 1 %


def _largest(total: Callable[[Fraction], Fraction], low: Fraction, high: Fraction, limit: Fraction) -> Fraction:
    """Return the last grid point from `low`, taken to fit, to `high`, which does not, with total(x) <= limit.

    A total is close to a power of x, so the next point is where the line through both ends, on the logarithms, meets
    `limit`; an end that stays counts half (the Illinois method). Each third point is the middle, whatever the total is.
    """

    def point(node: int) -> Fraction:
        return low + (high - low) * Fraction(node, 2**STEPS)

    def excess(value: Fraction) -> float:
        return math.log(max(value / limit, LEAST_RATIO))

    inside, outside = 0, 2**STEPS
    excess_inside, excess_outside = min(0.0, excess(total(low))), max(0.0, excess(total(high)))
    tries = stayed = 0
    while outside - inside > 1:
        tries += 1
        node = (inside + outside) // 2
        if tries % 3 and excess_inside < excess_outside:
            first, last = math.log(point(inside)), math.log(point(outside))
            x = math.exp(first + (last - first) * excess_inside / (excess_inside - excess_outside))
            node = min(max(((Fraction(x) - low) / (high - low) * 2**STEPS).__floor__(), inside + 1), outside - 1)
        node_total = total(point(node))
        if node_total <= limit:
            inside, excess_inside = node, excess(node_total)
            excess_outside, stayed = (excess_outside / 2 if stayed > 0 else excess_outside), 1
        else:
            outside, excess_outside = node, excess(node_total)
            excess_inside, stayed = (excess_inside / 2 if stayed < 0 else excess_inside), -1
    return point(inside)


PICK_BOUNDS: dict[str, Callable[[Sequence[Steps], Fraction], Fraction]] = {
    "basic": lambda steps, _: basic(steps),
    "advanced": advanced,
    "bounded range": bounded_range,
    "zCDP": zcdp,
    "Renyi": renyi_epsilon,
    "adaptive optimum": adaptive_epsilon,
}
"""The bounds that hold for picks chosen adaptively."""


def largest_under_each(epsilon: Fraction, delta: Fraction, k: int, queries: int = 1) -> dict[str, Fraction]:
    """Return by bound the largest epsilon of a pick for `queries` questions of k picks each within (epsilon, delta)."""

    def plan(x: Fraction) -> tuple[Steps, ...]:
        return (Steps(BoundedRange(x), k * queries),)

    def largest(name: str) -> Fraction:
        return largest_epsilon(plan, epsilon, delta, lambda steps, d: Composed(PICK_BOUNDS[name](steps, d), name, d))

    return {name: largest(name) for name in PICK_BOUNDS}


@dataclass(frozen=True)
class DeltaSplit:
    """A division of a total delta: `threshold` for unknown items, `composition` for the picks."""

    threshold: Fraction
    composition: Fraction
    epsilon_per_pick: Fraction


def split_delta(plan: StepsOfPick, epsilon: Fraction, delta: Fraction, swaps: int) -> DeltaSplit:
    """Return the split that makes the threshold of limited domain lowest: ln(swaps / delta) / epsilon_per_pick.

    It depends on parameters only, so any split is private. The share is found with the closed form
    epsilon_per_pick ~ sqrt(epsilon + L) - sqrt(L), L = ln(1 / delta of composition) (Bun and Steinke 2016);
    it competes with basic composition, which leaves all of delta to the threshold.
    """

    def height(split: DeltaSplit) -> float:
        return (math.log(swaps) - math.log(split.threshold)) / float(split.epsilon_per_pick)

    def proxy(share: Fraction) -> float:
        length = -math.log(delta * (1 - share))
        pick = float(epsilon) / (math.sqrt(epsilon + length) + math.sqrt(length))  # the same, uncancelled
        return (math.log(swaps) - math.log(delta * share)) / pick

    share = min((Fraction(i, 64) for i in range(1, 64)), key=proxy)
    parts = [(delta, Fraction(0)), (delta * share, delta * (1 - share))]
    return min((DeltaSplit(t, c, largest_epsilon(plan, epsilon, c)) for t, c in parts), key=height)


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, to twelve digits, for which rho-zCDP implies (epsilon, delta)-DP."""
    high = Fraction(1)
    while zcdp_to_epsilon(high, delta) <= epsilon:
        high *= 2
    low = high / 2
    while zcdp_to_epsilon(low, delta) > epsilon:
        high, low = low, low / 2
    step = low * FINEST
    while high - low > step:
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_to_epsilon(middle, delta) <= epsilon else (low, middle)
    return low


COUNT_SHARE = Fraction(1, 2)  # a noisy count takes half the epsilon of a pick, hence the same zCDP: (e/2)^2/2 = e^2/8
RHO_STEPS = 2**12  # a rho beside picks is found on a grid of so many points


@lru_cache(maxsize=256)  # a question is planned again when it is priced, asked and checked
def largest_rho_beside(steps: tuple[SpentSteps, ...], epsilon: Fraction, delta: Fraction, limit: Fraction) -> Fraction:
    """Return the largest part of `limit`, on a grid, that is a rho with which these steps stay within (epsilon, delta).

    Picks come first, and rho-zCDP holds given what they picked, so divergences of every order add up. 0 if none fits.
    """

    def fits(part: int) -> bool:
        return renyi_epsilon([*steps, AnySteps(ZCDP(limit * part / RHO_STEPS), 1)], delta) <= epsilon

    low, high = (RHO_STEPS, RHO_STEPS + 1) if fits(RHO_STEPS) else (0, RHO_STEPS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return limit * low / RHO_STEPS


def plan_of(picks: int, counts: int = 0) -> StepsOfPick:
    """Return a plan of `picks` bounded-range steps of epsilon x, then `counts` noisy counts of epsilon x / 2."""

    def plan(x: Fraction) -> tuple[Steps, ...]:
        steps = (Steps(BoundedRange(x), picks), Steps(PureDP(x * COUNT_SHARE), counts))
        return tuple(s for s in steps if s.times)

    return plan


def one_price(epsilon: Number | None, epsilon_per_pick: Number | None) -> None:
    """Exactly one of the two ways to state a price must be used."""
    if (epsilon is None) == (epsilon_per_pick is None):
        came = "neither" if epsilon is None else "both"
        raise ParameterError("epsilon", "be given, or epsilon_per_pick in its place", came)


def price(
    plan: StepsOfPick,
    epsilon: Number | None,
    epsilon_per_pick: Number | None,
    composition: Fraction,
    *,
    failure: Fraction = Fraction(0),
    neighbors: Neighbors,
) -> tuple[Privacy, Fraction]:
    """Return the privacy of the call and the epsilon of one pick; delta splits into `composition` and `failure`."""
    one_price(epsilon, epsilon_per_pick)
    requested = None if epsilon is None else parameters.epsilon("epsilon", epsilon)
    if requested is not None:
        pick = largest_epsilon(plan, requested, composition)
    else:
        pick = parameters.epsilon("epsilon_per_pick", epsilon_per_pick)
    return priced(plan(pick), requested, composition, failure=failure, neighbors=neighbors), pick


def priced(
    steps: Sequence[SpentSteps],
    requested: Fraction | None,
    composition: Fraction,
    *,
    failure: Fraction,
    neighbors: Neighbors,
) -> Privacy:
    """Return the privacy of steps calibrated to a `requested` epsilon, or of steps whose total is computed (None).

    Where basic composition suffices, no delta is used. Steps whose sum is above `requested` were calibrated with delta,
    so delta is stated, however little it saved; and so it is where there is Gaussian noise.
    """
    plain = [step for step in steps if isinstance(step, Steps)]
    if requested is None:
        total = frugal(plain, composition)
    else:
        adds = len(plain) == len(steps) and basic(plain) <= requested
        total = compose(steps, Fraction(0) if adds else composition)
        if total.epsilon > requested:
            raise ValueError("steps were not calibrated to the epsilon that they are to promise")
    return Privacy(
        epsilon=total.epsilon if requested is None else requested,
        delta=total.delta + failure,
        neighbors=neighbors,
        steps=tuple(steps),
        failure=failure,
        bound=total.bound,
    )
