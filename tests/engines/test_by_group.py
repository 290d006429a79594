"""Counts by group, on every engine, as plain Python counts them; which groups a user keeps, their own rows tell."""

from __future__ import annotations

import datetime
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from dpselect._ground.domain import Listed
from dpselect.aggregates.groups import GroupedCounts
from dpselect.aggregates.totals import Totals
from dpselect.errors import ParameterError
from tests.engines.every_engine import Held
from tests.engines.opened import DuckDBEngine

MOST = 10**6
ROWS = {
    "user": ["a", "a", "b", "b", "c", "c", "d", None, "a", "e", "f", "f"],
    "item": ["x", "y", "x", "y", "x", "x", "z", "x", None, "x y", "x", "w"],
    "group": [1.0, 1.0, 1.0, 2.5, -0.0, 0.0, 2.5, 1.0, 1.0, None, float("nan"), 1.0],
}


def told(found: GroupedCounts) -> dict[object, list[tuple[object, int]]]:
    """All of it, by name."""
    groups = found.groups(np.arange(len(found.sizes)))
    items = found.items(np.arange(len(found.counts)))
    ends = np.cumsum(found.sizes)
    rows = list(zip(items, found.counts.tolist(), strict=True))
    return {group: rows[end - size : end] for group, size, end in zip(groups, found.sizes, ends, strict=True)}


def counted(rows: dict[str, list]) -> dict[object, list[tuple[object, int]]]:
    """The same in plain Python."""
    users = defaultdict(lambda: defaultdict(set))
    for user, item, group in zip(rows["user"], rows["item"], rows["group"], strict=True):
        if user is not None and item is not None and group is not None and group == group:
            users[group + 0.0 if isinstance(group, float) else group][item].add(user)
    return {
        group: sorted(((item, len(those)) for item, those in users[group].items()), key=lambda row: (-row[1], row[0]))
        for group in sorted(users)
    }


def top(held: Held, most: int = 100, groups: int = MOST, listed: Listed | None = None, **more: object):
    """What an engine hands over."""
    users = more.pop("users", False)
    with held.engine(**({"by": ("group",)} | more)) as engine:
        found = engine.top_by(most, groups, listed, users=users)
        return told(found), found.users(np.arange(len(found.sizes))).tolist() if users else None


def test_counts_are_those_of_plain_python(hold):
    held = hold(pa.table(ROWS))
    everything = counted(ROWS)
    assert list(everything) == [0.0, 1.0, 2.5]
    found, users = top(held, users=True)
    assert list(found.items()) == list(everything.items())  # groups in their order too
    assert users == [1, 3, 2]
    assert str(next(iter(found))) == "0.0"  # and not -0.0
    for most in (1, 2):
        assert top(held, most)[0] == {group: rows[:most] for group, rows in everything.items()}


def test_listed_groups_are_there_and_no_others(hold):
    held = hold(pa.table(ROWS))
    everything = counted(ROWS)
    found, users = top(held, listed=Listed((2.5, 7.0, 0.0)), users=True)
    assert list(found.items()) == [(0.0, everything[0.0]), (2.5, everything[2.5]), (7.0, [])]
    assert users == [1, 2, 0]
    with held.engine(by=("group",)) as engine, pytest.raises(ParameterError, match="groups must"):
        engine.check_groups(Listed(("one", "two")))


@pytest.mark.parametrize("sort", ["text", "dates", "whole"])
def test_groups_of_other_types(hold, sort):
    values = {
        "text": ["B", "a", "ä", "B", "b "],
        "dates": [datetime.date(2026, 1, day) for day in (3, 1, 2, 3, 9)],
        "whole": [2**40, -1, 0, 2**40, 3],
    }[sort]
    rows = {"user": [1, 2, 3, 4, 5], "item": [10, 10, 11, 12, 10], "group": values}
    assert list(top(hold(pa.table(rows)))[0].items()) == list(counted(rows).items())


