"""A user in one period is the unit: exact laws over all neighbours that one pair can make, and twins that are refused.

The rows go through the real engine, the counts through the real question. A neighbour has all rows of one user in one
month more. A twin that bounds a user over both months, or gives them one value of both, moves two counts where one
pair moves: its loss has twice the range.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pytest

from dpselect._ground.periods import Periods, periods_of
from dpselect.engines.port import Engine, PerUser
from dpselect.engines.registry import open_engine
from dpselect.engines.row_periods import RowPeriods
from dpselect.queries.choose import ChoosePlan
from dpselect.queries.quantile import QuantilePlan
from dpselect.testing import Law, law
from tests.by_names import plan_of
from tests.engines.test_conformance import pairs
from tests.exact.laws import at_most, log_range, max_log_ratio

EPSILON = Fraction(1)
MONTHS = periods_of("at", "month", ["2026-09..2026-10"], "UTC")
PAIRS = [("a", "2026-09"), ("a", "2026-10"), ("b", "2026-09")]
ITEMS = ("x", "y")
HELD: list[tuple[str, ...]] = [(), ("x",), ("y",), ("x", "y")]
KEY = b"1" * 16
Data = tuple[tuple[str, ...], ...]


def neighbours() -> Iterator[tuple[Data, Data]]:
    """What each pair has, and the same with one more pair; the second user is in one month alone, with y or nothing."""
    for data in product(HELD, HELD, [(), ("y",)]):
        for place, held in enumerate(data):
            for more in (HELD[1:] if place < 2 else [("y",)]) if not held else ():
                yield data, (*data[:place], more, *data[place + 1 :])


def rows_of(data: Data) -> dict[str, list[object]]:
    """The rows, beside some that are in neither month."""
    rows: list[tuple[object, object, object]] = [("a", "x", "2026-11-01"), ("c", "y", None), ("c", "x", "soon")]
    for (user, month), held in zip(PAIRS, data, strict=True):
        rows += [(user, item, f"{month}-05") for item in held]
    return {name: list(column) for name, column in zip(("user", "item", "at"), zip(*rows, strict=True), strict=True)}


def numbers_of(data: Data) -> dict[str, list[object]]:
    """The same with numbers, x is 0 and y is 2, and six others who all have 1."""
    rows = rows_of(data)
    items: list[object] = [{"x": 0, "y": 2}[str(item)] for item in rows["item"]]
    crowd: list[object] = [f"c{n}" for n in range(6)]
    return {"user": rows["user"] + crowd, "item": items + [1] * 6, "at": rows["at"] + ["2026-09-05"] * 6}


class Laws:
    """The law of a question's answer for rows. The key is known, so nothing but the draws is random."""

    def __init__(self, query: ChoosePlan | QuantilePlan, most: int | None = None) -> None:
        self.query, self.most = query, most
        self._known: dict[tuple[object, ...], Law] = {}

    def of(self, rows: dict[str, list[object]], periods: Periods = MONTHS) -> Law:
        """The engine counts, the question answers; equal counts have one law."""
        with open_engine(
            rows, user="user", item="item", periods=periods, max_items_per_user=self.most, key=KEY
        ) as engine:
            found, known = self._counted(engine)
            if known not in self._known:
                self._known[known] = law(lambda draws: tuple(self.query.select(found, draws).labels))
            return self._known[known]

    def _counted(self, engine: Engine) -> tuple[Any, tuple[object, ...]]:
        if isinstance(self.query, QuantilePlan):
            at = engine.users_at(self.query.mechanism.grid, PerUser(str(self.query.per_user)))
            return at, (*at.places.tolist(), *at.users.tolist())
        groups = engine.grouped(self.query.domain)  # type: ignore[arg-type]
        return groups, tuple(pairs(groups))


def losses(laws: Laws) -> tuple[bool, bool]:
    """Over all neighbours: is the loss within epsilon, and is its range?"""
    held = numbers_of if isinstance(laws.query, QuantilePlan) else rows_of
    found = cache(lambda data: laws.of(held(data)))
    both = [(found(one), found(other)) for one, other in neighbours()]
    within = all(
        at_most(max_log_ratio(*pair), EPSILON) for left, right in both for pair in ((left, right), (right, left))
    )
    return within, all(at_most(log_range(*pair), EPSILON) for pair in both)


def test_a_choice() -> None:
    query = plan_of("choose", domain=ITEMS, epsilon=EPSILON)
    assert losses(Laws(query)) == (True, True)


def test_a_bounded_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    query = plan_of("choose", domain=ITEMS, epsilon=EPSILON, max_items_per_user=1)
    assert losses(Laws(query, most=1)) == (True, True)
    monkeypatch.setattr(RowPeriods, "several", False)  # the twin: a user keeps one item of both months
    assert losses(Laws(query, most=1))[1] is False


@pytest.mark.parametrize("per_user", [PerUser.MAX, PerUser.RANDOM], ids=str)
def test_a_median(per_user: PerUser, monkeypatch: pytest.MonkeyPatch) -> None:
    query = plan_of("quantile", bounds=(0, 2), step=1, epsilon=EPSILON, per_user=per_user)
    assert losses(Laws(query)) == (True, True)
    monkeypatch.setattr(RowPeriods, "several", False)  # the twin: one value of both months
    assert losses(Laws(query))[1] is False


def test_a_period_that_other_rows_decide_is_refused() -> None:
    """The twin: the first month that anybody has is the period. One pair moves all others out of it."""
    rows: dict[str, list[object]] = {
        "user": ["a", "b", "c"], "item": ["x", "x", "y"], "at": ["2026-10-05", "2026-10-06", "2026-09-07"]
    }  # fmt: skip
    fewer = {name: column[:2] for name, column in rows.items()}
    laws = Laws(plan_of("choose", domain=ITEMS, epsilon=EPSILON))

    def first(held: dict[str, list[object]]) -> Periods:
        return periods_of("at", "month", min(map(str, held["at"]))[:7], "UTC")

    assert at_most(max_log_ratio(laws.of(rows), laws.of(fewer)), EPSILON)
    left, right = laws.of(rows, first(rows)), laws.of(fewer, first(fewer))
    assert not at_most(max_log_ratio(left, right), EPSILON)
