"""Columns of filters through a gateway: each has the one spelling that the owner gave it, in the source and in keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpselect import filter_texts as filters
from dpselect.engines.filters.grammar import parse
from dpselect.engines.filters.tree import columns_in
from dpselect.errors import ParameterError
from dpselect.gateway.settings.reading import read
from dpselect.gateway.settings.tokens import digest
from tests.gateway.served import TOKENS, Client, Served, running

SETTINGS = """
[server]
ledger = "ledger.sqlite"
folder = "state"

[data.plays]
source = "plays.jsonl"
user = "user"
items = ["item"]
promise = {{ epsilon = 40, delta = "1e-5" }}
sizes = {{ users = 300, items = 10 }}

[data.plays.filters]
country = "any"

[data.both]
source = "plays.jsonl"
user = "user"
items = ["item"]
promise = {{ epsilon = 40, delta = "1e-5" }}
sizes = {{ users = 300, items = 10 }}

[data.both.filters]
country = "any"
Country = ["SECRET 1"]

[people.ann]
role = "analyst"
quota = {{ epsilon = 20, delta = "5e-6" }}
token = "sha256:{ann}"

[people.bob]
role = "analyst"
quota = {{ epsilon = 20, delta = "5e-6" }}
token = "sha256:{bob}"
"""


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[Served]:
    """Lines with a key that is open to filters, and one in other letter case that is not."""
    rows = ({"user": user, "item": "a", "country": "x", "Country": f"SECRET {user % 2}"} for user in range(300))
    (tmp_path / "plays.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    path = tmp_path / "gateway.toml"
    path.write_text(SETTINGS.format(**{name: digest(TOKENS[name]) for name in ("ann", "bob")}))
    with running(read(path), tmp_path, path) as served:
        yield served


def asked(who: Client, where: str, data: str = "plays") -> tuple[int, bool]:
    """The count that is answered, and whether it was stored before."""
    body = {"data": data, "verb": "histogram", "domain": ["a"], "epsilon": 5, "where": where}
    free = who.post("/v1/price", body).json()["free"]
    job = who.ask(body)
    assert job["state"] == "answered", job
    return who.get(job["answer"]).json()["items"][0]["count"], free


def test_nobody_plants_an_answer_by_letter_case(lines):
    """Whoever is first, in whichever case, is answered about the column that the owner opened, and the others too."""
    first, free = asked(lines.ann, "COUNTRY = 'x'")
    assert not free
    assert first > 250
    for who, name in ((lines.bob, "country"), (lines.ann, '"Country"'), (lines.bob, "Country")):
        assert asked(who, f"{name} = 'x'") == (first, True)


def test_nobody_reads_a_column_that_was_not_opened(lines):
    """300 users have the other key, 150 of them this value."""
    count, _ = asked(lines.ann, "Country = 'SECRET 1'")
    assert count < 50
    count, _ = asked(lines.ann, "Country IS NOT NULL AND country <> 'x'")
    assert count < 50


def test_two_open_columns_are_two(lines):
    """Each has its own answer and its own list; another spelling is refused with both."""
    small, free = asked(lines.ann, "country = 'SECRET 1'", "both")
    assert small < 50
    big, free = asked(lines.ann, "Country = 'SECRET 1'", "both")
    assert not free
    assert 100 < big < 200
    body = {"data": "both", "verb": "histogram", "domain": ["a"], "epsilon": 5}
    for where, said in (
        ("Country = 'SECRET 0'", "compare Country with listed values"),
        ("COUNTRY = 'SECRET 0'", "got 'COUNTRY', which may be 'country' or 'Country'"),
    ):
        sent = lines.ann.post("/v1/questions", {**body, "where": where})
        assert sent.status_code == 422
        assert said in sent.json()["detail"]


LISTS = {"year": None, "Größe": None, "date": None, 'a "b"': None, "T": ("x",), "distinct": None}


@pytest.mark.parametrize(
    ("where", "resolved"),
    [
        ("year = 1", "year = 1"),
        (
            "YEAR(YEAR::DATE) = 2024 AND extract(Year FROM YEAR::DATE) > 1",
            "YEAR(year::DATE) = 2024 AND extract(Year FROM year::DATE) > 1",
        ),
        ("größe = 1 AND Größe = 2", '"Größe" = 1 AND Größe = 2'),
        ("\"DATE\" = '2024' AND Date = 1", '"date" = \'2024\' AND "date" = 1'),
        ('"A ""B""" = \'"A ""B"""\'', '"a ""b""" = \'"A ""B"""\''),
        ("CASE YEAR WHEN 1 THEN Year = 2 ELSE year = 3 END", "CASE year WHEN 1 THEN year = 2 ELSE year = 3 END"),
        ("t = 'x' AND NOT t IN ('x')", "\"T\" = 'x' AND NOT \"T\" IN ('x')"),
        ("lower(\"DISTINCT\") = 'a'", "lower(\"distinct\") = 'a'"),
        ("Year BETWEEN YEAR AND year + 1 AND YEAR IS TRUE", "year BETWEEN year AND year + 1 AND year IS TRUE"),
    ],
)
def test_a_filter_has_the_spelling_of_the_owner(where, resolved):
    """Names of columns change, and no text, function or part of a date that is written like one."""
    assert filters.resolve(where, LISTS) == resolved
    assert filters.resolve(resolved, LISTS) == resolved
    assert set(columns_in(parse(resolved))) <= set(LISTS)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("GRÖSSE = 1 OR größe = 1", "use columns that the owner opened to filters, got 'GRÖSSE'"),
        ("CASE year WHEN 1 THEN t = 'x' END", "compare T with the values that the owner listed"),
        ("t = 'y'", "compare T with listed values"),
    ],
)
def test_what_is_refused_in_any_spelling(where, message):
    with pytest.raises(ParameterError, match=message):
        filters.resolve(where, LISTS)
