"""One of very many candidates, by masses that are a falling times a rising factor: rejection from an envelope.

A cell is a run of neighbours x = first .. last of one family; each weighs at most fall(first) * rise(last). That
bound, as a ball, is the height of the envelope on the cell, and the cell's area is rounded up to an integer. Cells
are bisected until the envelope's rejection rate is small. Then a cell is proposed in exact proportion to these
integers, one of its x uniformly, and accepted with probability mass / bound, an exact real. Whatever the cells are,
the distribution is exact, and no x is left out: negligible masses stay together in one wide cell. Proof:
docs/exact-draws.md.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappush, heapreplace
from itertools import accumulate

import numpy as np
from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import enclose
from dpselect.draws.core import Core
from dpselect.draws.port import Masses

PRECISION_BITS = 64
REJECTION_RATE = 0.7  # about three proposals for each answer, and fewer cells to weigh
CELLS_BY_PROPOSAL = 8  # or so many cells weighed for each proposal that is expected: more would only cost more
CELLS_PER_HALVING = 8  # an eighth of the cells are halved between two looks at the whole
TOTAL_BITS = 62  # the highest cell adds up to about 2^62


@dataclass(frozen=True)
class FamilyCell:
    """A cell is first .. last of a family, with balls of rise(last) and of rise at some x not after first."""

    family: int
    first: int
    last: int
    rise_before: arb
    rise: arb
    bound: arb  # at least the mass of each of them
    log_area: float  # log2 of the envelope's area on the cell, and of how much of it is rejected at most:
    log_rejected: float  # these only say where to refine

    @property
    def width(self) -> int:
        """Count its candidates."""
        return self.last - self.first + 1


def sample_product(core: Core, masses: Masses) -> tuple[int, int]:
    """Draw (family, x) in proportion to its mass, by an envelope of all candidates."""
    cells = bisect_cells(masses, first_cells(masses), REJECTION_RATE)
    if len(cells) == 1 and cells[0].width == 1:
        return cells[0].family, 0
    scale = TOTAL_BITS - int(max(c.log_area for c in cells))
    areas = [_scaled_up(c.bound * c.width, scale) for c in cells]
    sums = list(accumulate(areas))
    while True:
        index = bisect_right(sums, core.below(sums[-1]))
        cell, x = cells[index], cells[index].first + core.below(cells[index].width)
        if core.bernoulli(_Share(masses, cell.family, x, Fraction(areas[index], cell.width), scale)):
            return cell.family, x


@dataclass(frozen=True)
class _Share:
    """The acceptance probability is mass over bound, in units of 2^-scale."""

    masses: Masses
    family: int
    x: int
    bound: Fraction
    scale: int

    def ball(self, bits: int) -> arb:
        """Return the number's ball."""
        with ctx.workprec(bits):
            mass = self.masses.fall(self.family, self.x, bits) * self.masses.rise(self.family, self.x, bits)
            return mass * arb(2) ** self.scale / enclose(self.bound)


def first_cells(masses: Masses) -> list[FamilyCell]:
    """Make one cell for each family."""
    return [_family_cell(masses, f, size) for f, size in enumerate(masses.sizes)]


def bisect_cells(masses: Masses, cells: list[FamilyCell], rate: float) -> list[FamilyCell]:
    """Bisect the cells that reject most until the envelope's rejection rate is `rate`, or more where cells are many."""
    heap = [(-c.log_rejected, i, c) for i, c in enumerate(cells)]
    heapify(heap)
    cells_made = len(heap)
    while not _rejects_little(cells, rate):
        for _ in range(max(1, len(heap) // CELLS_PER_HALVING)):
            first, second = _halve(masses, heap[0][2])
            heapreplace(heap, (-first.log_rejected, cells_made, first))
            heappush(heap, (-second.log_rejected, cells_made + 1, second))
            cells_made += 2
            if heap[0][0] == math.inf:  # all are single
                break
        cells = [c for *_, c in heap]
    return cells


def _rejects_little(cells: Sequence[FamilyCell], rate: float) -> bool:
    """Return whether the envelope rejects little enough, in floats."""
    unit = max(c.log_area for c in cells)
    areas = np.exp2(np.array([c.log_area for c in cells]) - unit)
    rejected = np.exp2(np.array([c.log_rejected for c in cells]) - unit)
    return bool(rejected.sum() <= max(rate, 1 - CELLS_BY_PROPOSAL / len(cells)) * areas.sum())


def _family_cell(masses: Masses, family: int, size: int) -> FamilyCell:
    last = masses.rise(family, size - 1, PRECISION_BITS)
    return _cell(masses, family, 0, size - 1, masses.rise(family, 0, PRECISION_BITS) if size > 1 else last, last)


def _halve(masses: Masses, cell: FamilyCell) -> tuple[FamilyCell, FamilyCell]:
    middle = (cell.first + cell.last) // 2
    rise = masses.rise(cell.family, middle, PRECISION_BITS)
    return (
        _cell(masses, cell.family, cell.first, middle, cell.rise_before, rise),
        _cell(masses, cell.family, middle + 1, cell.last, rise, cell.rise),
    )


def _cell(masses: Masses, family: int, first: int, last: int, base: arb, rise: arb) -> FamilyCell:
    with ctx.workprec(PRECISION_BITS):
        fall = masses.fall(family, first, PRECISION_BITS)
        bound, width = fall * rise, math.log2(last - first + 1)
        least = masses.fall(family, last, PRECISION_BITS) * base if first < last else bound
        return FamilyCell(family, first, last, base, rise, bound, log2(bound) + width, log2(bound - least) + width)


def log2(ball: arb) -> float:
    """Approximate log2 of a ball, -inf where it is not positive, for decisions that do not touch the distribution."""
    mantissa, exponent = ball.mid().man_exp()
    return math.log2(int(mantissa)) + int(exponent) if mantissa > 0 else -math.inf


def _scaled_up(ball: arb, scale: int) -> int:
    """Return an integer that is at least ball * 2^scale."""
    mantissa, exponent = ball.upper().man_exp()
    shift = int(exponent) + scale
    return int(mantissa) << shift if shift >= 0 else (int(mantissa) >> -shift) + 1
