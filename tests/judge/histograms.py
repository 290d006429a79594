"""All counts of a known domain at once: one user moves so many of them, each by 1."""

from __future__ import annotations

from fractions import Fraction

from dpselect.checking.finding import Finding, fails, follows
from tests.judge import tails
from tests.judge.balls import at_most, precision, told
from tests.judge.numbers import Parameters
from tests.judge.picks import of_steps
from tests.judge.steps import Kind, Step

LAPLACE, GAUSSIAN = "HistogramLaplace", "HistogramGaussian"
NAMES = {LAPLACE, GAUSSIAN}


def composed(name: str, said: Parameters, epsilon: Fraction, delta: Fraction, bound: str) -> Finding:
    """Does the noise hide as many counts as one user moves?"""
    if name == LAPLACE:
        return of_steps(steps_of(said), epsilon, delta, Fraction(0), bound)
    variance, moved = said.number("variance"), said.whole("max_items_per_user")
    with precision():
        needs = tails.zcdp_delta(rho_of(said), epsilon)
        text = f"Gaussian noise of variance {told(variance)} on {moved:,} counts needs delta {told(needs)}"
        return follows(text) if at_most(needs, delta) else fails(f"{text}, and has {told(delta)}")


def steps_of(said: Parameters) -> list[Step]:
    """One step for each count that a user moves."""
    return [Step(Kind.PURE, said.epsilon("epsilon_per_count"), said.whole("max_items_per_user"))]


def rho_of(said: Parameters) -> Fraction:
    """The zCDP of Gaussian noise (Canonne, Kamath and Steinke 2020, Theorem 14)."""
    return said.whole("max_items_per_user") / (2 * said.number("variance"))
