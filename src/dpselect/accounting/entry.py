"""The public functions of accounting: each parameter is parsed here, once, and the inner functions trust it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from dpselect._ground import parameters
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import ZCDP, AnySteps, AnyValue, ApproxDP, BoundedRange, PureDP, Steps, StepsOfPick
from dpselect.accounting import calibration, composition
from dpselect.accounting.calibration import Bound
from dpselect.accounting.composition import Composed
from dpselect.errors import ParameterError

STEPS = "be a list of Steps, each of a BoundedRange, a PureDP, a ZCDP or an ApproxDP"
PLAN = "be a function from the epsilon of one pick to Steps of BoundedRange and PureDP, with an epsilon above 0"


def steps_of(value: object) -> list[AnySteps]:
    """Return the steps, with their numbers as exact fractions."""
    return [_step(step) for step in parameters.as_list("steps", value, STEPS)]


def _step(step: object) -> AnySteps:
    if not isinstance(step, AnySteps):
        raise ParameterError("steps", STEPS, step)
    return replace(step, value=_value(step.value), times=parameters.whole_number("times", step.times, minimum=0))


def _value(value: AnyValue) -> AnyValue:
    untyped: object = value
    if isinstance(untyped, ZCDP):
        return ZCDP(parameters.not_negative("rho", untyped.rho))
    if isinstance(untyped, ApproxDP):
        delta = parameters.probability("delta", untyped.delta, zero=True)
        return ApproxDP(parameters.not_negative("epsilon", untyped.epsilon), delta)
    if isinstance(untyped, (BoundedRange, PureDP)):
        return type(untyped)(parameters.not_negative("epsilon", untyped.epsilon))
    raise ParameterError("steps", STEPS, untyped)


def _plan(value: object) -> Callable[[Fraction], Sequence[Steps]]:
    if not callable(value):
        raise ParameterError("plan", PLAN, value)

    call: Callable[..., object] = value

    def plan(pick: Fraction) -> Sequence[Steps]:
        steps = steps_of(call(pick))
        plain = [Steps(s.value, s.times) for s in steps if isinstance(s.value, BoundedRange | PureDP)]
        if len(plain) < len(steps) or composition.basic(plain) <= 0:
            raise ParameterError("plan", PLAN, "others" if plain else "none")
        return plain

    return plan


def _bound(value: object) -> Bound | None:
    bound: Any = value
    if bound is not None and not callable(bound):
        raise ParameterError("bound", "be a function from steps and a delta to their Composed", value)
    return cast("Bound | None", bound)


def _delta(value: object, *, zero: bool = True) -> Fraction:
    return parameters.probability("delta", value, zero=zero)


# ---- the functions ------------------------------------------------------------------------------------------------


def compose(steps: Sequence[AnySteps], delta: Number) -> Composed:
    """Return the smallest of the bounds that apply; `delta` is for composition, on top of the failures of the steps.

    If there are picks, `steps` must be in the order in which they are taken, or have the pure ones first
    (docs/accounting.md, Theorem 2).
    """
    return composition.compose(steps_of(steps), _delta(delta))


def every_bound(steps: Sequence[AnySteps], delta: Number) -> list[Composed]:
    """Return all bounds that apply to these steps at this delta, for tables and comparisons."""
    return composition.every_bound(steps_of(steps), _delta(delta))


def frugal(steps: Sequence[Steps], delta: Number) -> Composed:
    """Compose as `compose`, but by basic composition without delta where delta would save less than 1 % of epsilon."""
    return composition.frugal(cast("list[Steps]", steps_of(steps)), _delta(delta))


def zcdp_to_epsilon(rho: Number, delta: Number) -> Fraction:
    """Return the least epsilon for which rho-zCDP implies (epsilon, delta)-DP, over all orders of Rényi's divergence.

    The conversion is Corollary 13 of Canonne, Kamath and Steinke 2020, certified at the order that is best in floats.
    """
    return composition.zcdp_to_epsilon(parameters.not_negative("rho", rho), _delta(delta, zero=False))


def largest_epsilon(plan: StepsOfPick, epsilon: Number, delta: Number, bound: Bound | None = None) -> Fraction:
    """Return the largest x, on a fine grid, for which `plan(x)` composed at `delta` stays within `epsilon`.

    Composition is by `bound`, or without it by the smallest bound that holds.
    """
    total = parameters.epsilon("epsilon", epsilon)
    return calibration.largest_epsilon(_plan(plan), total, _delta(delta), _bound(bound))


def largest_under_each(epsilon: Number, delta: Number, k: int, queries: int = 1) -> dict[str, Fraction]:
    """Return by bound the largest epsilon of a pick for `queries` questions of k picks each within (epsilon, delta)."""
    return calibration.largest_under_each(
        parameters.epsilon("epsilon", epsilon),
        _delta(delta),
        parameters.whole_number("k", k, minimum=1),
        parameters.whole_number("queries", queries, minimum=1),
    )
