"""Prepared data answer as their source does: every question, every type of column, also after rows were added."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect._ground.domain import Column, Listed, Size
from dpselect._ground.periods import parse_periods
from dpselect.aggregates.measures import Mean, Sum
from dpselect.aggregates.totals import Totals
from dpselect.aggregates.value_counts import Grid
from dpselect.engines import Engine
from dpselect.engines.duckdb import engine as of_duckdb
from dpselect.engines.port import PerUser
from dpselect.engines.sql import questions
from dpselect.errors import DataError, ParameterError
from dpselect.flat import prepare
from tests.engines import timed_rows, typed_rows
from tests.engines.opened import open_engine
from tests.engines.test_conformance import kept as kept_of
from tests.engines.test_conformance import named, pairs

KEY = bytes(range(16))
GRID = Grid.parse((-10, 30), "0.5")
KEPT = ("whole", "text", "real", "flag", "zoned")
FILTERS = [
    "whole > 8", "text <> 'popular'", "real > 0", "flag", "whole > 8 AND NOT flag", "text IS NULL OR real < 1",
    "zoned >= '2024-01-01 04:00'", "'a' = 'b'", "user <> 'u0'", "user <> 'u0' AND whole > 8",
]  # fmt: skip


def answers(source: object, question: str = "", **asked: Any) -> list[object]:
    """What an engine answers to these columns: to one question, or to all that may be asked."""
    with open_engine(source, **{"user": "user", "key": KEY} | asked) as engine:
        if other := next((name for name in OTHERS if asked.get(name)), None):
            return [OTHERS[other](engine)]
        if asked.get("totals"):
            return [QUESTIONS[name](engine) for name in ("top", "groups")]
        return [QUESTIONS[name](engine) for name in ([question] if question else QUESTIONS)]


def _domain(engine: Engine) -> object:
    names = [label for label, _ in pairs(engine.top(5))]
    return pairs(engine.grouped(Listed((*names, names[0])))) if names and not isinstance(names[0], tuple) else None


def _values(engine: Engine) -> list[object]:
    try:
        engine.check_values()
    except (DataError, ParameterError) as error:
        return [str(error)]
    found = [engine.users_at(GRID, which) for which in (PerUser.MIN, PerUser.MAX, PerUser.MEAN)]
    return [
        *((at.indices.tolist(), at.users.tolist()) for at in found),
        int(engine.users_at(GRID, PerUser.RANDOM).users.sum()),
    ]


QUESTIONS: dict[str, Callable[[Engine], object]] = {
    "top": lambda engine: [pairs(engine.top(most)) for most in (1, 3, 1000)],
    "groups": lambda engine: [pairs(engine.grouped()), pairs(engine.grouped(Size(3000)))],
    "sets": lambda engine: sorted(named(engine.contributions()), key=repr),
    "values": _values,
    "domain": _domain,
}


def _by(engine: Engine) -> object:
    found = engine.top_by(1000, 1000)  # nobody is in so many groups, so nothing is drawn
    at = np.arange(len(found.sizes))
    groups, items = found.groups(at), found.items(np.arange(len(found.counts)))
    names = [one if isinstance(one, tuple) else (one,) for one in groups]
    whose = [names[place] for place in np.repeat(at, found.sizes)]
    assert engine.scores_by(list(zip(whose, items, strict=True)), 1000) == found.counts.tolist()
    return found.sizes.tolist(), found.counts.tolist(), groups, items


def _measures(engine: Engine) -> object:
    names = [label for label, _ in pairs(engine.top(5))]
    return [[(one.total, one.users) for one in row] for row in engine.measured(names)]


OTHERS: dict[str, Callable[[Engine], object]] = {"by": _by, "measures": _measures}


def prepared(table: pa.Table, folder: Path, parts: int = 1, **rules: Any) -> tuple[Path, Path]:
    """The rows as a file, and prepared, in so many parts; the folder of rows holds the same ones."""
    (folder / "rows").mkdir(parents=True)
    for number in range(parts):
        slices = table.take(pa.array(range(number, table.num_rows, parts), pa.int64()))
        named_apart = slices.replace_schema_metadata({"part": str(number)})  # no two parts have the same contents
        pq.write_table(named_apart, folder / "rows" / f"{number}.parquet")
        given = {"add": True} if number else rules
        prepare(folder / "rows" / f"{number}.parquet", to=folder / "rows.prepared", **given)
    return folder / "rows", folder / "rows.prepared"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Rows of every type, and the same prepared for one of them as items, with all others kept or weights."""
    keep = [name for name in typed_rows.VALUES if name not in ("price", "small")]
    rules = {"user": "user", "item": "price", "keep": keep, "weights": "small"}
    return prepared(typed_rows.AWKWARD, tmp_path_factory.mktemp("both"), 3, **rules)


@pytest.mark.parametrize(("where", "question"), list(zip(FILTERS, list(QUESTIONS) * 2, strict=True)))
def test_filters(both, where, question):
    source, ours = both
    asked = {"item": "price", "where": where}
    assert answers(ours, question, **asked) == answers(source, question, **asked)


