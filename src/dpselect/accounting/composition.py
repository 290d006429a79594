"""Composition: the total epsilon of adaptive steps at a given delta, rounded outward.

The numbers are computed with balls and the upper end is returned, so rounding never understates a total.
Every bound holds for adaptive steps whose kinds, epsilons and number are fixed beforehand, which is what peeling
needs. If these too are chosen adaptively (a privacy filter), only three hold, up to a total fixed beforehand: basic,
zCDP, and Rényi at an order fixed beforehand (Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers and Wu 2023).
docs/accounting.md says which bound is smallest where.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from fractions import Fraction

from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import ZCDP, AnySteps, ApproxDP, BoundedRange, PureDP, SpentSteps, Steps, total_rho
from dpselect._ground.reals import enclose, upper
from dpselect.accounting.optimal_adaptive import LARGEST_EPSILON, adaptive_epsilon
from dpselect.accounting.renyi import renyi_epsilon
from dpselect.errors import ParameterError

PRECISION = 128
MOST_ADAPTIVE_STEPS = 1000  # for which the adaptive optimum is computed: below a tenth of a second


class Effort(Enum):
    """The bounds that are computed: the quick ones, those that can be the smallest, or all."""

    QUICK = 0
    USUAL = 1
    THOROUGH = 2


@dataclass(frozen=True)
class Composed:
    """A statement that the steps together are (epsilon, delta)-DP, by the bound of this name."""

    epsilon: Fraction
    bound: str
    delta: Fraction = Fraction(0)  # what the bound uses, including the failures of approximate steps


def basic(steps: Sequence[SpentSteps]) -> Fraction:
    """Return the sum of the epsilons; it needs no delta, but for what may fail beside Gaussian noise."""
    return sum((s.value.epsilon * s.times for s in steps), Fraction(0))


def advanced(steps: Sequence[Steps], delta: Fraction) -> Fraction:
    """Durfee and Rogers 2019, Theorem 3: sum e tanh(e/2) + sqrt(2 sum e^2 ln(1/delta)); any pure steps."""
    with ctx.workprec(PRECISION):
        drift = sum((_drift(s.value.epsilon) * s.times for s in steps), arb(0))
        squares = enclose(sum((s.value.epsilon**2 * s.times for s in steps), Fraction(0)))
        return upper(drift + (2 * squares * -enclose(delta).log()).sqrt())


def _drift(epsilon: Fraction) -> arb:
    return enclose(epsilon) * (enclose(epsilon) / 2).tanh()


def bounded_range(steps: Sequence[Steps], delta: Fraction) -> Fraction:
    """Lemma 4.4 of Durfee and Rogers 2019, third term: sum r^2/2 + sqrt(sum r^2 ln(1/delta) / 2), r a step's range.

    The lemma writes the drift of an r-bounded-range step as r^2/2; a pure e-step has r = 2e.
    """
    squares = sum((s.value.bounded_range**2 * s.times for s in steps), Fraction(0))
    with ctx.workprec(PRECISION):
        return upper(enclose(squares) / 2 + (enclose(squares) * -enclose(delta).log() / 2).sqrt())


def zcdp(steps: Sequence[AnySteps], delta: Fraction) -> Fraction:
    """Return the zCDP of the steps (e^2/8 for bounded range), converted by `zcdp_to_epsilon`."""
    return zcdp_to_epsilon(total_rho(steps), delta)


def zcdp_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the least epsilon for which rho-zCDP implies (epsilon, delta)-DP by the conversion over all orders.

    For every order a > 1 a valid epsilon is (Canonne, Kamath and Steinke 2020, Corollary 13)

        a rho + ln(1 / (a delta)) / (a - 1) + ln(1 - 1/a).

    So a is searched in floats, and the bound at it is certified.
    """
    return renyi_epsilon([AnySteps(ZCDP(rho), 1)], delta)


