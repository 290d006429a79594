"""Quantiles by recursion: the law against a plain one, privacy over all neighbours, level by level, twins refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.privacy import BoundedRange, Steps
from dpselect._ground.reals import enclose
from dpselect.aggregates.value_counts import UsersAt
from dpselect.mechanisms import Quantile, RecursiveQuantiles, spread_users
from dpselect.mechanisms.rank_tree import ordered
from dpselect.mechanisms.recursive_quantiles import better_for, levels
from dpselect.mechanisms.spread_users import CandidateBlocks, CellRange, Spread
from dpselect.release.accuracy import BETA
from dpselect.testing import Law, SeededDraws, law
from tests.exact.laws import BITS, at_most, largest, log_range, max_log_ratio, private, same
from tests.slow.exact.test_quantile import missed
from tests.slow.exact.test_quantile import neighbours as on_points
from tests.twins import recursion as broken

QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
UNEVEN = (Fraction(1, 10), Fraction(1, 3), Fraction(9, 10))
EPSILON = Fraction(6)
Values = tuple[int, ...]


def exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is out of reach, and points with users are blocks cell by cell, so that nothing is refused."""
    monkeypatch.setattr(spread_users, "BEYOND", 10**6)
    monkeypatch.setattr(spread_users, "FINER", 10**6)


