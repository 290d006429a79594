"""Who has signed out, or was taken out, is out: with every copy of a cookie, and in every connection that waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dpselect.errors import LedgerError
from dpselect.gateway.people import CODE, SESSION
from dpselect.gateway.store import Jobs
from tests.gateway.served import ADDRESS, TOKENS, Served, serving

TOP: dict[str, Any] = {"verb": "top_k", "data": "plays", "k": 2, "epsilon": "1/5"}
TRIES = 20
PATIENCE = 20  # seconds
PAGES = ("/v1/me", "/v1/questions", "/v1/answers", "/v1/budget")


def signed_in(served: Served, name: str = "ann") -> str:
    """A session, as the page of signing in makes it; its cookie, as somebody may have copied it."""
    http = TestClient(served.http.app, base_url=ADDRESS)
    http.post("/sign-in", data={"token": TOKENS[name]})
    return str(http.cookies["dpselect"])


def told(served: Served, cookie: str, path: str = "/v1/me") -> int:
    return TestClient(served.http.app, base_url=ADDRESS, cookies={"dpselect": cookie}).get(path).status_code


def sign_out(served: Served, cookie: str) -> None:
    TestClient(served.http.app, base_url=ADDRESS, cookies={"dpselect": cookie}).post(
        "/sign-out", headers={"Sec-Fetch-Site": "same-origin"}
    )


def test_a_copied_cookie_is_good_until_its_person_signs_out(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        mine, elsewhere = signed_in(served), signed_in(served)
        assert [told(served, mine, PAGES[one % 4]) for one in range(TRIES)] == [200] * TRIES
        sign_out(served, mine)
        assert [told(served, mine, PAGES[one % 4]) for one in range(TRIES)] == [401] * TRIES
        assert told(served, elsewhere) == 200
        assert told(served, signed_in(served)) == 200
    with serving(tmp_path) as served:
        assert told(served, mine) == 401  # after a restart too
        assert told(served, elsewhere) == 200


def test_a_gateway_that_forgets_who_signed_out_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Jobs, "is_recorded", lambda _self, _name: False)
    with serving(tmp_path) as served:
        mine = signed_in(served)
        sign_out(served, mine)
        assert told(served, mine) == 200


def test_what_was_used_is_remembered_as_long_as_it_could_be_used(tmp_path: Path) -> None:
    jobs, now = Jobs(tmp_path / "questions.sqlite"), time.time()
    assert jobs.record_once("code a", now + CODE)
    assert jobs.record_once("session b", now - 5)
    for place in range(TRIES):
        assert jobs.record_once(f"session {place}", now - 2)
    assert jobs.record_once("session c", now + SESSION)
    assert not jobs.record_once("code a", now + CODE)
    kept = [name for (name,) in jobs._store.run("SELECT name FROM setting ORDER BY name")]
    assert kept == ["code a", "session c"]
    jobs.close()


def remove(served: Served, cookie: str) -> None:  # noqa: ARG001 - whatever they have
    served.remove("ann")


@pytest.mark.parametrize("out", [sign_out, remove])
def test_who_is_out_hears_no_more(out: Callable[[Served, str], None], tmp_path: Path) -> None:
    with serving(tmp_path, data="approve = true") as served:
        number = served.ann.post("/v1/questions", TOP).json()["id"]
        cookie, found = signed_in(served), list[Any]()
        address = f"/v1/questions/{number}?wait=30"

        def listen() -> None:
            http = TestClient(served.http.app, base_url=ADDRESS, cookies={"dpselect": cookie})
            http.portal = served.http.portal  # the loop of the gateway
            found.append(http.get(address))

        listening = threading.Thread(target=listen)
        listening.start()
        bell = served.http.app._app.state.bell  # type: ignore[attr-defined]
        while not bell._waiting and listening.is_alive():
            time.sleep(0.01)
        out(served, cookie)
        listening.join(PATIENCE)  # the question waits for its owner, and the connection up to 30 s for the question
        is_out = not listening.is_alive()
        served.olga.post(f"/v1/questions/{number}/reject", {})  # so that the wait ends in any case
        listening.join()
        assert is_out
        assert found[0].status_code == 401
        assert not served.http.app._app.state.desk._held  # type: ignore[attr-defined]


def test_an_answer_after_the_end_of_a_session_is_not_told(tmp_path: Path) -> None:
    with serving(tmp_path, data="approve = true") as served:
        number = served.ann.post("/v1/questions", TOP).json()["id"]
        cookie = signed_in(served)
        sign_out(served, cookie)
        served.olga.post(f"/v1/questions/{number}/approve", {})
        served.ann.ended(number)
        tries = [told(served, cookie, f"/v1/questions/{number}{more}") for more in ("", "?wait=1")]
        assert tries == [401] * 2


def test_somebody_is_removed_also_where_the_ledger_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as served:

        def away(_: object) -> None:
            raise LedgerError("the ledger is away")

        monkeypatch.setattr(served.gateway.books, "begin", away)
        served.remove("bob")
        assert served.bob.get("/v1/me").status_code == 401
        served.until(lambda: "but their quotas were not" in served.log.getvalue())
