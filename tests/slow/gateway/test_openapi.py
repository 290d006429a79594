"""Requests that the description allows, and such as it does not, sent to a real gateway: every answer is described.

The cases are the same in every run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from dpselect.gateway.web.openapi import OPERATIONS, document, ref
from dpselect.gateway.web.routes import Route
from tests.gateway.described import closed
from tests.gateway.served import ADDRESS, Served

CASES = 5
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
WHO = [None, "wrong", "olga", "ann", "vera", "cleo"]
# What a fuzzer would hardly guess: names that are there, and conditions that can be read.
NAMES: dict[str, list[Any]] = {
    "data": ["plays", "visits", "others"],
    "analyst": ["ann", "olga", "zoe"],
    "item": ["artist", "minutes", ["artist", "country"], "user"],
    "where": ["country = 'Brazil'", "minutes >= 10 AND minutes < 80", "country = 'Japan'", "user = 'u1'", "("],
    "during": ["2026-10", ["2026-10", "2026-11"], "2019-01", "2026-13"],
    "by": ["country", ["country"], "day"],
    "by_weight": ["minutes", "day"],
    "epsilon": ["1/10", 0.5, 2, "1e-80", 0.001, 500],
}


def described(*, names: bool) -> dict[str, Any]:
    """The document with objects closed, so that a field that nobody described is found; who signs in is no guess.

    With `names`, bodies are drawn from schemas of their own, in which names are those of NAMES.
    """
    found = closed(document())
    del found["security"], found["components"]["securitySchemes"]
    if not names:
        return dict(found)
    schemas = found["components"]["schemas"]
    bodies = {name for name in schemas if name == "Grant" or name.endswith("Question")}
    drawn = json.loads(re.sub(f'schemas/({"|".join(bodies)})"', r'schemas/Drawn\1"', json.dumps(schemas)))
    for name in bodies:
        properties = drawn[name].get("properties", {})
        properties |= {one: {"enum": NAMES[one]} for one in NAMES.keys() & properties.keys()}
        if "epsilon" in properties:
            drawn[name]["required"] = [*{*drawn[name]["required"], "data", "epsilon"}]
        schemas[f"Drawn{name}"] = drawn[name]
    for one in OPERATIONS:
        if one.takes is not None:
            content = found["paths"][one.path][one.method.lower()]["requestBody"]["content"]
            content["application/json"]["schema"] = ref(f"Drawn{one.takes}")
    return dict(found)


DESCRIBED = {  # a body that is none is one that the document itself refuses
    GenerationMode.POSITIVE: schemathesis.openapi.from_dict(described(names=True)),
    GenerationMode.NEGATIVE: schemathesis.openapi.from_dict(described(names=False)),
}
POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
ASKED = [(one, POSITIVE) for one in OPERATIONS] + [(one, NEGATIVE) for one in OPERATIONS if one.takes or one.parameters]
DECIDED = ("approve", "reject", "cancel")
ANN = {"data": "plays", "verb": "top_k", "k": 3, "epsilon": 1}
VERA = {"data": "visits", "verb": "top_k", "k": 3, "epsilon": 1, "during": "2026-10"}


@pytest.fixture(scope="module")
def known(roomy: Served) -> dict[str, list[str]]:
    """What can stand in a path and is there."""
    job = roomy.ann.ask(ANN)
    waits = roomy.http.post("/v1/questions", json=VERA, headers=roomy.headers("vera")).json()
    assert (job["state"], waits["state"]) == ("answered", "approval")
    return {
        "questions": [job["id"]],
        "waiting": [waits["id"]],  # for somebody to agree, so nobody may wait for its end
        "answers": [job["answer"].rpartition("/")[2]],
        "record": ["plays", "visits"],
    }


def cases(one: Route, mode: GenerationMode, known: dict[str, list[str]]) -> Iterator[st.SearchStrategy[Any]]:
    """Requests: where something is named in the path, also of what is there."""
    operation = DESCRIBED[mode][one.path][one.method]
    yield operation.as_strategy(mode)
    if "{" in one.path and mode is POSITIVE:
        name, what = one.path.partition("{")[2].partition("}")[0], one.path.split("/")[2]
        there = known[what] + (known["waiting"] if one.name in DECIDED else [])
        yield st.sampled_from(there).flatmap(lambda value: operation.as_strategy(mode, path_parameters={name: value}))


@pytest.mark.parametrize(("one", "mode"), ASKED, ids=lambda part: getattr(part, "name", ""))
def test_every_answer_is_described(
    one: Route, mode: GenerationMode, roomy: Served, known: dict[str, list[str]]
) -> None:
    for requested in cases(one, mode, known):

        @settings(
            max_examples=CASES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=[*HealthCheck],
        )
        @given(case=requested)
        def holds(case: Any) -> None:
            for who in WHO:
                said = case.as_transport_kwargs(base_url=ADDRESS)
                sent = requests.Request(**{**said, "headers": {**said["headers"], **roomy.headers(who)}}).prepare()
                found = roomy.http.request(sent.method, sent.url, headers=sent.headers, content=sent.body)
                case.validate_response(found, checks=CHECKS)

        holds()


def test_whatever_was_taken_has_ended_as_it_may(roomy: Served) -> None:
    """No question that the gateway took was lost, or failed for a reason that nobody gave."""
    for who in ("ann", "olga", "vera"):
        found = roomy.http.get("/v1/questions?limit=500", headers=roomy.headers(who)).json()["questions"]
        for job in found:
            if job["state"] in ("queued", "running"):
                job = roomy.http.get(f"/v1/questions/{job['id']}?wait=30", headers=roomy.headers(who)).json()  # noqa: PLW2901
            assert job["state"] not in ("failed", "lost"), job