@pytest.fixture(params=[1, 2])
def cells(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Points of so many cells: few enough to visit all; the theorem holds for any number."""
    exactly(monkeypatch)
    monkeypatch.setattr(RecursiveQuantiles, "CELLS", request.param)
    return int(request.param)


def small(q: Sequence[Fraction] = QUARTILES, **more: Any) -> RecursiveQuantiles:
    return RecursiveQuantiles(**{"q": q, "bounds": (0, 2), "step": 1, "epsilon": EPSILON} | more)


def counted(values: Values) -> UsersAt:
    return UsersAt.counted(np.array(sorted(values), dtype=np.int64))


def laws_of(mechanism: Any, take: Callable[[Values], Any] = counted) -> Callable[[Values], Law]:
    """From values to the law of all cells: what the answers are made from."""
    return cache(lambda values: law(lambda draws: tuple(mechanism.cut(take(values), draws))))


def neighbours(most: int, points: Sequence[int] = range(3)) -> Iterator[tuple[Values, Values]]:
    return on_points(most, points)


# ---- the law ----------------------------------------------------------------------------------------------


def below(values: Values, cell: int, cells: int) -> Fraction:
    """How many users, and parts of users, are below a cell."""
    return sum((min(Fraction(1), max(Fraction(0), Fraction(cell, cells) - v)) for v in values), Fraction(0))


def plain(values: Values, start: int, stop: int, r: Fraction, rate: Fraction, cells: int, grain: int) -> dict[int, arb]:
    """The law of one draw, from the definition: every candidate of the segment with its weight."""
    if start == stop:
        return {start: arb(1)}
    low, high = below(values, start, cells), below(values, stop, cells)
    wanted = low + r * (high - low)
    weights = {}
    for c in range(start // grain, -(-stop // grain)):
        first, end = max(start, c * grain), min(stop, (c + 1) * grain)
        miss = max(Fraction(0), below(values, first, cells) - wanted, wanted - below(values, end, cells))
        weights[first] = enclose(-rate * miss).exp()
    return {cell: w / sum(weights.values()) for cell, w in weights.items()}


def plain_quartiles(values: Values, mechanism: RecursiveQuantiles, cells: int) -> Law:
    """The law of three quantiles: the middle one, and then one on either side."""
    (low, mid, high), stop, found = mechanism.shares, mechanism.grid.points * cells, {}
    with ctx.workprec(BITS):
        for x, p in plain(values, 0, stop, mid, mechanism.rate(mid), cells, 1).items():
            first, last = low / mid, (high - mid) / (1 - mid)
            left = plain(values, 0, x, first, mechanism.rate(first), cells, cells)
            right = plain(values, x, stop, last, mechanism.rate(last), cells, cells)
            for (a, pa), (b, pb) in product(left.items(), right.items()):
                found[a, x, b] = p * pa * pb
    return found


@pytest.mark.parametrize("q", [QUARTILES, UNEVEN], ids=["quartiles", "uneven"])
def test_the_law_is_that_of_the_definition(q: Sequence[Fraction], cells: int) -> None:
    mechanism = small(q)
    for values in [(), (1,), (0, 2), (1, 1, 1), (0, 1, 1, 2), (2, 2, 2, 2, 0)]:
        assert same(laws_of(mechanism)(values), plain_quartiles(values, mechanism, cells))
        answers = law(lambda draws, values=values: tuple(mechanism(list(values), draws=draws)))
        assert all(list(answer) == sorted(answer) for answer in answers)
        folded: Law = {}
        with ctx.workprec(BITS):
            for found, p in plain_quartiles(values, mechanism, cells).items():
                points = tuple(cell // cells for cell in found)
                folded[points] = folded.get(points, arb(0)) + p
        assert same(answers, folded)


@pytest.mark.parametrize("rate", [Fraction(1, 9), Fraction(2, 3), Fraction(5)], ids=str)
@pytest.mark.parametrize("r", [Fraction(1, 2), Fraction(1, 7), Fraction(8, 9)], ids=str)
def test_blocks_and_refusals_keep_the_law(r: Fraction, rate: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a proposal that is kept, the law is that of the definition, however coarse the blocks and short the reach."""
    cells, refused_some = 8, 0
    for beyond, grain in product((20, -1), (1, cells)):
        monkeypatch.setattr(spread_users, "BEYOND", beyond)
        for values in [(), (0, 0, 1, 3), (1,) * 9 + (2,), (0,) * 30 + (3,) * 40, (0, 1, 1, 2, 2, 2, 3)]:
            for start, stop in ((0, 32), (3, 29), (8, 13), (5, 6)):
                one = CellRange(Spread.from_users(counted(values), cells), start, stop, r, rate, grain)
                found = law(lambda draws, one=one: (CandidateBlocks.cover(one).propose(draws),))
                with ctx.workprec(BITS):
                    lost = found.pop((None,), arb(0))
                    kept = {(max(start, c * grain),): p / (1 - lost) for (c,), p in found.items()}
                    expected = {(c,): p for c, p in plain(values, start, stop, r, rate, cells, grain).items()}
                assert same(kept, expected)
                refused_some += lost != 0
    assert refused_some


def test_numbers_beyond_64_bits_keep_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    values, r = (0, 0, 1, 1, 1, 2, 3), Fraction(1, 3)
    one = CellRange(Spread.from_users(counted(values), 4), 1, 15, r, Fraction(3))
    usual = law(lambda draws: (CandidateBlocks.cover(one).propose(draws),))
    monkeypatch.setattr(spread_users, "FITS", 0)
    assert CandidateBlocks.cover(one).weights.scores.dtype == object
    assert same(law(lambda draws: (CandidateBlocks.cover(one).propose(draws),)), usual)


# ---- privacy ----------------------------------------------------------------------------------------------


def worst(laws: Callable[[Values], Law], pairs: Iterator[tuple[Values, Values]]) -> arb:
    """The largest loss of any pair, in either direction."""
    return largest(max_log_ratio(*two) for a, b in pairs for two in ((laws(a), laws(b)), (laws(b), laws(a))))


@pytest.mark.parametrize("q", [QUARTILES, UNEVEN], ids=["quartiles", "uneven"])
@pytest.mark.usefixtures("cells")
def test_privacy_over_all_neighbours(q: Sequence[Fraction]) -> None:
    laws = laws_of(small(q))
    assert at_most(worst(laws, neighbours(3)), EPSILON)
    assert float(worst(laws, neighbours(3)).mid()) > 2.9


def ranges(laws: Callable[[Values], Law], pairs: Iterable[tuple[Values, Values]]) -> tuple[float, float]:
    """The largest range of the loss of the first level, and that of the second given the first."""

    def given(found: Law) -> dict[int, Law]:
        after: dict[int, Law] = {}
        for (a, x, b), p in found.items():
            after.setdefault(x, {})[a, b] = p
        return after

    def first(found: Law) -> Law:
        with ctx.workprec(BITS):
            return {(x,): sum(after.values(), arb(0)) for x, after in given(found).items()}

    firsts, seconds = [], []
    for left, right in pairs:
        a, b = laws(left), laws(right)
        firsts.append(float(log_range(first(a), first(b)).mid()))
        seconds += [float(log_range(after, given(b)[x]).mid()) for x, after in given(a).items()]
    return max(firsts), max(seconds)


ROUNDED = 1 + 1e-12  # floats of balls of 192 bits


@pytest.mark.parametrize("q", [QUARTILES, UNEVEN], ids=["quartiles", "uneven"])
@pytest.mark.usefixtures("cells")
def test_each_level_has_the_range_of_one_pick(q: Sequence[Fraction]) -> None:
    """The second level are two draws at once, from segments between which a user may be divided."""
    mechanism = small(q)
    first, second = ranges(laws_of(mechanism), neighbours(3))
    assert mechanism.epsilon_per_pick == EPSILON / 2
    assert max(first, second) <= float(EPSILON / 2) * ROUNDED
    assert min(first, second) > float(EPSILON / 2) * 0.6


def test_more_levels_and_a_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecursiveQuantiles, "CELLS", 1)
    four = [Fraction(i, 5) for i in range(1, 5)]
    made = small(four, bounds=(0, 1)), small(four, bounds=(0, 1), delta=Fraction(1, 5))
    for mechanism in made:
        assert private(laws_of(mechanism), neighbours(3, range(2)), EPSILON, mechanism.privacy.delta)
    assert made[0].privacy.steps == (Steps(BoundedRange(EPSILON / 3), 3),)
    assert made[1].epsilon_per_pick >= made[0].epsilon_per_pick


