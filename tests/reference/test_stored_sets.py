"""Sets on disk: the sets of the pairs that came, the same draws and answers as in memory, and nothing left behind."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpselect import errors
from dpselect._ground.temporary import Folder
from dpselect.aggregates import number_file, stored_sets
from dpselect.aggregates.number_file import NumberFile
from dpselect.aggregates.sorted_numbers import SortedNumbers
from dpselect.aggregates.stored_sets import StoredSets, stored_pairs
from dpselect.aggregates.user_sets import Sets, UserSets, numbers_of_users, offsets_of, sets_of
from dpselect.engines.duckdb import pairs as engine_pairs
from dpselect.mechanisms import CountGaussian, DiscoverThenPeel, GreedyGeometric, RenyiShaped, TruncatedGeometric
from dpselect.mechanisms.set_union.rounds import bounded, users_and_items_in_order, without
from dpselect.papers import PolicyGaussian, PolicyLaplace, WeightedLaplace
from dpselect.queries.union.bound import ITEM_BOUNDS, BoundChoice
from dpselect.testing import SeededDraws
from tests.engines.opened import DuckDBEngine
from tests.reference.stored import ITEMS, flat, in_memory, on_disk, pairs_of, small_blocks

__all__ = ["small_blocks"]


def same(stored: Sets, held: Sets) -> bool:
    facts = [(one.users, one.pairs, one.longest, one.size, [b.users for b in one.blocks()]) for one in (stored, held)]
    return facts[0] == facts[1] and flat(stored) == flat(held)


@pytest.mark.parametrize("seed", range(4))
def test_the_sets_of_the_pairs_that_came(seed):
    pairs = pairs_of(seed)
    kept = on_disk(pairs)
    assert same(kept, in_memory(pairs))
    assert len(kept.starts) > 20
    assert kept.labels([3, 1]) == [3, 1]
    assert repr(kept) == "StoredSets(private)"


def test_a_user_who_is_cut_in_two_is_one():
    """What joining parts must not forget: each part by itself makes users of its own."""
    pairs = np.unique(pairs_of(1))
    parts = np.array_split(pairs, 11)
    lengths = np.concatenate([own for own, _ in stored_sets._sets_of([*parts[:5], parts[0][:0], *parts[5:]])])
    assert lengths.tolist() == np.diff(in_memory(pairs).offsets).tolist()
    apart = [np.diff(sets_of(part.copy())[0]) for part in parts]
    assert lengths.tolist() != np.concatenate(apart).tolist()


def test_numbers_come_back_sorted_however_they_lie():
    one_place = np.full(500, 2**40)
    for numbers in (np.random.default_rng(0).integers(2**50, size=3000), np.arange(100), one_place, np.array([0])):
        sort = SortedNumbers.expecting(len(numbers), high=2**51)
        sort.add(numbers.copy())
        parts = list(sort.parts())
        assert np.concatenate(parts).tolist() == np.unique(numbers).tolist()
        assert max(map(len, parts)) <= 2 * 16


@pytest.mark.parametrize("heavy", [0, 2**40, 2**62 - 2000])
def test_one_user_with_nearly_everything_is_not_spread_again_and_again(monkeypatch, heavy):
    """Even parts of all users leave that user's items together, in file after file."""
    written, add = [], NumberFile.add
    monkeypatch.setattr(NumberFile, "add", lambda file, numbers: (written.append(len(numbers)), add(file, numbers))[1])
    numbers = heavy + np.random.default_rng(0).permutation(1000)
    sort = SortedNumbers.expecting(len(numbers), high=2**62)
    for part in np.array_split(numbers, 63):
        sort.add(part.copy())
    assert np.concatenate(list(sort.parts())).tolist() == sorted(numbers.tolist())
    assert sum(written) <= 3 * len(numbers)


@pytest.mark.parametrize("numbers", [[], [7]], ids=str)
def test_more_numbers_than_a_file_holds_are_none(numbers):
    """Not what memory happens to hold."""
    file = NumberFile(Folder(), "numbers", np.int64)
    file.add(np.array(numbers, dtype=np.int64))
    assert [part.tolist() for part in file.parts([0, len(numbers)])] == [[], numbers]
    with pytest.raises(errors.OutputError):
        list(file.parts([len(numbers) + 1]))


@pytest.mark.parametrize("seed", range(2))
def test_the_same_draws_keep_and_arrange_the_same(seed):
    pairs = pairs_of(seed)
    gone = np.arange(ITEMS) % 3 == 0

    def changed(sets: Sets, how: int) -> Sets:
        draws = SeededDraws(seed=5)
        kept = bounded(without(sets, gone) if how else sets, 3, draws)
        return (
            kept.arranged(draws.order(kept.users), None)
            if how == 1
            else users_and_items_in_order(kept, draws)
            if how == 2
            else kept
        )

    for how in range(3):
        assert same(changed(on_disk(pairs), how), changed(in_memory(pairs), how))
    assert flat(bounded(on_disk(pairs), 3, SeededDraws(seed=6))) != flat(bounded(on_disk(pairs), 3, SeededDraws(5)))