@pytest.mark.parametrize(
    "asked",
    [
        {"item": ("price", "text")},
        {"item": "price", "max_items_per_user": 1000},
        {"item": "price", "by": ("text",)},
        {"item": "text", "by": ("flag", "day")},
        {"item": "price", "totals": Totals.parse("small", 10)},
        {"item": "text", "totals": Totals.parse("real", 10), "where": "whole > 8"},
        {"item": "text", "measures": (Sum("small", -5, 20), Mean("whole", 0, 10))},
        {"item": "text", "split": "e"},
        {"item": "price", "periods": parse_periods("zoned", "day", "2024-01-01", "Asia/Tokyo")},
        {"item": "price", "periods": parse_periods("day", "year", ["2023..2025"], "UTC")},
    ],
    ids=lambda asked: " ".join(map(str, asked)),
)
def test_other_questions(both, asked):
    source, ours = both
    assert answers(ours, **asked) == answers(source, **asked)


def test_no_rows(tmp_path):
    source, ours = prepared(typed_rows.EMPTY, tmp_path, 1, user="user", item="text", keep="whole", weights="small")
    for more in ({}, {"where": "whole > 8"}, {"totals": Totals.parse("small", 10)}, {"by": ("whole",)}):
        assert answers(ours, item="text", **more) == answers(source, item="text", **more)


def test_rules_refuse_what_was_not_kept(tmp_path):
    given: dict[str, Any] = {"user": "user", "item": "item", "time": "zoned", "period": "month"}
    _, ours = prepared(timed_rows.TIMED, tmp_path, 1, **given)

    def refused(**asked: Any) -> str:
        with (
            pytest.raises(ParameterError) as error,
            open_engine(ours, **{"user": "user", "item": "item", "key": KEY} | asked),
        ):
            pass
        return str(error.value)

    assert "user must be user, for which" in refused(user="item", item="item")
    assert "of which the month was" in refused(where="zoned > '2026-01-01'")
    assert "period must be month or quarter or year" in refused(
        periods=parse_periods("zoned", "day", "2026-10-01", "UTC")
    )
    assert "timezone must be UTC" in refused(periods=parse_periods("zoned", "month", "2026-10", "Europe/Berlin"))
    assert "time must be the column of the prepared periods" in refused(
        periods=parse_periods("day", "month", "2026-10", "UTC")
    )


def test_a_period_is_no_domain(tmp_path):
    rules = {"user": "user", "item": "item", "time": "day", "period": "month"}
    source, ours = prepared(timed_rows.TIMED, tmp_path, 1, **rules)
    with open_engine(source, user="user", item="day", key=KEY) as engine:
        engine.check(Column(source, "day"))
        with pytest.raises(ParameterError, match="domain must use columns that were kept"):
            engine.check(Column(ours, "day"))


def test_a_time_may_be_kept_whole_too(tmp_path):
    rules = {"keep": "zoned", "time": "zoned", "period": "month"}
    source, ours = prepared(timed_rows.TIMED, tmp_path, 2, user="user", item="item", **rules)
    for periods in (
        parse_periods("zoned", "day", "2026-10-25", "Europe/Berlin"),
        parse_periods("zoned", "month", "2026-10", "UTC"),
    ):
        assert answers(ours, item="item", periods=periods) == answers(source, item="item", periods=periods)


def test_columns_of_large_numbers(tmp_path):
    """What Parquet would round is kept as it is."""
    import duckdb

    large = [2**127 - 1 - n % 3 for n in range(6)]
    each = (f"SELECT 'u{n}' AS u, {one}::HUGEINT AS i, {2 * one}::UHUGEINT AS k" for n, one in enumerate(large))
    rows = " UNION ALL ".join(each)
    relation = duckdb.sql(rows)
    prepare(relation, user="u", item="i", keep="k", to=tmp_path / "p.prepared")
    for item in ("i", "k"):
        assert answers(tmp_path / "p.prepared", user="u", item=item) == answers(duckdb.sql(rows), user="u", item=item)


@pytest.mark.parametrize("more", [[], ["a"]], ids=["of everybody", "of one more, who is first"])
def test_every_item_of_a_user_is_as_likely_to_stay(tmp_path, more):
    """Users are hashed by their numbers, which follow each other, and shift where somebody comes before them.

    The key is fixed, so this never fails by chance; its band is 6 standard deviations wide, for the items that users
    keep and for whether two users in a row keep the same one.
    """
    users, items = 4000, 20
    names = [*more, *(f"u{number:05}" for number in range(users))]
    rows = {"user": np.repeat(names, items), "item": np.tile(np.arange(items), len(names))}
    prepare(rows, user="user", item="item", to=tmp_path / "p.prepared")
    with open_engine(tmp_path / "p.prepared", user="user", item="item", key=KEY, max_items_per_user=1) as engine:
        counts = kept_of(engine)
        assert isinstance(engine, of_duckdb.DuckDBEngine)
        kept = engine.pairs()
        kept.weigh(np.ones(1, dtype=np.int64), KEY)
        database = engine._database
        bounded = questions.keep_first(kept._pairs, "u, i", (1, database.secret_key_sql(KEY)), database.dialect)
        of_each = [item for _, item in database.rows(f"SELECT u, i FROM {bounded} ORDER BY u")]
    expected, deviation = len(names) / items, (len(names) / items * (1 - 1 / items)) ** 0.5
    assert all(abs(count - expected) < 6 * deviation for count in counts.values())
    same = sum(one == other for one, other in pairwise(of_each))
    assert abs(same - expected) < 6 * deviation
