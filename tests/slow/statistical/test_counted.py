"""An interval holds what its column is called: the counted users, sums and values, wherever a bound cuts.

What was counted is known exactly: the bound depends on a key alone, so the same question with the same key at a price
without noise returns it. The false sentence, that the interval holds the number of *all* users, is the twin: its number
is that of the question without the bound, and the judge that accepts the sentence refuses it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import dpselect as dps
from dpselect.aggregates.value_counts import UsersAt
from dpselect.engines.port import PerUser
from dpselect.flat import dataset_of
from dpselect.questions.kinds import LISTED
from dpselect.testing.exact import SeededDraws
from tests.by_names import by_names, plan_of
from tests.statistical.judge import tail

LEVEL = 0.05  # of the test that may refute with 95 % confidence; draws repeat, so no run is unlucky
INTERVALS = 200
KEYS = 4  # samples of the bound
GROUPS, ITEMS, MONTHS = range(5), range(10), 3
NOISELESS: dict[str, Any] = {"epsilon": 10**5, "delta": "1e-6"}
pytestmark = [
    pytest.mark.filterwarnings("ignore::dpselect.errors.WeakPromiseWarning"),
    pytest.mark.usefixtures("one_duckdb"),
]


def rows(users: int = 250) -> pa.Table:
    """Every user is in four of five groups and three months, with several items in each."""
    found = [
        (user, group, (user * 7 + place * 3 + group) % len(ITEMS), 20 + user * place % 90, 1 + (group + place) % MONTHS)
        for user in range(users)
        for group in GROUPS
        if (user + group) % len(GROUPS)
        for place in range(3)
    ]
    columns = [list(column) for column in zip(*found, strict=True)]
    columns[4] = [datetime.date(2026, month, 15) for month in columns[4]]
    return pa.table(dict(zip(("user", "group", "item", "minutes", "day"), columns, strict=True)))


ROWS = rows()


@dataclass(frozen=True)
class Asked:
    """A question of some data, what of it has no bound, and the column whose intervals are looked at."""

    column: str
    verb: str = "top_k"
    data: dict[str, Any] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)
    uncut: dict[str, Any] = field(default_factory=dict)
    at_once: bool = False  # does the sentence hold for all intervals of an answer together?
    each: str = ""  # the measure whose interval it is; "group" for the users of groups

    def answer(self, run: int, **said: Any) -> dict[object, tuple[float, float, float]]:
        """What came back: number, low and high of every item, or of every group."""
        names = ("time", "period", "timezone", "during", "max_items_per_user", "where")
        given = {**self.data, **{name: value for name, value in said.items() if name in names}}
        asked = {**self.said, **{name: value for name, value in said.items() if name not in names}}
        given = {name: value for name, value in given.items() if value is not None}
        data = dataset_of(ROWS, **{"user": "user", "item": "item", **given})
        found = getattr(by_names(data), self.verb)(**asked, draws=SeededDraws(run))
        if said.keys() <= {"epsilon", "delta"}:
            assert self.column in found.to_columns()
        return dict(self.numbers(found))

    def numbers(self, found: dps.Release) -> Iterator[tuple[object, tuple[float, float, float]]]:
        """All of a release."""
        if self.each == "group":
            assert found.groups is not None
            yield from ((group.values, (group.users, group.low, group.high)) for group in found.groups.shown)  # type: ignore[misc]
            return
        for item in found:
            numbers = next((one for one in item.measures if one.name == self.each), None)
            told = item if numbers is None else numbers
            value = getattr(told, "count" if numbers is None else "value")
            yield (item.group, item.item), (value, told.low, told.high)  # type: ignore[misc]


K: dict[str, Any] = {"k": len(ITEMS), "epsilon": 60, "delta": "1e-6"}
BY: dict[str, Any] = {"by": "group", "max_groups_per_user": 2}
ALL_GROUPS = {"max_groups_per_user": len(GROUPS)}
FEW: dict[str, Any] = {"max_items_per_user": 3}
TIME: dict[str, Any] = {"time": "day", "period": "month", "timezone": "UTC"}
ALL_MONTHS = dict.fromkeys(TIME, None) | {"during": None}
WEIGHED: dict[str, Any] = {"by_weight": "minutes", "at_most": 40}
MEASURES = {"measures": ["sum(minutes, 0, 60)", "mean(minutes, 0, 60)"]}
WIDE = {"measures": ["sum(minutes, 0, 5000)", "mean(minutes, 0, 5000)"]}
UNION: dict[str, Any] = {"epsilon": 60, "delta": "1e-6", "counts": True, "max_items_per_user": 3}
ANY_ITEMS: dict[str, Any] = {"max_items_per_user": len(ITEMS)}

COUNTS = {"counts": True}
ASKED = {
    "groups": Asked("counted_users", said={**K, **BY, **COUNTS}, uncut=ALL_GROUPS),
    "items of groups": Asked(
        "counted_users",
        data={"max_items_per_user": 1},
        said={**K, **BY, **COUNTS},
        uncut={**ALL_GROUPS, "max_items_per_user": None},
    ),
    "users of groups": Asked("counted_group_users", said={**K, **BY, "users": True}, uncut=ALL_GROUPS, each="group"),
    "items": Asked("counted_users", data=FEW, said={**K, **COUNTS}, uncut={"max_items_per_user": None}),
    "items of a domain": Asked(
        "counted_users", data=FEW, said={**K, **COUNTS, "domain": ITEMS}, uncut={"max_items_per_user": None}
    ),
    "discovered by group": Asked("counted_users", said={**K, **BY, **COUNTS, "method": "discover"}, uncut=ALL_GROUPS),
    "sums": Asked("counted_sum", said={**K, **COUNTS, **WEIGHED}, uncut={"at_most": 700}),
    "periods": Asked(
        "counted_users", data={**TIME, "during": "2026-01..2026-03"}, said={**K, **COUNTS}, uncut=ALL_MONTHS
    ),
    "gains": Asked(
        "counted_gain",
        data={
            **TIME,
            "max_items_per_user": 1,
            "during": "2026-03",
            "where": "item < 5 OR day >= '2026-03-01' OR user < 100",
        },
        said={**K, **COUNTS, "compared_with": "2026-02", "k": 4, "method": "limited-domain"},
        uncut={"max_items_per_user": None},
    ),
    "measured sums": Asked("counted sum(minutes)", said={**K, **MEASURES}, uncut=WIDE, each="sum(minutes)"),
    "measured means": Asked("counted mean(minutes)", said={**K, **MEASURES}, uncut=WIDE, each="mean(minutes)"),
    "histogram": Asked(
        "counted_users",
        "histogram",
        data=FEW,
        said={"domain": ITEMS, "epsilon": 3},
        uncut={"max_items_per_user": None},
        at_once=True,
    ),
    "union": Asked("counted_users", "union", said={**UNION, "in_engine": True}, uncut=ANY_ITEMS),
    "union whose counts decided": Asked(
        "counted_users", "union", said={**UNION, "method": "count-gaussian"}, uncut=ANY_ITEMS
    ),
}


def refuted(inside: int, of: int) -> bool:
    """Does the exact binomial tail refute that a sentence holds with 95 % confidence?"""
    return 1 - tail(of, 0.95, inside + 1) < LEVEL


def held(asked: Asked, told: dict[object, Any], true: dict[object, Any]) -> list[bool]:
    """For every interval, or for all of an answer together, whether it holds the number of the same name."""
    inside = [low <= true[name][0] <= high for name, (_, low, high) in told.items() if name in true]
    return [all(inside)] if asked.at_once else inside


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The key of the next question, which decides what of a user counts."""
    held = {"key": bytes(16)}
    for module in ("dpselect.asked_rows", "dpselect.queries.union.plan"):
        monkeypatch.setattr(f"{module}.fresh_key", lambda: held["key"])
    return held


