"""Noisy counts of items that were selected: what they take, by the noise that is stated.

docs/mechanisms/shared-noise.md has the theorems.
"""

from __future__ import annotations

from fractions import Fraction

from tests.judge import measures
from tests.judge.numbers import Parameters, UnfitError
from tests.judge.steps import Kind, Step

SAID = ("epsilon_per_count", "own_rate", "own_variance", "variance")  # what says how noisy they are


def counts_of(said: Parameters, items: int) -> list[Step]:
    """What noisy counts of so many items take, by the noise that is stated; nothing where there are none.

    One user moves a sum of weights by as many units as the cap has, like so many users one after another.
    """
    if not items:
        return []
    if said.has("epsilon_per_count"):
        return [Step(Kind.PURE, said.epsilon("epsilon_per_count"), min(items, measures.moved(said)))]
    units = by_units(said)
    if said.has("own_rate"):
        own, shared = said.epsilon("own_rate") * units, said.epsilon("shared_rate") * units
        return shared_laplace(items, min(items, measures.moved(said)), said.whole("multiple"), own, shared)
    if said.has("own_variance"):
        own, shared, moved = said.number("own_variance"), said.number("shared_variance"), measures.moved(said)
        rho = shared_rho(items, min(items, moved), said.whole("multiple"), own, shared)
        return [Step(Kind.NOISE, rho * units**2, 1)]
    if said.has("variance"):
        rho = min(items, measures.moved(said)) / (2 * said.number("variance"))
        return [Step(Kind.NOISE, rho * units**2, 1)]
    return []


def shared_laplace(items: int, moved: int, multiple: int, own: Fraction, shared: Fraction) -> list[Step]:
    """The own noises of a user's counts, or the shared one and all own ones by half: whichever is less."""
    if multiple != 2:
        raise UnfitError("Laplace noise is shared by doubled counts")
    if 2 * moved * own <= shared + items * own:
        return [Step(Kind.PURE, 2 * own, moved)]
    return [Step(Kind.PURE, shared, 1), Step(Kind.PURE, own, items)]


def by_units(said: Parameters) -> int:
    """By how many whole units one user moves a score at most."""
    if not said.has("by_weight"):
        return 1
    units = said.number("at_most") / said.number("weight_unit")
    if units.denominator != 1:
        raise UnfitError("at_most is no whole number of units")
    return int(units)


def shared_rho(items: int, moved: int, multiple: int, own: Fraction, shared: Fraction) -> Fraction:
    """The zCDP of so many counts: the worst number of a user's items, each at the best shift of the shared noise."""

    def bracket(m: int, shift: int) -> Fraction:
        return shift**2 / shared + (m * (multiple - shift) ** 2 + (items - m) * shift**2) / own

    every = (min(bracket(m, shift) for shift in range(multiple + 1)) for m in range(1, min(moved, items) + 1))
    return max(every) / 2
