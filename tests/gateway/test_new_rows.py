"""Data that change while the gateway runs, and data with periods."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpselect import Dataset
from dpselect.gateway.settings.reading import read
from tests.gateway.served import Served, rows, running, serving, settings_in

PREPARED = "plays.prepared"
MONTHS = ("2026-09", "2026-10")
COUNT = {"verb": "histogram", "data": "plays", "item": "country", "epsilon": 0.5, "max_items_per_user": 1}


def test_rows_that_are_prepared_anew_are_asked_anew(tmp_path: Path) -> None:
    path = settings_in(tmp_path)
    path.write_text(path.read_text().replace('source = "plays.parquet"\nuser = "user"', f'source = "{PREPARED}"', 1))
    _prepare(tmp_path)
    with running(read(path), tmp_path) as served:
        first = _counts(served)
        assert abs(first["Germany"] - 100) < 45
        assert served.ann.post("/v1/price", COUNT).json()["free"] is True
        more = rows()
        twice = {name: [*column, *column] for name, column in more.items()}
        twice["user"] = [*more["user"], *(user + 1000 for user in more["user"])]
        pq.write_table(pa.table(twice), tmp_path / "plays.parquet")
        _prepare(tmp_path)
        served.until(lambda: served.ann.post("/v1/price", COUNT).json()["free"] is False)
        assert abs(_counts(served)["Germany"] - 200) < 45
        by = served.ann.ask({"verb": "top_k", "data": "plays", "k": 1, "epsilon": 0.5, "by": ["country"],
                             "where": "country = 'Germany'", "by_weight": "minutes"})  # fmt: skip
        assert by["state"] == "answered"


def test_each_period_has_a_budget_of_its_own(tmp_path: Path) -> None:
    found = rows()
    found["day"] = [datetime.date(2026, 9 + user % 2, 1 + user % 28) for user in found["user"]]
    pq.write_table(pa.table(found), tmp_path / "plays.parquet")
    with serving(tmp_path, data='time = "day"\nperiod = "month"\nsince = "2026-08"') as served:
        described = next(one for one in served.ann.get("/v1/data").json()["data"] if one["name"] == "plays")
        assert described["periods"][-1] == "2026-08"
        assert "month" in described["unit"]
        told = served.ann.post("/v1/questions", COUNT)
        assert (told.status_code, told.json()["parameter"]) == (422, "during")
        one = served.ann.ask({**COUNT, "during": "2026-09"})
        assert one["state"] == "answered", one
        price = served.ann.post("/v1/price", {**COUNT, "during": "2026-10"}).json()
        assert price["left"] == 1
        assert served.ann.post("/v1/price", {**COUNT, "during": ["2026-09"]}).json()["free"] is True
        both = served.ann.ask({**COUNT, "epsilon": "1/4", "during": "2026-09..2026-10"})
        assert both["state"] == "answered"
        _said_before(served, {**COUNT, "epsilon": "1/4", "during": "2026-09..2026-10"}, both)
        left = {row["period"]: row["left"] for row in served.ann.get("/v1/budget").json()["budgets"]}
        assert left["2026-09"] < left["2026-10"] < 1
        _compare(served)


def _compare(served: Served) -> None:
    """What rose most from September to October is priced by what is left of September, and paid in both."""
    question = {"verb": "top_k", "data": "plays", "k": 2, "epsilon": "1/10", "during": "2026-10"}
    alone, compared = question, {**question, "compared_with": "2026-09"}
    least = {name: served.ann.post("/v1/price", {**question, "during": name}).json()["left"] for name in MONTHS}
    assert served.ann.post("/v1/price", alone).json()["left"] == least["2026-10"]
    assert served.ann.post("/v1/price", compared).json()["left"] == least["2026-09"] < least["2026-10"]
    told = served.ann.post("/v1/plan", compared).json()
    assert {row["items"] for row in told["rows"]} == {None}
    job = served.ann.ask(compared)
    assert job["state"] == "answered", job
    release = served.ann.get(job["answer"]).json()
    assert release["privacy"]["parameters"]["compared_with"] == "2026-09"
    after = {row["period"]: row["left"] for row in served.ann.get("/v1/budget").json()["budgets"]}
    assert all(after[name] < least[name] for name in MONTHS)
    assert served.ann.post("/v1/price", {**compared, "compared_with": ["2026-09"]}).json()["free"] is True
    assert served.ann.post("/v1/price", alone).json()["free"] is False
    for wrong in ("2026-10", "2026-08..2026-09", "soon", ["2026-09"] * 501, {}):
        told = served.ann.post("/v1/price", {**question, "compared_with": wrong})
        assert told.status_code == 422
        assert told.json()["parameter"] == "compared_with"


def test_the_price_of_prepared_rows_is_about_those_that_were_kept(tmp_path: Path) -> None:
    path = settings_in(tmp_path)
    path.write_text(path.read_text().replace('source = "plays.parquet"\nuser = "user"', f'source = "{PREPARED}"', 1))
    _prepare(tmp_path, max_rows_per_user=1)
    with running(read(path), tmp_path) as served:
        _said_before(served, COUNT, served.ann.ask(COUNT))


def _said_before(served: Served, question: dict[str, Any], asked: dict[str, Any]) -> None:
    """How good an answer will be is said with its price as with the answer: of counted users, where rows are left."""
    release = served.ann.get(asked["answer"]).json()
    said = served.ann.post("/v1/price", question).json()["accuracy"]
    assert said == release["accuracy"]["statement"]
    assert "counted users" in said[0]
    assert {"max_rows_per_user", "once_in_each"} & set(release["count_of"])


def _counts(served: Served) -> dict[str, int]:
    release = served.ann.get(served.ann.ask(COUNT)["answer"]).json()
    return {row["item"]: row["count"] for row in release["items"]}


def _prepare(folder: Path, **bound: int) -> None:
    """As the owner's clock does it, while the gateway runs."""
    rows = Dataset(str(folder / "plays.parquet"), user="user", item="artist")
    rows.prepare(folder / PREPARED, keep="country", weights="minutes", **bound)  # type: ignore[arg-type]
