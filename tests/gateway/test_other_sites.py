"""A page of another site can make a browser send a request with its cookie: nothing is done."""

from __future__ import annotations

import pytest

from tests.gateway.served import Served
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


@pytest.mark.parametrize("row", [row for row in [*JSON, *PAGES] if row[0] != "GET"], ids=named)
def test_no_other_site_can_do_anything(roomy: Served, asked: dict[str, str], row: Row) -> None:
    """With the cookie of somebody who may do it."""
    where = filled(roomy, row[1], asked)
    before = roomy.http.get("/v1/verification", headers=roomy.headers("olga")).json()
    for who in ("olga", "ann", "vera"):
        for said in ELSEWHERE:
            headers = {"Cookie": cookie(roomy, who)["Cookie"], **said}
            found = roomy.http.request(row[0], where, headers=headers, follow_redirects=False)
            assert (found.status_code, "another site" in found.text) == (403, True), said
    assert roomy.http.get("/v1/verification", headers=roomy.headers("olga")).json() == before


def test_the_page_itself_can(roomy: Served) -> None:
    for said in ({"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://127.0.0.1:8080"}):
        headers = {"Cookie": cookie(roomy, "ann")["Cookie"], **said}
        assert roomy.http.post("/v1/price", json=TOP, headers=headers).status_code == 200
