"""Sets within a loss in floats: their bounds hold the exact numbers, and what they decide has the exact law."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from flint import arb, ctx

from dpselect.draws import SecureDraws
from dpselect.papers import joint_paths as paths
from dpselect.papers import joint_walk as walk
from dpselect.papers.joint_paths import Paths
from dpselect.papers.joint_walk import Walk
from dpselect.testing import law
from tests.exact.laws import BITS

LARGE = 10**6  # bits: as if floats were always asked


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Floats however few the products are."""
    monkeypatch.setattr(paths, "WORTH", 0)


def shapes() -> list[list[int]]:
    """Reaches: nothing free, everything free, convex, concave, jagged, few and huge blocks."""
    random = np.random.default_rng(5)
    jagged = [(random.integers(1, 9, size=n).cumsum() + np.arange(n)).tolist() for n in (2, 5, 20, 60)]
    huge = [[5, 10**6, 10**6, 10**9, 10**20, 10**20 + 1], [10**6] * 40, [40, *range(42, 80)]]
    convex = [[1, 2, 4, 8, 16, 32, 64, 128], [i**3 + 1 for i in range(1, 30)]]
    return [[1, 2, 3], [9, 9, 9], [4, 5, 6, 7], *jagged, *huge, *convex, list(accumulate([3, *[1] * 30, 500]))]


def walk_of(path: Paths) -> Walk:
    return Walk([b.size for b in path.blocks], [path.first_rank_count, *(b.minimum for b in path.blocks)])


def middle(path: Paths, j: int) -> int:
    """Some number of held ranks after block j that is possible."""
    return (path.blocks[j].minimum + min(path.k, path.blocks[j].start + path.blocks[j].size)) // 2


def bounds_hold(path: Paths, **changes: float) -> bool:
    """Whether all balls hold the numbers that exact tables give."""
    mine, tables = walk_of(path), path.tables(400)
    for j in range(len(path.blocks)):
        s = path.k if j == len(path.blocks) - 1 else middle(path, j)
        found = replace(mine.ways(j, s), **changes)
        exact = path.ways(tables, j, s, 400)
        with ctx.workprec(400):
            if not all(found.ball(r).overlaps(number) for r, number in enumerate(exact)):
                return False
            if not found.sum().overlaps(sum(exact, arb(0))):
                return False
    return True


@pytest.mark.parametrize("least", [walk.LEAST, 1e-12, 1e-4, 0.05])
def test_the_bounds_hold_the_exact_numbers(least, monkeypatch):
    """With whatever is dropped: at 0.05, most of the states."""
    monkeypatch.setattr(walk, "LEAST", least)
    monkeypatch.setattr(walk, "SLACK", 0)
    for reach in shapes():
        path = Paths.from_reach(reach)
        assert not path.blocks or bounds_hold(path)


def test_bounds_that_forget_what_was_dropped_are_refused(monkeypatch):
    monkeypatch.setattr(walk, "LEAST", 1e-4)
    monkeypatch.setattr(walk, "SLACK", 0)
    assert not all(
        bounds_hold(Paths.from_reach(reach), dropped=0.0) for reach in shapes() if Paths.from_reach(reach).blocks
    )


def test_a_walk_that_forgets_its_boundary_or_its_tilt_is_refused():
    path = Paths.from_reach([i**3 + 1 for i in range(1, 30)])
    exact = path.count(400)
    assert walk_of(path).ways(len(path.blocks) - 1, path.k).sum().overlaps(exact)
    free = Walk(walk_of(path).sizes, [0] * len(path.blocks) + [path.k])
    assert not free.ways(len(path.blocks) - 1, path.k).sum().overlaps(exact)
    bent, flat = walk_of(path), walk_of(path)
    flat.__dict__["odds"] = np.full(len(path.blocks), float(bent.odds.mean()))
    assert flat.ways(len(path.blocks) - 1, path.k).sum().overlaps(exact)  # any odds are valid
    bent.__dict__["states"] = flat.states
    assert not bent.ways(len(path.blocks) - 1, path.k).sum().overlaps(exact)


def test_floats_are_close_and_used():
    """About ten digits, so that the first look nearly always decides; and none where numbers are too large."""
    for reach in shapes():
        path = Paths.from_reach(reach)
        if path.blocks:
            assert path.walk
            assert path.count(96).rel_accuracy_bits() > 30
    assert Paths.from_reach([2 * 10**200, 3 * 10**200]).walk is None
    assert Paths.from_reach([2 * 10**200, 3 * 10**200]).count(96).rel_accuracy_bits() > 30


@pytest.mark.parametrize("light", [walk.LIGHT, 0.6])
def test_a_set_drawn_by_floats_is_uniform(light, monkeypatch):
    """The real draw with floats at every precision; with heavy tails too, which it must find to be tails."""
    monkeypatch.setattr(paths, "BITS", LARGE)
    monkeypatch.setattr(walk, "LIGHT", light)
    for reach in ([3, 4, 6], [1, 4, 6, 7], [5, 5, 5], [2, 7, 7, 8], [4, 4, 9, 9]):
        path = Paths.from_reach(reach)
        found = law(lambda draws, path=path: tuple(sorted(path.draw(draws))))
        with ctx.workprec(BITS):
            number = path.count(BITS)
            assert len(found) == round(float(number.mid()))
            assert all((p * number).overlaps(arb(1)) and float((p * number).rad()) < 1e-9 for p in found.values())


def test_a_large_set_lies_within_its_reach():
    reach = [50 + i * i // 3 for i in range(300)]
    ranks = sorted(Paths.from_reach(reach).draw(SecureDraws()))
    assert len(set(ranks)) == 300
    assert all(rank < end for rank, end in zip(ranks, reach, strict=True))


@pytest.mark.parametrize(("held", "most"), [(20, 18), (28, 20)])  # with one tail, with both
def test_tails_that_do_not_rise_are_listed(held, most):
    """A tail is taken for one only where a ball says so: with wide balls everything is in the core."""
    path = Paths.from_reach([40, 60, *[90] * 30])
    close = path.walk.ways(1, held) if path.walk else None
    assert close
    tables = path.tables(128)
    for error, whole in ((close.error, False), (0.9, True)):
        split = paths.Halving.with_core(
            lambda bits: path.ways(tables, 1, held, bits), replace(close, error=error), 0, most
        )
        assert (len(split.core) == most + 1) == whole
        numbers = [[float(split.exact(128)[r].log()) for r in family] for family in split.families]
        assert all(sorted(n) == n for n in numbers)
        assert sorted(r for family in split.families for r in family) == list(range(most + 1))
