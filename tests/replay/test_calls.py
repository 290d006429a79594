"""Whole calls replayed on neighbours with the answer frozen: the same words, queries, charges and control flow.

Cebere et al. (2026) record a private program on one data set and replay it on a neighbour with its random outcomes held
fixed: what still differs depends on data, and nobody paid for it. Here real coins are drawn again until the answer is
the same, so no part of the call is replaced.
"""

from __future__ import annotations

import pytest

from tests.replay.calls import ROWS, ask_of, makers
from tests.replay.kinds import KINDS, Kind
from tests.replay.odd_values import BY_SORT
from tests.replay.record import difference, recorded, same_answer
from tests.replay.verbs import LONE

GRANT = "100000"
RARE = 3


def check(kind: Kind, verb: str, grant: str = GRANT, *, refused: bool = False) -> None:
    """Record the call on everybody's rows, then on the rows with one user more.

    The first call fills caches: where the second differs from it, both are recorded again. So they are where the first
    answer was so rare, by its own coins, that none of many others are the same.
    """
    (plain, more), ask = makers(kind), ask_of(kind, verb)
    found, rare = [], 0
    while len(found) < 2 and rare < RARE:
        before = recorded(plain, ask, 0, grant)
        assert (before.failed is not None) == refused, before.failed
        after = same_answer(more, ask, before, grant=grant)
        if after is None:
            rare += 1
            continue
        differs = difference(before, after, ROWS)
        if differs is None:
            return
        found.append(differs)
    raise AssertionError("\n".join(found) or "no coins give the same answer")


def test_no_awkward_value_has_the_item_of_a_single_user():
    """Also not as a word of a text: it would have two users, and come out of a union now and then."""
    values = [odd.value for odds in BY_SORT.values() for odd in odds]
    texts = [
        value if isinstance(value, bytes) else value.encode("utf-8", "ignore")
        for value in values
        if issubclass(type(value), str | bytes)
    ]
    assert not any(LONE.encode() in text.lower() for text in texts)


@pytest.mark.parametrize("verb", ["top k", "union"])
def test_a_question_that_the_budget_refuses(verb: str):
    check(KINDS["DuckDB table"], verb, grant="1", refused=True)
