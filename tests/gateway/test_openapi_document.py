"""The document is OpenAPI 3.1, agrees with itself, and describes what questions, releases and forecasts really are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

import dpselect as dps
from dpselect._ground.privacy import Neighbors
from dpselect.gateway.problems import PROBLEM_KINDS, problem
from dpselect.gateway.web.answers import ANSWER_FORMS
from dpselect.gateway.web.api import ROUTES
from dpselect.gateway.web.openapi import EXAMPLES, OPERATIONS, document
from dpselect.queries.planning import PLANS, plan_class
from tests.gateway.described import validator
from tests.reference.test_queries import QUERIES
from tests.slow.reference.test_check import NAMES, RELEASES

DOCUMENT = document()
SCHEMAS = DOCUMENT["components"]["schemas"]
TAKEN = [one for one in QUERIES if "ngrams" not in one.to_dict() and one.price.neighbors is Neighbors.ADD_REMOVE]


def objects(of: Any) -> Iterator[dict[str, Any]]:
    """Every object in it, at any depth."""
    if isinstance(of, dict):
        yield of
    for one in of.values() if isinstance(of, dict) else of if isinstance(of, list) else ():
        yield from objects(one)


def test_it_is_openapi() -> None:
    assert [error.message for error in OPENAPI_31_VALIDATOR.iter_errors(DOCUMENT)] == []
    assert list(OPENAPI_31_VALIDATOR.iter_errors({**DOCUMENT, "paths": []}))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_a_schema(name: str) -> None:
    jsonschema_rs.meta.validate(SCHEMAS[name])
    validator(name)  # every name that it refers to is there


def test_every_schema_is_used() -> None:
    used = {one["$ref"].rpartition("/")[2] for one in objects(DOCUMENT) if isinstance(one.get("$ref"), str)}
    assert used == set(SCHEMAS)


def test_operations_have_names_of_their_own() -> None:
    assert len({one.name for one in OPERATIONS}) == len(OPERATIONS)
    assert len({(one.method, one.path) for one in OPERATIONS}) == len(OPERATIONS)


def test_every_parameter_says_what_it_is() -> None:
    operations = [of for methods in DOCUMENT["paths"].values() for of in methods.values()]
    given = [one for of in operations for one in of.get("parameters", [])]
    assert {one["name"] for one in given if one["in"] == "path"} == {"id", "data"}
    assert [one["name"] for one in given if not one.get("description")] == []


def test_every_route_is_described_and_nothing_else() -> None:
    routes = {(route.method, route.path) for route in ROUTES}
    forms = {("GET", f"/v1/answers/{{id}}.{name}") for name in ANSWER_FORMS}
    assert {(one.method, one.path) for one in OPERATIONS} == routes | forms
    said = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert said == routes | forms


# ---- requests -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", PLANS)
def test_a_question_has_every_parameter_and_nothing_that_is_unknown(verb: str) -> None:
    name = next(one for one in SCHEMAS if one.lower() == verb.replace("_", "") + "question")
    beside = {"verb", "data", "item", "where", "during", "share", "fresh"}
    of_texts = {"shares", "ngrams", "tokenizer", "lower"}  # no data of a gateway are texts
    assert set(SCHEMAS[name]["properties"]) == {*plan_class(verb).fields(), *beside} - of_texts
    assert SCHEMAS[name]["additionalProperties"] is False


@pytest.mark.parametrize("query", TAKEN, ids=lambda query: json.dumps(query.to_dict()))
def test_a_question_is_a_body(query: dps.Plan) -> None:
    body = {**query.to_dict(), "data": "listening", "where": "country = 'Brazil'", "during": ["2026-11"], "fresh": True}
    validator("Question").validate(body)
    assert not validator("Question").is_valid({**body, "frehs": True})
    assert not validator("Question").is_valid({**body, "verb": "count"})


@pytest.mark.parametrize("share", ["1%", "0.5 %", 0.01, "1/100", "100%"])
def test_a_share_is_taken(share: object) -> None:
    validator("Question").validate({"verb": "top_k", "share": share})


@pytest.mark.parametrize("share", [0, 1, True, "all", "%", [1]])
def test_what_is_no_share_is_not(share: object) -> None:
    assert not validator("Question").is_valid({"verb": "top_k", "share": share})


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_what_they_are_examples_of(name: str) -> None:
    takes = next(one.takes for one in OPERATIONS if one.name == name)
    for example in EXAMPLES[name].values():
        validator(str(takes)).validate(example["value"])


# ---- answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_release_of_every_sort_is_described(name: str) -> None:
    release = RELEASES[name]
    validator("Release").validate(json.loads(release.to_json()))


@pytest.mark.parametrize("name", PROBLEM_KINDS)
def test_a_problem_of_every_kind_is_described(name: str) -> None:
    validator("Problem").validate(problem(name, "It is so.", "do so", parameter="k", must="be 1", came="0"))


def test_what_a_refusal_must_carry() -> None:
    for path in DOCUMENT["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                assert ("Retry-After" in response.get("headers", {})) == (status in ("429", "503"))
                refused = int(status) >= 400
                assert ("application/problem+json" in response["content"]) == refused
            assert ("401" in operation["responses"]) == (operation.get("security") != [])
