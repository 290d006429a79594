"""Values and known domains by group, on every engine, as plain Python counts them; found groups stay what they are."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect._ground.domain import Column, Listed, Span
from dpselect.aggregates.value_counts import Grid
from dpselect.engines.port import PerUser
from dpselect.errors import ParameterError
from tests.engines import typed_rows
from tests.engines.every_engine import Held
from tests.engines.test_by_group import told

GRID = Grid.parse((0, 10), 1)
MANY = 10**4
LISTED = Listed(("DE", "FR", "XX"))
ROWS = {
    "user": ["a", "a", "a", "b", "b", "c", "c", "d", None, "e", "f", "f", "g"],
    "item": [1.0, 4.0, 4.0, 2.4, 99.0, 7.0, 5.0, 3.0, 1.0, None, float("nan"), -5.0, 6.0],
    "group": ["DE", "DE", "DE", "DE", "FR", "FR", "FR", "LI", "DE", "DE", "FR", "FR", None],
}


def values(held: Held, per_user: PerUser, most: int = MANY, groups: object = LISTED, **more: object):
    """Every group's users by place."""
    with held.engine(**({"by": ("group",)} | more)) as engine:
        found = engine.users_at_by(GRID, per_user, most, groups)
    assert len(found.groups) == len(found.users)
    return {
        group: dict(zip(one.indices.tolist(), one.users.tolist(), strict=True))
        for group, one in zip(found.groups, found.users, strict=True)
    }


def picked(per_user: PerUser) -> dict[str, dict[int, int]]:
    """The same in plain Python, where nobody is in more groups than count and nothing is left to chance."""
    places = defaultdict(list)
    for user, value, group in zip(ROWS["user"], ROWS["item"], ROWS["group"], strict=True):
        if user is not None and value is not None and value == value:
            places[group, user].append(int(min(max(value, 0), 10) + 0.5))
    pick = {
        PerUser.MIN: min,
        PerUser.MAX: max,
        PerUser.MEAN: lambda of: (2 * sum(of) + len(of)) // (2 * len(of)),
    }[per_user]
    return {
        group: dict(Counter(pick(of) for (where, _), of in places.items() if where == group)) for group in LISTED.items
    }


@pytest.mark.parametrize("per_user", [PerUser.MIN, PerUser.MAX, PerUser.MEAN])
def test_values_are_those_of_plain_python(hold, per_user):
    held = hold(pa.table(ROWS))
    found = values(held, per_user)
    assert found == picked(per_user)
    assert list(found) == ["DE", "FR", "XX"]
    assert found["XX"] == {}
    for group in ("DE", "FR"):  # as in that group alone
        with held.engine(where=f"\"group\" = '{group}'") as engine:
            alone = engine.users_at(GRID, per_user)
        assert dict(zip(alone.indices.tolist(), alone.users.tolist(), strict=True)) == found[group]


