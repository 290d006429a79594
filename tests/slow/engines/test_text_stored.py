"""Tokens on disk, read a block of whole users at a time: what memory has, whatever the blocks cut in two."""

from __future__ import annotations

import random
import tempfile

import numpy as np
import pytest

import dpselect as dps
from dpselect.aggregates import sorted_numbers, stored_sets, user_sets
from dpselect.aggregates.stored_sets import StoredSets, store_sets
from dpselect.aggregates.user_sets import UserSets
from dpselect.engines import memory
from dpselect.engines.duckdb import text, workspace
from dpselect.errors import DataError
from dpselect.testing import SeededDraws
from dpselect.texts.token_stream import GAP, TokenStream, refuse_label
from dpselect.texts.tokenizer import Tokenizer
from tests.by_names import by_names
from tests.engines.opened import DuckDBEngine
from tests.engines.test_text_levels import CROWDS, climb, consistent
from tests.plain_text import level_sets
from tests.text_rows import rows_of, stream_of


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch, tmp_path):
    """Blocks of 4 tokens, so that most cut a message in two; all of it in files."""
    for module in (user_sets, sorted_numbers, stored_sets, text):
        monkeypatch.setattr(module, "PAIRS_PER_BLOCK", 4)
    monkeypatch.setattr(text, "MAX_TOKENS_IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize("number", range(0, 60, 4))
def test_levels_are_those_of_lists_and_sets(number):
    people, released = CROWDS[number]
    held = stream_of(people)
    block = held.entries
    assert isinstance(block, UserSets)
    entries = store_sets([(np.diff(block.offsets), block.codes)], GAP + 1, refuse_label)
    stream = TokenStream(level=1, entries=entries, size=held.size, grams=held.grams)
    assert climb(stream, released) == level_sets(people, consistent(released))


def messages(seed: int) -> dict[str, list[object]]:
    draw = random.Random(seed)
    users = [draw.randrange(9) for _ in range(60)]
    return {"user": users, "item": [" ".join(draw.choices("abcdef", k=draw.randrange(12))) for _ in users]}


@pytest.mark.parametrize("seed", range(3))
def test_the_engine_has_the_same_tokens_on_disk_and_in_memory(monkeypatch, seed):
    found = []
    for many in (0, 10**6):
        monkeypatch.setattr(text, "MAX_TOKENS_IN_MEMORY", many)
        with DuckDBEngine(messages(seed), user="user", item="item", key=b"k") as engine:
            stream = engine.tokens(Tokenizer("spaces"))
            assert isinstance(stream.entries, UserSets if many else StoredSets)
            longer = stream.grow([0, 1, 3, 4])
            found.append([rows_of(one) for one in (stream, longer, longer.grow(range(0, longer.size, 2)))])
    assert found[0] == found[1]
    assert sum(map(len, found[0][2])) > 5


def test_a_message_never_goes_on_in_the_next_one():
    """The twin would forget the GAP where a block of tokens ends with its message."""
    rows = {"user": [1, 1, 2], "item": ["a b c d", "e f", "g"]}
    with DuckDBEngine(rows, user="user", item="item", key=b"k") as engine:
        stream = engine.tokens(Tokenizer("spaces"))
        pairs = rows_of(stream.grow(range(stream.size)))
    assert pairs == [{"a b", "b c", "c d", "e f"}, set()]


def test_the_same_draws_release_the_same_n_grams(monkeypatch):
    data = dps.Dataset(messages(5), user="user", item=dps.Text("item", ngrams=(1, 2), tokenizer="spaces"))
    found = []
    for many in (0, 10**6):
        monkeypatch.setattr(text, "MAX_TOKENS_IN_MEMORY", many)
        for method in ("renyi-shaped", "greedy-geometric"):
            more = {} if method == "greedy-geometric" else {"max_items_per_user": 4}
            found.append(
                by_names(data).union(epsilon=8, delta="0.01", method=method, draws=SeededDraws(3), **more).labels
            )
    assert found[:2] == found[2:]
    assert all(found)


@pytest.mark.parametrize("item", ["item", dps.Text("item", ngrams=(1, 2))], ids=["items", "words"])
def test_what_little_memory_cannot_hold_is_done_with_all_there_is(monkeypatch, item):
    """One value that cannot be spilled must not make the question of everybody fail."""
    ask = {"epsilon": 8, "delta": "0.01", "max_items_per_user": 4}
    rows = {"user": list(range(300)), "item": ["x y"] * 300}
    enough = by_names(dps.Dataset(rows, user="user", item=item)).union(**ask, draws=SeededDraws(1))
    with monkeypatch.context() as patched:
        patched.setattr(workspace, "SMALL_MEMORY", 1000)
        assert (
            by_names(dps.Dataset(rows, user="user", item=item)).union(**ask, draws=SeededDraws(1)).labels
            == enough.labels
        )
        patched.setenv(memory.MEMORY_VARIABLE, "5kB")
        with pytest.raises(DataError, match="do not fit into memory"):
            by_names(dps.Dataset(rows, user="user", item=item)).union(**ask)