def test_pairs_of_group_and_item_in_the_groups_that_are_kept(hold):
    held = hold(pa.table(many(users=60)))
    with held.engine(by=("group",)) as engine:
        sets = engine.contributions_by(2)
        labels = sets.labels(np.arange(sets.size))
    with held.engine(by=("group",)) as engine:
        found = told(engine.top_by(100, 2))
    assert labels == sorted(labels)
    assert (np.diff(sets.offsets) == 2 * 5).all()
    counts = dict(zip(labels, np.bincount(sets.codes, minlength=sets.size).tolist(), strict=True))
    assert counts == {(group, item): count for group, rows in found.items() for item, count in rows}
    with held.engine(by=("group",)) as engine:
        assert engine.group_names(Listed((5, 3, 9))) == [3, 5, 9]
        sets = engine.contributions_by(6, Listed((5, 3, 9)))
        assert {group for group, _ in sets.labels(np.arange(sets.size))} == {3, 5}


def test_parts_of_a_text_are_items_of_a_group(hold):
    rows = {
        "user": [1, 1, 2, 3],
        "item": ["b a", "a", " a\x01 b", None],
        "group": ["g", "h", "g", "g"],
        "more": [7, 8, 7, 7],
    }
    right = {("g", "a"): 1, ("g", "a\x01"): 1, ("g", "b"): 2, ("h", "a"): 1}
    held = hold(pa.table(rows))
    for by, of in (
        (("group",), right),
        (("more", "group"), {(7 + (g == "h"), g, i): n for (g, i), n in right.items()}),
    ):
        with held.engine(by=by, split=" ") as engine:
            engine.check_pairs()
            for sets in (engine.contributions_by(2), engine.contributions()):
                counts = np.bincount(sets.codes, minlength=sets.size).tolist()
                assert dict(zip(sets.labels(np.arange(sets.size)), counts, strict=True)) == of


def test_listed_groups_have_the_labels_of_those_of_rows(hold):
    zoned = pa.timestamp("us", tz="UTC")
    moments = [datetime.datetime(2026, 10, day, tzinfo=datetime.UTC) for day in (1, 2)]
    rows = {"user": ["a", "b"], "item": ["x", "y"], "moment": pa.array(moments, zoned), "number": [0.5, 2.0]}
    held = hold(pa.table(rows))
    for by, listed in ((("moment",), moments), (("moment", "number"), [(moments[0], 0.5), (moments[1], 2.0)])):
        with held.engine(by=by) as engine:
            sets = engine.contributions_by(2, Listed(tuple(listed)))
            found = sets.labels(np.arange(sets.size))
            names = engine.group_names(Listed(tuple(listed)))
        assert names == listed
        assert [label[:-1] for label in found] == [one if isinstance(one, tuple) else (one,) for one in names]


def in_groups(held: Held, listed: Listed | None = None, *, pairs: bool = False, **more: object) -> dict[int, int]:
    """How many users have how many groups; what is asked next is of the same rows, and has the same answer as alone."""
    with held.engine(**({"by": ("group",)} | more)) as engine:
        lengths, users = engine.groups_of_users(listed)
        after = engine.contributions_by(2, listed).size if pairs else told(engine.top_by(100, MOST, listed))
    with held.engine(**({"by": ("group",)} | more)) as engine:
        assert after == (engine.contributions_by(2, listed).size if pairs else told(engine.top_by(100, MOST, listed)))
    return dict(sorted(zip(lengths.tolist(), users.tolist(), strict=True)))


LISTS = [(None, {1: 4, 2: 1}), (Listed((2.5, 7.0)), {1: 2}), (Listed((7.0,)), {})]  # b is in two; e and g have none


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("listed", "right"), LISTS, ids=str)
def test_in_how_many_groups_users_are(hold, listed, right, pairs):
    """Of listed groups where some are listed."""
    assert in_groups(hold(pa.table(ROWS)), listed, pairs=pairs) == right


