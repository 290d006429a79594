"""What items gained from one month to another: every pair of user and month moves all gains one way, by 0 or 1.

The rows go through the real engine, the gains through the real question. A neighbour has all rows of one user in one of
the two months more.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpselect._ground.domain import Listed
from dpselect._ground.periods import Periods, parse_periods
from dpselect.aggregates.count_groups import CountGroups
from dpselect.engines.sql import questions
from dpselect.queries.top.plan import TopKPlan
from dpselect.release.scale import Scale
from dpselect.testing import Law, law
from tests.by_names import plan_of
from tests.engines.opened import open_engine
from tests.engines.test_conformance import pairs
from tests.exact.laws import at_most, delta_between, equals, log_range, private, same
from tests.exact.test_grouped import Kept

BEFORE, NOW = "2026-09", "2026-10"
MONTHS = parse_periods("at", "month", NOW, "UTC").compared_with([BEFORE])
UNITS = [("a", BEFORE), ("a", NOW), ("b", NOW)]
ITEMS = ("x", "y")
HELD: list[tuple[str, ...]] = [(), ("x",), ("y",), ("x", "y")]
CROWD = [("c", "x", f"{NOW}-07"), ("c", "y", f"{NOW}-08"), ("d", "x", f"{BEFORE}-30")]
Data = tuple[tuple[str, ...], ...]
Gains = tuple[int, int]
Gained = Callable[[Data], Gains]


def rows_of(data: Data) -> dict[str, list[object]]:
    """The rows, each twice, beside some that always count and some that are in neither month."""
    rows: list[tuple[object, object, object]] = [("a", "x", "2026-11-01"), ("c", "y", None), *CROWD]
    for (user, month), held in zip(UNITS, data, strict=True):
        rows += 2 * [(user, item, f"{month}-05") for item in held]
    users, items, times = zip(*rows, strict=True)
    days = [None if time is None else datetime.date.fromisoformat(str(time)) for time in times]
    return {"user": [*users], "item": [*items], "at": days}


@cache
def gained(most: int | None) -> Gained:
    """What an engine says that the items gained."""
    return cache(_gained(most))


def _gained(most: int | None, months: Periods = MONTHS) -> Gained:
    def ask(data: Data) -> Gains:
        with open_engine(
            rows_of(data), user="user", item="item", periods=months, max_items_per_user=most, key=b"1" * 16
        ) as engine:
            if most is None:
                found = dict(pairs(engine.grouped(Listed(ITEMS))))
                return found["x"], found["y"]
            domain = Listed(ITEMS)
            engine.check(domain)
            x, y = engine.scores_of(ITEMS, domain)  # both came back, and a user counts for one
        return x, y

    return ask


def everything() -> Iterator[Data]:
    """What the units have; b always has x."""
    yield from product(HELD, HELD, [("x",)])


def neighbours() -> Iterator[tuple[Data, Data]]:
    """Rows, and the same with those of one unit more."""
    for data in everything():
        for place in (0, 1):
            if data[place]:
                yield (*data[:place], (), *data[place + 1 :]), data


def steps(gains: Gained, pairs: Iterable[tuple[Data, Data]]) -> list[list[int]]:
    """By how much each unit moves the gains."""
    return [np.subtract(gains(more), gains(fewer)).tolist() for fewer, more in pairs]


def one_way(step: list[int]) -> bool:
    """Are all gains moved up, or all down, by at most 1?"""
    return set(step) <= {0, 1} or set(step) <= {0, -1}


@pytest.mark.parametrize("most", [None, 1])
def test_every_unit_moves_all_gains_one_way_by_at_most_1(most: int | None) -> None:
    gains = gained(most)
    found = steps(gains, neighbours())
    assert all(map(one_way, found))
    assert [1, 1] in found or most == 1
    assert [-1, 0] in found
    assert {gains(data)[0] for data in everything()} >= {0, 1}


@pytest.mark.parametrize("most", [None, 1])
def test_losses_are_the_gains_of_the_months_swapped(most: int | None) -> None:
    """So every unit moves all losses one way by at most 1, too, and what is proved of gains holds of them."""
    lost = cache(_gained(most, replace(MONTHS, lost=True)))
    swapped = cache(_gained(most, parse_periods("at", "month", BEFORE, "UTC").compared_with([NOW])))
    assert all(lost(data) == swapped(data) for data in everything())
    assert all(map(one_way, steps(lost, neighbours())))
    assert any(lost(data) != gained(most)(data) for data in everything())


SIGNED = questions.gained_users_per_item


def _rows(*asked: Any) -> str:
    return SIGNED(*asked).replace("DISTINCT ", "")


def _apart(*asked: Any) -> str:
    return SIGNED(*asked).replace("CAST(sum(w)", "CAST(abs(sum(w))").replace("WHERE n > 0", "")


def _of_both_months(*asked: Any) -> str:
    return SIGNED(*asked).replace("PARTITION BY u ", "PARTITION BY u.u ")


TWINS: list[tuple[Callable[..., str], int | None, list[tuple[Data, Data]]]] = [
    (_rows, None, [(((), (), ("x",)), ((), ("x",), ("x",)))]),
    (_apart, None, [((("x",), (), ()), (("x",), ("x", "y"), ()))]),
    # Which of two months keeps the one item hangs on the key.
    (_of_both_months, 1, [((("x",), (), ("x",)), (("x",), ("x",), ("x",))), ((("y",), (), ()), (("y",), ("y",), ()))]),
]


@pytest.mark.parametrize(("twin", "most", "pairs"), TWINS)
def test_twins_are_refused(
    twin: Callable[..., str], most: int | None, pairs: list[tuple[Data, Data]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows in place of users, a change up or down, one item of both months."""
    assert all(map(one_way, steps(_gained(most), pairs)))
    monkeypatch.setattr(questions, "gained_users_per_item", twin)
    assert not all(map(one_way, steps(_gained(most), pairs)))


