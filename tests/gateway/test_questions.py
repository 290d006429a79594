"""Questions over HTTP: taken, run in turns, answered; answered again for nothing; refused with one clear sentence."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.served import Served, serving

TOP: dict[str, Any] = {"verb": "top_k", "data": "plays", "k": 3, "epsilon": "1/4", "counts": True}
USERS: dict[str, Any] = {"verb": "users", "data": "plays", "epsilon": "1/2"}


def test_how_many_users_there_are(served: Served) -> None:
    """Of all and of groups that the owner opened; the price is that of epsilon, and a record has both."""
    for body, right in (
        (USERS, [300]),
        ({**USERS, "where": "country = 'Brazil'"}, [100]),
        ({**USERS, "by": ["country"], "groups": ["Japan", "Narnia"]}, [100, 0]),
    ):
        price = served.ann.post("/v1/price", body).json()
        job = served.ann.ask(body)
        assert job["cost"]["share"] <= price["share"]
        found = served.ann.get(job["answer"]).json()
        assert all(one["low"] <= one["count"] <= one["high"] for one in found["items"])
        off = [abs(one["count"] - many) for one, many in zip(found["items"], right, strict=True)]
        assert max(off) < 100, off
        assert (found["privacy"]["epsilon"], found["privacy"]["delta"]) == (0.5, 0)
    recorded = [one["question"] for one in served.cleo.get("/v1/record/plays").json()["questions"]]
    assert sum(said.startswith("number of users, ") for said in recorded) == 3, recorded


def test_bounds_that_are_left_out_are_those_of_the_owner(served: Served) -> None:
    """Also where somebody says null: the owner of rows knows bounds."""
    asked = {"data": "plays", "verb": "quantile", "epsilon": 0.01}
    found = [served.ann.ask({**asked, **more}) for more in ({}, {"bounds": None})]
    assert found[0]["answer"] == found[1]["answer"]
    parameters = served.ann.get(found[0]["answer"]).json()["privacy"]["parameters"]
    assert "bounds" in parameters
    assert "digits" not in parameters


def test_the_answer_has_every_form(served: Served) -> None:
    address = served.ann.ask(TOP)["answer"]
    for form, start in (("json", b"{"), ("csv", b"rank"), ("parquet", b"PAR1"), ("html", b"<!doctype html>")):
        found = served.ann.get(f"{address}.{form}")
        assert (found.status_code, found.content[: len(start)]) == (200, start), form
    assert served.ann.get(f"{address}.xls").status_code == 404


def test_asked_again_it_is_the_same_job_and_for_others_free(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        first, again, other = served.ann.ask(TOP), served.ann.ask(TOP), served.bob.ask(TOP)
        assert again == first
        assert other["answer"] == first["answer"]
        assert (other["cost"]["share"], other["cost"]["repeated"]) == (0, True)
        fresh = served.ann.ask({**TOP, "fresh": True})
        assert fresh["answer"] != first["answer"]
        by_name = {row["analyst"]: row["left"] for row in served.olga.get("/v1/budget").json()["budgets"]}
        assert by_name["ann"] < by_name["bob"]
    with serving(tmp_path) as served:  # after a restart too
        assert served.ann.ask(TOP)["cost"]["share"] > 0
        assert served.bob.ask({**TOP, "k": 3})["answer"] == first["answer"]
        record = served.cleo.get("/v1/record/plays").json()
    states = [one["state"] for one in record["questions"]]
    assert states == ["answered", "answered"]
    assert sum(one["repeats"] for one in record["questions"]) == 1


def test_two_people_who_ask_at_once_run_it_once(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.leave.clear()
        numbers = [one.post("/v1/questions", TOP).json()["id"] for one in (served.ann, served.bob, served.ann)]
        assert numbers[0] == numbers[2]
        served.leave.set()
        mine, theirs = served.ann.ended(numbers[0]), served.bob.ended(numbers[1])
        assert mine["answer"] == theirs["answer"]
        assert sorted(job["cost"]["repeated"] for job in (mine, theirs)) == [False, True]


def test_a_key_makes_one_question_of_a_request_that_is_sent_twice(served: Served) -> None:
    body = {**TOP, "k": 4, "fresh": True}
    one, two = (served.ann.ask(body, Idempotency_Key="once") for _ in range(2))
    assert one == two
    other = served.ann.post("/v1/questions", {**TOP, "k": 5}, Idempotency_Key="once")
    assert (other.status_code, other.json()["type"]) == (409, "/problems/key")
    assert served.bob.ask({**TOP, "k": 5}, Idempotency_Key="once")["state"] == "answered"


def test_a_key_that_joins_a_question_under_way_belongs_to_it(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.leave.clear()
        first = served.ann.post("/v1/questions", TOP).json()["id"]
        assert served.ann.post("/v1/questions", TOP, Idempotency_Key="joined").json()["id"] == first
        other = served.ann.post("/v1/questions", {**TOP, "k": 5}, Idempotency_Key="joined")
        assert (other.status_code, other.json()["type"]) == (409, "/problems/key")
        served.leave.set()
        assert served.ann.ended(first)["state"] == "answered"


def test_what_does_not_fit_the_budget_is_refused_and_costs_nothing(served: Served) -> None:
    before = served.ann.get("/v1/budget").json()
    told = served.ann.post("/v1/questions", {**TOP, "epsilon": 50})
    assert (told.status_code, told.json()["type"]) == (409, "/problems/budget")
    assert "the quota of 'ann' on 'plays'" in told.json()["detail"]
    assert served.ann.get("/v1/budget").json() == before


def test_price_and_forecast_read_nothing_and_are_kept(served: Served) -> None:
    body = {**TOP, "k": 7}
    price = served.ann.post("/v1/price", body).json()
    planned = served.ann.post("/v1/plan", body).json()
    assert planned["price"] == price
    assert (price["fits"], price["free"]) == (True, False)
    assert [row["asked"] for row in planned["rows"]] == [False, True, False]
    job = served.ann.ask(body)
    assert job["cost"]["share"] <= price["share"]
    assert served.ann.post("/v1/price", body).json()["free"] is True


def test_a_forecast_looks_at_as_many_items_as_the_question(served: Served) -> None:
    method = {"method": "limited-domain"}
    usual, fewer = (served.ann.post("/v1/plan", {**TOP, **method, **more}).json() for more in ({}, {"k_bar": 20}))
    assert fewer["rows"] != usual["rows"]


def test_a_union_of_bounded_users_has_a_forecast(served: Served) -> None:
    body = {"verb": "union", "data": "plays", "epsilon": "1/2", "max_items_per_user": 3}
    rows = served.ann.post("/v1/plan", body).json()["rows"]
    assert len(rows) == 3
    assert all(row["items"] is not None for row in rows)
    free = served.ann.post(
        "/v1/plan", {name: value for name, value in body.items() if name != "max_items_per_user"}
    ).json()
    assert [row["items"] for row in free["rows"]] == [None] * 3


@pytest.mark.parametrize(
    ("body", "status", "parameter"),
    [
        ({**TOP, "k": 51}, 422, "k"),
        ({**TOP, "k": "many"}, 422, "k"),
        ({**TOP, "item": "user"}, 422, "item"),
        ({**TOP, "item": "minutes"}, 422, "item"),
        ({**TOP, "data": "other"}, 422, "data"),
        ({**TOP, "by": ["artist"]}, 422, "by"),
        ({**TOP, "by_weight": "user", "at_most": 1}, 422, "by_weight"),
        ({**TOP, "measures": ["mean(user, 0, 1)"]}, 422, "measures"),
        ({**TOP, "where": "artist = 'x'"}, 422, "where"),
        ({**TOP, "where": "country = 'Japan'"}, 422, "where"),
        ({**TOP, "where": "country || '' = 'Germany'"}, 422, "where"),
        ({**TOP, "where": "country = country"}, 422, "where"),
        ({**TOP, "where": "lower(country) = 'japan'"}, 422, "where"),
        ({**TOP, "where": "CASE WHEN country = 'Germany' THEN minutes > 1 ELSE TRUE END"}, 422, "where"),
        ({**TOP, "where": '"user" = 1'}, 422, "where"),
        ({**TOP, "wehre": "x"}, 422, "body"),
        ({**TOP, "during": "2026-10"}, 422, "during"),
        ({**TOP, "epsilon": "1e999999999"}, 422, "epsilon"),
        ({**TOP, "epsilon_per_pick": 1}, 422, "body"),
        ({**TOP, "fresh": "yes"}, 422, "fresh"),
        ({"verb": "drop"}, 422, "verb"),
        ([], 422, "body"),
        ({"verb": "histogram", "data": "plays", "epsilon": 1, "domain": {"start": 0, "stop": 10**12}}, 422, "domain"),
        ({**USERS, "item": "artist"}, 422, "item"),
        ({**USERS, "by": ["country"]}, 422, "groups"),
        ({**USERS, "by": ["artist"], "groups": ["artist 1"]}, 422, "by"),
        ({**USERS, "by": ["user"], "groups": [1]}, 422, "by"),
        ({**USERS, "delta": "1e-9"}, 422, "delta"),
        ({**USERS, "max_items_per_user": 1}, 422, "body"),
        ({**USERS, "where": "artist = 'x'"}, 422, "where"),
    ],
)
def test_a_wrong_question_is_refused_before_anything(served: Served, body: object, status: int, parameter: str) -> None:
    entries = served.cleo.get("/v1/verification").json()["entries"]
    for address in ("/v1/questions", "/v1/price", "/v1/plan"):
        told = served.ann.post(address, body)
        assert (told.status_code, told.json().get("parameter")) == (status, parameter), told.text
        assert told.headers["content-type"] == "application/problem+json"
    assert served.cleo.get("/v1/verification").json()["entries"] == entries


def test_what_is_no_json_is_refused(served: Served) -> None:
    headers = {"Authorization": served.ann._headers["Authorization"], "Content-Type": "application/json"}
    for content, status in (
        (b"{", 400), (b"\xff\xfe", 400), (b'{"k": NaN}', 400), (b'{"k": 1, "k": 2}', 400), (b'"\\ud800"', 400),
        (b"[" * 100_000, 400), (b'{"verb": "top_k", "k": 1' + b"0" * 5000 + b"}", 400), (b" " * (1 << 20) + b"{}", 413),
    ):  # fmt: skip
        told = served.http.post("/v1/questions", content=content, headers=headers)
        assert told.status_code == status, (content[:30], told.text)
    told = served.http.post("/v1/questions", content=b"{}", headers={**headers, "Content-Type": "text/plain"})
    assert told.status_code == 415


def test_a_question_that_waits_is_taken_back_and_another_is_not(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.leave.clear()
        numbers = [served.ann.post("/v1/questions", {**TOP, "k": k}).json()["id"] for k in range(1, 6)]
        told = served.ann.send("DELETE", f"/v1/questions/{numbers[-1]}")
        assert (told.status_code, told.json()["state"]) == (200, "cancelled")
        assert served.bob.send("DELETE", f"/v1/questions/{numbers[-2]}").status_code == 404
        served.leave.set()
        assert served.ann.ended(numbers[0])["state"] == "answered"
        assert served.ann.send("DELETE", f"/v1/questions/{numbers[0]}").json()["type"] == "/problems/state"
        states = [served.ann.ended(number)["state"] for number in numbers]
    assert states == ["answered"] * 4 + ["cancelled"]


def test_only_so_many_wait(tmp_path: Path) -> None:
    with serving(tmp_path, server="waiting_each = 2\nwaiting = 2") as served:
        served.leave.clear()
        told = [served.ann.post("/v1/questions", {**TOP, "k": k}) for k in range(1, 9)]
        told += [served.bob.post("/v1/questions", {**TOP, "k": 9})]
        refused = [one for one in told if one.status_code != 202]
        assert {one.json()["type"] for one in refused} == {"/problems/too-many", "/problems/busy"}
        assert all(int(one.headers["retry-after"]) > 0 for one in refused)


def test_somebody_else_agrees_first(tmp_path: Path) -> None:
    with serving(tmp_path, data="approve = true") as served:
        one, two = (served.ann.post("/v1/questions", {**TOP, "k": k}).json() for k in (1, 2))
        assert one["state"] == "approval"
        assert {job["id"] for job in served.olga.get("/v1/questions").json()["questions"]} == {one["id"], two["id"]}
        assert served.ann.post(f"/v1/questions/{one['id']}/approve", None).status_code == 403
        assert served.olga.post(f"/v1/questions/{one['id']}/approve", None).status_code == 200
        assert served.olga.post(f"/v1/questions/{two['id']}/reject", None).json()["state"] == "rejected"
        assert served.olga.post(f"/v1/questions/{two['id']}/approve", None).status_code == 409
        assert served.ann.ended(one["id"])["state"] == "answered"
        assert served.ann.ended(two["id"])["problem"]["type"] == "/problems/rejected"


def test_whatever_fails_on_the_side_of_the_data_has_one_text(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        (tmp_path / "plays.parquet").write_bytes(b"no parquet")
        job = served.ann.ask(TOP)
        assert job["state"] == "failed"
        assert job["problem"]["type"] == "/problems/failed"
        assert "plays" not in json.dumps(job["problem"])
        assert job["cost"]["share"] == 0
        assert "DataError" in served.log.getvalue()


def test_an_owner_grants_and_nobody_else(served: Served) -> None:
    more = {"data": "plays", "analyst": "bob", "epsilon": 1, "delta": "1e-6"}
    assert served.ann.post("/v1/grants", more).status_code == 403
    assert served.olga.post("/v1/grants", more).json()["granted"]["epsilon"] == 3
    assert served.olga.post("/v1/grants", {**more, "analyst": "eve"}).json()["parameter"] == "analyst"
    assert served.olga.post("/v1/grants", {**more, "epsilon": "much"}).json()["parameter"] == "epsilon"


def test_the_log_holds_no_item_and_no_literal(roomy: Served) -> None:
    roomy.ann.ask({**TOP, "where": "minutes > 31.25"})
    roomy.until(lambda: '"what":"question"' in roomy.log.getvalue())  # written after the answer can be fetched
    said = roomy.log.getvalue()
    assert "artist 1" not in said
    assert "31.25" not in said
    assert "Germany" not in said


@pytest.mark.parametrize(("who", "more"), [("eve", {"data": "other"}), ("ann", {"k": 2})])
def test_a_ledger_that_gave_its_numbers_anew_shows_no_other_answer(tmp_path: Path, who: str, more: Any) -> None:
    """As after a restore: the table of questions names an entry that is now of another question."""
    with serving(tmp_path) as served:
        mine, other = served.ann.ask(TOP), getattr(served, who).ask({**TOP, **more})
        with closing(sqlite3.connect(tmp_path / "state" / "questions.sqlite")) as table, table:
            (entry,) = table.execute("SELECT settle FROM job WHERE id = ?", (other["id"],)).fetchone()
            table.execute("UPDATE job SET settle = NULL WHERE id = ?", (other["id"],))
            table.execute("UPDATE job SET settle = ? WHERE id = ?", (entry, mine["id"]))
        assert served.ann.get(mine["answer"]).status_code == 404
        assert served.ann.get(served.ann.ask({**TOP, "k": 4})["answer"]).status_code == 200


def test_a_number_without_a_fraction_is_an_integer(roomy: Served) -> None:
    body = {"verb": "top_k", "data": "plays", "k": 3, "epsilon": "1/8", "max_items_per_user": 2}
    first = roomy.ann.ask(body)
    again = roomy.ann.ask({**body, "k": 3.0, "max_items_per_user": 2.0})
    assert again["id"] == first["id"]
    assert roomy.ann.post("/v1/price", {**body, "k": 2.5}).status_code == 422
