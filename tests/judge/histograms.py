"""All counts of a known domain at once: one user moves so many of them, each by 1.

Noise that all counts share is judged by the worst number of a user's items, each at every shift of the shared noise:
docs/mechanisms/shared-noise.md has the theorems.
"""

from __future__ import annotations

from fractions import Fraction

from dpselect.checking.finding import Finding, fails, follows
from tests.judge import tails
from tests.judge.balls import at_most, precision, told
from tests.judge.counts import shared_laplace, shared_rho
from tests.judge.numbers import Parameters
from tests.judge.picks import of_steps
from tests.judge.steps import Kind, Step

LAPLACE, GAUSSIAN = "HistogramLaplace", "HistogramGaussian"
SHARED_LAPLACE, SHARED_GAUSSIAN = "HistogramSharedLaplace", "HistogramSharedGaussian"
NAMES = {LAPLACE, GAUSSIAN, SHARED_LAPLACE, SHARED_GAUSSIAN}
VARIANCES = {GAUSSIAN: ("variance",), SHARED_GAUSSIAN: ("own_variance", "shared_variance")}


def composed(name: str, said: Parameters, epsilon: Fraction, delta: Fraction, bound: str) -> Finding:
    """Does the noise hide as many counts as one user moves?"""
    if name == LAPLACE:
        return of_steps(steps_of(said), epsilon, delta, Fraction(0), bound)
    if name == SHARED_LAPLACE:
        return of_steps(shared_steps_of(said), epsilon, delta, Fraction(0), bound)
    moved = said.whole("max_items_per_user")
    with precision():
        needs = tails.zcdp_delta(rho_of(name, said), epsilon)
        noises = moved if name == GAUSSIAN else said.whole("items") + 1
        less = tails.whole_square(noises, epsilon)
        if min(said.number(one) for one in VARIANCES[name]) > less:
            needs = needs.min(tails.whole_gaussian_delta(rho_of(name, said, less), epsilon))
        text = f"{name} noise on {moved:,} counts needs delta {told(needs)}"
        return follows(text) if at_most(needs, delta) else fails(f"{text}, and has {told(delta)}")


def steps_of(said: Parameters) -> list[Step]:
    """One step for each count that a user moves."""
    return [Step(Kind.PURE, said.epsilon("epsilon_per_count"), said.whole("max_items_per_user"))]


def shared_steps_of(said: Parameters) -> list[Step]:
    """The shared noise and all own ones by half a user, or those of a user's counts by a whole one."""
    items, moved = said.whole("items"), said.whole("max_items_per_user")
    return shared_laplace(
        items, min(items, moved), said.whole("multiple"), said.epsilon("own_rate"), said.epsilon("shared_rate")
    )


def rho_of(name: str, said: Parameters, less: Fraction = Fraction(0)) -> Fraction:
    """The zCDP of Gaussian noise (Canonne, Kamath and Steinke 2020, Theorem 14), or of that which all counts share.

    Of noises whose variances are `less` by so much, where that is given.
    """
    moved = said.whole("max_items_per_user")
    if name == GAUSSIAN:
        return moved / (2 * (said.number("variance") - less))
    own, shared = said.number("own_variance") - less, said.number("shared_variance") - less
    return shared_rho(said.whole("items"), moved, said.whole("multiple"), own, shared)
