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

from dpselect.gateway.web.openapi import document
from dpselect.gateway.web.operations import OPERATIONS, HttpOperation
from dpselect.gateway.web.replies import ref
from tests.gateway.described import closed
from tests.gateway.small import URL, Small, running

CASES = 5
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
WHO = [None, "wrong", "olga", "ann", "bob", "ada"]
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
ASKED = [(one, POSITIVE) for one in OPERATIONS] + [(one, NEGATIVE) for one in OPERATIONS if one.takes or one.given]
DECIDED = ("approve", "reject", "cancel")
ANN = {"data": "plays", "verb": "top_k", "k": 3, "epsilon": 1}
BOB = {"data": "visits", "verb": "top_k", "k": 3, "epsilon": 1, "during": "2026-10"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    # A fuzzer is faster than people, and what it asks is not waited for.
    limits = {"rate": 10**6, "waiting": 10**6, "waiting_each": 10**6}
    with running(tmp_path_factory.mktemp("gateway"), **limits) as found:
        yield found


@pytest.fixture(scope="module")
def known(small: Small) -> dict[str, list[str]]:
    """What can stand in a path and is there."""
    job = small.ended("ann", ANN)
    waits = small.client.post("/v1/questions", json=BOB, headers=small.headers("bob")).json()
    assert (job["state"], waits["state"]) == ("answered", "approval")
    return {
        "questions": [job["id"]],
        "waiting": [waits["id"]],  # for somebody to agree, so nobody may wait for its end
        "answers": [job["answer"].rpartition("/")[2]],
        "record": ["plays", "visits"],
    }


def cases(one: HttpOperation, mode: GenerationMode, known: dict[str, list[str]]) -> Iterator[st.SearchStrategy[Any]]:
    """Requests: where something is named in the path, also of what is there."""
    operation = DESCRIBED[mode][one.path][one.method]
    yield operation.as_strategy(mode)
    if "{" in one.path and mode is POSITIVE:
        name, what = one.path.partition("{")[2].partition("}")[0], one.path.split("/")[2]
        there = known[what] + (known["waiting"] if one.name in DECIDED else [])
        yield st.sampled_from(there).flatmap(lambda value: operation.as_strategy(mode, path_parameters={name: value}))


@pytest.mark.parametrize(("one", "mode"), ASKED, ids=lambda part: getattr(part, "name", ""))
def test_every_answer_is_described(
    one: HttpOperation, mode: GenerationMode, small: Small, known: dict[str, list[str]]
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
                said = case.as_transport_kwargs(base_url=URL)
                sent = requests.Request(**{**said, "headers": {**said["headers"], **small.headers(who)}}).prepare()
                found = small.client.request(sent.method, sent.url, headers=sent.headers, content=sent.body)
                case.validate_response(found, checks=CHECKS)

        holds()


def test_whatever_was_taken_has_ended_as_it_may(small: Small) -> None:
    """No question that the gateway took was lost, or failed for a reason that nobody gave."""
    for who in ("ann", "olga", "bob"):
        found = small.client.get("/v1/questions?limit=500", headers=small.headers(who)).json()["questions"]
        for job in found:
            if job["state"] in ("queued", "running"):
                job = small.client.get(f"/v1/questions/{job['id']}?wait=30", headers=small.headers(who)).json()  # noqa: PLW2901
            assert job["state"] not in ("failed", "lost"), job