@pytest.mark.parametrize("name", ASKED)
def test_an_interval_holds_what_its_column_is_called(name: str, key: dict[str, bytes]) -> None:
    asked = ASKED[name]
    sampled_by_draws = "union" in name
    counted, everybody = [], []
    all_users = asked.answer(0, **{**NOISELESS, **asked.uncut})
    exact: dict[int, Any] = {}
    run = 0
    while len(counted) * (len(ITEMS) if asked.at_once else 1) < INTERVALS:
        sample = run if sampled_by_draws else run % KEYS
        key["key"] = sample.to_bytes(16, "big")
        told = asked.answer(run if sampled_by_draws else 1000 + run)
        if sample not in exact:
            exact[sample] = asked.answer(sample, **NOISELESS)
        counted += held(asked, told, exact[sample])
        everybody += held(asked, told, all_users)
        run += 1
    assert not refuted(sum(counted), len(counted)), (sum(counted), len(counted))
    assert refuted(sum(everybody), len(everybody)), (sum(everybody), len(everybody))


# ---- quantiles ---------------------------------------------------------------------------------------------


VALUES = dps.Dataset(ROWS, user="user", item="minutes")
OF_VALUES: dict[str, Any] = {"bounds": (0, 120), "step": 1, "by": "group", "groups": list(GROUPS), "epsilon": 20}


def as_stated(item: dps.Item, users: UsersAt) -> bool:
    """Whether no more users too many lie below and above a median than it states."""
    half, stated = users.users.sum() / 2, item.ranked
    assert stated is not None
    below, above = users.users[users.indices < item.item].sum(), users.users[users.indices > item.item].sum()
    return bool(below - half <= stated.too_many_below and above - half <= stated.too_many_above)


def test_no_more_counted_users_lie_beyond_a_quantile_than_it_states(key: dict[str, bytes]) -> None:
    mechanism = plan_of("quantile", **OF_VALUES).mechanism

    @cache
    def exact(_sample: int, most: int) -> Sequence[UsersAt]:
        """Who counted at each value with the key of now."""
        with VALUES.engine(("group",)) as engine:
            listed = LISTED.read("groups", list(GROUPS))
            engine.check_groups(listed)
            return engine.users_at_by(mechanism.grid, PerUser.RANDOM, most, listed).users

    counted: list[bool] = []
    everybody: list[bool] = []
    run = 0
    while len(counted) < INTERVALS:
        sample = run % KEYS
        key["key"] = sample.to_bytes(16, "big")
        found = by_names(VALUES).quantile(0.5, **OF_VALUES, max_groups_per_user=1, draws=SeededDraws(run))
        for most, inside in ((1, counted), (len(GROUPS), everybody)):
            inside += [as_stated(item, users) for item, users in zip(found, exact(sample, most), strict=True)]
        run += 1
    assert "counted users" in found.accuracy.sentences[0]
    assert not refuted(sum(counted), len(counted)), (sum(counted), len(counted))
    assert refuted(sum(everybody), len(everybody)), (sum(everybody), len(everybody))
