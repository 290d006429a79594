"""Sums by group, on every engine, as plain Python adds them up: units first, then the groups of a user, then items."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa

from dpselect._ground.domain import Listed
from dpselect.aggregates.totals import Totals
from tests.engines.every_engine import Held
from tests.engines.test_by_group import told
from tests.engines.weighed_rows import AWKWARD, given

MOST = 10**6
MINUTES, HALVES = Totals.parse("w", 60), Totals.parse("w", "2.5", "0.5")
GROUPS = ("p", "q", None)
ROWS = [(user, item, w, GROUPS[n % 3]) for n, (user, item, w) in enumerate([*AWKWARD, *AWKWARD[::-1]])]
MORE = 240  # users; each is in four groups, and gives a unit in two of them
Table = tuple[dict[str, list[tuple[str, int]]], dict[str, int]]


def table(rows: list[tuple[object, ...]]) -> pa.Table:
    sorts = (pa.string(), pa.string(), pa.float64(), pa.string())
    columns = [pa.array(values, sort) for values, sort in zip(zip(*rows, strict=True), sorts, strict=True)]
    return pa.table(dict(zip(("user", "item", "w", "g"), columns, strict=True)))


def plain(rows: list[tuple[object, ...]], totals: Totals) -> Table:
    """Of every group the items and their sums, and how many users give a unit: in plain Python, of all groups."""
    found, users = {}, {}
    for group in sorted({row[3] for row in rows if row[3] is not None}):
        theirs = given([row[:3] for row in rows if row[3] == group], totals)
        sums = defaultdict(int)
        for items in theirs.values():
            for item, units in items.items():
                sums[item] += units
        if sums:
            found[group] = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0].encode()))
            users[group] = len(theirs)
    return found, users


def top(held: Held, totals: Totals, groups: int = MOST, listed: Listed | None = None, **more: object) -> Table:
    with held.engine(by=("g",), totals=totals, **more) as engine:
        found = engine.top_by(1000, groups, listed, users=True)
        users = found.users(np.arange(len(found.sizes))).tolist()
        return told(found), dict(zip(told(found), users, strict=True))


def test_sums_are_those_of_plain_python(hold):
    held = hold(table(ROWS))
    for totals in (MINUTES, HALVES):
        assert top(held, totals) == plain(ROWS, totals)
    found, users = plain(ROWS, MINUTES)
    listed = Listed(("q", "nobody's"))
    assert top(held, MINUTES, listed=listed) == ({"nobody's": [], "q": found["q"]}, {"nobody's": 0, "q": users["q"]})
    with held.engine(by=("g",), totals=MINUTES) as engine:
        assert told(engine.top_by(2, MOST)) == {group: rows[:2] for group, rows in found.items()}
        engine.leave_out(Listed(("x",)))
        others = {group: [row for row in rows if row[0] != "x"] for group, rows in found.items()}
        assert told(engine.top_by(1000, MOST)) == others


def many() -> list[tuple[object, ...]]:
    """Rows that come to 3 of one item and 1 of another in each of two groups, and to no unit in two more."""
    return [
        (f"u{n}", item, w, f"g{(n + group) % 4}")
        for n in range(MORE)
        for group in range(4)
        for item, w in (("a", 1.5), ("a", 1.5), ("b", 0.6), ("c", 0.2))
        if group < 2 or w < 0.3
    ]


def test_what_is_no_unit_uses_up_no_group_and_no_item(hold):
    """A bound on groups that came before the units would keep a group in which a user gives nothing."""
    held = hold(table(many()))
    one, users = top(held, MINUTES, 1)
    assert sum(users.values()) == MORE
    assert sum(n for rows in one.values() for item, n in rows) == MORE * 4
    two, users = top(held, MINUTES, 2)
    assert (two, users) == plain(many(), MINUTES)
    pairs = [((group,), item) for group in two for item in "abc"]
    for listed in (None, Listed(tuple(two))):
        with held.engine(by=("g",), totals=MINUTES, max_items_per_user=1) as engine:
            bounded = dict(zip(pairs, engine.scores_by(pairs, 2, listed), strict=True))
        assert sum(n // 3 if item == "a" else n for (_, item), n in bounded.items()) == MORE * 2
        assert min(n for (_, item), n in bounded.items() if item != "c") > 0
    cut, _ = top(held, Totals.parse("w", 2), 2)  # rows of 1.5, one by one, would come to 4
    assert {n for rows in cut.values() for item, n in rows if item == "a"} == {MORE * 2 * 2 // 4}


def test_listed_groups_come_before_the_bound(hold):
    held = hold(table(many()))
    found, users = plain(many(), MINUTES)
    some = ({"g1": found["g1"]}, {"g1": users["g1"]})
    assert top(held, MINUTES, 1, Listed(("g1",))) == some


def test_one_user_more_moves_few_sums_upwards_and_by_no_more_than_the_cap():
    rows = many()
    held = Held("duckdb", table(rows), None)
    pairs = [((group,), item) for group in ("g0", "g1", "g2", "g3", "new") for item in "abc"]

    def won(held: Held) -> list[int]:
        with held.engine(by=("g",), totals=HALVES, max_items_per_user=1) as engine:
            return list(engine.scores_by(pairs, 1))

    without = won(held)
    for extra in ([("a", 9.0, "g1")] * 5, [("a", 0.1, "g0"), ("b", 0.5, "new")], [("c", 0.1, "g2")] * 2):
        more = [*rows, *(("someone", *one) for one in extra)]
        moved = [n - old for n, old in zip(won(Held("duckdb", table(more), None)), without, strict=True)]
        assert sorted(set(moved))[0] == 0
        assert sum(map(bool, moved)) == (extra[0] != ("c", 0.1, "g2"))
        assert max(moved) <= HALVES.max_units
