"""Sets on disk, a block for every user: the same laws as in memory, and words of progress that say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpselect.aggregates import sorted_numbers, stored_sets, user_sets
from dpselect.aggregates.stored_sets import StoredSets, store_sets
from dpselect.aggregates.user_sets import Sets, UserSets
from dpselect.draws import Draws
from dpselect.engines.duckdb import pairs as engine_pairs
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.mechanisms import DiscoverThenPeel, GreedyGeometric, RenyiShaped, TruncatedGeometric
from dpselect.mechanisms.set_union.greedy import give_one
from dpselect.mechanisms.set_union.user_loop import PARTS, contribute_in_turn
from dpselect.papers import PolicyGaussian, PolicyLaplace, WeightedLaplace
from dpselect.papers.policy import l1_descent, l2_descent
from dpselect.testing import Law, law
from tests.engines.opened import DuckDBEngine
from tests.exact.laws import same as same_law
from tests.reference.stored import in_memory, on_disk, pairs_of, small_blocks

__all__ = ["small_blocks"]


# ---- the same law, with a block for every user ----------------------------------------------------------------

FEW = (["ab", "bc"], ["b", "", "ab"])
SMALL = {"epsilon": 1, "delta": "0.1"}
LAWS = (
    WeightedLaplace(max_items_per_user=1, **SMALL),
    TruncatedGeometric(**SMALL),
    RenyiShaped(max_items_per_user=2, rounds=1, **SMALL),  # its several lists of shares are added up apart
    GreedyGeometric(alpha=0, max_items_per_user=2, **SMALL),
    PolicyGaussian(alpha=0, max_items_per_user=2, **SMALL),
    DiscoverThenPeel(k=1, max_items_per_user=1, **SMALL),
)


def kept(users: Sequence[str]) -> StoredSets:
    """Sets on disk of users whose items are letters."""
    pairs = [(place << 32) | "abc".index(item) for place, items in enumerate(users) for item in items]
    lengths = np.array([len(items) for items in users])
    codes = np.array(pairs, dtype=np.int64) & 0xFFFFFFFF
    return store_sets([(lengths, codes)], 3, lambda asked: ["abc"[code] for code in asked])


def law_of(mechanism: Any, sets: Sets) -> Law:
    def run(draws: Draws) -> str:
        return "".join(map(str, sets.labels(mechanism(sets, draws=draws))))

    return law(run)


@pytest.mark.parametrize("users", FEW, ids="-".join)
@pytest.mark.parametrize("mechanism", LAWS, ids=lambda one: type(one).__name__)
def test_the_law_of_blocks_of_one_user_is_that_in_memory(monkeypatch, mechanism, users):
    held = UserSets.from_sets(users)
    here = UserSets(
        offsets=held.offsets,
        codes=np.array(["abc".index(str(held.label(code))) for code in held.codes]),
        size=3,
        label="abc".__getitem__,
    )
    monkeypatch.setattr(user_sets, "PAIRS_PER_BLOCK", 1 << 22)
    whole = law_of(mechanism, here)
    for module in (user_sets, sorted_numbers, stored_sets):
        monkeypatch.setattr(module, "PAIRS_PER_BLOCK", 1)
    assert len(kept(users).starts) - 1 == sum(map(bool, users))
    assert same_law(whole, law_of(mechanism, kept(users)))


def test_an_order_within_blocks_is_another_law(monkeypatch):
    """The twin: each block is put in order by itself, as if that were an order of all users."""
    for module in (user_sets, sorted_numbers, stored_sets):
        monkeypatch.setattr(module, "PAIRS_PER_BLOCK", 1)
    arranged = StoredSets.arranged

    def by_blocks(sets: StoredSets, users: np.ndarray, items: np.ndarray | None) -> StoredSets:
        block = np.searchsorted([start for start, _ in sets.starts[1:]], users, side="right")
        return arranged(sets, users[np.argsort(block, kind="stable")], items)

    mechanism = PolicyLaplace(alpha=0, max_items_per_user=2, epsilon=4, delta="0.3")
    laws = [law_of(mechanism, kept(users)) for users in (["b", "ab"], ["ab", "b"])]
    monkeypatch.setattr(StoredSets, "arranged", by_blocks)
    twins = [law_of(mechanism, kept(users)) for users in (["b", "ab"], ["ab", "b"])]
    assert same_law(*laws)
    assert not same_law(*twins)


# ---- what a watcher sees ---------------------------------------------------------------------------------------

LOOPS = {"greedy": (partial(give_one, cutoff=50), 0), "l2-descent": (partial(l2_descent, cutoff=6.1), 0.0)}
LOOPS["l1-descent"] = (partial(l1_descent, cutoff=50, unit=7), 0)
REPORTS = [part / PARTS for part in range(PARTS)]


@pytest.mark.parametrize(("loop", "zero"), LOOPS.values(), ids=LOOPS)
def test_progress_is_the_same_for_all_sets(loop, zero):
    """However many users and blocks there are, on disk or in memory."""
    pairs, found = pairs_of(0), []
    for sets in (on_disk(pairs), in_memory(pairs), kept(["ab"]), kept([]), on_disk(pairs[:20])):
        seen: list[float | None] = []
        weights, silent = [zero] * sets.size, [zero] * sets.size
        contribute_in_turn(loop, sets, weights, seen.append)
        contribute_in_turn(loop, sets, silent, None)
        assert seen == REPORTS
        assert weights == silent
        found.append(weights)
    assert found[0] == found[1] != found[2]


def test_progress_by_blocks_would_count_them():
    """The twin: each block tells how far it is."""
    seen: list[float | None] = []
    for block in on_disk(pairs_of(0)).blocks():
        contribute_in_turn(partial(give_one, cutoff=50), block, [0] * block.size, seen.append)
    assert len(seen) > 20 * len(REPORTS)


class Halfway:
    """A connection that is always in the middle of something."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def query_progress(self) -> float:
        return 40.0


@pytest.mark.parametrize(("many", "fetches"), [(10**6, 1), (0, 4)])
def test_the_engine_tells_nothing_while_pairs_are_fetched(monkeypatch, many, fetches):
    """Each fetch would begin at 0 again, and there is one for every block of rows that are sorted on disk."""
    seen: list[tuple[float | None, float | None]] = []
    fetched = engine_pairs._fetch_numbers

    def watched(workspace: Workspace, *more: Any) -> np.ndarray:
        told = workspace._progress_share()
        workspace._is_progress_hidden = False
        seen.append((told, workspace._progress_share()))
        workspace._is_progress_hidden = True
        return fetched(workspace, *more)

    monkeypatch.setattr(engine_pairs, "_fetch_numbers", watched)
    monkeypatch.setattr(engine_pairs, "MAX_ROWS_IN_MEMORY", many)
    rows = {"user": list(range(50)), "item": [n % 3 for n in range(50)]}
    with DuckDBEngine(rows, user="user", item="item", key=b"k") as engine:
        engine._database.workspace.connection = Halfway(engine._database.workspace.connection)
        engine.contributions()
        assert engine._database.workspace._progress_share() == 0.4
    assert len(seen) == fetches
    assert all(told is None for told, _ in seen)
    assert seen[0][1] == 0.4
