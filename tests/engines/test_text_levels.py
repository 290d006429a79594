"""Level by level: n-grams as lists and sets find them, one user a row, and nobody decides about another's row."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from dpselect.errors import ParameterError
from dpselect.texts.text import level_shares
from dpselect.texts.token_stream import Level, TokenStream, release_levels
from dpselect.texts.tokenizer import Tokenizer
from tests.engines.opened import DuckDBEngine
from tests.plain_text import level_sets
from tests.text_rows import rows_of, stream_of
from tests.twins.text import OTHERS_DECIDE, one_part_is_enough


def climb(stream: TokenStream, released: list[set[str]]) -> list[list[set[str]]]:
    """The sets of every level, where each level releases what stands in `released` of its candidates."""
    found = [rows_of(stream)]
    for allowed in released:
        stream = stream.grow([code for code in range(stream.size) if stream.label(code) in allowed])
        found.append(rows_of(stream))
    return found


def crowd(seed: int) -> tuple[list[list[list[str]]], list[set[str]]]:
    """A few users with a few messages of a few words, and what two levels released: some of it nobody has."""
    draw = random.Random(seed)
    people = [
        [draw.choices("abcde", k=draw.randrange(6)) for _ in range(draw.randrange(4))]
        for _ in range(draw.randrange(1, 5))
    ]
    pairs = [f"{x} {y}" for x in "abcdex" for y in "abcdex"]
    return people, [set(draw.sample("abcdex", 4)), set(draw.sample(pairs, 18))]


CROWDS = [crowd(seed) for seed in range(60)]


def consistent(released: list[set[str]]) -> list[set[str]]:
    """Only what can be released: pairs of released words."""
    words, pairs = released
    return [words, {pair for pair in pairs if set(pair.split()) <= words}]


@pytest.mark.parametrize("number", range(60))
def test_sets_are_those_of_lists_and_sets(number):
    people, released = CROWDS[number]
    assert climb(stream_of(people), released) == level_sets(people, consistent(released))


def test_one_released_part_is_not_enough():
    assert any(
        one_part_is_enough(people, released) != level_sets(people, consistent(released)) for people, released in CROWDS
    )


def others_decide(way, people, released) -> bool:
    """Does anybody's coming or going change what somebody else has, with the same n-grams released?"""
    all_levels = way(people, released)
    for gone in range(len(people)):
        without = way(people[:gone] + people[gone + 1 :], released)
        if without != [sets[:gone] + sets[gone + 1 :] for sets in all_levels]:
            return True
    return False


def test_a_user_s_coming_and_going_changes_one_row_of_every_level():
    for people, released in CROWDS:
        assert not others_decide(lambda some, given: climb(stream_of(some), given), people, released)


@pytest.mark.parametrize("twin", OTHERS_DECIDE, ids=lambda twin: twin.__name__)
def test_a_broken_twin_lets_others_decide(twin):
    assert any(others_decide(twin, people, consistent(released)) for people, released in CROWDS)


def engine_rows(people, released) -> list[Counter[frozenset[str]]]:
    """The rows of every level through the engine, where users have no order."""
    rows = [(f"u{number}", " ".join(message)) for number, messages in enumerate(people) for message in messages]
    random.Random(7).shuffle(rows)
    table = pa.table(
        {"user": pa.array([u for u, _ in rows], pa.string()), "item": pa.array([t for _, t in rows], pa.string())}
    )
    with DuckDBEngine(table, user="user", item="item", key=b"k") as engine:
        return [Counter(map(frozenset, sets)) for sets in climb(engine.tokens(Tokenizer("spaces")), released)]


def test_the_engine_s_rows_differ_by_those_of_the_user_who_left():
    for people, released in CROWDS[:4]:
        present = [messages for messages in people if messages]
        plain = level_sets(present, consistent(released))
        assert engine_rows(present, released) == [Counter(map(frozenset, sets)) for sets in plain]
        for gone in range(len(present)):
            without = engine_rows(present[:gone] + present[gone + 1 :], released)
            assert without == [Counter(map(frozenset, s[:gone] + s[gone + 1 :])) for s in plain]


# ---- the driver -------------------------------------------------------------------------------------------


PEOPLE = [[["new", "york", "city"]], [["new", "york", "city"], ["city"]], [["old", "york"], ["new", "city"]]]


def shared(sets, _level):
    return np.flatnonzero(np.bincount(sets.codes, minlength=sets.size) >= 2)


def test_labels_come_in_the_order_of_their_text_not_of_codes():
    for people in (PEOPLE, PEOPLE[::-1]):
        levels = list(release_levels(stream_of(people), 3, shared))
        assert levels == [
            Level(1, ("city", "new", "york")), Level(2, ("new york", "york city")), Level(3, ("new york city",)),
        ]  # fmt: skip
        stream = stream_of(people)
        in_code_order = [stream.label(code) for code in shared(stream.sets(), 1)]
        assert in_code_order != ["city", "new", "york"]  # the twin: what came first in the data comes first


def test_a_level_is_shown_before_the_next_is_asked_and_none_after_an_empty_one():
    asked = []

    def release(sets, level):
        asked.append(level)
        return shared(sets, level) if level < 2 else []

    levels = release_levels(stream_of(PEOPLE), 4, release)
    shown = [len(next(levels).labels)]
    assert asked == [1]
    assert [*shown, *(len(level.labels) for level in levels)] == [3, 0, 0, 0]
    assert asked == [1, 2]


@pytest.mark.parametrize("released", [[-1], [99], [0.5], [[0]], [True]], ids=str)
def test_codes_that_are_none_are_refused(released):
    with pytest.raises(ParameterError, match=r"^released must be"):
        stream_of(PEOPLE).grow(released)


def test_a_code_that_comes_twice_counts_once():
    stream = stream_of(PEOPLE)
    assert rows_of(stream.grow([1, 0, 1, 0])) == rows_of(stream.grow([0, 1]))


def test_nothing_private_is_shown():
    assert repr(stream_of(PEOPLE)) == "TokenStream(level=1, private)"


@pytest.mark.parametrize("longest", [1, 2, 3, 16])
def test_shares_use_up_the_budget_and_shorter_ones_get_more(longest):
    shares = level_shares(longest)
    assert len(shares) == longest
    assert sum(shares) == 1
    assert list(shares) == sorted(shares, reverse=True)


def test_a_caller_may_deal_the_budget():
    assert level_shares(3, ("1/3", "1/3", "1/3")) == (Fraction(1, 3),) * 3
    assert sum(level_shares(2, (0.25, 0.5))) < 1


@pytest.mark.parametrize(
    "shares", [(1,), (0.5, 0.5, 0.5), (1, 0), (-1, 1), ("2/3", "1/2"), (0.1 + 0.2, "0.7"), "12", 5, {1: 1}], ids=str
)
def test_shares_that_do_not_fit_are_refused(shares):
    with pytest.raises(ParameterError, match=r"^shares must"):
        level_shares(2, shares)
