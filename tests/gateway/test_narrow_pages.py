"""What a phone shows: rows of wide tables as lines with the heads of their columns, and forecasts that prices have."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from dpselect.gateway.forecasts import NO_FORECAST
from tests.gateway.served import Served

NAMES = ("question", "answer", "analyst", "period", "when")
MEDIAN = {"verb": "quantile", "data": "plays", "q": "1/2", "share": "2%"}


class Tables(HTMLParser):
    """The heads of each table whose rows may be stacked, and the names that its cells have."""

    def __init__(self) -> None:
        super().__init__()
        self.heads: list[list[str]] = []
        self.rows: list[list[str | None]] = []
        self.stacked: list[tuple[list[str], list[list[str | None]]]] = []
        self._in_head = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "table" and "stack" in (given.get("class") or "").split():
            self.stacked.append(([], []))
        elif tag == "tr" and self.stacked:
            self.stacked[-1][1].append([])
        elif tag in ("th", "td") and self.stacked:
            self._in_head = given.get("scope") == "col"
            if not self._in_head:
                self.stacked[-1][1][-1].append(given.get("data-head"))

    def handle_data(self, data: str) -> None:
        if self._in_head and self.stacked and data.strip():
            self.stacked[-1][0].append(data.strip())


def page(served: Served, name: str, path: str) -> str:
    reply = served.http.get(path, headers={**served.headers(name), "Accept": "text/html"})
    assert reply.status_code == 200
    text: str = reply.text
    return text


@pytest.mark.parametrize(("name", "path"), [("ann", "/history"), ("cleo", "/record/plays"), ("olga", "/owner")])
def test_every_cell_of_a_stacked_row_has_the_head_of_its_column(
    roomy: Served, asked: dict[str, str], name: str, path: str
) -> None:
    assert asked["answer"]
    found = Tables()
    found.feed(page(roomy, name, path))
    assert found.stacked
    for heads, rows in found.stacked:
        shown = [row for row in rows if row]
        assert shown
        for row in shown:  # a row begins with its name, where it has one; a number alone would have no head
            assert row == [None if heads[0] in NAMES else heads[0], *heads[1:]]


def test_a_median_has_the_accuracy_that_its_price_has(roomy: Served) -> None:
    price = roomy.ann.post("/v1/price", MEDIAN).json()
    assert price["accuracy"]
    plan = roomy.ann.post("/v1/plan", MEDIAN).json()
    assert plan["sentences"] == price["accuracy"]
    text = re.sub(r"\s+", " ", page(roomy, "ann", "/ask?data=plays&verb=quantile&q=1/2"))
    assert NO_FORECAST not in text
    assert "users too many will lie below the value, or above" in text


@pytest.mark.parametrize("more", [{"by": ["country"]}, {"by_weight": "minutes"}])
def test_what_is_not_simulated_has_the_accuracy_that_its_price_has(roomy: Served, more: dict[str, object]) -> None:
    body = {"verb": "top_k", "data": "plays", "k": 3, "share": "2%", "counts": True, **more}
    price = roomy.ann.post("/v1/price", body).json()
    said = roomy.ann.post("/v1/plan", body).json()["sentences"]
    assert said == (price["accuracy"] or [NO_FORECAST])
