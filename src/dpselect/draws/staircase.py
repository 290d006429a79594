"""One of very many by masses that are a falling times a rising factor: a staircase above them, and acceptance.

A cell is a run of neighbours x = first .. last of one family; each weighs at most fall(first) x rise(last). That
bound, as a ball, is the height of the stair, and the cell's area is rounded up to an integer. Cells are halved
where they are loose until little of the staircase is air. Then a cell is proposed in exact proportion to these
integers, one of its x uniformly, and accepted with probability mass / stair, an exact real. Whatever the cells are,
the law is exact, and no x is left out: what can hardly matter stays one wide cell. Proof: docs/exact-draws.md,
section "Among".
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import inf, log2
from typing import TYPE_CHECKING, Protocol

import numpy as np
from flint import arb, ctx

from dpselect.reals import enclose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpselect.draws.certified import CertifiedDraws

BITS = 64
LOOSE = 0.7  # so much of a staircase may be air: about three proposals for each answer, and fewer cells to weigh
TOTAL_BITS = 62  # the highest cell adds up to about 2^62


class Masses(Protocol):
    """Family f has candidates x = 0 .. sizes[f] - 1, of mass fall(f, x) x rise(f, x) each.

    Both factors are positive; along x the first never rises and the second never falls. A larger `bits` gives a
    smaller ball.
    """

    @property
    def sizes(self) -> Sequence[int]:
        """How many candidates each family has."""
        ...

    def fall(self, family: int, x: int, bits: int) -> arb:
        """The factor that never rises with x."""
        ...

    def rise(self, family: int, x: int, bits: int) -> arb:
        """The factor that never falls with x."""
        ...


@dataclass(frozen=True)
class Cell:
    """first .. last of a family, with balls of rise(last) and of rise at some place not after first."""

    family: int
    first: int
    last: int
    base: arb
    rise: arb
    stair: arb  # at least the mass of each of them
    high: float  # log2 of all stairs together, and of the air in them at most: these only say where to refine
    air: float

    @property
    def width(self) -> int:
        """How many candidates there are."""
        return self.last - self.first + 1


def among(draws: CertifiedDraws, masses: Masses) -> tuple[int, int]:
    """(family, x) in proportion to its mass."""
    cells = refined(masses, first_cells(masses), LOOSE)
    if len(cells) == 1 and cells[0].width == 1:
        return cells[0].family, 0
    scale = TOTAL_BITS - int(max(c.high for c in cells))
    tops = [_above(c.stair * c.width, scale) for c in cells]
    sums = list(accumulate(tops))
    while True:
        place = bisect_right(sums, draws.below(sums[-1]))
        cell, x = cells[place], cells[place].first + draws.below(cells[place].width)
        if draws.bernoulli(_Share(masses, cell.family, x, Fraction(tops[place], cell.width), scale)):
            return cell.family, x


@dataclass(frozen=True)
class _Share:
    """Mass over stair, in units of 2^-scale."""

    masses: Masses
    family: int
    x: int
    stair: Fraction
    scale: int

    def ball(self, bits: int) -> arb:
        """The number's ball."""
        with ctx.workprec(bits):
            mass = self.masses.fall(self.family, self.x, bits) * self.masses.rise(self.family, self.x, bits)
            return mass * arb(2) ** self.scale / enclose(self.stair)


def first_cells(masses: Masses) -> list[Cell]:
    """One cell for each family."""
    return [_family(masses, f, size) for f, size in enumerate(masses.sizes)]


def refined(masses: Masses, cells: list[Cell], loose: float) -> list[Cell]:
    """Cells halved where there is more air than on average, until the share of air in all together is small enough."""
    while True:
        unit = max(c.high for c in cells)
        high = np.exp2(np.array([c.high for c in cells]) - unit)
        air = np.exp2(np.array([c.air for c in cells]) - unit)
        if air.sum() <= loose * high.sum():
            return cells
        halved = air >= air.mean()
        cells = [
            half for c, again in zip(cells, halved, strict=True) for half in (_halves(masses, c) if again else (c,))
        ]


def _family(masses: Masses, family: int, size: int) -> Cell:
    last = masses.rise(family, size - 1, BITS)
    return _cell(masses, family, 0, size - 1, masses.rise(family, 0, BITS) if size > 1 else last, last)


def _halves(masses: Masses, cell: Cell) -> tuple[Cell, Cell]:
    middle = (cell.first + cell.last) // 2
    rise = masses.rise(cell.family, middle, BITS)
    return (
        _cell(masses, cell.family, cell.first, middle, cell.base, rise),
        _cell(masses, cell.family, middle + 1, cell.last, rise, cell.rise),
    )


def _cell(masses: Masses, family: int, first: int, last: int, base: arb, rise: arb) -> Cell:
    with ctx.workprec(BITS):
        fall = masses.fall(family, first, BITS)
        stair, width = fall * rise, log2(last - first + 1)
        air = stair - masses.fall(family, last, BITS) * base if first < last else arb(0)
        return Cell(family, first, last, base, rise, stair, _log2(stair) + width, _log2(air) + width)


def _log2(ball: arb) -> float:
    """About log2 of a ball, -inf where that is not positive, for decisions that do not touch the law."""
    mantissa, exponent = ball.mid().man_exp()
    return log2(int(mantissa)) + int(exponent) if mantissa > 0 else -inf


def _above(ball: arb, scale: int) -> int:
    """An integer of at least ball x 2^scale."""
    mantissa, exponent = ball.upper().man_exp()
    shift = int(exponent) + scale
    return int(mantissa) << shift if shift >= 0 else (int(mantissa) >> -shift) + 1
