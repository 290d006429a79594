"""Privacy values: what is promised, about which neighbours, and which promise implies which.

A value's epsilon, delta or rho is an exact rational, so nothing is lost when values are added. The step from
one notion to another is one line here and names its theorem.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from dpselect._ground.parameters import one_of, rounded_up
from dpselect.errors import ParameterError, WeakPromiseWarning


class Neighbors(StrEnum):
    """Which data sets must be hard to tell apart. The unit is always one whole user, with all of their rows."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"


def neighbors(value: Neighbors | str) -> Neighbors:
    """The named relation, or a clear error."""
    return Neighbors(one_of("neighbors", value, Neighbors))


@dataclass(frozen=True)
class PureDP:
    """P(S) <= e^epsilon P'(S) for every set S of outcomes."""

    epsilon: Fraction

    @property
    def range(self) -> Fraction:
        """The bounded-range parameter it implies: losses lie in [-epsilon, epsilon]."""
        return 2 * self.epsilon

    @property
    def rho(self) -> Fraction:
        """The zCDP it implies: epsilon^2 / 2 (Bun and Steinke 2016, Proposition 1.4)."""
        return self.epsilon**2 / 2


@dataclass(frozen=True)
class BoundedRange:
    """ln(P(o) / P'(o)) varies by at most epsilon over the outcomes o (Durfee and Rogers 2019, Definition 4.2)."""

    epsilon: Fraction

    @property
    def range(self) -> Fraction:
        """Its parameter."""
        return self.epsilon

    @property
    def rho(self) -> Fraction:
        """The zCDP it implies: epsilon^2 / 8 (Cesar and Rogers 2021, Lemma 3)."""
        return self.epsilon**2 / 8


@dataclass(frozen=True)
class ZCDP:
    """Renyi divergence of every order a is at most rho a (Bun and Steinke 2016)."""

    rho: Fraction


@dataclass(frozen=True)
class Concentrated(ZCDP):
    """rho-zCDP, and where epsilons add up `epsilon`: but for a failure told apart, P(o) <= e^epsilon P'(o)."""

    epsilon: Fraction


@dataclass(frozen=True)
class ApproxDP:
    """P(S) <= e^epsilon P'(S) + delta for every set S of outcomes."""

    epsilon: Fraction
    delta: Fraction

    @property
    def unless_it_fails(self) -> PureDP:
        """What holds but for an event of probability delta (Kairouz, Oh and Viswanath 2015, Theorem 3.4)."""
        return PureDP(self.epsilon)


Value = PureDP | BoundedRange
AnyValue = Value | ZCDP | ApproxDP


@dataclass(frozen=True)
class AnySteps:
    """`times` adaptive steps, each of which promises `value`: what composition adds up."""

    value: AnyValue
    times: int


@dataclass(frozen=True)
class Steps(AnySteps):
    """Steps with an epsilon of their own and no delta: all that the mechanisms here are made of."""

    value: Value


@dataclass(frozen=True)
class NoiseSteps(AnySteps):
    """Steps with an epsilon of their own beside which something may fail: Gaussian noise after picks."""

    value: Concentrated


Taken = Steps | NoiseSteps
"""What an answer took: each has an epsilon that adds up."""


Plan = Callable[[Fraction], Sequence[Steps]]
"""From the epsilon of one pick to all steps of a call."""


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """What one call of a mechanism promises, known from its parameters alone.

    (epsilon, delta) is the whole call's guarantee against `neighbors`. `steps` is what the call is made of,
    for composition with other calls; `failure` is the part of delta that no step accounts for; `bound`
    names the theorem that gave epsilon.
    """

    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    steps: tuple[Taken, ...]
    failure: Fraction = Fraction(0)
    bound: str = "basic"

    @property
    def approx(self) -> ApproxDP:
        """The whole call's (epsilon, delta)."""
        return ApproxDP(self.epsilon, self.delta)

    @property
    def bounded_range(self) -> BoundedRange | None:
        """The bounded range of a call that is one single such step, None for others."""
        if len(self.steps) == 1 and self.steps[0].times == 1 and isinstance(self.steps[0].value, BoundedRange):
            return self.steps[0].value
        return None

    @property
    def zcdp(self) -> ZCDP | None:
        """The zCDP of the steps together; None where a failure probability stands outside of them."""
        return None if self.failure else ZCDP(rho_of(self.steps))


LARGE_EPSILON, LARGE_DELTA = Fraction(10), Fraction(1, 1000)


def weak_points(epsilon: Fraction, delta: Fraction) -> tuple[str, ...]:
    """What a promise of this size does not keep from others, in plain words; nothing where it is of a usual size."""
    found = []
    if epsilon > LARGE_EPSILON:
        found.append(
            f"epsilon = {rounded_up(epsilon)} is large. An answer may be e^{rounded_up(epsilon)} times as likely with "
            "a person's rows as without them, so it may well reveal whether they are there; 1 is a common choice."
        )
    if delta >= LARGE_DELTA:
        found.append(
            f"delta = {rounded_up(delta)} is large. Each person may be exposed with that probability, so "
            "it should be far below 1 / number of users; 1e-6 is a common choice."
        )
    return tuple(found)


def warn_if_weak(price: ApproxDP) -> None:
    """Say so while nothing has been read or paid, at the line of the caller's that asks."""
    for text in weak_points(price.epsilon, price.delta):
        warnings.warn(text, WeakPromiseWarning, stacklevel=_callers_level())


def _callers_level() -> int:
    """How far up the first frame outside of this package is, as `warnings.warn` counts from `warn_if_weak`."""
    frame, level, ours = sys._getframe(1), 1, __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == ours:
        frame, level = frame.f_back, level + 1
    return level


def rho_of(steps: Iterable[AnySteps]) -> Fraction:
    """The zCDP of adaptive steps: their rho add up (Bun and Steinke 2016, Lemma 1.7)."""
    total = Fraction(0)
    for s in steps:
        if isinstance(s.value, ApproxDP):
            raise ParameterError("steps", "promise zCDP", "steps that may fail")
        total += s.value.rho * s.times
    return total


def one_step(value: Value, neighbors: Neighbors) -> Privacy:
    """The privacy of a call that is a single step."""
    return Privacy(epsilon=value.epsilon, delta=Fraction(0), neighbors=neighbors, steps=(Steps(value, 1),))