def test_a_user_has_one_random_value_in_each_group(hold):
    users = 400
    number = np.arange(users * 6)
    rows = {"user": number // 6, "group": number // 3 % 2, "item": number % 3 * 1.0}
    held = hold(pa.table(rows))
    found = values(held, PerUser.RANDOM, groups=Listed((0, 1)))
    assert [sum(one.values()) for one in found.values()] == [users, users]
    assert all(sorted(one) == [0, 1, 2] and min(one.values()) > users / 6 for one in found.values())
    assert values(held, PerUser.RANDOM, groups=Listed((0, 1))) == found
    assert values(held, PerUser.RANDOM, groups=Listed((0, 1)), key=b"another key of 16") != found
    twice = {name: np.concatenate([column, column]) for name, column in rows.items()}
    assert values(hold(pa.table(twice)), PerUser.RANDOM, groups=Listed((0, 1))) == found


def test_which_value_is_apart_from_which_group(hold):
    """Groups and values that look alike: of the users who keep group 1, half have value 1 and not nearly all."""
    number = np.arange(4000)
    rows = {"user": number // 4, "group": number // 2 % 2, "item": number % 2 * 1.0}
    found = values(hold(pa.table(rows)), PerUser.RANDOM, most=1, groups=Listed((0, 1)))
    for one in found.values():
        assert 0.35 < one[1] / (one[0] + one[1]) < 0.65
    assert sum(sum(one.values()) for one in found.values()) == 1000


@pytest.mark.parametrize("most", [1, 2])
def test_a_user_counts_in_so_many_listed_groups(hold, most):
    number = np.arange(300 * 6)
    rows = {"user": number // 6, "group": number % 6, "item": number % 5 * 1.0}
    held = hold(pa.table(rows))
    for listed in (Listed(tuple(range(6))), Listed((0, 3, 4))):
        found = values(held, PerUser.MAX, most=most, groups=listed)
        assert sum(sum(one.values()) for one in found.values()) == 300 * most
        with held.engine(by=("group",), item="item") as engine:
            counted = told(engine.counts_by(Listed((0.0, 1.0, 2.0, 3.0, 4.0)), most, listed))
        assert {group: sum(n for _, n in of) for group, of in counted.items()} == {
            group: sum(of.values()) for group, of in found.items()
        }  # the same groups are kept


def test_no_user_changes_what_another_keeps(hold):
    number = np.arange(40 * 6)
    rows = {"user": number // 6, "group": number % 6, "item": number % 5 * 1.0}
    listed = Listed(tuple(range(6)))
    without = values(hold(pa.table(rows)), PerUser.RANDOM, most=2, groups=listed)
    more = {
        "user": np.append(np.full(6, 999), rows["user"]),
        "group": np.append(np.arange(6), rows["group"]),
        "item": np.append(np.arange(6) * 1.0, rows["item"]),
    }
    found = values(hold(pa.table(more)), PerUser.RANDOM, most=2, groups=listed)
    moved = [found[group].get(at, 0) - without[group].get(at, 0) for group in found for at in range(11)]
    assert sorted(set(moved)) == [0, 1]
    assert sum(moved) == 2


OPTIONS = {
    "user": ["a", "a", "b", "b", "c", "c", "d", None, "e", "f"],
    "item": ["x", "y", "x", "x", "x", "z", "q", "x", None, "y"],
    "group": ["DE", "DE", "DE", "DE", "FR", "FR", "FR", "DE", "DE", None],
}


def test_counts_of_a_domain_are_those_of_plain_python(hold):
    held = hold(pa.table(OPTIONS))
    domain = Listed(("x", "y", "z", "never"))
    with held.engine(by=("group",)) as engine:
        found = told(engine.counts_by(domain, MANY, LISTED))
        assert sorted(engine.item_names(domain)) == ["never", "x", "y", "z"]
    assert found == {"DE": [("x", 2), ("y", 1)], "FR": [("x", 1), ("z", 1)], "XX": []}
    with held.engine(by=("group",), max_items_per_user=1) as engine:  # a choice is of all items
        assert told(engine.counts_by(domain, MANY, LISTED)) == found
    with held.engine(by=("group",)) as engine, pytest.raises(ParameterError, match="groups must"):
        engine.counts_by(domain, 1, Listed((("DE", "x"),)))


@pytest.mark.parametrize("item", typed_rows.VALUES)
def test_items_of_any_type_have_the_same_name_with_users_and_without(hold, item):
    """Of the items that a group has not, one is named by leaving out those that it has."""
    _, values = typed_rows.VALUES[item]
    by = "day" if item == "flag" else "flag"
    groups = Listed(tuple(typed_rows.VALUES[by][1]))
    domain = Listed(tuple(value for value in values if value == value))  # NaN is no item
    with hold(typed_rows.AWKWARD).engine(item=item, by=(by,)) as engine:
        names = [(type(name), name) for name in engine.item_names(domain)]
        counts = engine.counts_by(domain, 9, groups)
        found = {(type(name), name) for name in counts.items(np.arange(sum(counts.sizes)))}
    assert len(found) > 1
    assert found <= set(names)
    assert len(set(names)) == len(names)


def test_counts_of_a_span(hold):
    rows = {"user": [1, 2, 3, 4, 5], "item": [3, 3, 5, 99, 4], "group": list("ppqqq")}
    held = hold(pa.table(rows))
    with held.engine(by=("group",)) as engine:
        found = told(engine.counts_by(Span(0, 6), 1, Listed(("p", "q", "r"))))
        names = list(engine.item_names(Span(0, 6)))
    assert names == [*range(6)]
    assert found == {"p": [(3, 2)], "q": [(4, 1), (5, 1)], "r": []}


def test_one_list_of_items_and_of_groups(hold):
    """Each is read as its own column has it, whatever other groups there are."""
    rows = pa.table({"user": ["a", "b", "c", "d"], "item": [1, 2, 1, 1], "g": ["1", "2", "1", "other"]})
    both = Listed(("1", "2"))
    with hold(rows).engine(by=("g",)) as engine:
        assert list(engine.item_names(both)) == [1, 2]
        assert list(engine.group_names(both)) == ["1", "2"]
        assert told(engine.counts_by(both, 1, both)) == {"1": [(1, 2)], "2": [(2, 1)]}


# ---- groups that were found -------------------------------------------------------------------------------

MOMENT = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SORTS = {
    "text": pa.array(["'", 'a"b', "Ä\U0001f600", "\\", "  "]),
    "dates": pa.array([datetime.date(year, 12, 31) for year in (1, 1969, 1970, 2026, 9999)]),
    "moments": pa.array([MOMENT.replace(microsecond=n) for n in range(5)], pa.timestamp("us", "UTC")),
    "decimals": pa.array(list(map(Decimal, ("0.1", "1", "-0.0001", "99999999.9999", "0"))), pa.decimal128(12, 4)),
    "floats": pa.array([0.1, -0.0, 1e-300, 1.7976931348623157e308, 1 / 3]),
    "small floats": pa.array([0.1, -0.0, 1e-30, 3.4e38, 1 / 3], pa.float32()),
    "bytes": pa.array([b"", b"\x00", b"a\x00b", b"\xff", b"'"]),
    "flags": pa.array([True, False, True, False, True]),
    "whole": pa.array([2**63 - 1, -(2**63), 0, -1, 7]),
}  # fmt: skip
MORE = {
    "nanoseconds": pa.array([10**18 + n for n in range(5)], pa.timestamp("ns")),
    "times": pa.array([datetime.time(0, 0, 0, n) for n in range(5)], pa.time64("us")),
    "objects": np.array([1, True, 1.5, "1", datetime.date(2026, 1, 1)], dtype=object),
    "wide decimals": pa.array([Decimal(n).scaleb(-20) for n in range(5)], pa.decimal128(38, 20)),
}


def found_as_they_are(held: Held, by: tuple[str, ...], item: str = "item") -> None:
    with held.engine(by=by, item=item) as engine:
        sets = engine.group_sets()
        everything = np.arange(sets.size)
        names = sets.labels(everything)
        assert sets.users == 10
        found = engine.users_at_by(GRID, PerUser.MIN, 1, engine.keep_groups(everything[::-1]))
        assert list(map(repr, found.groups)) == list(map(repr, names))  # each once, in their own order
        assert sum(int(one.users.sum()) for one in found.users) == 10  # every group has its users again
        some = found_some(engine, everything[1::2])
        assert list(map(repr, some)) == list(map(repr, names[1::2]))


def found_some(engine, codes):
    counted = engine.counts_by(Listed((1, 2)), 1, engine.keep_groups(codes))
    assert counted.sizes.min() >= 1
    return counted.groups(np.arange(len(counted.sizes)))


@pytest.mark.parametrize("sort", SORTS)
def test_found_groups_of_any_type_are_asked_for_as_they_are(hold, sort):
    rows = {"user": range(10), "item": [1, 2] * 5, "group": [n // 2 for n in range(10)]}
    groups = SORTS[sort].take(pa.array(rows.pop("group")))
    found_as_they_are(hold(pa.table(rows | {"group": groups})), ("group",))


@pytest.mark.parametrize("sort", MORE)
def test_found_groups_of_types_that_duckdb_alone_has(sort):
    column = MORE[sort]
    at = np.arange(10) // 2
    group = column[at] if isinstance(column, np.ndarray) else column.take(pa.array(at))
    rows = {"user": np.arange(10), "item": np.array([1, 2] * 5), "group": group}
    source = rows if isinstance(column, np.ndarray) else pa.table(rows)
    found_as_they_are(Held("duckdb", source, None), ("group",))


def test_groups_are_asked_for_among_the_rows_in_which_they_were_found(tmp_path):
    rows = {"user": range(10), "item": [1, 2] * 5, "group": ["p"] * 6 + ["q"] * 4}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    with Held("duckdb", tmp_path / "rows.parquet", None).engine(by=("group",)) as engine:
        sets = engine.group_sets()
        pq.write_table(pa.table(rows | {"group": ["alone", *["q"] * 9]}), tmp_path / "rows.parquet")
        found = engine.users_at_by(GRID, PerUser.MIN, 1, engine.keep_groups(np.arange(sets.size)))
    assert [(group, int(one.users.sum())) for group, one in zip(found.groups, found.users, strict=True)] == [
        ("p", 6),
        ("q", 4),
    ]


def test_listed_groups_of_a_public_source(hold):
    listed = Column(pa.table({"c": ["FR", None, "DE", "FR"]}), "c")
    found = values(hold(pa.table(ROWS)), PerUser.MIN, groups=listed)
    assert found == {group: of for group, of in picked(PerUser.MIN).items() if group != "XX"}
