"""The ledger is put back to an older copy: answers that it lacks are lost for everybody, and asked and paid anew."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dpselect.errors import LedgerError
from dpselect.gateway.books import Books
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.problems import PUT_BACK_DETAIL
from dpselect.gateway.settings.reading import read
from dpselect.ledger import Account, Ledger
from tests.gateway.served import Served, running, settings_in
from tests.ledger.amounts import charge, grant, started

COUNT = {"verb": "histogram", "data": "plays", "item": "country", "epsilon": "1/2", "max_items_per_user": 1}
OTHER = {"verb": "top_k", "data": "plays", "k": 2, "epsilon": "1/4"}


def copy(source: Path, target: Path) -> None:
    with contextlib.closing(sqlite3.connect(source)) as one, contextlib.closing(sqlite3.connect(target)) as two:
        one.backup(two)


def put_back(folder: Path) -> None:
    for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (folder / name).unlink(missing_ok=True)
    (folder / "copy.sqlite").replace(folder / "ledger.sqlite")
    (folder / "ledger.sqlite").chmod(0o600)


@pytest.fixture
def jobs(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """A question from before the copy, one from after it, and the same again by somebody else for free."""
    path = settings_in(tmp_path)
    with running(read(path), tmp_path) as served:
        kept = served.ann.ask(OTHER)
    copy(tmp_path / "ledger.sqlite", tmp_path / "copy.sqlite")
    with running(read(path), tmp_path) as served:
        lost = served.ann.ask(COUNT, Idempotency_Key="the first")
        free = served.bob.ask(COUNT)
        assert served.bob.get(free["answer"]).status_code == 200
    put_back(tmp_path)
    return {"kept": kept, "lost": lost, "free": free}


def left(served: Served) -> dict[str, float]:
    return {row["analyst"]: row["left"] for row in served.olga.get("/v1/budget").json()["budgets"]}


def test_an_answer_that_the_ledger_lacks_is_lost_for_all_who_had_it(tmp_path: Path, jobs: dict[str, Any]) -> None:
    with running(read(tmp_path / "gateway.toml"), tmp_path) as served:
        for client, name in ((served.ann, "lost"), (served.bob, "free")):
            job = client.get(f"/v1/questions/{jobs[name]['id']}").json()
            assert (job["state"], job["answer"], job["cost"]["share"]) == ("lost", None, 0)
            assert job["problem"]["detail"] == PUT_BACK_DETAIL
            gone = client.get(jobs["lost"]["answer"])
            assert (gone.status_code, gone.json()["detail"]) == (404, PUT_BACK_DETAIL)
        assert PUT_BACK_DETAIL not in served.eve.get(jobs["lost"]["answer"]).text  # other people's data
        assert served.ann.get(jobs["kept"]["answer"]).status_code == 200
        assert [one["id"] for one in served.ann.get("/v1/answers").json()["answers"]] == [jobs["kept"]["id"]]


def test_what_was_lost_is_asked_and_paid_anew_once(tmp_path: Path, jobs: dict[str, Any]) -> None:
    with running(read(tmp_path / "gateway.toml"), tmp_path) as served:
        before = left(served)
        assert served.bob.post("/v1/price", COUNT).json()["free"] is False
        again = served.bob.ask(COUNT)
        assert again["state"] == "answered"
        assert again["cost"]["share"] > 0
        assert served.bob.get(again["answer"]).status_code == 200
        free = served.ann.ask(COUNT)
        assert (free["answer"], free["cost"]["share"]) == (again["answer"], 0)
        same_request = served.ann.ask(COUNT, Idempotency_Key="the first")
        assert (same_request["id"], same_request["state"]) == (jobs["lost"]["id"], "lost")
        after = left(served)
        assert after["ann"] == before["ann"]
        assert after["bob"] < before["bob"]
        assert served.ann.ask(OTHER)["answer"] == jobs["kept"]["answer"]


def test_another_answer_with_the_same_number_in_the_ledger_is_not_shown_in_its_place(tmp_path: Path) -> None:
    """The ledger is put back under a gateway that runs, so that nothing was looked at when it began."""
    with running(read(settings_in(tmp_path)), tmp_path) as served:
        copy(tmp_path / "ledger.sqlite", tmp_path / "copy.sqlite")
        first = served.ann.ask(COUNT)
        served.gateway.books.ledger.close()
        put_back(tmp_path)
        again = served.bob.ask({**COUNT, "fresh": True})
        assert again["state"] == "answered"
        assert again["answer"] != first["answer"]
        assert served.ann.get(f"/v1/questions/{first['id']}").json()["state"] == "lost"
        assert served.bob.get(again["answer"]).status_code == 200


def test_a_gateway_follows_to_the_ledger_that_continues_its_own_and_uses_no_other(tmp_path: Path) -> None:
    """Answers keep their addresses, and are free; what runs on the old ledger gives no more."""
    old, new = tmp_path / "ledger.sqlite", tmp_path / "new.sqlite"
    with running(read(settings_in(tmp_path)), tmp_path) as served:
        jobs = [served.ann.ask(OTHER), served.ann.ask(COUNT)]
        before = left(served)
        Ledger.upgrade(old, new).close()
        assert served.http.get("/readyz").status_code == 503
        other = served.ann.ask({**COUNT, "epsilon": "1/8"})
        assert (other["state"], other["answer"]) == ("failed", None)
    with running(read(settings_in(tmp_path, ledger="new.sqlite")), tmp_path) as served:
        for job in jobs:
            assert served.ann.get(f"/v1/questions/{job['id']}").json()["state"] == "answered"
            assert served.ann.get(job["answer"]).status_code == 200
        assert left(served) == before
        free = served.bob.ask(COUNT)
        assert (free["answer"], free["cost"]["share"]) == (jobs[1]["answer"], 0)
        assert served.ann.ask({**COUNT, "epsilon": "1/8"})["state"] == "answered"
        found = served.olga.get("/v1/record/plays").json()
        assert found["verification"]["problems"] == []
        assert found["changes"][0]["what"].startswith("continued from ledger ")
    with pytest.raises(LedgerError, match=r"is closed: ledger [0-9a-f]{32} continues it"):
        Gateway(read(settings_in(tmp_path)))


def test_a_reservation_is_found_in_the_ledger_that_continues_its_own(tmp_path: Path) -> None:
    """By its number there, and only if it is that question's: here the number is that of another."""
    account = Account("plays", "ann")
    with Ledger.create(tmp_path / "old") as old:
        grant(old, account, 1, 0)
        first, second = (started(old, account, charge("0.125"), question) for question in ("one", "two"))
        Ledger.upgrade(tmp_path / "old", tmp_path / "new").close()
    books = Books(str(tmp_path / "new"))
    for hold, question in ((first, "one"), (second, "two")):
        outcome = books.find_outcome(hold.number, lambda entry, asked=question: entry.question == asked)  # type: ignore[misc]
        assert outcome is not None
        assert (outcome.reservation.entry.number, outcome.reservation.may_have_read) == (hold.number + 1, True)
    assert books.find_outcome(first.number, lambda entry: entry.question == "two") is None
    books.close()
