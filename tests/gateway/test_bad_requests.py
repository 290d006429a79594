"""Requests that nobody should send: the right status, one clear sentence, nothing charged, and no mistake of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any
from urllib.parse import quote

import pytest

from tests.gateway.described import validator
from tests.gateway.served import Served

TOP = '"data": "plays", "verb": "top_k", "k": 3'
DEEP = "[" * 20_000 + "]" * 20_000
NESTED = "[" * 60 + "]" * 60
BODIES: list[tuple[str, int]] = [
    ("", 400),
    ("{", 400),
    ("null", 422),
    ("[]", 422),
    ('"top_k"', 422),
    ("5", 422),
    ("{}", 422),
    (DEEP, 400),
    ('{"data": ' + NESTED + "}", 400),
    ('{"data": ' + DEEP + "}", 400),
    (f'{{{TOP}, "epsilon": NaN}}', 400),
    (f'{{{TOP}, "epsilon": Infinity}}', 400),
    (f'{{{TOP}, "epsilon": -Infinity}}', 400),
    (f'{{{TOP}, "epsilon": 1e999}}', 400),
    (f'{{{TOP}, "epsilon": 1, "epsilon": 2}}', 400),
    (f'{{{TOP}, "epsilon": 1, "domain": [1e999]}}', 400),
    (f'{{{TOP}, "epsilon": 1, "where": "\\ud800"}}', 400),
    (f'{{{TOP}, "epsilon": 1, "exclude": ["\\udfff"]}}', 400),
    (f'{{{TOP}, "epsilon": 1{"0" * 5000}}}', 400),
    (f'{{{TOP}, "epsilon": 1{"0" * 4000}}}', 422),
    (f'{{{TOP}, "epsilon": "1{"0" * 5000}"}}', 422),
    (f'{{{TOP}, "epsilon": "1e999999999"}}', 422),
    (f'{{{TOP}, "epsilon": "1/0"}}', 422),
    (f'{{{TOP}, "epsilon": true}}', 422),
    (f'{{{TOP}, "epsilon": {{}}}}', 422),
    (f'{{{TOP}, "epsilon": 0}}', 422),
    (f'{{{TOP}, "epsilon": -1}}', 422),
    (f'{{{TOP}, "epsilon": 1, "share": "1%"}}', 422),
    (f'{{{TOP}, "share": 1}}', 422),
    (f'{{{TOP}, "share": "0%"}}', 422),
    (f'{{{TOP}, "share": []}}', 422),
    (f'{{{TOP}, "epsilon": 1, "fresh": "yes"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "data": 5}}', 400),
    ('{"data": ["plays"], "verb": "top_k", "epsilon": 1}', 422),
    ('{"data": {"plays": 1}, "verb": "top_k", "epsilon": 1}', 422),
    ('{"data": "../plays", "verb": "top_k", "epsilon": 1}', 422),
    ('{"data": "visits", "verb": "top_k", "epsilon": 1}', 422),
    ('{"data": "plays", "verb": "drop", "epsilon": 1}', 422),
    ('{"data": "plays", "verb": ["top_k"], "epsilon": 1}', 422),
    (f'{{{TOP}, "epsilon": 1, "item": 5}}', 422),
    (f'{{{TOP}, "epsilon": 1, "item": []}}', 422),
    (f'{{{TOP}, "epsilon": 1, "item": [["artist"]]}}', 422),
    (f'{{{TOP}, "epsilon": 1, "item": {{"a": 1}}}}', 422),
    (f'{{{TOP}, "epsilon": 1, "item": "user"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "item": "artist\\u0000"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "where": 5}}', 422),
    (f'{{{TOP}, "epsilon": 1, "where": "user = \'u1\'"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "where": "country = \'Japan\'"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "where": "country = \'Brazil\'; DROP TABLE x"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "where": "minutes > (SELECT 1)"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "where": "{"(" * 5000}"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "during": "2026-10"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "by": "minutes"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "by": ["country", "country"]}}', 422),
    (f'{{{TOP}, "epsilon": 1, "by": [5]}}', 422),
    (f'{{{TOP}, "epsilon": 1, "by_weight": "day"}}', 422),
    (f'{{{TOP}, "epsilon": 1, "measures": ["sum(day, 0, 1)"]}}', 422),
    (f'{{{TOP}, "epsilon": 1, "measures": ["sum(minutes, 0, 1e999)"]}}', 422),
    (f'{{{TOP}, "epsilon": 1, "domain": {{"start": 0, "stop": 1e9}}}}', 422),
    (f'{{{TOP}, "epsilon": 1, "domain": {{"start": 0, "stop": 1{"0" * 30}}}}}', 422),
    (f'{{{TOP}, "epsilon": 1, "domain": [["tuple", ["a", ["tuple", ["b", "c"]]]], "a"]}}', 422),
    (f'{{{TOP}, "epsilon": 1, "epsilon_per_pick": 1}}', 422),
    (f'{{{TOP}, "epsilon": 1, "plan": 1}}', 422),
    (f'{{{TOP}, "epsilon": 1, "__class__": 1}}', 422),
    ('{"data": "plays", "verb": "top_k", "k": 1e400, "epsilon": 1}', 400),
    ('{"data": "plays", "verb": "top_k", "k": 3.5, "epsilon": 1}', 422),
    ('{"data": "plays", "verb": "top_k", "k": 100000, "epsilon": 1}', 422),
    ('{"data": "plays", "verb": "top_k", "k": 3, "k_bar": 9007199254740992, "epsilon": 1}', 422),
    (f'{{{TOP}, "epsilon": 1, "by": "country", "max_groups_per_user": 9007199254740992}}', 422),
    ('{"data": "plays", "verb": "quantile", "epsilon": 1, "bounds": [0, 1e308], "step": 1e-300}', 422),
    ('{"data": "plays", "verb": "quantile", "epsilon": 1, "q": []}', 422),
    ('{"data": "plays", "verb": "quantile", "epsilon": 1, "q": [0.5, 0.5]}', 422),
    ('{"data": "plays", "verb": "quantile", "epsilon": 1, "item": "artist"}', 422),
    ('{"data": "plays", "verb": "union", "epsilon": 1, "tokenizer": "re:("}', 422),
    ('{"data": "plays", "verb": "union", "epsilon": 1, "ngrams": 2}', 422),
    ('{"data": "plays", "verb": "union", "epsilon": 1, "threshold": 5}', 422),
    ('{"data": "plays", "verb": "choose", "epsilon": 1, "domain": []}', 422),
    ('{"data": "plays", "verb": "choose", "epsilon": 1, "neighbors": "replace-one"}', 422),
    ('{"data": "plays", "verb": "union", "epsilon": 1, "shares": [1]}', 422),
    (f'{{{TOP}, "epsilon": 500}}', 409),
]


def quoted(text: str) -> str:
    """As a form has it, also what is no text."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def record(roomy: Served) -> dict[str, Any]:
    """Everything that was asked and charged."""
    found: dict[str, Any] = roomy.http.get("/v1/verification", headers=roomy.headers("olga")).json()
    return found