def test_a_whole_user_may_raise_one_and_lower_another() -> None:
    """So a promise to users with all of their rows would cost twice as much, and is refused where it pays."""
    assert steps(gained(None), [(((), (), ("x",)), (("x",), ("y",), ("x",)))]) == [[-1, 1]]


# ---- laws of the real question --------------------------------------------------------------------------------

CHOICE = plan_of("top_k", k=1, epsilon=1, domain=ITEMS, compared_with=BEFORE)
FOUND = plan_of("top_k", k=1, epsilon=1, delta="1/5", k_bar=1, method="limited-domain", compared_with=BEFORE)


def laws_of(query: TopKPlan) -> Callable[[Data], Law]:
    """The law of an answer to rows; equal gains have one. Without a domain an item that gained nothing has no name."""

    @cache
    def of(gains: Gains) -> Law:
        named = {name: gain for name, gain in zip(ITEMS, gains, strict=True) if gain or query.domain is not None}
        best = dict(sorted(named.items(), key=lambda one: (-one[1], one[0])))
        found = CountGroups.from_items(list(best), list(best.values()))
        return law(lambda draws: tuple(query.selection.select(found, draws).labels))

    return lambda data: of(gained(None)(data))


def test_a_known_domain_costs_what_a_top_k_costs() -> None:
    of = laws_of(CHOICE)
    ranges = [log_range(of(fewer), of(more)) for fewer, more in neighbours()]
    assert all(at_most(one, Fraction(1)) for one in ranges)
    assert any(equals(one, Fraction(1)) for one in ranges)
    assert CHOICE.price == plan_of("top_k", k=1, epsilon=1, domain=ITEMS).price
    whole_user = log_range(of(((), (), ("x",))), of((("x",), ("y",), ("x",))))  # the twin: users with all their rows
    assert equals(whole_user, Fraction(2))


def test_an_unknown_domain_costs_what_a_top_k_costs() -> None:
    assert private(laws_of(FOUND), neighbours(), Fraction(1), Fraction(1, 5))
    assert FOUND.price == plan_of("top_k", k=1, epsilon=1, delta="1/5", k_bar=1, method="limited-domain").price


def test_who_was_there_before_is_told_as_much_as_who_is_there_now() -> None:
    """So a question that were paid in the later month alone would not be paid."""
    of = laws_of(CHOICE)
    assert equals(log_range(of(((), (), ("x",))), of((("x",), (), ("x",)))), Fraction(1))


# ---- items that a union finds -----------------------------------------------------------------------------------

DISCOVER = plan_of("top_k", k=1, epsilon=1, delta="1/10", method="discover", max_items_per_user=2, compared_with=BEFORE)
SETS = [[0, 1]] * 3 + [[0]] * 4 + [[1]] * 2


class Compared(Kept):
    """Pairs of a month, and the users of another, who are taken off."""

    def __init__(self, now: list[list[int]], before: list[list[int]]) -> None:
        super().__init__(now, 2)
        self.before = before

    def released_item_counts(self, most: int, key: bytes) -> np.ndarray:
        """As an engine has them."""
        off = [sum(name in items for items in self.before) for name in self.names()]
        return np.maximum(super().released_item_counts(most, key) - np.array(off, dtype=np.int64), 0)


class Rows(Compared):
    """The twin: every user has ten rows of each item, and these are counted."""

    def released_item_counts(self, most: int, key: bytes) -> np.ndarray:
        """Rows in place of users."""
        return 10 * super().released_item_counts(most, key)


def discovered(kind: type[Compared], now: list[list[int]], before: list[list[int]]) -> Law:
    """The law of the real plan."""
    selection: Any = DISCOVER.selection
    return law(lambda draws: tuple(item.label for item in selection.draw_pairs(kind(now, before), draws, None).items))


def test_items_that_a_union_finds_are_ranked_by_what_they_gained() -> None:
    assert DISCOVER.selection.scale == Scale(gains=True)
    before = [[0]] * 3
    base = discovered(Compared, SETS, before)
    for others in ((SETS, [*before, [0]]), (SETS, [*before, [1]]), (SETS, [*before, [0, 1]]), ([*SETS, [1]], before)):
        assert at_most(delta_between(base, discovered(Compared, *others), Fraction(1)), Fraction(1, 10))
    assert not same(base, discovered(Compared, SETS, [*before, [0]]))  # picks see it
    found = discovered(Compared, SETS, [])
    assert same(found, discovered(Compared, SETS, [[2]] * 5))  # and the union does not


def test_a_twin_that_ranks_by_rows_is_refused() -> None:
    rows = [discovered(Rows, [[0, 1]] * 12, before) for before in ([], [[0]])]
    assert not at_most(delta_between(*rows, Fraction(1)), Fraction(1, 10))
