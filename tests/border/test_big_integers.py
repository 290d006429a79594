"""An integer beyond 2^53 - 1 is text in JSON: a reader whose numbers are floats would take it for another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.gateway.settings.reading import read_text
from dpselect.gateway.settings.tokens import digest
from dpselect.release import formatting, typed
from tests.gateway.served import TOKENS, running

SAFE = 2**53 - 1
BIG = [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**53]
IDS = BIG[0], BIG[0] + 2
PRICE = {"epsilon": 20, "delta": "1e-6"}
ROWS = {"user": list(range(600)), "item": [*IDS] * 300, "group": [IDS[1]] * 600}


def as_javascript(text: str) -> Any:
    """JSON as its readers in a browser have it."""
    return json.loads(text, parse_int=float)


def whole_numbers(value: Any) -> list[float]:
    """All numbers in a document."""
    if isinstance(value, (dict, list)):
        inner = value.values() if isinstance(value, dict) else value
        return [number for one in inner for number in whole_numbers(one)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("value", [*BIG, SAFE, -SAFE, 0])
def test_an_integer_is_a_number_as_long_as_its_neighbours_are_others(value: int) -> None:
    is_text = abs(value) > SAFE
    assert formatting.plain(value) == (str(value) if is_text else value)
    assert typed.label_to_json(value) == (["int", str(value)] if is_text else value)
    assert typed.plain_is_exact(value) is not is_text
    for one in (value, (value, "x"), {"a": value}):
        assert typed.value_from_json(json.loads(json.dumps(typed.value_to_json(one)))) == one


@pytest.mark.parametrize("text", ["1_0", " 5", "0x5", "5.0", "", "٣", "1e3", "9" * 5000])
def test_other_spellings_are_no_integers(text: str) -> None:
    with pytest.raises(ValueError, match=r"no integer|digits"):
        typed.value_from_json(["int", text])


@pytest.mark.parametrize("more", [{}, {"by": "group"}, {"domain": [*IDS]}], ids=str)
def test_a_release_has_them_as_text_and_is_read_back(more: dict[str, Any]) -> None:
    release = dps.Dataset(ROWS, user="user", item="item").top_k(2, counts=True, **PRICE, **more)
    text = release.to_json()
    rows = as_javascript(text)["items"]
    assert sorted(int(row["item"]) for row in rows) == [*IDS]
    assert {tuple(row["exact"]) for row in rows} == {("int", str(one)) for one in IDS}
    assert max(map(abs, whole_numbers(as_javascript(text)))) <= SAFE
    back = dps.Release.from_json(text)
    assert sorted(back.labels) == [*IDS]
    assert back.to_json() == text
    assert back.groups == release.groups
    assert dps.check(dps.Release.from_json(text)).verdict == "follows"


def test_a_span_of_them_is_asked_and_checked() -> None:
    rows = {"user": list(range(600)), "item": [2**53 + 1] * 600}
    release = dps.Dataset(rows, user="user", item="item").choose(range(2**53, 2**53 + 3), epsilon=20)
    text = release.to_json()
    assert release.labels == [2**53 + 1]
    assert max(map(abs, whole_numbers(as_javascript(text)))) <= SAFE
    assert dps.check(dps.Release.from_json(text)).verdict == "follows"


SETTINGS = f"""
[server]
ledger = "ledger.sqlite"
folder = "state"
[data.plays]
source = "plays.parquet"
user = "user"
items = ["item"]
promise = {{ epsilon = 100, delta = "1e-3" }}
[data.plays.domains]
item = [{IDS[0]}, {IDS[1]}]
[data.plays.filters]
group = [{IDS[1]}]
[people.ann]
role = "analyst"
quota = {{ epsilon = 100, delta = "1e-3" }}
token = "sha256:{digest(TOKENS["ann"])}"
"""


def test_over_http_they_are_text_there_and_back(tmp_path: Path) -> None:
    pq.write_table(pa.table(ROWS), tmp_path / "plays.parquet")
    with running(read_text(SETTINGS, tmp_path), tmp_path) as served:
        described = as_javascript(served.ann.get("/v1/data").text)["data"][0]
        assert described["domains"]["item"] == [["int", str(one)] for one in IDS]
        assert described["filters"]["group"] == [["int", str(IDS[1])]]
        body = {"verb": "histogram", "epsilon": 20, "max_items_per_user": 1, "where": f"group = {IDS[1]}"}
        for domain in (None, described["domains"]["item"]):
            job = served.ann.ask(body if domain is None else {**body, "domain": domain})
            assert job["question"]["domain"] == [["int", str(one)] for one in IDS]
            found = as_javascript(served.ann.get(job["answer"]).text)
            counts = {int(row["item"]): row["count"] for row in found["items"]}
            assert all(abs(counts[one] - 300) < 15 for one in IDS)
        span = {"start": ["int", str(2**53)], "stop": ["int", str(2**53 + 4)]}
        job = served.ann.ask({"verb": "choose", "epsilon": 20, "domain": span})
        assert job["state"] == "answered", job
        assert job["question"]["domain"] == span
        too_many = {"start": ["int", str(2**53)], "stop": ["int", str(2**53 + 10**7)]}
        refused = served.ann.post("/v1/questions", {"verb": "choose", "epsilon": 20, "domain": too_many})
        assert (refused.status_code, refused.json()["parameter"]) == (422, "domain")
        page = served.http.get("/ask", headers={**served.headers("ann"), "Accept": "text/html"})
        assert page.status_code == 200
