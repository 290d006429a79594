"""The example data: the same bits everywhere, and of the shape that makes selection interesting."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpselect.demo import COUNTRIES, HEAVY_USERS, artist_names, listening_events
from dpselect.errors import ParameterError

USERS = 2_000
Columns = dict[str, npt.NDArray[Any]]


@pytest.fixture(scope="module")
def events() -> Columns:
    return listening_events(users=USERS, seed=7)


def digest(columns: Columns) -> str:
    """One hash over all values, the same on every platform."""
    total = hashlib.sha256()
    for name, column in columns.items():
        total.update(name.encode())
        total.update("\n".join(map(str, column.tolist())).encode())
    return total.hexdigest()


def pairs(events: Columns) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The distinct (user, artist) pairs, as two columns of numbers."""
    _, artist = np.unique(events["artist"].astype(str), return_inverse=True)
    distinct = np.unique(np.stack([events["user"], artist]), axis=1)
    return distinct[0], distinct[1]


def test_same_bits_everywhere(events: Columns) -> None:
    # When the recipe is changed on purpose, put the new digest here and the new numbers into the pages.
    assert digest(events) == "0ce7ac710beae8b999b8e425beafbff171c798db5fc601cadaddb4f7d4be0bf4"


def test_seed_matters(events: Columns) -> None:
    assert digest(listening_events(users=USERS, seed=8)) != digest(events)


def test_columns(events: Columns) -> None:
    assert list(events) == ["user", "artist", "country", "minutes"]
    assert len({len(column) for column in events.values()}) == 1
    assert events["user"].dtype == events["minutes"].dtype == np.int64
    assert len(np.unique(events["user"])) == USERS
    assert set(events["country"]) == set(COUNTRIES)
    assert events["minutes"].min() == 1
    assert 2 <= np.median(events["minutes"]) <= 6
    assert np.quantile(events["minutes"], 0.99) >= 15


def test_every_user_has_one_country(events: Columns) -> None:
    assert len(set(zip(events["user"], events["country"], strict=True))) == USERS


def test_heavy_users_exist(events: Columns) -> None:
    plays = np.sort(np.unique(events["user"], return_counts=True)[1])[::-1]
    assert tuple(plays[:3]) == HEAVY_USERS
    assert 8 <= np.median(plays) <= 20
    assert plays[3] < HEAVY_USERS[2] / 10


def test_users_repeat_artists(events: Columns) -> None:
    user, _ = pairs(events)
    assert len(user) < 0.8 * len(events["user"])


def test_popularity_has_a_heavy_tail(events: Columns) -> None:
    _, artist = pairs(events)
    listeners = np.sort(np.unique(artist, return_counts=True)[1])[::-1]
    top_percent = listeners[: len(listeners) // 100].sum() / listeners.sum()
    assert 0.15 <= top_percent <= 0.6
    assert listeners[0] >= 50
    assert (listeners == 1).mean() >= 0.2


def test_popularity_depends_on_the_country() -> None:
    events = listening_events(users=20_000, seed=7)
    favourites = {
        country: np.unique(events["artist"][events["country"] == country].astype(str), return_counts=True)
        for country in ("United States", "Brazil", "Germany")
    }
    assert len({names[counts.argmax()] for names, counts in favourites.values()}) == len(favourites)


def test_names_are_distinct() -> None:
    names = artist_names()
    assert len(names) == len(set(names)) == 20_000


@pytest.mark.parametrize(("users", "seed"), [(0, 7), (-1, 7), (True, 7), (10, -1), (10, 0.5)])
def test_refuses_what_makes_no_sense(users: int, seed: int) -> None:
    with pytest.raises(ParameterError):
        listening_events(users=users, seed=seed)


def test_one_user_is_enough() -> None:
    assert set(listening_events(users=1)["user"]) == {100_001}
