"""A page of another site can make a browser send a request with its cookie: nothing is done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.small import Small, running
from tests.gateway.test_roles import JSON, PAGES, TOP, Row, cookie, filled, named

ELSEWHERE = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:8080"},
    {"Origin": "https://else.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:8081"},
    {},  # a browser that says nothing at all
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    with running(tmp_path_factory.mktemp("gateway"), rate=10**6, waiting=10**6, waiting_each=10**6) as found:
        yield found


@pytest.fixture(scope="module")
def asked(small: Small) -> dict[str, str]:
    """A question of ann that was answered."""
    job = small.ended("ann", TOP)
    return {"asked": job["id"], "answer": job["answer"].rpartition("/")[2]}


@pytest.mark.parametrize("row", [row for row in [*JSON, *PAGES] if row[0] != "GET"], ids=named)
def test_no_other_site_can_do_anything(small: Small, asked: dict[str, str], row: Row) -> None:
    """With the cookie of somebody who may do it."""
    where = filled(small, row[1], asked)
    before = small.client.get("/v1/verification", headers=small.headers("olga")).json()
    for who in ("olga", "ann", "bob"):
        for said in ELSEWHERE:
            headers = {"Cookie": cookie(small, who)["Cookie"], **said}
            found = small.client.request(row[0], where, headers=headers, follow_redirects=False)
            assert (found.status_code, "another site" in found.text) == (403, True), said
    assert small.client.get("/v1/verification", headers=small.headers("olga")).json() == before


def test_the_page_itself_can(small: Small) -> None:
    for said in ({"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://127.0.0.1:8080"}):
        headers = {"Cookie": cookie(small, "ann")["Cookie"], **said}
        assert small.client.post("/v1/price", json=TOP, headers=headers).status_code == 200
