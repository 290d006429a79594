"""Items that stand together in one text: each part is an item, once for a user."""

from __future__ import annotations

import numpy as np
import pytest

from dpselect import Dataset, ParameterError
from dpselect.rows import Split

ROWS = {
    "user": [1, 1, 2, 3, 3, None, 4, 5],
    "text": ["to be or not to be", "be", "be  quiet ", "", None, "be", " ", "b'e to"],
}


def top(split: str, **more: object) -> dict[object, int]:
    with Dataset(ROWS, user="user", item=Split("text", split), **more).engine() as engine:
        found = engine.top(100)
    return {found.label(g, 0): int(found.counts[g]) for g in range(len(found.counts))}


def test_a_user_keeps_as_many_parts_as_the_bound_allows():
    counts = top(" ", max_items_per_user=1)
    assert sum(counts.values()) == 3


def test_filter_and_domain_work_on_parts_and_rows():
    with Dataset(ROWS, user="user", item=Split("text", " "), where="user IN ('1', '2')").engine() as engine:
        assert engine.top(1).label(0, 0) == "be"
        grouped = engine.grouped(None)
    assert grouped.counts.tolist() == [2, 1]


@pytest.mark.parametrize("split", ["", 5, b" "])
def test_split_must_be_text(split):
    with pytest.raises(ParameterError, match=r"^separator must be the text"):
        Dataset(ROWS, user="user", item=Split("text", split))


def test_split_needs_text():
    with pytest.raises(ParameterError, match=r"^split must go with an item column of text, got a column of"):
        Dataset({"user": [1], "n": np.array([2])}, user="user", item=Split("n", " ")).engine()
