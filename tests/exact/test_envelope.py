"""What makes `sample_product` exact: an envelope above all masses, and every candidate in one cell."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx

from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Masses
from dpselect.draws.monotone_categorical import (
    REJECTION_RATE,
    FamilyCell,
    _scaled_up,
    _Share,
    bisect_cells,
    first_cells,
)
from dpselect.mechanisms.joint.canonical_set import Classes
from dpselect.mechanisms.joint.ranked import rank_counts
from dpselect.papers.joint_sequence import SequenceWays
from dpselect.papers.joint_set import SetWays
from dpselect.papers.loss_levels import Levels, cuts

COUNTS = (90, 71, 40, 40, 12, 3, 1, 0, 0)
UNSEEN = CountGroups(counts=np.array([40, 9, 0]), sizes=[2, 3, 10**20], label=lambda g, r: (g, r))


def levels(ways, k: int, rate: Fraction, counts=COUNTS) -> Levels:
    rows = rank_counts(counts, k)
    return Levels(rate, rows.spread, ways(rows), cuts(rate, rows.spread, ways(rows).log))


class PairAmongMany:
    """The two of the last family lie far below their common bound; every other family has one."""

    sizes = (1,) * 15 + (2,)

    def fall(self, family: int, x: int, bits: int) -> arb:  # noqa: ARG002 - it is exact
        return arb(2) ** (-40 * x)

    def rise(self, family: int, x: int, bits: int) -> arb:  # noqa: ARG002 - it is exact
        return arb(2) ** (40 * x)


SHAPES: dict[str, Masses] = {
    "sets": levels(SetWays, 3, Fraction(1, 2)),
    "sets, steep": levels(SetWays, 4, Fraction(3)),
    "sets, nearly uniform": levels(SetWays, 3, Fraction(1, 10**30)),
    "sequences, flat": levels(SequenceWays, 4, Fraction(1, 20)),
    "unseen": levels(SetWays, 4, Fraction(1, 2), UNSEEN),
    "all equal": levels(SetWays, 2, Fraction(1, 2), (5, 5, 5)),
    "classes": Classes.for_ranked(rank_counts(COUNTS, 3), Fraction(1, 2)),
    "classes with a far window": Classes(rank_counts(COUNTS, 3), Fraction(1, 2), 5),
    "classes, steep": Classes.for_ranked(rank_counts(COUNTS, 1), Fraction(9)),
    "all there is": Classes.for_ranked(rank_counts(COUNTS, 9), Fraction(1)),
    "a pair among many": PairAmongMany(),
}


def envelope_holds(masses: Masses, cells: list[FamilyCell]) -> bool:
    """Whether every mass lies below its cell's bound, and each family is cut into cells without a gap."""
    for family, size in enumerate(masses.sizes):
        mine = sorted((c for c in cells if c.family == family), key=lambda c: c.first)
        if [c.first for c in mine] != [0, *(c.last + 1 for c in mine[:-1])] or mine[-1].last != size - 1:
            return False
        for cell in mine:
            area = _scaled_up(cell.bound * cell.width, 60)
            for x in range(cell.first, cell.last + 1):
                share = _Share(masses, family, x, Fraction(area, cell.width), 60).ball(192)
                with ctx.workprec(192):
                    if not share <= 1 + arb(2) ** -150:
                        return False
    return True


@pytest.mark.parametrize("rate", [1.0, REJECTION_RATE, 1e-3])
@pytest.mark.parametrize("name", SHAPES)
def test_no_mass_is_above_its_bound_and_none_is_left_out(name, rate):
    masses = SHAPES[name]
    assert envelope_holds(masses, bisect_cells(masses, first_cells(masses), rate))


def test_an_envelope_of_last_falls_is_refused():
    """The twin: bounds at fall(last) * rise(last)."""
    masses = SHAPES["sets"]
    cells = first_cells(masses)
    low = [replace(c, bound=masses.fall(c.family, c.last, 64) * c.rise) for c in cells]
    assert envelope_holds(masses, cells)
    assert not envelope_holds(masses, low)


@pytest.mark.parametrize("name", SHAPES)
def test_the_factors_are_monotone(name):
    masses = SHAPES[name]
    for family, size in enumerate(masses.sizes):
        falls = [masses.fall(family, x, 192) for x in range(size)]
        rises = [masses.rise(family, x, 192) for x in range(size)]
        assert all(not a < b for a, b in pairwise(falls))
        assert all(not a > b for a, b in pairwise(rises))


def test_refinement_leaves_what_cannot_matter_in_one_cell():
    wide = levels(SetWays, 3, Fraction(1, 2), (10**12, 10**12 - 3, 10**12 - 4, 5, 5, 0))
    cells = bisect_cells(wide, first_cells(wide), REJECTION_RATE)
    assert len(cells) < 100
    assert sum(c.width for c in cells) == 10**12 + 1
