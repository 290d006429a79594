"""What an owner bounds of one person: a question, a day, and above which price somebody must agree."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpselect.gateway.jobs import Job, JobState
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.reading import read
from dpselect.gateway.store import Jobs
from tests.gateway.served import Served, running, settings_in

LIMITS = 'max_share = "10%"\nmax_a_day = 4\napprove_above = "5%"\n'


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    path = settings_in(tmp_path)
    path.write_text(path.read_text().replace("[people.ann]\n", f"[people.ann]\n{LIMITS}"))
    with running(read(path), tmp_path) as found:
        yield found


def top(k: int, share: str) -> dict[str, object]:
    return {"verb": "top_k", "data": "plays", "k": k, "share": share}


def test_one_question_costs_no_more_than_its_part(served: Served) -> None:
    price = served.ann.post("/v1/price", top(3, "50%")).json()
    assert price["fits"] is False
    assert "of a whole budget, and one question may be at most 10 % of it" in price["sentence"]
    refused = served.ann.post("/v1/questions", top(3, "50%"))
    assert refused.status_code == 409
    assert "of a whole budget, and one question may be at most 10 % of it" in refused.json()["detail"]
    assert served.ann.get("/v1/budget").json()["budgets"][0]["left"] == 1
    assert served.bob.post("/v1/price", top(3, "50%")).json()["fits"] is True


def test_above_a_part_somebody_must_agree(served: Served) -> None:
    assert served.ann.ask(top(3, "4%"))["state"] == "answered"
    price = served.ann.post("/v1/price", top(3, "8%")).json()
    assert price["fits"] is True
    assert price["sentence"].endswith("; somebody else must approve it first")
    number = served.ann.asked(top(3, "8%"))
    assert served.ann.get(f"/v1/questions/{number}").json()["state"] == "approval"
    assert served.ann.get("/v1/budget").json()["budgets"][0]["left"] > 0.95
    assert served.olga.post(f"/v1/questions/{number}/approve", {}).status_code == 200
    assert served.ann.ended(number)["state"] == "answered"


def test_a_day_has_so_many_new_questions(served: Served) -> None:
    for k in (1, 2, 3, 4):
        assert served.ann.ask(top(k, "1%"))["state"] == "answered"
    refused = served.ann.post("/v1/questions", top(5, "1%"))
    assert refused.status_code == 429
    assert "4 are the most" in refused.json()["detail"]
    assert served.ann.ask(top(4, "1%"))["state"] == "answered"  # again
    assert served.bob.ask(top(5, "1%"))["state"] == "answered"


def test_what_is_stored_is_free_whatever_it_cost(served: Served) -> None:
    body = served.bob.ask(top(3, "50%"))["question"]
    price = served.ann.post("/v1/price", body).json()
    assert (price["free"], price["fits"]) == (True, True)
    assert served.ann.ask(body)["cost"]["share"] == 0


def test_what_is_stored_is_no_new_question_of_a_day(served: Served) -> None:
    body = served.bob.ask(top(3, "1%"))["question"]
    for key in "abcdef":  # a client of HTTP gives each request one
        assert served.ann.ask(body, **{"Idempotency-Key": key})["cost"]["share"] == 0
    assert served.ann.ask(top(2, "1%"))["state"] == "answered"


def test_many_questions_at_once_are_no_more_than_the_day_has(served: Served) -> None:
    """Each is counted in the transaction that adds it."""
    bodies = [{**top(3, "1%"), "k_bar": 100 + one} for one in range(24)]
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(lambda body: served.ann.post("/v1/questions", body).status_code, bodies))
    assert sorted(replies) == [202] * 4 + [429] * 20


def test_processes_that_share_a_table_admit_no_more_than_the_limit(tmp_path: Path) -> None:
    tables = [Jobs(tmp_path / "questions.sqlite") for _ in range(4)]

    def add(number: int) -> bool:
        table, job = tables[number % 4], Job(
            id=f"{number:032}", analyst="ann", data="plays", repeat_key=f"k{number}", body={}, state=JobState.QUEUED,
            asked_at=float(number), base_window=1.0,
        )  # fmt: skip

        def admit() -> None:
            if table.of_day("ann", -1.0)[2] >= 3:
                raise Refused("too-many", "three are the most")

        try:
            table.add(job, admit)
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        added = sum(pool.map(add, range(40)))
    assert added == 3
    assert tables[0].of_day("ann", -1.0)[0] == 3
    for table in tables:
        table.close()
