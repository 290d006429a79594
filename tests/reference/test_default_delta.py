"""A delta that is left out is 1e-6 where a question needs one, and 0 elsewhere: in Python and in the command alike."""

from __future__ import annotations

import json

import pytest

import dpselect as dps
from tests.by_names import by_names

ROWS = {"user": list(range(400)), "item": ["tea", "milk"] * 200}
NEEDED = ("top_k", "discover", "union")


def promise(verb: str, **delta: object) -> dict[str, object]:
    rows = dps.Dataset(ROWS, user="user", item="item", max_items_per_user=1)
    values = dps.Dataset({"user": ROWS["user"], "item": list(range(400))}, user="user", item="item")
    ask = {
        "top_k": lambda: by_names(rows).top_k(2, epsilon=1, **delta),
        "discover": lambda: by_names(rows).top_k(2, epsilon=1, method="discover", **delta),
        "union": lambda: by_names(rows).union(epsilon=1, **delta),
        "domain": lambda: by_names(rows).top_k(1, epsilon=1, domain=["tea", "milk"], **delta),
        "quantile": lambda: by_names(values).quantile(0.5, bounds=(0, 400), epsilon=1, **delta),
    }
    return json.loads(ask[verb]().to_json())["privacy"]


@pytest.mark.parametrize("verb", NEEDED)
def test_one_in_a_million_where_it_is_needed(verb):
    assert promise(verb) == promise(verb, delta="1e-6")
    assert promise(verb) != promise(verb, delta="1e-7")


@pytest.mark.parametrize("verb", ["domain", "quantile"])
def test_none_where_it_is_not(verb):
    assert promise(verb) == promise(verb, delta=0)
    assert promise(verb)["delta"] == 0


@pytest.mark.parametrize("known", [False, True])
def test_a_forecast_too(known):
    question, people = dps.TopK(2, domain=20 if known else None), dps.Population(500, items=20)
    given = "1e-6" if not known else 0
    told = [json.loads(question.forecast(people, epsilon=1, **more).to_json()) for more in ({}, {"delta": given})]
    assert told[0]["assumed"] == told[1]["assumed"]