def compose(steps: Sequence[AnySteps], delta: Fraction) -> Composed:
    """Return the smallest of the bounds that apply; `delta` is for composition, on top of the failures of the steps.

    Advanced, bounded range and zCDP are left out, because Rényi is below them at the best order of each. If there are
    picks, `steps` must be in the order in which they are taken, or have the pure ones first (docs/accounting.md,
    Theorem 2).
    """
    return min(_totals(steps, delta, Effort.USUAL), key=lambda total: total.epsilon)


def compose_quickly(steps: Sequence[AnySteps], delta: Fraction) -> Composed:
    """`compose` in a millisecond, without the adaptive optimum, for searches with many evaluations."""
    return min(_totals(steps, delta, Effort.QUICK), key=lambda total: total.epsilon)


def frugal(steps: Sequence[Steps], delta: Fraction) -> Composed:
    """`compose`, but with basic composition and no delta where delta would save less than 1 % of epsilon."""
    added, least = compose(steps, Fraction(0)), compose(steps, delta)
    return added if added.epsilon * 99 <= least.epsilon * 100 else least


def every_bound(steps: Sequence[AnySteps], delta: Fraction) -> list[Composed]:
    """All bounds that apply to these steps at this delta, for tables and comparisons."""
    return _totals(steps, delta, Effort.THOROUGH)


def _totals(steps: Sequence[AnySteps], delta: Fraction, effort: Effort) -> list[Composed]:
    thorough = effort is Effort.THOROUGH
    sure = [_unless_it_fails(s) for s in steps if s.times]
    plain = [Steps(s.value, s.times) for s in sure if isinstance(s.value, PureDP | BoundedRange)]
    all_plain = len(plain) == len(sure)
    totals = [Composed(basic(plain), "basic", with_failures(steps, Fraction(0)))] if all_plain else []
    if delta > 0:
        total_delta = with_failures(steps, delta)
        bounds = {"Renyi": renyi_epsilon(sure, delta)}
        if thorough:
            bounds["zCDP"] = zcdp(sure, delta)
        if thorough and all_plain:
            bounds["advanced"] = advanced(plain, delta)
            bounds["bounded range"] = bounded_range(plain, delta)
        if all_plain and effort is not Effort.QUICK and _worth_a_grid(plain):
            bounds["adaptive optimum"] = adaptive_epsilon(plain, delta)
        totals += [Composed(epsilon, name, total_delta) for name, epsilon in bounds.items()]
    if not totals:
        raise ParameterError("delta", "be above 0 if steps promise zCDP", "0")
    return totals


def _worth_a_grid(steps: Sequence[Steps]) -> bool:
    """Return whether there are bounded-range steps, few and small enough for a grid that is quick to compute."""
    picks = any(isinstance(s.value, BoundedRange) for s in steps)
    fits = all(s.value.epsilon <= LARGEST_EPSILON for s in steps)
    return picks and fits and sum(s.times for s in steps) <= MOST_ADAPTIVE_STEPS


def _unless_it_fails(steps: AnySteps) -> AnySteps:
    value = steps.value
    return AnySteps(value.unless_it_fails, steps.times) if isinstance(value, ApproxDP) else steps


def with_failures(steps: Sequence[AnySteps], delta: Fraction) -> Fraction:
    """Return 1 - (1 - delta) prod (1 - delta_i) over the approximate steps, rounded up; `delta` itself without any.

    An (e, d)-DP pair of distributions is a mixture: with probability d anything, otherwise an e-DP pair, with the same
    Bernoulli draw for both (Kairouz, Oh and Viswanath 2015). So what holds at `delta` if no step fails, adaptively or
    not, holds in general once the probability that one fails is added.
    """
    failures = [(s.value.delta, s.times) for s in steps if isinstance(s.value, ApproxDP) and s.value.delta]
    if not failures:
        return delta
    if delta >= 1 or any(d >= 1 for d, _ in failures):
        return Fraction(1)
    with ctx.workprec(PRECISION):
        log_success = sum(((-enclose(d)).log1p() * times for d, times in [*failures, (delta, 1)]), arb(0))
        return min(Fraction(1), upper(-log_success.expm1()))
