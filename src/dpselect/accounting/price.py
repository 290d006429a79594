"""The price of k picks: the epsilon of one pick from a requested total, or the total from one pick."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpselect import parameters
from dpselect.accounting.calibration import largest_epsilon
from dpselect.accounting.composition import basic, compose, frugal
from dpselect.errors import ParameterError
from dpselect.parameters import Number
from dpselect.privacy import BoundedRange, Neighbors, Plan, Privacy, PureDP, Steps

COUNT_SHARE = Fraction(1, 2)  # a noisy count takes half the epsilon of a pick, hence the same zCDP: (e/2)^2/2 = e^2/8


def plan_of(picks: int, counted: int = 0) -> Plan:
    """`picks` bounded-range steps of epsilon x, then `counted` noisy counts of epsilon x / 2."""

    def plan(x: Fraction) -> tuple[Steps, ...]:
        steps = (Steps(BoundedRange(x), picks), Steps(PureDP(x * COUNT_SHARE), counted))
        return tuple(s for s in steps if s.times)

    return plan


def one_price(epsilon: Number | None, epsilon_per_pick: Number | None) -> None:
    """Exactly one of the two ways to state a price must be used."""
    if (epsilon is None) == (epsilon_per_pick is None):
        came = "neither" if epsilon is None else "both"
        raise ParameterError("epsilon", "be given, or epsilon_per_pick in its place", came)


def price(
    plan: Plan,
    epsilon: Number | None,
    epsilon_per_pick: Number | None,
    composition: Fraction,
    *,
    failure: Fraction = Fraction(0),
    neighbors: Neighbors,
) -> tuple[Privacy, Fraction]:
    """The privacy of the call and the epsilon of one pick; delta splits into `composition` and `failure`."""
    one_price(epsilon, epsilon_per_pick)
    wanted = None if epsilon is None else parameters.epsilon("epsilon", epsilon)
    if wanted is not None:
        pick = largest_epsilon(plan, wanted, composition)
    else:
        pick = parameters.epsilon("epsilon_per_pick", epsilon_per_pick)
    return priced(plan(pick), wanted, composition, failure=failure, neighbors=neighbors), pick


def priced(
    steps: Sequence[Steps], wanted: Fraction | None, composition: Fraction, *, failure: Fraction, neighbors: Neighbors
) -> Privacy:
    """The privacy of steps that were calibrated to a `wanted` epsilon, or whose total is computed (None).

    Where basic composition suffices, no delta is used. Steps whose sum is above `wanted` were calibrated with delta,
    so delta is stated, however little it saved.
    """
    if wanted is None:
        total = frugal(steps, composition)
    else:
        total = compose(steps, Fraction(0) if basic(steps) <= wanted else composition)
        if total.epsilon > wanted:
            raise ValueError("steps were not calibrated to the epsilon that they are to promise")
    return Privacy(
        epsilon=total.epsilon if wanted is None else wanted,
        delta=total.delta + failure,
        neighbors=neighbors,
        steps=tuple(steps),
        failure=failure,
        bound=total.bound,
    )
