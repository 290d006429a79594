"""The public functions of accounting: each parameter is parsed here, once, and the inner functions trust it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from dpselect import parameters
from dpselect.accounting import calibration, composition
from dpselect.errors import ParameterError
from dpselect.privacy import ZCDP, AnySteps, AnyValue, ApproxDP, BoundedRange, PureDP, Steps

P = ParamSpec("P")
T = TypeVar("T")
Reader = Callable[[object], object]

STEPS = "be a list of Steps, each of a BoundedRange, a PureDP, a ZCDP or an ApproxDP"
PLAN = "be a function from the epsilon of one pick to Steps of BoundedRange and PureDP, with an epsilon above 0"


def steps_of(value: object) -> list[AnySteps]:
    """The steps, with their numbers as exact fractions."""
    return [_step(one) for one in parameters.several("steps", value, STEPS)]


def _step(step: object) -> AnySteps:
    if not isinstance(step, AnySteps):
        raise ParameterError("steps", STEPS, step)
    return replace(step, value=_value(step.value), times=parameters.whole("times", step.times, least=0))


def _value(value: AnyValue) -> AnyValue:
    given: object = value
    if isinstance(given, ZCDP):
        return ZCDP(parameters.not_negative("rho", given.rho))
    if isinstance(given, ApproxDP):
        delta = parameters.probability("delta", given.delta, zero=True)
        return ApproxDP(parameters.not_negative("epsilon", given.epsilon), delta)
    if isinstance(given, (BoundedRange, PureDP)):
        return type(given)(parameters.not_negative("epsilon", given.epsilon))
    raise ParameterError("steps", STEPS, given)


def _plan(value: object) -> Callable[[Fraction], Sequence[Steps]]:
    if not callable(value):
        raise ParameterError("plan", PLAN, value)

    given: Callable[..., object] = value

    def plan(pick: Fraction) -> Sequence[Steps]:
        steps = steps_of(given(pick))
        plain = [Steps(s.value, s.times) for s in steps if isinstance(s.value, BoundedRange | PureDP)]
        if len(plain) < len(steps) or composition.basic(plain) <= 0:
            raise ParameterError("plan", PLAN, "others" if plain else "none")
        return plain

    return plan


def _bound(value: object) -> object:
    if value is not None and not callable(value):
        raise ParameterError("bound", "be a function from steps and a delta to their Total", value)
    return value


READERS: Mapping[str, Reader] = {
    "steps": steps_of,
    "plan": _plan,
    "bound": _bound,
    "epsilon": partial(parameters.epsilon, "epsilon"),
    "rho": partial(parameters.not_negative, "rho"),
    "delta": partial(parameters.probability, "delta", zero=True),
    "adaptive": partial(parameters.flag, "adaptive"),
    "k": partial(parameters.whole, "k", least=1),
    "queries": partial(parameters.whole, "queries", least=1),
}


def checked(function: Callable[P, T], **special: Reader) -> Callable[P, T]:
    """The function, with every argument parsed by the reader of its parameter name."""
    signature, readers = inspect.signature(function), {**READERS, **special}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        bound = signature.bind(*args, **kwargs)
        read: dict[str, Any] = {name: readers[name](value) for name, value in bound.arguments.items()}
        return function(**read)  # type: ignore[call-arg]  # by name: none is positional only

    return call


compose = checked(composition.compose)
every_bound = checked(composition.every_bound)
frugal = checked(composition.frugal)
zcdp_to_epsilon = checked(composition.zcdp_to_epsilon, delta=partial(parameters.probability, "delta"))
largest_epsilon = checked(calibration.largest_epsilon)
largest_under_each = checked(calibration.largest_under_each)
