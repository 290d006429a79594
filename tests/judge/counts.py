"""Noisy counts of items that were selected: what they take, by the noise that is stated.

docs/mechanisms/shared-noise.md has the theorems.
"""

from __future__ import annotations

from fractions import Fraction

from tests.judge import measures
from tests.judge.numbers import Parameters, UnfitError
from tests.judge.steps import Kind, Step

OF_SUMS = "_of_sums"
SAID = ("epsilon_per_count", "own_rate", "own_variance", "variance")  # what says how noisy they are


def counts_of(said: Parameters, items: int) -> list[Step]:
    """What noisy counts of so many items take, by the noise that is stated; nothing where there are none.

    One user moves a sum of weights by as many units as the cap has, like so many users one after another.
    """
    if not items or not any(map(said.has, SAID)):
        return []
    if said.has("epsilon_per_count"):
        return [Step(Kind.PURE, said.epsilon("epsilon_per_count"), min(items, measures.moved(said)))]
    return _together(said, items, min(items, measures.moved(said)), by_units(said))


def _together(said: Parameters, items: int, moved: int, units: int) -> list[Step]:
    """What noise takes that is made for all counts together, of which a user moves so many by so many units."""
    if said.has("own_rate"):
        own, shared = said.epsilon("own_rate") * units, said.epsilon("shared_rate") * units
        return shared_laplace(items, moved, said.whole("multiple"), own, shared)
    if said.has("own_variance"):
        own, shared = said.number("own_variance"), said.number("shared_variance")
        rho = shared_rho(items, moved, said.whole("multiple"), own, shared)
        return [Step(Kind.NOISE, rho * units**2, 1)]
    if said.has("variance"):
        return [Step(Kind.NOISE, moved / (2 * said.number("variance")) * units**2, 1)]
    return []


def of_measures(said: Parameters, items: int, moved: int) -> list[Step]:
    """What the measures of so many items take, of which a user moves so many.

    Sums of one sign may have noise of their own, stated for users who move them by one unit: a user who moves them by
    more is like as many users one after another, and the noise is as much wider.
    """
    numbers = measures.noises(said)
    if not numbers or not items:
        return []
    noise = Parameters({name.removesuffix(OF_SUMS): one for name, one in said.of.items() if name.endswith(OF_SUMS)})
    together = _together(noise, items, moved, 1)
    sums = measures.of_one_sign(said) if together else 0
    if bool(noise.of) != bool(sums):
        raise UnfitError("noise is stated for sums of one sign that there are not, or half of it")
    steps = [Step(Kind.PURE, measures.price(said), moved * (numbers - sums))]
    for one in together:
        noisy = one.kind is Kind.NOISE  # divergences add up in one step
        steps.append(Step(one.kind, one.epsilon * (sums if noisy else 1), one.times * (1 if noisy else sums)))
    return [one for one in steps if one.times]


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
