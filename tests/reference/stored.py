"""Pairs of users and items, and their sets on disk and in memory."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest

from dpselect.aggregates import sorted_numbers, stored_sets, user_sets
from dpselect.aggregates.sorted_numbers import SortedNumbers
from dpselect.aggregates.stored_sets import StoredSets, stored_pairs
from dpselect.aggregates.user_sets import Sets, UserSets, sets_of
from dpselect.engines.duckdb import pairs as engine_pairs

USERS, ITEMS = 150, 40


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch, tmp_path):
    """Blocks of 16 pairs, so that a few hundred pairs are many blocks, and files that are spread anew."""
    for module in (user_sets, sorted_numbers, stored_sets, engine_pairs):
        monkeypatch.setattr(module, "PAIRS_PER_BLOCK", 16)
    monkeypatch.setattr(user_sets, "PART", 16)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def pairs_of(seed: int, heavy: int = 60) -> np.ndarray:
    """Pairs in any order, some of them twice; one user has far more than a block."""
    random = np.random.default_rng(seed)
    users, items = random.integers(USERS, size=900), (ITEMS * random.random(900) ** 2).astype(np.int64)
    users, items = np.append(users, [7] * heavy), np.append(items, np.arange(heavy) % ITEMS)
    return (users << 32) | items


def on_disk(pairs: np.ndarray) -> StoredSets:
    sort = SortedNumbers.expecting(len(pairs), high=int(pairs.max()) + 1)
    for part in np.array_split(pairs, 11):
        sort.add(part.copy())
    return stored_pairs(sort, ITEMS, lambda codes: codes.tolist())


def in_memory(pairs: np.ndarray) -> UserSets:
    offsets, codes = sets_of(pairs.copy())
    return UserSets(offsets=offsets, codes=codes, size=ITEMS, label=int)


def flat(sets: Sets) -> list[list[int]]:
    blocks = [np.split(block.codes, block.offsets[1:-1]) for block in sets.blocks() if block.users]
    return [items.tolist() for block in blocks for items in block]
