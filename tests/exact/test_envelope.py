"""What makes `sample_product` and `flip` exact: an envelope above all masses, every candidate in one cell, a height."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.reals import enclose, lower, upper
from dpselect.aggregates.histogram import Histogram
from dpselect.draws import CertifiedDraws, Layers, Levels, Masses
from dpselect.draws.loss_levels import cuts, power
from dpselect.draws.monotone_categorical import REJECTION_RATE, FamilyCell, _above, _Share, first_cells, log2, refined
from dpselect.draws.permute_and_flip import _AtHeight, _Height
from dpselect.mechanisms.joint.canonical_set import Classes
from dpselect.mechanisms.joint.ranked import ranked
from dpselect.mechanisms.joint.sequence import SequenceWays
from dpselect.mechanisms.joint.set import SetWays
from dpselect.testing import SeededDraws

COUNTS = (90, 71, 40, 40, 12, 3, 1, 0, 0)
UNSEEN = Histogram(counts=np.array([40, 9, 0]), sizes=[2, 3, 10**20], label=lambda g, r: (g, r))


def levels(ways, k: int, rate: Fraction, counts=COUNTS) -> Levels:
    rows = ranked(counts, k)
    return Levels(rate, rows.spread, ways(rows), cuts(rate, rows.spread, ways(rows).log))


SHAPES: dict[str, Layers] = {
    "sets": levels(SetWays, 3, Fraction(1, 2)),
    "sets, steep": levels(SetWays, 4, Fraction(3)),
    "sets, nearly uniform": levels(SetWays, 3, Fraction(1, 10**30)),
    "sequences, flat": levels(SequenceWays, 4, Fraction(1, 20)),
    "unseen": levels(SetWays, 4, Fraction(1, 2), UNSEEN),
    "all equal": levels(SetWays, 2, Fraction(1, 2), (5, 5, 5)),
    "classes": Classes.of(ranked(COUNTS, 3), Fraction(1, 2)),
    "classes with a far window": Classes(ranked(COUNTS, 3), Fraction(1, 2), 5),
    "classes, steep": Classes.of(ranked(COUNTS, 1), Fraction(9)),
    "all there is": Classes.of(ranked(COUNTS, 9), Fraction(1)),
}


def envelope_holds(masses: Masses, cells: list[FamilyCell]) -> bool:
    """Whether every mass lies below its cell's bound, and each family is cut into cells without a gap."""
    for family, size in enumerate(masses.sizes):
        mine = sorted((c for c in cells if c.family == family), key=lambda c: c.first)
        if [c.first for c in mine] != [0, *(c.last + 1 for c in mine[:-1])] or mine[-1].last != size - 1:
            return False
        for cell in mine:
            area = _above(cell.bound * cell.width, 60)
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
    assert envelope_holds(masses, refined(masses, first_cells(masses), rate))


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
    given = _AtHeight(masses, _Height(SeededDraws(2), masses))
    for some in (masses, given):
        for family, size in enumerate(some.sizes):
            falls = [some.fall(family, x, 192) for x in range(size)]
            rises = [some.rise(family, x, 192) for x in range(size)]
            assert all(not a < b for a, b in pairwise(falls))
            assert all(not a > b for a, b in pairwise(rises))


def test_refinement_leaves_what_cannot_matter_in_one_cell():
    wide = levels(SetWays, 3, Fraction(1, 2), (10**12, 10**12 - 3, 10**12 - 4, 5, 5, 0))
    cells = refined(wide, first_cells(wide), REJECTION_RATE)
    assert len(cells) < 100
    assert sum(c.width for c in cells) == 10**12 + 1


class Words:
    """The same word for ever."""

    def __init__(self, word: int) -> None:
        self._word = word

    def word(self) -> int:
        return self._word


def low_height(name: str, word: int = 2**64 - 2**40) -> tuple[_AtHeight, _Height]:
    """At a V so near 1 that most heights are low."""
    height = _Height(CertifiedDraws(Words(word), secure=False), SHAPES[name])  # type: ignore[arg-type]
    return _AtHeight(SHAPES[name], height), height


@pytest.mark.parametrize("name", SHAPES)
def test_the_envelope_of_low_heights_lies_above_all_masses(name):
    masses, height = low_height(name)
    cells = height.envelope()
    assert cells is not None
    assert envelope_holds(masses, cells)
    assert all(abs(log2(c.bound * c.width) - c.log_area) < 1e-6 for c in cells)  # so that areas are not all rounded up


@pytest.mark.parametrize("name", ["unseen", "classes"])
def test_a_height_that_is_not_low_has_no_envelope(name):
    """V near 0, unless there are 10^20 answers: half of them."""
    _, height = low_height(name, 2**40)
    assert (height.envelope() is None) == (name == "classes")


@pytest.mark.parametrize("name", SHAPES)
def test_an_envelope_in_a_smaller_unit_is_refused(name, monkeypatch):
    """The twin: what a fall stands for is a millionth less."""
    masses, height = low_height(name)
    unit = height.unit()
    monkeypatch.setattr(height, "unit", lambda: unit * (1 - arb(2) ** -20))
    cells = height.envelope()
    assert cells is not None
    assert not envelope_holds(masses, cells)


def survival(layers: Layers, u: arb) -> arb:
    """Phi(u) from its definition, layer by layer."""
    total = arb(0)
    for family, size in enumerate(layers.sizes):
        for x in range(size):
            start, end = layers.layer(family, x)
            p = power(-layers.rate * start, 256)
            q = arb(0) if end is None else power(-layers.rate * end, 256)
            total += layers.rise(family, x, 256) * ((1 - p * u).log() - (1 - q * u).log())
    return total.exp()


@pytest.mark.parametrize("word", [1, 2**40, 2**62, 2**63 + 12345, 2**64 - 2**20, 2**64 - 2])
@pytest.mark.parametrize("name", SHAPES)
def test_the_height_lies_between_its_bounds(name, word):
    """Phi at one end is at least V, at the other at most; more bits bring the ends together."""
    layers = SHAPES[name]
    height = _Height(CertifiedDraws(Words(word), secure=False), layers)  # type: ignore[arg-type]
    radii = []
    for bits in (96, 160, 320):
        with ctx.workprec(256):
            low, high = lower(height.ends(bits)[0]), upper(height.ends(bits)[1])
            assert 0 < low <= high <= 1 + Fraction(1, 2**90)
            v, w = (enclose(Fraction(height.value + i, 1 << height.bits)) for i in (0, 1))
            assert not survival(layers, 1 - enclose(low)) > w
            assert high >= 1 or not survival(layers, 1 - enclose(high)) < v
        radii.append((high - low) / low)
    assert radii[2] < Fraction(1, 2**20)
    assert radii[2] <= radii[1]
