"""What somebody without a quota is told, what an owner may price, and what one person may leave on the disk."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from dpselect.gateway import admission as asking
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.reading import read_text
from tests.gateway.served import ADDRESS, Served, rows, serving, settings_in

TOP: dict[str, Any] = {"verb": "top_k", "data": "plays", "k": 3, "epsilon": "1/4"}


def test_who_was_granted_nothing_is_told_so_everywhere(tmp_path: Path) -> None:
    text = settings_in(tmp_path).read_text().replace('quota = { epsilon = 1, delta = "1e-6" }', "")
    gateway = Gateway(read_text(text, tmp_path))
    eve = gateway.people.find("eve")
    assert eve is not None
    for method in (gateway.price, gateway.forecast, gateway.ask):
        for body in ({"verb": "top_k", "k": 3, "epsilon": 1}, {"verb": "top_k", "k": 3, "share": "1%"}):
            with pytest.raises(Refused, match="You have no budget"):
                method(eve, body)


def test_an_owner_prices_by_the_whole_promise(served: Served) -> None:
    mine, whole = (one.post("/v1/price", TOP).json() for one in (served.ann, served.olga))
    assert 0 < whole["share"] < mine["share"]
    told = served.olga.post("/v1/price", {"verb": "top_k", "data": "plays", "share": "1%"})
    assert told.status_code == 200, told.text
    assert told.json()["share"] <= 0.01


def test_one_person_leaves_only_so_much_on_the_disk(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.bob.ask({**TOP, "k": 11})
    for name, most in (("A_DAY", 1), ("CHARACTERS_A_DAY", 10)):
        with monkeypatch.context() as context:
            context.setattr(asking, name, most)
            told = served.bob.post("/v1/questions", {**TOP, "k": 12})
            assert (told.status_code, told.json()["type"]) == (429, "/problems/too-many")
            assert served.bob.ask({**TOP, "k": 11})["state"] == "answered"  # nothing new
    assert served.bob.ask({**TOP, "k": 12})["state"] == "answered"


def test_a_header_that_comes_twice_names_nobody(tmp_path: Path) -> None:
    with serving(tmp_path, server='proxy = { addresses = ["10.1.0.0/16"], header = "X-Who" }') as served:
        http = TestClient(served.http.app, base_url=ADDRESS, client=("10.1.2.3", 1))
        told = http.get("/v1/me", headers=[("X-Who", "ann@example.org"), ("X-Who", "olga@example.org")])
        assert told.status_code == 401


def test_very_many_periods_are_refused_at_once(tmp_path: Path) -> None:
    found = rows()
    found["day"] = [datetime.date(2026, 9, 1)] * len(found["user"])
    pq.write_table(pa.table(found), tmp_path / "plays.parquet")
    with serving(tmp_path, data='time = "day"\nperiod = "month"\nsince = "2026-08"') as served:
        told = served.ann.post("/v1/price", {**TOP, "during": ["2026-09"] * 501})
        assert (told.status_code, told.json()["parameter"]) == (422, "during")
