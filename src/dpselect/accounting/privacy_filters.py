"""Privacy filters: what a budget of picks guarantees for many adaptive questions, and what each of their steps costs.

It has k_star picks of one epsilon each, and l_star questions that may fail with a delta of their own. The
questions and the number of their steps are chosen adaptively, from earlier answers, so only bounds that allow
that are used. Each counts in its own way (docs/budgets.md proves all three):

- Added: epsilons add up; a step of epsilon e costs e / epsilon_per_pick picks.
- Concentrated: zCDP adds up (Feldman and Zrnic 2021; Whitehouse et al. 2023); a step costs its rho / rho of a pick.
- Alike: any bound for k_star adaptive bounded-range steps of one epsilon; every step no larger than a pick costs one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dpselect.accounting.calibration import split_delta
from dpselect.accounting.composition import Total, basic, frugal, zcdp
from dpselect.privacy import BoundedRange, Steps, Value


class Filter(Protocol):
    """The cost of one step, in picks."""

    @property
    def name(self) -> str:
        """Its name in a statement."""
        ...

    def picks(self, value: Value) -> Fraction | None:
        """How many picks a step costs; None if this filter cannot count it."""
        ...


@dataclass(frozen=True)
class Added:
    """Epsilons add up, along every adaptive path."""

    pick: BoundedRange
    name: str = "adding epsilons up"

    def picks(self, value: Value) -> Fraction:
        """e / epsilon_per_pick."""
        return value.epsilon / self.pick.epsilon


@dataclass(frozen=True)
class Concentrated:
    """zCDP adds up, along every adaptive path."""

    pick: BoundedRange
    name: str = "zCDP"

    def picks(self, value: Value) -> Fraction:
        """rho / (epsilon_per_pick^2 / 8)."""
        return value.rho / self.pick.rho


@dataclass(frozen=True)
class Alike:
    """Every step counts as the largest that is allowed."""

    pick: BoundedRange
    name: str = "one for each step"

    def picks(self, value: Value) -> Fraction | None:
        """One, if the step's bounded range is at most that of a pick."""
        return Fraction(1) if value.range <= self.pick.range else None


@dataclass(frozen=True)
class Terms:
    """The terms of a budget of picks, all exact: its guarantee, what it can be asked, and how its steps are counted."""

    epsilon: Fraction
    delta: Fraction
    epsilon_per_pick: Fraction
    delta_per_query: Fraction
    k_star: int
    l_star: int
    bound: str
    filter: Filter


def by_pick(pick: Fraction, delta_per_query: Fraction, k_star: int, l_star: int, composition: Fraction) -> Terms:
    """Durfee and Rogers 2019, Algorithm 2, by its own parameters; delta is l_star delta + delta' (docs/budgets.md)."""
    value = BoundedRange(pick)
    total = frugal([Steps(value, k_star)], composition)
    return Terms(
        epsilon=total.epsilon,
        delta=l_star * delta_per_query + total.delta,
        epsilon_per_pick=pick,
        delta_per_query=delta_per_query,
        k_star=k_star,
        l_star=l_star,
        bound=total.bound,
        filter=_counting(total.bound, value),
    )


def by_total(epsilon: Fraction, delta: Fraction, k_star: int, l_star: int, swaps: int) -> Terms:
    """The terms with the largest pick for which k_star picks and l_star failures stay within (epsilon, delta)."""

    def plan(x: Fraction) -> tuple[Steps, ...]:
        return (Steps(BoundedRange(x), k_star),)

    split = split_delta(plan, epsilon, delta, swaps * l_star, bound=smallest_that_adds_up)
    total = smallest_that_adds_up(plan(split.epsilon_per_pick), split.composition)
    value = BoundedRange(split.epsilon_per_pick)
    return Terms(
        epsilon=epsilon,
        delta=delta,
        epsilon_per_pick=value.epsilon,
        delta_per_query=split.threshold / l_star,
        k_star=k_star,
        l_star=l_star,
        bound=total.bound,
        filter=_counting(total.bound, value),
    )


def _counting(bound: str, pick: BoundedRange) -> Filter:
    """The filter that counts under the bound with which the budget was made."""
    if bound == "basic":
        return Added(pick)
    return Concentrated(pick) if bound == "zCDP" else Alike(pick)


def smallest_that_adds_up(steps: Sequence[Steps], delta: Fraction) -> Total:
    """The bounds under which steps of different kinds can share one budget."""
    added = Total(basic(steps), "basic")
    if delta == 0:
        return added
    return min(added, Total(zcdp(steps, delta), "zCDP", delta), key=lambda total: total.epsilon)
