"""Every route by everybody: who gets in is written here, and not read from the code that decides it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dpselect.gateway.web.app import all_routes
from tests.gateway.served import Served

OUT = (None, "wrong", "udo", "rex")
"""Without a token, with a wrong one, with one that has ended, with one that was taken back."""
IN = ("olga", "ann", "vera", "cleo")
"""The owner, the analyst whose question it is, an analyst to whom these data are not open, the auditor."""

Row = tuple[str, str, Any, int, tuple[int, int, int, int]]
TOP = {"data": "plays", "verb": "top_k", "k": 3, "epsilon": 1, "counts": True}
WAITS = {"data": "visits", "verb": "top_k", "k": 3, "epsilon": 1, "during": "2026-10", "fresh": True}
GRANT = {"data": "plays", "analyst": "ann", "epsilon": "1/10"}
JSON: list[Row] = [
    # method, path, body                              out   olga ann  vera cleo
    ("GET", "/healthz", None, 200, (200, 200, 200, 200)),
    ("GET", "/readyz", None, 200, (200, 200, 200, 200)),
    ("GET", "/v1/openapi.json", None, 200, (200, 200, 200, 200)),
    ("GET", "/metrics", None, 401, (200, 403, 403, 200)),
    ("GET", "/v1/me", None, 401, (200, 200, 200, 200)),
    ("GET", "/v1/data", None, 401, (200, 200, 200, 200)),
    ("POST", "/v1/plan", TOP, 401, (200, 200, 422, 403)),
    ("POST", "/v1/price", TOP, 401, (200, 200, 422, 403)),
    ("POST", "/v1/questions", TOP, 401, (403, 202, 422, 403)),
    ("GET", "/v1/questions", None, 401, (200, 200, 200, 403)),
    ("GET", "/v1/questions?after={asked}", None, 401, (200, 200, 404, 403)),
    ("GET", "/v1/questions/{asked}", None, 401, (200, 200, 404, 403)),
    ("DELETE", "/v1/questions/{asked}", None, 401, (403, 409, 404, 403)),
    ("DELETE", "/v1/questions/{waiting}", None, 401, (403, 404, 200, 403)),
    ("POST", "/v1/questions/{waiting}/approve", None, 401, (200, 403, 403, 403)),
    ("POST", "/v1/questions/{waiting}/reject", None, 401, (200, 403, 403, 403)),
    ("POST", "/v1/questions/{asked}/approve", None, 401, (409, 403, 403, 403)),
    ("GET", "/v1/answers", None, 401, (200, 200, 200, 200)),
    ("GET", "/v1/answers/{answer}", None, 401, (200, 200, 404, 200)),
    ("GET", "/v1/answers/{answer}.json", None, 401, (200, 200, 404, 200)),
    ("GET", "/v1/answers/{answer}.csv", None, 401, (200, 200, 404, 200)),
    ("GET", "/v1/answers/{answer}.parquet", None, 401, (200, 200, 404, 200)),
    ("GET", "/v1/answers/{answer}.svg", None, 401, (200, 200, 404, 200)),
    ("GET", "/v1/answers/{answer}.html", None, 401, (200, 200, 404, 200)),
    ("GET", "/v1/budget", None, 401, (200, 200, 200, 200)),
    ("POST", "/v1/grants", GRANT, 401, (200, 403, 403, 403)),
    ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, 401, (403, 200, 200, 403)),
    ("GET", "/v1/people", None, 401, (200, 403, 403, 403)),
    ("GET", "/v1/record/plays", None, 401, (200, 403, 403, 200)),
    ("GET", "/v1/verification", None, 401, (200, 403, 403, 200)),
]
FORM = {"question": json.dumps(TOP), "key": ""}
PAGES: list[Row] = [
    ("GET", "/", None, 303, (303, 303, 303, 303)),
    ("GET", "/sign-in", None, 200, (303, 303, 303, 303)),
    ("POST", "/sign-in", {"token": "none"}, 401, (401, 401, 401, 401)),
    ("POST", "/sign-out", {}, 303, (303, 303, 303, 303)),
    ("GET", "/static/style.css", None, 200, (200, 200, 200, 200)),
    ("GET", "/favicon.ico", None, 303, (303, 303, 303, 303)),
    ("GET", "/problems/budget", None, 200, (200, 200, 200, 200)),
    ("GET", "/ask", None, 303, (403, 200, 200, 403)),
    ("POST", "/ask", FORM, 303, (403, 303, 422, 403)),
    ("GET", "/questions/{asked}", None, 303, (303, 303, 404, 403)),
    ("POST", "/questions/{waiting}/cancel", {}, 303, (403, 404, 303, 403)),
    ("GET", "/answers/{answer}", None, 303, (200, 200, 404, 200)),
    ("GET", "/history", None, 303, (200, 200, 200, 200)),
    ("GET", "/budget", None, 303, (200, 200, 200, 200)),
    ("GET", "/owner", None, 303, (200, 403, 403, 403)),
    ("POST", "/owner/grants", GRANT, 303, (303, 403, 403, 403)),
    ("POST", "/owner/questions/{waiting}", {"decision": "approve"}, 303, (303, 403, 403, 403)),
    ("GET", "/record", None, 303, (200, 403, 403, 200)),
    ("GET", "/record/plays", None, 303, (200, 403, 403, 200)),
]


def named(row: Row) -> str:
    return f"{row[0]} {row[1]}"


def filled(roomy: Served, path: str, asked: dict[str, str]) -> str:
    """The path with what is there; each question that waits is a new one, of vera."""
    if "{waiting}" in path:
        job = roomy.http.post("/v1/questions", json=WAITS, headers=roomy.headers("vera")).json()
        assert job["state"] == "approval", job
        asked = asked | {"waiting": job["id"]}
    return path.format(**asked)


def cookie(roomy: Served, name: str | None) -> dict[str, str]:
    """What a browser of somebody says, also where they may no longer sign in."""
    person = None if name is None else roomy.people.get(name)
    session = "bm8.bm8" if person is None else roomy.gateway.people.session(person)
    return {} if name is None else {"Cookie": f"dpselect={session}", "Sec-Fetch-Site": "same-origin"}


def everybody(roomy: Served, row: Row, asked: dict[str, str]) -> Iterator[tuple[str | None, str, int]]:
    """Who asks, where, and what has to come back."""
    for who, status in [*((one, row[3]) for one in OUT), *zip(IN, row[4], strict=True)]:
        yield who, filled(roomy, row[1], asked), status


@pytest.mark.parametrize("row", JSON, ids=named)
@pytest.mark.parametrize("way", [Served.headers, cookie], ids=["token", "cookie"])
def test_who_may(roomy: Served, asked: dict[str, str], way: Any, row: Row) -> None:
    for who, where, status in everybody(roomy, row, asked):
        found = roomy.http.request(row[0], where, json=row[2], headers=way(roomy, who))
        assert (who, found.status_code) == (who, status), found.text
        if status >= 400:
            assert found.headers["content-type"] == "application/problem+json"
            assert found.json()["status"] == status


@pytest.mark.parametrize("row", PAGES, ids=named)
def test_who_may_see_a_page(roomy: Served, asked: dict[str, str], row: Row) -> None:
    for who, where, status in everybody(roomy, row, asked):
        found = roomy.http.request(row[0], where, data=row[2], headers=cookie(roomy, who), follow_redirects=False)
        assert (who, found.status_code) == (who, status), found.text
        if status == 303 and who in OUT and row[1] not in ("/sign-out", "/favicon.ico"):
            assert found.headers["location"].startswith("/sign-in")


def test_every_route_is_in_the_tables() -> None:
    def pattern(path: str) -> str:
        of_routes = {"{waiting}": "{id}", "{asked}": "{id}", "{answer}": "{id}", "plays": "{data}"}
        of_routes |= {"style.css": "{name}", "/problems/budget": "/problems/{kind}"}
        found = path.partition("?")[0]
        for name, general in of_routes.items():
            found = found.replace(name, general)
        return found.partition("}.")[0] + "}" if "}." in found else found

    told = {(method, pattern(path)) for method, path, *_ in [*JSON, *PAGES]}
    assert told == {(route.method, route.path) for route in all_routes()}
