"""The example data: the same bits everywhere."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy.typing as npt
import pytest

from dpselect.demo import artist_names, listening_events
from dpselect.errors import ParameterError

SEVEN = "0ce7ac710beae8b999b8e425beafbff171c798db5fc601cadaddb4f7d4be0bf4"  # of 2,000 users with the usual seed, 7


def digest(columns: dict[str, npt.NDArray[Any]]) -> str:
    """One hash over all values, the same on every platform."""
    total = hashlib.sha256()
    for name, column in columns.items():
        total.update(name.encode())
        total.update("\n".join(map(str, column.tolist())).encode())
    return total.hexdigest()


def test_same_bits_everywhere() -> None:
    # When the recipe is changed on purpose, put the new digest here and the new numbers into the pages.
    assert digest(listening_events(2_000)) == SEVEN != digest(listening_events(2_000, seed=8))


def test_names_are_distinct() -> None:
    names = artist_names()
    assert len(names) == len(set(names)) == 20_000


@pytest.mark.parametrize(("users", "seed"), [(0, 7), (-1, 7), (True, 7), (10, -1), (10, 0.5)])
def test_refuses_what_makes_no_sense(users: int, seed: int) -> None:
    with pytest.raises(ParameterError):
        listening_events(users=users, seed=seed)


def test_one_user_is_enough() -> None:
    assert set(listening_events(users=1)["user"]) == {100_001}
