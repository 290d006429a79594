"""Privacy values: what is promised, about which neighbours, and which promise implies which.

A value's epsilon, delta or rho is an exact rational, so nothing is lost when values are added. The step from
one notion to another is one line here and names its theorem.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from fractions import Fraction

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import one_of, rounded_up
from dpselect.errors import ParameterError, WeakPromiseWarning


class Neighbors(StrEnum):
    """The relation of data sets that must be hard to tell apart. The unit is one whole user with all their rows."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"


def parse_neighbors(value: Neighbors | str) -> Neighbors:
    """Return the named relation."""
    return Neighbors(one_of("neighbors", value, Neighbors))


@dataclass(frozen=True)
class PureDP:
    """P(S) <= e^epsilon P'(S) for every set S of outcomes."""

    epsilon: Fraction

    @property
    def bounded_range(self) -> Fraction:
        """Bounded-range parameter that it implies: losses lie in [-epsilon, epsilon]."""
        return 2 * self.epsilon

    @property
    def rho(self) -> Fraction:
        """Parameter of zCDP that it implies: epsilon^2 / 2 (Bun and Steinke 2016, Proposition 1.4)."""
        return self.epsilon**2 / 2


@dataclass(frozen=True)
class BoundedRange:
    """ln(P(o) / P'(o)) varies by at most epsilon over the outcomes o (Durfee and Rogers 2019, Definition 4.2)."""

    epsilon: Fraction

    @property
    def bounded_range(self) -> Fraction:
        """The parameter itself."""
        return self.epsilon

    @property
    def rho(self) -> Fraction:
        """Parameter of zCDP that it implies: epsilon^2 / 8 (Cesar and Rogers 2021, Lemma 3)."""
        return self.epsilon**2 / 8


@dataclass(frozen=True)
class ZCDP:
    """Renyi divergence of every order a is at most rho a (Bun and Steinke 2016)."""

    rho: Fraction


@dataclass(frozen=True)
class ConcentratedUnlessItFails(ZCDP):
    """The guarantee of rho-zCDP, and P(o) <= e^epsilon P'(o) but for a failure that is counted apart."""

    epsilon: Fraction


@dataclass(frozen=True)
class ApproxDP:
    """P(S) <= e^epsilon P'(S) + delta for every set S of outcomes."""

    epsilon: Fraction
    delta: Fraction

    @property
    def unless_it_fails(self) -> PureDP:
        """Guarantee but for an event of probability delta (Kairouz, Oh and Viswanath 2015, Theorem 3.4)."""
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
    """Steps with an epsilon of their own and no delta."""

    value: Value


@dataclass(frozen=True)
class NoiseSteps(AnySteps):
    """Steps with an epsilon of their own beside which something may fail: Gaussian noise after picks."""

    value: ConcentratedUnlessItFails


SpentSteps = Steps | NoiseSteps
"""Steps that an answer spent: each has an epsilon that adds up."""


StepsOfPick = Callable[[Fraction], Sequence[Steps]]
"""A function from the epsilon of one pick to all steps of a call."""


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """The guarantee of one call of a mechanism, known from its parameters alone.

    (epsilon, delta) is the whole call's guarantee against `neighbors`. `steps` is what the call is made of,
    for composition with other calls; `failure` is the part of delta that no step accounts for; `bound`
    names the theorem that gave epsilon.
    """

    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    steps: tuple[SpentSteps, ...]
    failure: Fraction = Fraction(0)
    bound: str = "basic"

    @property
    def approx(self) -> ApproxDP:
        """Guarantee of the whole call as (epsilon, delta)."""
        return ApproxDP(self.epsilon, self.delta)

    @property
    def bounded_range(self) -> BoundedRange | None:
        """Bounded range of a call that is one single such step; None for others, and where something may fail."""
        if (
            not self.failure
            and len(self.steps) == 1
            and self.steps[0].times == 1
            and isinstance(self.steps[0].value, BoundedRange)
        ):
            return self.steps[0].value
        return None

    @property
    def zcdp(self) -> ZCDP | None:
        """Guarantee of all steps together as zCDP, or None if they leave out a failure probability."""
        return None if self.failure else ZCDP(total_rho(self.steps))


LARGE_EPSILON, LARGE_DELTA = Fraction(10), Fraction(1, 1000)


def weak_points(epsilon: Fraction, delta: Fraction) -> tuple[str, ...]:
    """Return in plain words what a promise of this size does not protect; nothing for a promise of a usual size."""
    sentences = []
    if epsilon > LARGE_EPSILON:
        sentences.append(
            f"epsilon = {rounded_up(epsilon)} is large. An answer may be e^{rounded_up(epsilon)} times as likely with "
            "a person's rows as without them, so it may well reveal whether they are there; 1 is a common choice."
        )
    if delta >= LARGE_DELTA:
        sentences.append(
            f"delta = {rounded_up(delta)} is large. Each person may be exposed with that probability, so "
            "it should be far below 1 / number of users; 1e-6 is a common choice."
        )
    return tuple(sentences)


def warn_if_weak(price: ApproxDP) -> None:
    """Warn of a weak promise at the line of the caller, before anything is read or paid."""
    for text in weak_points(price.epsilon, price.delta):
        warnings.warn(text, WeakPromiseWarning, stacklevel=_callers_level())


def _callers_level() -> int:
    """Return the level of the first frame outside of this package, as `warnings.warn` counts from `warn_if_weak`."""
    frame, level, ours = sys._getframe(1), 1, __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == ours:
        frame, level = frame.f_back, level + 1
    return level


def total_rho(steps: Iterable[AnySteps]) -> Fraction:
    """Return the zCDP of adaptive steps: their rho add up (Bun and Steinke 2016, Lemma 1.7)."""
    total = Fraction(0)
    for step in steps:
        if isinstance(step.value, ApproxDP):
            raise ParameterError("steps", "promise zCDP", "steps that may fail")
        total += step.value.rho * step.times
    return total


def single_step(value: Value, neighbors: Neighbors) -> Privacy:
    """Return the privacy of a call that is a single step."""
    return Privacy(epsilon=value.epsilon, delta=Fraction(0), neighbors=neighbors, steps=(Steps(value, 1),))
