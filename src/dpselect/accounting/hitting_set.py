"""The price of a greedy hitting set: k picks of which a user moves only those up to the first that reaches them.

Each pick weighs an item by exp(e x the users it newly reaches). Proofs: docs/mechanisms/hitting-set.md. With
c = exp(e) - 1,

    delta_k(x) = (1 - p)^k (1 - exp(-(k e - x) / (k + 1))),  p = (exp((x + e) / (k + 1)) - 1) / c

is the least delta at every total x with e <= x <= k e, and 0 from there on; and the Rényi moments of k picks follow
from those of k - 1 by the share of the user's items that is worst for the next.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from dpselect._ground.privacy import BoundedRange
from dpselect._ground.reals import enclose, upper
from dpselect.accounting.renyi_prices import divergence, up

PRECISION = 192
COUNTED = 2000  # picks; of more a bound is taken that holds however many there are, and is hardly larger
STEPS = 30  # an epsilon of one pick is found on a grid of 2^30 points, rounded down


def hitting_delta(picks: int, epsilon_per_pick: Fraction, total: Fraction) -> Fraction:
    """The delta of so many picks at this total, rounded up; the total must be at least that of one pick.

    >>> hitting_delta(1, Fraction(1), Fraction(1)), 0 < hitting_delta(100, Fraction(1, 20), Fraction(1)) < 1e-8
    (Fraction(0, 1), True)
    """
    if total < epsilon_per_pick:
        raise ValueError("below the epsilon of one pick the other direction decides")
    if total >= picks * epsilon_per_pick:
        return Fraction(0)
    with ctx.workprec(PRECISION):
        e, x = enclose(epsilon_per_pick), enclose(total)
        rise = e.expm1()
        missed = (rise - ((x + e) / (picks + 1)).expm1()) / rise  # 1 - p
        return max(Fraction(0), upper(missed**picks * -((x - picks * e) / (picks + 1)).expm1()))


@lru_cache(maxsize=256)
def largest_hitting_pick(picks: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest epsilon of one pick, rounded down, for which so many promise (epsilon, delta)."""
    if delta == 0 or picks == 1:
        return epsilon / picks
    return _largest(lambda e: hitting_delta(picks, e, epsilon) <= delta, epsilon / picks, epsilon)


@lru_cache(maxsize=256)
def hitting_divergence(picks: int, epsilon_per_pick: Fraction, order: int) -> Fraction:
    """The Rényi divergence of this order, the larger one of both directions, rounded up.

    A moment grows with the one before it, so each is rounded up to a number without a radius.
    """
    if picks > COUNTED:
        return _of_any_number(picks, epsilon_per_pick, order)
    with ctx.workprec(PRECISION + 2 * order.bit_length()):
        e, one = enclose(epsilon_per_pick), arb(1)
        c, b = e.expm1(), arb(order - 1)
        hit, leaving = (-b * e).exp(), one
        for _ in range(picks):
            p = _share(b * c * leaving - (leaving - hit), (leaving - hit) * c * order)
            leaving = ((1 + c * p) ** (order - 1) * (p * hit + (1 - p) * leaving)).upper()
        hit, coming = (order * e).exp(), one
        for _ in range(picks):
            p = _share(hit - coming - order * c * coming, (hit - coming) * c * b)
            coming = ((p * hit + (1 - p) * coming) / (1 + c * p) ** order).upper()
        return up(max(Fraction(0), upper(leaving.log() / b), upper(coming.log() / b)))


def _of_any_number(picks: int, epsilon_per_pick: Fraction, order: int) -> Fraction:
    """A bound for every number of picks, or, where there is none, that of as many bounded-range steps."""
    with ctx.workprec(PRECISION + 2 * order.bit_length()):
        e, b = enclose(epsilon_per_pick), arb(order - 1)
        c = e.expm1()
        if not b * c < 1:
            return divergence(BoundedRange(epsilon_per_pick), order) * picks
        leaving, coming = -(-b * c).log1p() - b * e, order * e - (order * c).log1p()
        return up(max(Fraction(0), upper(leaving / b), upper(coming / b)))


def _share(above: arb, below: arb) -> arb:
    """Where the next moment is largest, no share being below 0 or above 1."""
    return (above / below).max(arb(0)).min(arb(1))


@lru_cache(maxsize=256)
def largest_hitting_pick_at(picks: int, order: int, budget: Fraction) -> Fraction:
    """The largest epsilon of one pick, rounded down, for which so many have this divergence of this order."""
    most = budget
    while hitting_divergence(picks, most, order) <= budget:
        most *= 2
    return _largest(lambda e: hitting_divergence(picks, e, order) <= budget, budget / picks, most)


def _largest(fits: Callable[[Fraction], bool], low: Fraction, high: Fraction) -> Fraction:
    """The last point found to fit on the grid from `low`, which fits, to `high`."""
    inside, outside = 0, 2**STEPS
    while outside - inside > 1:
        middle = (inside + outside) // 2
        fitting = fits(low + (high - low) * Fraction(middle, 2**STEPS))
        inside, outside = (middle, outside) if fitting else (inside, middle)
    return low + (high - low) * Fraction(inside, 2**STEPS)
