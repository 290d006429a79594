"""How far draws of a recursion may miss: against their exact law on small segments, and sums of misses along paths."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from dpselect.mechanisms import RecursiveQuantiles
from dpselect.mechanisms.rank_tree import Misses, Rank, TreePaths, ordered
from dpselect.mechanisms.spread_users import CellRange, Spread
from dpselect.release.accuracy import BETA
from dpselect.testing import law
from tests.slow.exact.test_recursive_quantiles import counted, exactly

CELLS, SHARED = 16, 12
HALF = Fraction(1, 2)


def one(r: Fraction, *, ends: bool = False) -> Rank:
    return Rank(0, -1, 1, r) if ends else Rank(1, -1, 4, r)


def segments(ends: bool) -> Iterator[tuple[CellRange, Fraction]]:
    """All of eight points, of which those between have no users, and parts of them."""
    last = 7
    for low in (0, 4, 8, 12):
        users = Spread.from_users(counted((0,) * low + (last,) * SHARED), CELLS)
        for start, stop in ((0, 8 * CELLS), (CELLS - 3, 8 * CELLS - 5)):
            for r in (HALF, Fraction(1, 5), Fraction(5, 6)):
                for rate in (Fraction(1, 2), Fraction(2)):
                    yield CellRange(users, start, stop, r, rate, CELLS if ends else 1), r


Tails = list[tuple[Fraction, Fraction, float, float]]


def tails(ends: bool = False) -> Tails:
    """The rank, the rate, t and P(miss >= t), of every t that occurs."""
    found: Tails = []
    for segment, r in segments(ends):
        drawn = law(lambda draws, segment=segment: (segment.draw(draws) // segment.grain,))
        at = sorted(((segment.miss(c) / segment.unit, float(p.mid())) for (c,), p in drawn.items()), reverse=True)
        beyond = np.cumsum([p for _, p in at])
        found += [(r, segment.rate, t, p) for (t, _), p in zip(at, beyond.tolist(), strict=True) if t]
    return found


def excess(found: Tails, misses: Misses, *, ends: bool = False) -> float:
    """The largest P(miss >= t) e^(rate t) / many, at most 1."""
    return max(
        p * math.exp(float(rate) * t - misses.log_many(one(r, ends=ends), float(rate))) for r, rate, t, p in found
    )


def test_a_draw_misses_no_more_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    exactly(monkeypatch)
    found = tails()
    assert 0.3 < excess(found, Misses(8, CELLS, SHARED)) <= 1
    assert 0.3 < excess(tails(ends=True), Misses(8, CELLS, SHARED), ends=True) <= 1
    # As if one user had a point, and as if a cut were among points.
    assert excess(found, Misses(8, CELLS, 1)) > 1.2
    assert excess(found, Misses(8, 1, SHARED)) > 1.2


def test_many_is_never_more_than_all_cells_and_less_where_few_share() -> None:
    every = math.log(121 * 2**28 - 1)
    for rate in (1e-3, 0.25, 3.0, 1e4):
        for r in (HALF, Fraction(1, 10**6), Fraction(2, 3)):
            found = [Misses(121, 2**28, shared).log_many(one(r), rate) for shared in (2**10, 2**24)]
            assert found[0] <= found[1] <= every
    assert Misses(121, 2**28, 2**24).log_many(one(HALF), 0.25) < every - 4
    assert Misses(121, 2**28, 2**24).log_many(one(HALF, ends=True), 0.25) == math.log(120)


@pytest.mark.parametrize("m", [1, 2, 3, 6, 9, 20])
def test_sums_follow_the_ends_of_segments(m: int) -> None:
    """Errors of answers where every draw misses by as much as it may, from the ranks at both ends."""
    q = [Fraction(i * i + 1, m * m + 3) for i in range(1, m + 1)]
    mechanism = RecursiveQuantiles(q=q, bounds=(0, 120), step=1, epsilon=1)
    misses, ranks = Misses(121, 2**28, 2**24), ordered(q)
    far = {-1: 0.0, m: 0.0}
    for rank in ranks:
        rate = float(mechanism.rate(rank.r))
        own = (misses.log_many(rank, rate) + math.log(m / BETA)) / rate
        far[rank.position] = own + float(1 - rank.r) * far[rank.left] + float(rank.r) * far[rank.right]
    paths = TreePaths.from_ranks(ranks, mechanism.rate, misses)
    assert paths._each(BETA) == pytest.approx(max(far.values()), rel=1e-12)
    assert paths.gap(BETA) <= Fraction(max(far.values()) * (1 + 1e-9))
    assert mechanism.gap(BETA) == paths.gap(BETA).__ceil__() + 1


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_the_bound_of_sums_holds_and_is_near(draws: int) -> None:
    """Equal parts: the sum has a gamma law, whose tail is a sum of Poisson terms."""

    def tail(x: float) -> float:
        return math.exp(-x) * sum(x**i / math.factorial(i) for i in range(draws))

    for beta in (0.05, 1e-4):
        found = TreePaths(np.ones((1, draws)), np.zeros((1, draws)))._together(beta)
        assert tail(found) <= beta
        assert tail(0.5 * found) > beta
        several = TreePaths(np.ones((7, draws)), np.zeros((7, draws)))._together(beta)
        assert 7 * tail(several) <= beta