MECHANISMS = (
    WeightedLaplace(epsilon=1, delta="1e-3", max_items_per_user=3),
    CountGaussian(epsilon=2, delta="1e-2", max_items_per_user=2),
    TruncatedGeometric(epsilon=1, delta="1e-3"),
    RenyiShaped(epsilon=2, delta="1e-2", max_items_per_user=3),
    GreedyGeometric(epsilon=1, delta="1e-3"),
    PolicyLaplace(epsilon=1, delta="1e-2", max_items_per_user=3),
    PolicyGaussian(epsilon=2, delta="1e-2", max_items_per_user=3),
    DiscoverThenPeel(k=5, epsilon=4, delta="1e-2", max_items_per_user=3),
)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)
def test_every_mechanism_answers_the_same(mechanism):
    pairs, found = pairs_of(3), set()
    for seed in range(3):
        stored, held = (mechanism(sets, draws=SeededDraws(seed=seed)) for sets in (on_disk(pairs), in_memory(pairs)))
        assert stored.tolist() == held.tolist()
        found.add(tuple(stored.tolist()))
    assert any(found)


def test_counts_and_the_private_bound_are_the_same():
    pairs, choice = pairs_of(2), BoundChoice(Fraction(1), ITEM_BOUNDS)
    assert numbers_of_users(on_disk(pairs)).tolist() == np.bincount(in_memory(pairs).codes, minlength=ITEMS).tolist()
    for seed in range(5):
        stored, held = (choice.of_sets(sets, SeededDraws(seed)) for sets in (on_disk(pairs), in_memory(pairs)))
        assert stored == held


@pytest.mark.parametrize("names", [False, True])
def test_the_engine_has_the_same_sets_on_disk_and_in_memory(monkeypatch, names):
    pairs = pairs_of(4)
    users, items = (pairs >> 32).tolist(), (pairs & 0xFFFFFFFF).tolist()
    rows = {"user": [f"u{u}" for u in users] if names else users, "item": [f"i{i}" for i in items]}
    found = []
    for many in (10**6, 0):
        monkeypatch.setattr(engine_pairs, "MAX_ROWS_IN_MEMORY", many)
        with DuckDBEngine(rows, user="user", item="item", key=b"k") as engine:
            sets = engine.contributions()
            found.append((type(sets), flat(sets), sets.labels(range(sets.size))))
    assert found[0][0] is UserSets
    assert found[1][0] is StoredSets
    assert found[0][1:] == found[1][1:]


# ---- files -----------------------------------------------------------------------------------------------------


def test_nothing_stays(tmp_path):
    sets = bounded(on_disk(pairs_of(0)), 2, SeededDraws(seed=1))
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in tmp_path.iterdir())
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("*/*")} == {0o600}
    del sets
    assert not list(tmp_path.iterdir())


def test_a_pair_that_comes_often_takes_no_room(tmp_path):
    """One user with a row for every coin: only as many as there are parts are written."""
    sort = SortedNumbers.expecting(10_000, high=2**40)
    for _ in range(10):
        sort.add(np.full(1000, 7 << 32))
    assert sum(path.stat().st_size for path in tmp_path.glob("*/*")) == 10 * 8
    assert flat(stored_pairs(sort, 1, lambda codes: codes.tolist())) == [[0]]


def test_a_full_disk_is_an_error_of_ours(monkeypatch):
    monkeypatch.setattr(number_file, "_private", lambda *_: os.open("/dev/full", os.O_WRONLY))
    with pytest.raises(errors.OutputError, match=r"^a temporary file cannot be written: No space left on device\n"):
        on_disk(pairs_of(0))


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: os.truncate(path, 8)], ids=["gone", "cut"])
def test_a_file_that_somebody_removed_or_cut_is_an_error_of_ours(tmp_path, harm):
    sets = on_disk(pairs_of(0))
    for path in tmp_path.glob("*/codes"):
        harm(path)
    with pytest.raises(errors.OutputError, match=r"^a temporary file cannot be read: ") as caught:
        list(sets.blocks())
    assert str(tmp_path) not in str(caught.value)


def test_offsets_of_nobody():
    assert offsets_of(np.empty(0, dtype=np.int64)).tolist() == [0]
    assert flat(on_disk(np.array([5], dtype=np.int64))) == [[5]]
