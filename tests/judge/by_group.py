"""Answers in every group: the steps of as many groups as one user may count in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dpselect.checking.finding import Finding, fails
from tests.judge.counts import counts_of
from tests.judge.numbers import Parameters
from tests.judge.picks import of_steps
from tests.judge.steps import Kind, Step

NAME = "LimitedDomainByGroup"
FOR_BOUND = "epsilon_of_max_groups"


def composed(said: Parameters, epsilon: Fraction, delta: Fraction, bound: str) -> Finding:
    """Do the steps of these groups, and their thresholds, come to no more than the promise?"""
    if said.delta("delta_threshold") == 0:
        return fails("a threshold with a delta of 0 lets no item come out; it would be infinitely high")
    k, groups = said.whole("k"), said.whole("max_groups_per_user")
    left = epsilon - for_bound(said)
    if left <= 0:
        return fails("choosing max_groups_per_user takes all of epsilon")
    steps = _steps(said, groups * k, [k] * groups, groups)
    return of_steps(steps, left, delta, failure(said), bound)


def for_bound(said: Parameters) -> Fraction:
    """The epsilon that choosing max_groups_per_user took, where it was chosen."""
    return said.epsilon(FOR_BOUND) if said.has(FOR_BOUND) else Fraction(0)


def failure(said: Parameters) -> Fraction:
    """The delta that the thresholds of these groups take."""
    return said.whole("max_groups_per_user") * said.delta("delta_threshold")


def taken(said: Parameters, found: Sequence[int]) -> list[Step]:
    """The steps of the groups with most items; one that is not shown has none, and took the pick of its bottom."""
    k, groups = said.whole("k"), said.whole("max_groups_per_user")
    largest = sorted(found, reverse=True)[:groups]
    picks = sum(min(k, items + 1) for items in largest) + groups - len(largest)
    taken = _steps(said, picks, largest, groups if said.of.get("groups_listed") is True else len(largest))
    return [Step(Kind.PICK, for_bound(said), 1), *taken] if said.has(FOR_BOUND) else taken


def _steps(said: Parameters, picks: int, items: Sequence[int], groups: int) -> list[Step]:
    """Picks, counts of items in each group by itself, and numbers of users of groups, where these were asked for."""
    steps = [Step(Kind.PICK, said.epsilon("epsilon_per_pick"), picks)]
    if said.has("epsilon_per_group"):
        steps.append(Step(Kind.PURE, said.epsilon("epsilon_per_group"), groups))
    found: dict[tuple[Kind, Fraction], int] = {}
    for size, times in Counter(items).items():
        for one in counts_of(said, size):
            found[one.kind, one.epsilon] = found.get((one.kind, one.epsilon), 0) + one.times * times
    rho = sum((one * times for (kind, one), times in found.items() if kind is Kind.NOISE), Fraction(0))
    steps += [Step(Kind.NOISE, rho, 1)] if rho else []
    return [*steps, *(Step(kind, one, times) for (kind, one), times in found.items() if kind is not Kind.NOISE)]