def test_in_how_many_groups_users_give_a_unit(hold):
    weighed = hold(
        pa.table({"user": [1, 1, 2, 2], "item": ["x"] * 4, "group": [1, 2, 1, 2], "w": [1.0, 0.2, 3.0, 1.0]})
    )
    assert in_groups(weighed, totals=Totals.parse("w", 3)) == {1: 1, 2: 1}


def test_no_rows_are_no_groups(hold):
    none = {"user": ["a"], "item": ["x"], "group": pa.array([None], pa.string())}
    for rows in (none, {name: pa.array([], pa.string()) for name in ROWS}):
        held = hold(pa.table(rows))
        assert top(held, users=True) == ({}, [])
        assert top(held, users=True, listed=Listed(("p", "q"))) == ({"p": [], "q": []}, [0, 0])
        with held.engine(by=("group",)) as engine:
            assert engine.contributions_by(1).size == 0
        assert in_groups(held) == {}


def many(users: int = 300, groups: int = 6, items: int = 5) -> dict[str, np.ndarray]:
    """Every user has every item in every group."""
    number = np.arange(users * groups * items)
    return {
        "user": number // (groups * items),
        "group": number // items % groups,
        "item": number % items,
    }


def of_users(found: dict[object, list[tuple[object, int]]]) -> list[int]:
    return [max((count for _, count in rows), default=0) for rows in found.values()]


@pytest.mark.parametrize("groups", [1, 2])
def test_a_user_keeps_so_many_groups_whole(hold, groups):
    rows = many()
    held = hold(pa.table(rows))
    found, users = top(held, groups=groups, users=True)
    assert sum(users) == 300 * groups
    assert users == of_users(found)
    assert all(len({count for _, count in rows}) == 1 and len(rows) == 5 for rows in found.values())
    again, _ = top(held, groups=groups)
    assert again == found
    other, _ = top(held, groups=groups, key=b"another key of 16")
    assert other != found


def won(held: Held, pairs: list[tuple], groups: int = 2, listed: Listed | None = None, **more: object) -> dict:
    """The scores of pairs of a group and an item, for users who keep so many groups."""
    with held.engine(**({"by": ("group",)} | more)) as engine:
        found = engine.scores_by([((group,), item) for group, item in pairs], groups, listed)
    return dict(zip(pairs, found, strict=True))


def test_of_the_winners_of_a_group_a_user_keeps_some(hold):
    """Those of a group by itself, in the groups in which users were ranked; the ranking is by all items."""
    held = hold(pa.table(many()))
    ranked, users = top(held, groups=2, max_items_per_user=1, users=True)
    assert ranked == top(held, groups=2)[0]
    some = [(group, item) for group in range(5, -1, -1) for item in range(group)]  # all of most groups, in an odd order
    every = {(group, item): count for group, rows in ranked.items() for item, count in rows}
    for most in (1, 3, 4, 5, None):
        found = won(held, some, max_items_per_user=most)
        kept = {group: sum(count for (one, _), count in found.items() if one == group) for group in range(6)}
        assert kept == {group: users[group] * min(group, most or group) for group in range(6)}
        assert all(count <= every[pair] for pair, count in found.items())
    assert won(held, some, max_items_per_user=4) != {pair: every[pair] for pair in some}
    assert won(held, [(3, 1), (9, 1), (3, 9)], max_items_per_user=1) == {(3, 1): every[3, 1], (9, 1): 0, (3, 9): 0}
    assert won(held, []) == {}


def test_winners_of_listed_groups(hold):
    held = hold(pa.table(many(users=60)))
    listed = Listed((4, 2, 9))
    found = won(held, [(2, 0), (2, 1), (4, 3), (9, 0)], 1, listed, max_items_per_user=1)
    users = dict(zip((2, 4, 9), top(held, groups=1, listed=listed, users=True)[1], strict=True))
    assert found[2, 0] + found[2, 1] == users[2]
    assert (found[4, 3], found[9, 0]) == (users[4], 0)
    assert min(found[2, 0], found[2, 1]) > 0


