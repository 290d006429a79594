"""Wrong recursions of quantiles: each must be refused by the tests of the right one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect.aggregates.value_counts import UsersAt
from dpselect.draws import Draws
from dpselect.mechanisms import RecursiveQuantiles
from dpselect.mechanisms.spread_users import CellRange, Spread

Split = Callable[[list[int], int], tuple[list[int], list[int]]]


def in_both(values: list[int], cut: int) -> tuple[list[int], list[int]]:
    """Users at the released point count on both sides of it."""
    return [v for v in values if v <= cut], [v for v in values if v >= cut]


def by_counts(values: list[int], cut: int) -> tuple[list[int], list[int]]:
    """Users at the released point go to the side that has fewer: one more user sends all of them elsewhere."""
    below, above = [v for v in values if v < cut], [v for v in values if v > cut]
    ties = [v for v in values if v == cut]
    return ([*below, *ties], above) if len(below) < len(above) else (below, [*ties, *above])


@dataclass(frozen=True)
class Divided:
    """Quartiles of whole values whose users are divided by another rule; both sides keep the released point."""

    right: RecursiveQuantiles
    split: Split

    def cut(self, values: list[int], draws: Draws) -> list[int]:
        """The three points."""
        half, points = Fraction(1, 2), self.right.grid.points

        def middle(of: list[int], start: int, stop: int) -> int:
            users = UsersAt.counted(np.sort(np.array(of, dtype=np.int64)))
            return CellRange(Spread.from_users(users, 1), start, stop, half, self.right.rate(half)).draw(draws)

        cut = middle(values, 0, points)
        below, above = self.split(values, cut)
        return [middle(below, 0, cut + 1), cut, middle(above, cut, points)]


@dataclass(frozen=True)
class OfOneLevel:
    """The right recursion with the epsilon of the whole call for each level."""

    right: RecursiveQuantiles

    def cut(self, users: Any, draws: Draws) -> list[int]:
        """The cells."""
        r = self.right
        each = RecursiveQuantiles(q=r.q, bounds=r.bounds, step=r.step, epsilon_per_pick=r.epsilon)
        return each.cut(users, draws)


class RateOfTheMiddle(RecursiveQuantiles):
    """Every rank as cheap as a median, whose miss moves least."""

    def rate(self, r: Fraction) -> Fraction:  # noqa: ARG002
        return self._pick
