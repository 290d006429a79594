"""Prepared data of every type in every role, and of every sort of period, answer as their source does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import cycle
from pathlib import Path

import pytest

from dpselect._ground.periods import parse_periods
from dpselect.engines.sources.scans.declarations import parse_type
from tests.covering import covering
from tests.engines import timed_rows, typed_rows
from tests.slow.engines.test_prepared import QUESTIONS, answers, both, prepared

__all__ = ["both"]

Prepared = Callable[[str, str], tuple[Path, Path]]


@pytest.fixture(scope="module")
def prepared_as(tmp_path_factory: pytest.TempPathFactory, both: tuple[Path, Path]) -> Prepared:
    """Rows of every type, and the same prepared once: with a column as items, as users, or kept beside the items."""
    folder = tmp_path_factory.mktemp("prepared")

    @cache
    def made(role: str, name: str) -> tuple[Path, Path]:
        rules = {"user": "user", "item": name, "keep": [] if name == "flag" else "flag"}
        rules = rules if role == "item" else {"user": name, "item": "user"}
        return prepared(typed_rows.AWKWARD, folder / f"{role} {name}", 2, **rules)

    return lambda role, name: both if role == "kept" else made(role, name)


@pytest.mark.parametrize(
    ("name", "role", "question", "where"),
    covering(list(typed_rows.VALUES), ("kept", "item", "user"), list(QUESTIONS), (None, "flag")),
)
def test_columns_of_every_type(prepared_as, name, role, question, where):
    source, ours = prepared_as(role, name)
    columns = {"user": name, "item": "user"} if role == "user" else {"item": name, "where": where}
    assert answers(ours, question, **columns) == answers(source, question, **columns)


SORTS = {"day": "2026-10-25", "week": "2026-W40..2026-W53", "month": "2026-10", "quarter": "2026-Q2", "year": "2026"}
COARSER = {
    "day": tuple(SORTS),
    "week": ("week",),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
}


@pytest.mark.parametrize(
    ("column", "sort", "zone"),
    [
        ("naive", "day", "UTC"),
        ("zoned", "day", "America/Santiago"),
        ("zoned", "month", "Europe/Berlin"),
        ("day", "week", "UTC"),
        ("written", "quarter", "Europe/Berlin"),
        ("written", "year", "UTC"),
    ],
)
def test_periods(tmp_path, column, sort, zone):
    declared = {"types": {column: "TIMESTAMP"}} if column == "written" else {}
    rules = {"user": "user", "item": "item", "time": column, "period": sort, "timezone": zone}
    source, ours = prepared(timed_rows.TIMED, tmp_path, 2, **rules, **declared)
    read = {"types": {column: parse_type(column, "TIMESTAMP")}} if column == "written" else {}
    assert answers(ours, item="item") == answers(source, item="item")  # over all periods a user counts once
    spans = [
        (coarser, during)
        for coarser in COARSER[sort]
        for during in (SORTS[coarser], ["2024" + SORTS[coarser][4:].partition("..")[0], SORTS[coarser]])
    ]
    for (coarser, during), question in zip(spans, cycle(QUESTIONS)):
        asked = {"item": "item", "periods": parse_periods(column, coarser, during, zone)}
        assert answers(ours, question, **asked) == answers(source, question, **asked, **read), (
            coarser,
            during,
            question,
        )