def refused(found: Any, status: int) -> dict[str, Any]:
    """The problem, which says one thing in words."""
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = found.json()
    validator("Problem").validate(problem)
    assert problem["status"] == status
    assert 0 < len(problem["detail"]) < 500
    assert "\n" not in problem["detail"]
    return problem


@pytest.mark.parametrize(
    ("body", "status", "other"),
    [(*one, other) for one, other in zip(BODIES, cycle(("plan", "price")))],
    ids=lambda part: str(part)[:60],
)
def test_a_body_that_is_no_question(roomy: Served, body: str, status: int, other: str) -> None:
    before = record(roomy)
    headers = {"Content-Type": "application/json", **roomy.headers("ann")}
    for path in ("questions", other)[: 1 if status == 409 else 2]:  # a plan may cost more than there is
        refused(roomy.http.post(f"/v1/{path}", content=body, headers=headers), status)
    assert record(roomy) == before


@pytest.mark.parametrize("raw", [b"\xff\xfe{}", b'{"data": "\xed\xa0\x80"}', b"\x00", b"{}\x00", "{}".encode("utf-16")])
def test_bytes_that_are_no_text(roomy: Served, raw: bytes) -> None:
    headers = {"Content-Type": "application/json", **roomy.headers("ann")}
    refused(roomy.http.post("/v1/questions", content=raw, headers=headers), 400)


@pytest.mark.parametrize(
    "kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "application/json2", "json"]
)
def test_another_content_type(roomy: Served, kind: str | None) -> None:
    headers = {**roomy.headers("ann"), **({} if kind is None else {"Content-Type": kind})}
    body = f'{{{TOP}, "epsilon": 1}}'.encode()
    refused(roomy.http.post("/v1/questions", content=body, headers=headers), 415)


def test_a_large_head(roomy: Served) -> None:
    refused(roomy.http.get("/v1/me", headers={**roomy.headers("ann"), "X-More": "a" * 40_000}), 413)


