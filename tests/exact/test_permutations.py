"""Random orders and subsets: exactly uniform, also where random keys are equal and are drawn again."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise, permutations, product
from math import comb

import numpy as np
import pytest
from flint import arb, ctx

from dpselect.draws import SecureDraws
from dpselect.draws import permutations as shuffles
from dpselect.testing import ExactDraws, SeededBits, law
from tests.exact.laws import BITS, same, uniform


class FewKeys:
    """Words that are often equal, followed branch by branch; the second time they are all different."""

    def __init__(self, draws: ExactDraws, kinds: int) -> None:
        self.draws, self.kinds = draws, kinds

    def words(self, n: int) -> np.ndarray:
        if self.kinds:
            words = [self.draws.below(self.kinds) for _ in range(n)]
            self.kinds = 0
        else:
            ways = list(permutations(range(n)))
            words = list(ways[self.draws.below(len(ways))])
        return np.array(words, dtype=np.uint64) << np.uint64(60)


def order_law(n, kinds):
    return law(lambda d: tuple(shuffles.order(FewKeys(d, kinds), n).tolist()))


def sample_law(offsets, most, kinds):
    return law(lambda d: tuple(shuffles.sample(FewKeys(d, kinds), np.array(offsets), most).tolist()))


def subsets(offsets, most):
    blocks = [range(a, b) for a, b in pairwise(offsets)]
    ways = [combinations(block, min(most, len(block))) for block in blocks]
    return uniform(tuple(place for block in way for place in block) for way in product(*ways))


@pytest.mark.parametrize(("n", "kinds"), [(0, 1), (1, 1), (2, 2), (3, 1), (3, 2), (3, 4), (4, 2)])
def test_an_order_is_uniform_whatever_keys_are_equal(n, kinds):
    assert same(order_law(n, kinds), uniform(permutations(range(n))))


def test_equal_keys_left_in_their_order_would_be_refused(monkeypatch):
    monkeypatch.setattr(shuffles, "_again", lambda *_: None)
    assert not same(order_law(3, 4), uniform(permutations(range(3))))
    assert not same(sample_law([0, 3], 1, 2), subsets([0, 3], 1))


SHAPES = {
    "one block": [0, 4],
    "small blocks between": [0, 1, 3, 3, 6, 7],
    "not from 0": [5, 8, 9],
    "empty": [0],
    "no entries": [0, 0, 0],
}


@pytest.mark.parametrize("most", [0, 1, 2, 3, 2**62])
@pytest.mark.parametrize("offsets", SHAPES.values(), ids=SHAPES.keys())
def test_a_sample_of_each_block_is_uniform(offsets, most):
    assert same(sample_law(offsets, most, 2), subsets(offsets, most))
    assert same(law(lambda d: tuple(d.sample(np.array(offsets), most).tolist())), subsets(offsets, most))


@pytest.mark.parametrize("part", [1, 2, 5])
def test_parts_change_nothing(monkeypatch, part):
    monkeypatch.setattr(shuffles, "ENTRIES_PER_SORT", part)
    blocks = np.arange(6)
    sizes = np.array([2, 3, 9, 2, 2, 4])
    found = list(shuffles._parts(blocks, sizes))
    assert np.concatenate(found).tolist() == blocks.tolist()
    assert len(found) > 2
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    kept = shuffles.sample(SeededBits(3), offsets, 2)
    assert (np.add.reduceat(np.isin(np.arange(offsets[-1]), kept), offsets[:-1]) == 2).all()


def test_the_exact_draws_follow_every_order():
    assert same(law(lambda d: tuple(d.order(3).tolist())), uniform(permutations(range(3))))


class Numbers:
    """Words of two bits, followed branch by branch; a list that needs more than three fetches of them is given up."""

    def __init__(self, draws: ExactDraws) -> None:
        self.draws, self.left = draws, 3

    def words(self, n: int) -> np.ndarray:
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return np.array([self.draws.below(4) for _ in range(n)], dtype=np.uint64) << np.uint64(62)


def distinct_law(n, taken, drawn=shuffles.distinct):
    """The law of the numbers, given that three fetches were enough; None stands for the rest."""

    def run(draws):
        try:
            return tuple(drawn(n, np.array(taken, dtype=np.int64), Numbers(draws), 2).tolist())
        except StopIteration:
            return None

    found = law(run)
    with ctx.workprec(BITS):
        enough = 1 - found.pop(None, arb(0))
        return {answer: share / enough for answer, share in found.items()}


def without(lists, place):
    """The law of lists without one of their entries."""
    found = {}
    with ctx.workprec(BITS):
        for answer, share in lists.items():
            rest = answer[:place] + answer[place + 1 :]
            found[rest] = found.get(rest, arb(0)) + share
    return found


@pytest.mark.parametrize(("n", "taken"), [(0, ()), (1, ()), (2, ()), (3, ()), (1, (2,)), (2, (3, 0)), (0, (1,))])
def test_distinct_numbers_are_as_likely_as_any_others(n, taken):
    assert same(distinct_law(n, taken), uniform(permutations(set(range(4)) - set(taken), n)))


@pytest.mark.parametrize("place", range(3))
def test_one_more_number_leaves_the_law_of_the_others(place):
    assert same(without(distinct_law(3, ()), place), distinct_law(2, ()))
    assert same(without(distinct_law(2, (1,)), place % 2), distinct_law(1, (1,)))


@pytest.mark.parametrize(
    "broken",
    [
        lambda n, taken, *_: np.arange(n) + len(taken),
        lambda *given: np.sort(shuffles.distinct(*given)),
        lambda n, _, bits, __: bits.draws.order(n),
    ],
    ids=["places", "in order", "places in a random order"],
)
def test_other_numbers_are_refused(broken):
    found = distinct_law(2, (), broken)
    one_more = distinct_law(3, (), broken)
    assert not same(found, uniform(permutations(range(4), 2)))
    assert any(not same(without(one_more, place), found) for place in range(3))


def test_many_blocks_and_many_equal_keys():
    """Large enough that the real words leave few random bits: every entry occurs once, every block is in its place."""
    blocks = np.repeat(np.arange(40_000, dtype=np.uint64), 5)

    class Coarse:
        def words(self, n: int) -> np.ndarray:
            return SeededBits(n).words(n) & np.uint64(0xF000_0000_0000_0000)

    places = shuffles.by_random_key(Coarse(), blocks)
    assert (np.sort(places) == np.arange(200_000)).all()
    assert (blocks[places] == blocks).all()
    assert (places != np.arange(200_000)).mean() > 0.5


def test_the_real_draws_answer():
    draws = SecureDraws()
    found = draws.order(100_000)
    assert found.dtype == np.int64
    assert (np.sort(found) == np.arange(100_000)).all()
    kept = draws.sample(np.arange(0, 100_001, 10), 3)
    assert kept.dtype == np.int64
    assert (np.diff(kept) > 0).all()
    assert (np.bincount(kept // 10) == 3).all()
    expected = Fraction(3 * comb(9, 2), comb(10, 3) * 3)
    assert abs(float(expected) - (kept % 10 == 0).mean() * 3) < 0.05  # 9 standard deviations
