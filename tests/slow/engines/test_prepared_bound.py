"""Rows of a user, bounded when data are prepared: how many stay, which, by what law, and over additions."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flint import arb, ctx

from dpselect.command.main import main
from dpselect.engines.prepared import preparing
from dpselect.engines.prepared.file import read_state
from dpselect.errors import ParameterError
from dpselect.flat import prepare
from dpselect.inspection.prepared import prepared_findings
from dpselect.testing import ExactDraws, Law, law
from tests.engines.opened import DuckDBEngine
from tests.exact.laws import BITS, same

MOST = 3
Rows = list[tuple[str, int, int]]  # of a user, an item and a month
HEAVY: Rows = [("heavy", item, 1) for item in range(10)]
REPEATED: Rows = [("again", 50, 1)] * 40 + [("again", 51, 1)]
LIGHT: Rows = [(f"light {number}", item, 1) for number in range(5) for item in (60, 61)]
ALL = HEAVY + REPEATED + LIGHT


def prepared(rows: Rows, to: Path, **more: Any) -> Path:
    columns = {"user": [r[0] for r in rows], "item": [r[1] for r in rows], "minutes": [1.0] * len(rows)}
    columns |= {"day": [datetime.date(2026, r[2], 5) for r in rows]}
    rules = {"user": "user", "item": "item", "weights": "minutes", "max_rows_per_user": MOST}
    prepare(pa.table(columns), to=to, **({"add": True} if more.get("add") else rules | more))
    return to


def rows_of(path: Path) -> Counter[tuple[str, int]]:
    """How often each row of a user is there, of everybody."""
    with DuckDBEngine(path, user="user", item=("user", "item"), key=b"key") as engine:
        scan, workspace = engine._database._scan.with_duplicates(), engine._database.workspace
        with scan.rows(workspace, ["user", "item"], lambda rows: f"SELECT * FROM {rows}") as source:
            found = workspace.fetch(f'SELECT "user", item, count(*) FROM {source} GROUP BY ALL')
    return Counter({(user, item): int(n) for user, item, n in found})


def counts(path: Path) -> dict[object, int]:
    with DuckDBEngine(path, user="user", item="item", key=b"key") as engine:
        top = engine.top(100)
        return {top.label(group, 0): int(count) for group, count in enumerate(top.counts)}


def by_user(rows: Counter[tuple[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (user, _), n in rows.items():
        found[user] += n
    return found


def test_a_user_keeps_so_many_rows_and_distinct_ones_come_first(tmp_path):
    found = rows_of(prepared(ALL, tmp_path / "data.prepared"))
    assert by_user(found) == {"heavy": MOST, "again": MOST} | {f"light {number}": 2 for number in range(5)}
    assert {key: n for key, n in found.items() if key[0] == "again"} == {("again", 50): 2, ("again", 51): 1}
    assert {n for (user, _), n in found.items() if user == "heavy"} == {1}
    users = Counter(item for _, item in found)
    assert counts(tmp_path / "data.prepared") == users
    assert rows_of(prepared(ALL, tmp_path / "all.prepared", max_rows_per_user=None)) == Counter(
        (u, i) for u, i, _ in ALL
    )
    assert rows_of(prepared(ALL, tmp_path / "exact.prepared", max_rows_per_user=41)) == Counter(
        (u, i) for u, i, _ in ALL
    )


def drawn_law(rows: Rows, most: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Law:
    """The law of what a folder holds of these rows, whose users have the same numbers each time."""
    folder.mkdir()
    monkeypatch.setattr(preparing, "distinct", lambda new, _: np.arange(new))

    def run(draws: ExactDraws) -> Hashable:
        monkeypatch.setattr(preparing, "SecureDraws", lambda: draws)
        made = prepared(rows, folder / f"{len(list(folder.iterdir()))}.prepared", max_rows_per_user=most)
        return tuple(sorted(rows_of(made).elements()))

    return law(run)


def test_every_row_is_as_likely_to_stay(tmp_path, monkeypatch):
    found = drawn_law([("a", item, 1) for item in range(3)], 2, tmp_path / "law", monkeypatch)
    with ctx.workprec(BITS):
        pairs = [(("a", 0), ("a", 1)), (("a", 0), ("a", 2)), (("a", 1), ("a", 2))]
        assert same(found, dict.fromkeys(pairs, arb(1) / 3))


def test_one_more_user_leaves_the_law_of_the_others(tmp_path, monkeypatch):
    rows = [("a", 0, 1), ("a", 1, 1)]
    alone = drawn_law(rows, 1, tmp_path / "alone", monkeypatch)
    both = drawn_law([("0", 1, 1), ("0", 7, 1), *rows], 1, tmp_path / "both", monkeypatch)
    others: Law = {}
    with ctx.workprec(BITS):
        for answer, share in both.items():
            others[answer[1:]] = others.get(answer[1:], arb(0)) + share
    assert same(others, alone)


def test_the_first_rows_in_place_of_drawn_ones_would_be_refused(tmp_path, monkeypatch):
    class First:
        def order(self, n: int) -> np.ndarray:
            return np.arange(n)

    monkeypatch.setattr(preparing, "SecureDraws", First)
    kept = {frozenset(rows_of(prepared(HEAVY, tmp_path / f"{number}.prepared"))) for number in range(12)}
    monkeypatch.undo()
    drawn = {frozenset(rows_of(prepared(HEAVY, tmp_path / f"drawn {number}.prepared"))) for number in range(12)}
    assert len(kept) == 1
    assert len(drawn) > 1  # 12 equal draws of 120: once in 10^22


@pytest.mark.parametrize("timed", [False, True], ids=["at once", "by month"])
def test_additions_share_one_bound(tmp_path, timed):
    rules: dict[str, Any] = {"time": "day", "period": "month"} if timed else {}
    path = prepared([*HEAVY[:2], *LIGHT], tmp_path / "data.prepared", **rules)
    before = rows_of(path)
    prepared([*HEAVY[2:], ("light 0", 70, 1), ("heavy", 99, 2)], path, add=True)
    found = rows_of(path)
    assert not before - found
    assert by_user(found)["light 0"] == 3
    in_february = found[("heavy", 99)]
    assert by_user(found)["heavy"] - (in_february if timed else 0) == MOST
    if timed:
        assert in_february == 1
    assert counts(path) == Counter(item for _, item in found)
    prepared([("heavy", 200, 1), ("heavy", 201, 1)], path, add=True)
    assert rows_of(path) == found


def test_the_rule_is_kept_and_shown(tmp_path):
    lines = ["user,item", *(f"{user},{item}" for user, item, _ in HEAVY)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", "utf-8")
    path = prepared(ALL, tmp_path / "data.prepared")
    assert read_state(str(path)).rules.max_rows_per_user == MOST
    assert any("at most 3 rows of a user" in one for one in prepared_findings(str(path)))
    more = pa.table({"user": ["heavy"], "item": [1], "minutes": [1.0], "day": [datetime.date(2026, 1, 5)]})
    with pytest.raises(ParameterError, match="be left out if rows are added, or be 3 as before, got '4'"):
        prepare(more, to=path, add=True, max_rows_per_user=4)
    for wrong in (0, -1, 1.5, True, "many"):
        with pytest.raises(ParameterError, match="max_rows_per_user"):
            prepared(ALL, tmp_path / "wrong.prepared", max_rows_per_user=wrong)
    asked = ["prepare", str(tmp_path / "rows.csv"), "--user", "user", "--item", "item", "--max-rows-per-user", "2"]
    assert main([*asked, "-o", str(tmp_path / "made.prepared")]) == 0
    assert sum(rows_of(tmp_path / "made.prepared").values()) == 2