def test_a_large_body(roomy: Served) -> None:
    headers = {"Content-Type": "application/json", **roomy.headers("ann")}

    def pieces() -> Iterator[bytes]:  # which say no length
        for _ in range(11):
            yield b" " * 50_000

    for content in (b" " * 10**7, pieces()):
        refused(roomy.http.post("/v1/questions", content=content, headers=headers), 413)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/questions?limit=0", 422),
        ("/v1/questions?limit=-1", 422),
        ("/v1/questions?limit=1e3", 422),
        ("/v1/questions?limit=%D9%A1", 422),
        ("/v1/questions?limit=" + "9" * 5000, 422),
        ("/v1/questions?after=none", 404),
        ("/v1/questions/none", 404),
        ("/v1/questions/none?wait=31", 422),
        ("/v1/questions/none?wait=x", 422),
        ("/v1/questions/..%2F..%2Fetc", 404),
        ("/v1/questions/%00", 404),
        ("/v1/questions/%FF", 404),
        ("/v1/answers/none", 404),
        ("/v1/answers/none.json", 404),
        ("/v1/answers/none.exe", 404),
        ("/v1/answers/..", 404),
        ("/v1/answers/%00.csv", 404),
        ("/v1/nothing", 404),
        ("/v1", 404),
        ("/static/..%2F..%2Fgateway.py", 404),
        ("/static/%2e%2e%2fapp.py", 404),
    ],
)
def test_an_address_that_is_not_there(roomy: Served, path: str, status: int) -> None:
    refused(roomy.http.get(path, headers=roomy.headers("ann")), status)


@pytest.mark.parametrize("path", ["/v1/record/none", "/v1/record/%00", "/v1/record/..%2Fledger"])
def test_a_record_that_is_not_there(roomy: Served, path: str) -> None:
    refused(roomy.http.get(path, headers=roomy.headers("olga")), 404)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 404),
        ({"data": "none", "analyst": "ann", "epsilon": 1}, 404),
        ({"data": "plays", "analyst": "zoe", "epsilon": 1}, 422),
        ({"data": "plays", "analyst": "olga", "epsilon": 1}, 422),
        ({"data": "plays", "analyst": "vera", "epsilon": 1}, 422),
        ({"data": "plays", "analyst": ["ann"], "epsilon": 1}, 422),
        ({"data": "plays", "analyst": "ann"}, 422),
        ({"data": "plays", "analyst": "ann", "epsilon": -1}, 422),
        ({"data": "plays", "analyst": "ann", "epsilon": "x"}, 422),
        ({"data": "plays", "analyst": "ann", "epsilon": 1, "delta": 1}, 422),
        ({"data": "plays", "analyst": "ann", "epsilon": 1, "delta": None}, 422),
        ({"data": "plays", "analyst": "ann", "epsilon": 1, "total": "yes"}, 422),
        ({"data": "plays", "analyst": "ann", "epsilon": 1, "every": "month"}, 422),
        ({"data": {}, "analyst": "ann", "epsilon": 1}, 404),
        ([], 422),
    ],
    ids=json.dumps,
)
def test_a_grant_that_is_none(roomy: Served, body: object, status: int) -> None:
    before = record(roomy)
    refused(roomy.http.post("/v1/grants", json=body, headers=roomy.headers("olga")), status)
    assert record(roomy) == before


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "PROPFIND"])
def test_another_method(roomy: Served, method: str) -> None:
    found = roomy.http.request(method, "/v1/data", headers=roomy.headers("ann"))
    assert refused(found, 405)["type"] == "/problems/method"
    assert "GET" in found.headers["allow"]


@pytest.mark.parametrize("key", ["x" * 201, "\x7f", "a\tb", "\u00a0"])
def test_a_key_that_is_none(roomy: Served, key: str) -> None:
    headers = {**roomy.headers("ann"), "Idempotency-Key": key.encode("latin-1")}
    body = {"data": "plays", "verb": "top_k", "epsilon": 1}
    refused(roomy.http.post("/v1/questions", json=body, headers=headers), 422)


@pytest.mark.parametrize("said", ["Bearer", "Bearer ", "Basic YW5uOng=", "bearer x y", "Bearer \xff", "x" * 20_000])
def test_an_authorization_that_is_none(roomy: Served, said: str) -> None:
    found = roomy.http.get("/v1/me", headers={"Authorization": said.encode("latin-1")})
    assert refused(found, 401)["type"] == "/problems/sign-in"
    assert found.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("question", ["", "{", DEEP, NESTED, '{"epsilon": NaN}', "\ud800", '"\\ud800"', "\x00", "null"])
def test_a_form_that_holds_no_question(roomy: Served, question: str) -> None:
    body = f"question={quoted(question)}&key=".encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", **roomy.headers("ann")}
    before = record(roomy)
    found = roomy.http.post("/ask", content=body, headers=headers)
    assert found.status_code in (400, 413, 422), found.text
    assert (
        "The request cannot be read" in found.text or "A parameter is wrong" in found.text or found.status_code == 413
    )
    assert record(roomy) == before
