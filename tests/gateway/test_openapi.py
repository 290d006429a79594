"""Requests that the description allows, and such as it does not, sent to a real gateway: every answer is described.

The cases are the same in every run. `SLOW=1` makes many more of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.python.asgi import get_client
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from dpselect.gateway.web.openapi import document
from dpselect.gateway.web.operations import OPERATIONS, Operation
from tests.gateway.described import closed
from tests.gateway.small import Small, running

CASES = 400 if os.environ.get("SLOW") == "1" else 6
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
WHO = [None, "wrong", "olga", "ann", "ada"]
STRICT = closed(document())
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    # A fuzzer is faster than people, and what it asks is not waited for.
    with running(tmp_path_factory.mktemp("gateway"), rate=10**6, waiting=10**6, waiting_each=10**6) as found:
        yield found


@pytest.fixture(scope="module")
def described(small: Small) -> Any:
    """The document with every object closed, so that a field that nobody described is found."""
    found = schemathesis.openapi.from_dict(STRICT)
    found.app = small.app
    return found


@pytest.fixture(scope="module")
def known(small: Small) -> dict[str, list[str]]:
    """What can stand in a path and is there: questions that are over and that wait, answers, data."""
    from starlette.testclient import TestClient

    with TestClient(small.app) as client:
        asked = client.post(
            "/v1/questions", json={"data": "plays", "verb": "top_k", "k": 3, "epsilon": 1}, headers=small.headers("ann")
        ).json()
        path = f"/v1/questions/{asked['id']}?wait=20"
        over = client.get(path, headers=small.headers("ann")).json()
        assert over["state"] == "answered", over
        waits = client.post(
            "/v1/questions",
            json={"data": "visits", "verb": "top_k", "k": 3, "epsilon": 1, "during": "2026-10"},
            headers=small.headers("bob"),
        ).json()
    return {
        "questions": [asked["id"], waits["id"]],
        "answers": [over["answer"].rpartition("/")[2]],
        "record": ["plays", "visits"],
    }


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("one", OPERATIONS, ids=lambda one: one.name)
def test_every_answer_is_described(
    one: Operation, mode: GenerationMode, small: Small, described: Any, known: dict[str, list[str]]
) -> None:
    operation = described[one.path][one.method]
    strategies = [operation.as_strategy(mode)] if mode in MODES else []
    if "{" in one.path and mode is GenerationMode.POSITIVE:
        name, what = one.path.partition("{")[2].partition("}")[0], one.path.split("/")[2]
        strategies += [operation.as_strategy(mode, path_parameters={name: value}) for value in known[what]]
    with get_client(small.app) as client:

        @settings(
            max_examples=CASES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=[*HealthCheck],
        )
        @given(case=st.one_of(strategies), who=st.sampled_from(WHO))
        def holds(case: Any, who: str | None) -> None:
            case.call_and_validate(session=client, headers=small.headers(who), checks=CHECKS)

        holds()