# ---- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", [broken.in_both, broken.by_counts])
def test_users_on_both_sides_and_ties_sent_by_counts_are_refused(
    split: broken.Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RecursiveQuantiles, "CELLS", 1)
    right = small(bounds=(0, 4))
    twin, pairs = (
        laws_of(broken.Divided(right, split), list),
        [*neighbours(3), ((1, 1, 1, 3, 3, 3), (1, 1, 1, 2, 3, 3, 3))],
    )
    assert max(ranges(laws_of(right), pairs)) <= float(EPSILON / 2) * ROUNDED
    assert max(ranges(twin, pairs)) > float(EPSILON / 2) * 1.3


@pytest.mark.usefixtures("cells")
def test_a_price_of_one_level_and_a_rate_that_is_too_large_are_refused() -> None:
    assert not at_most(worst(laws_of(broken.OfOneLevel(small())), neighbours(3)), EPSILON)
    wrong = broken.RateOfTheMiddle(q=UNEVEN, bounds=(0, 2), step=1, epsilon=EPSILON)
    assert max(ranges(laws_of(wrong), neighbours(3))) > float(EPSILON / 2) * 1.1


# ---- what it is made of -----------------------------------------------------------------------------------


def test_levels_halve_the_ranks() -> None:
    for m in range(1, 70):
        shares = [Fraction(i, m + 1) for i in range(1, m + 1)]
        found, depth = ordered(shares), {-1: 0, m: 0}
        ends = dict(enumerate([*shares, Fraction(1)])) | {-1: Fraction(0)}
        for one in found:
            assert ends[one.position] == (1 - one.r) * ends[one.left] + one.r * ends[one.right]
            depth[one.position] = 1 + max(depth[one.left], depth[one.right])
        assert sorted(one.position for one in found) == list(range(m))
        assert max(depth.values()) == levels(m)
        assert 2 ** (levels(m) - 1) <= m < 2 ** levels(m)


def test_when_recursion_is_taken() -> None:
    assert better_for(QUARTILES, (0, 120), 1) is RecursiveQuantiles
    assert better_for(QUARTILES, (0, 9.9), None) is RecursiveQuantiles
    assert better_for(QUARTILES[:2], (0, 120), 1) is not RecursiveQuantiles
    assert better_for(QUARTILES, (0, 1), Fraction(1, 2**35)) is not RecursiveQuantiles


def test_no_rank_is_missed_by_more_than_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the exact law, with ties; at a small price it is missed. Cells divide as many users as there are."""
    exactly(monkeypatch)
    monkeypatch.setattr(RecursiveQuantiles, "CELLS", 8)
    monkeypatch.setattr(RecursiveQuantiles, "SHARED", 8)
    mechanism, cheap = small(epsilon=32), small(epsilon=1)
    gap = mechanism.gap(BETA)

    def beyond(of: RecursiveQuantiles, values: Values) -> float:
        found = law(lambda draws: tuple(of(list(values), draws=draws)))

        far = [
            p for a, p in found.items() if any(missed(values, q, x) > gap for q, x in zip(QUARTILES, a, strict=True))
        ]
        return float(sum(float(p.mid()) for p in far))

    data = [(0,) * a + (1,) * (8 - a - b) + (2,) * b for a in (0, 2, 5) for b in (0, 1, 3)]
    assert gap <= 4
    assert max(beyond(mechanism, values) for values in data) <= BETA
    assert max(beyond(cheap, values) for values in data) > BETA


def test_answers_with_all_cells_are_near_their_ranks() -> None:
    """Twenty answers at nine ranks of real data with ties: in fewer ranks than one by one, and within what is said."""
    values = np.random.default_rng(5).normal(42, 20, 5_000).clip(0, 120).round()
    q = [Fraction(i, 10) for i in range(1, 10)]

    def errors(kind: type[RecursiveQuantiles | Quantile]) -> list[float]:
        mechanism, found = kind(q=q, bounds=(0, 120), step=1, epsilon=Fraction(1, 2)), []
        for seed in range(20):
            for share, x in zip(q, mechanism(values, draws=SeededDraws(seed)), strict=True):
                n, low, high = len(values), int((values < x).sum()), int((values > x).sum())
                found.append(float(max(0, low - share * n, high - (1 - share) * n)))
        assert max(found) <= mechanism.gap(BETA)
        return found

    assert sum(errors(RecursiveQuantiles)) < 0.5 * sum(errors(Quantile))
