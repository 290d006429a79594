"""Quantiles and choices in every group: the steps of a user's groups, and the union that found groups, if one did."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpselect.checking.finding import Finding, fails
from tests.judge import unions
from tests.judge.numbers import Parameters, UnfitError
from tests.judge.picks import cells_of, levels_of, of_steps
from tests.judge.steps import Kind, Step

QUANTILES, CHOICE = "QuantileByGroup", "ChoiceByGroup"
NAMES = {QUANTILES, CHOICE}
KINDS = {"ExponentialMechanism": Kind.PICK, "PermuteAndFlip": Kind.PURE}
END = "_of_groups"


def findings(name: str, said: Parameters, epsilon: Fraction, delta: Fraction, bound: str) -> Iterator[Finding]:
    """Do the steps, and what found the groups, come to no more than the promise?"""
    found = _found(said)
    left, rest = (epsilon, delta) if found is None else (epsilon - found[0], delta - found[1])
    if left <= 0 or rest < 0:
        yield fails("finding the groups takes all of the promise")
        return
    if found is not None:
        yield from _union(said, *found)
    yield of_steps(_asked(name, said), left, rest, Fraction(0), bound)


def steps_of(name: str, said: Parameters) -> list[Step]:
    """All steps of an answer: it costs the same whatever was found."""
    found = _found(said)
    return [*([] if found is None else [Step(Kind.PURE, found[0], 1)]), *_asked(name, said)]


def failure(said: Parameters) -> Fraction:
    """The delta with which the union may fail that found the groups."""
    found = _found(said)
    return Fraction(0) if found is None else found[1]


def _asked(name: str, said: Parameters) -> list[Step]:
    """The steps of as many groups as one user may count in."""
    groups, each = said.whole("max_groups_per_user"), said.epsilon("epsilon_per_pick")
    if name == QUANTILES:
        times = levels_of(said) if said.has("levels") else len(said.several("q"))
        return [Step(Kind.PICK, each, groups * times), *cells_of(name, said, groups)]
    choice = said.of.get("choice")
    if not isinstance(choice, str) or choice not in KINDS:
        raise UnfitError("choice is no mechanism that chooses one")
    return [Step(KINDS[choice], each, groups)]


def _found(said: Parameters) -> tuple[Fraction, Fraction] | None:
    """What finding the groups cost; None where they are listed, which must be said."""
    if said.has("groups_found_by"):
        return said.epsilon(f"epsilon{END}"), said.delta(f"delta{END}")
    if said.of.get("groups_listed") is not True:
        raise UnfitError("groups are neither listed nor found")
    return None


def _union(said: Parameters, epsilon: Fraction, delta: Fraction) -> Iterator[Finding]:
    """What can be recomputed of the union, which is one of groups: a user has at most max_groups_per_user."""
    of = {name.removesuffix(END): value for name, value in said.of.items() if name.endswith(END)}
    of |= {"epsilon_of_items": epsilon, "delta_of_items": delta, "max_items_per_user": said.of["max_groups_per_user"]}
    yield from unions.findings(str(said.of["groups_found_by"]), Parameters(of), epsilon, delta)
