"""Negative controls for RenyiShaped: curves and mechanisms that are wrong on purpose. The tests must refuse each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect.accounting.renyi import renyi_budget
from dpselect.mechanisms import RenyiShaped
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.set_union.renyi_curve import Conditions, Curve, steepest
from tests.exact.renyi_laws import chance_of, divergence, slow_curve


def _upward(p: Any, q: Any, order: int) -> Any:
    return divergence(p, q, order)


def _downward(p: Any, q: Any, order: int) -> Any:
    return divergence(q, p, order)


def curve_of(fault: str, right: Conditions) -> Curve:
    """A curve for one step of share 1, made with this fault; "" for none."""
    ((t, _),) = right.steps
    order, budget, delta = right.order, float(right.budget), float(right.delta)
    made: dict[str, Callable[[], list[float]]] = {
        "": lambda: slow_curve(t, order, budget * (1 - 1e-6), delta * (1 - 1e-6)),
        "budget not divided by the items": lambda: slow_curve(t, order, budget * t, delta),
        "only upwards": lambda: slow_curve(t, order, budget, delta, _upward),
        "only downwards": lambda: slow_curve(t, order, budget, delta, _downward),
        "delta for one item": lambda: slow_curve(t, order, budget, 1 - (1 - delta) ** t),
        "shifted by one weight": lambda: [0.0, *slow_curve(t, order, budget, delta)[2:]],
    }
    return Curve(np.array(made[fault]()))


FAULTS = [
    "budget not divided by the items",
    "only upwards",
    "only downwards",
    "delta for one item",
    "shifted by one weight",
]


def _other(mechanism: RenyiShaped, conditions: tuple[Conditions, ...], curves: tuple[Curve, ...]) -> RenyiShaped:
    twin = replace(mechanism)
    set_fields(twin, conditions=conditions, curves=curves)
    return twin


def whole_budget_each_round(right: RenyiShaped) -> RenyiShaped:
    """Every round may spend everything."""
    one = replace(right, rounds=1)
    return _other(right, one.conditions * right.rounds, one.curves * right.rounds)


def larger_shares(right: RenyiShaped) -> RenyiShaped:
    """Users give twice what the curves were made for."""
    double = tuple(replace(c, steps=tuple((t, 2 * share) for t, share in c.steps)) for c in right.conditions)
    return _other(right, double, right.curves)


def unbounded(right: RenyiShaped, most: int) -> RenyiShaped:
    """Users keep more items than the curves were made for, and give each the least share."""
    more = tuple(replace(c, steps=(*c.steps, (most, c.least()))) for c in right.conditions)
    twin = _other(right, more, right.curves)
    set_fields(twin, max_items_per_user=most)
    return twin


def delta_not_divided(right: RenyiShaped) -> RenyiShaped:
    """All of delta for the coins, and all of it again for items that only one data set has."""
    epsilon, delta = Fraction(right.epsilon), Fraction(right.delta)
    parts = [c.delta / sum(d.delta for d in right.conditions) for c in right.conditions]
    conditions = tuple(
        replace(c, budget=renyi_budget(c.order, epsilon, delta) * part, delta=delta * part)
        for c, part in zip(right.conditions, parts, strict=True)
    )
    return _other(right, conditions, tuple(steepest(c) for c in conditions))


def delta_for_nothing(right: RenyiShaped) -> RenyiShaped:
    """The Renyi budget of epsilon itself, as if the conversion cost nothing."""
    parts = [c.delta / sum(d.delta for d in right.conditions) for c in right.conditions]
    conditions = tuple(
        replace(c, budget=Fraction(right.epsilon) * part) for c, part in zip(right.conditions, parts, strict=True)
    )
    return _other(right, conditions, tuple(steepest(c) for c in conditions))


def a_coin_for_each_curve(shares: Sequence[tuple[Conditions, Curve]], users: Sequence[int]) -> float:
    """The chance where every curve has a coin of its own, and one of them is enough."""
    return 1 - math.prod(1 - chance_of([one], users) for one in shares)


def first_shares_at_every_curve(shares: Sequence[tuple[Conditions, Curve]], users: Sequence[int]) -> float:
    """The chance where the weights by the first shares are looked up in all curves."""
    return chance_of([(shares[0][0], curve) for _, curve in shares], users)


def curves_of_another_order(right: RenyiShaped) -> RenyiShaped:
    """Curves for what counts leave of epsilon at the right order: they take the order that is best for that."""
    epsilon = Fraction(right.epsilon) - right.order * right.rho_of_counts
    return RenyiShaped(epsilon=epsilon, delta=right.delta, max_items_per_user=right.max_items_per_user)