def test_winners_of_groups_and_items_of_several_columns(hold):
    rows = {"user": [1, 1, 1, 2, 2], "item": ["a", "b", "a", "a", "b"], "kind": [0.5, 0.5, 2.0, 0.5, 0.5]}
    rows |= {"day": [datetime.date(2026, 1, day) for day in (1, 1, 2, 1, 1)], "place": ["p", "p", "p", "p", "q"]}
    first, second = (datetime.date(2026, 1, day) for day in (1, 2))
    with hold(pa.table(rows)).engine(item=("item", "kind"), by=("day", "place"), max_items_per_user=1) as engine:
        names = (((first, "p"), ("a", 0.5)), ((second, "p"), ("a", 2.0)), ((first, "q"), ("b", 0.5)))
        assert engine.scores_by(names, 9) == [2, 1, 1]
        assert sum(engine.scores_by([((first, "p"), ("a", 0.5)), ((first, "p"), ("b", 0.5))], 9)) == 2


@pytest.mark.parametrize("most", [1, 2, None])
def test_one_user_moves_few_counts_of_the_winners_of_few_groups(most):
    """Each by one and upwards; numbers of all users, with noise for so few, would be refused."""
    rows, groups = many(users=12), 2
    pairs = [(group, item) for group in range(6) for item in range(4)]
    without = won(Held("duckdb", pa.table(rows), None), pairs, groups, max_items_per_user=most)
    largest = 0
    for extra in ([0, 1, 2, 3, 4, 5], [77], [5, 5, 5], [0, 0, 1]):
        every = [(group, item) for group in dict.fromkeys(extra) for item in range(extra.count(group) + 1)]
        more = {
            "user": np.append(np.full(len(every), 999), rows["user"]),
            "group": np.append([group for group, _ in every], rows["group"]),
            "item": np.append([item for _, item in every], rows["item"]),
        }
        found = won(Held("duckdb", pa.table(more), None), pairs, groups, max_items_per_user=most)
        moved = [pair for pair in pairs if found[pair] != without[pair]]
        assert all(found[pair] == without[pair] + 1 for pair in moved)
        assert len({group for group, _ in moved}) <= groups
        in_one = max((sum(one == group for one, _ in moved) for group in range(6)), default=0)
        assert in_one <= (most or 4)
        largest = max(largest, in_one)
    assert largest == (most or 4)


def test_every_group_of_a_user_is_as_likely_to_stay():
    """The key is fixed, so this never fails by chance: 40,000 users keep 2 of 8, within 6 standard deviations."""
    users, groups, most = 40_000, 8, 2
    rows = {
        "user": np.repeat(np.arange(users), groups),
        "group": np.tile(np.arange(groups), users),
        "item": np.zeros(users * groups, dtype=np.int64),
    }
    with DuckDBEngine(rows, user="user", item="item", by=("group",), key=b"key") as engine:
        found = engine.top_by(1, most).counts
    share = most / groups
    assert len(found) == groups
    assert found.sum() == users * most
    assert max(abs(found - users * share)) < 6 * (users * share * (1 - share)) ** 0.5


def test_which_items_a_user_keeps_is_not_told_by_which_group(hold):
    """Of users with each item in each group, the names of both the same, few would keep an item of another name."""
    pairs = [(user, group, item) for user in range(200) for group in "AB" for item in "AB"]
    users, groups, items = zip(*pairs, strict=True)
    held = hold(pa.table({"user": users, "group": groups, "item": items}))
    found = won(held, [(group, item) for group in "AB" for item in "AB"], 1, max_items_per_user=1)
    assert sum(found.values()) == 200
    assert min(found.values()) > 10
