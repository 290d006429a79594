"""Owners and auditors of one data set learn of no other: neither of its people, nor of what is asked of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from dpselect.gateway.settings.tokens import digest
from dpselect.gateway.views import RECORD_OF_ALL
from dpselect.ledger import Ledger
from tests.gateway.served import TOKENS, Client, Served, serving

HERE = {"ann", "bob", "udo", "olga", "cleo", "oto", "ada", "rex"}  # who may use `plays`; eve may use `other` alone
PLACES = ("/v1/people", "/owner", "/v1/budget", "/budget", "/v1/record/plays", "/record/plays", "/record", "/v1/data",
          "/v1/answers", "/history", "/v1/questions", "/v1/me")  # fmt: skip
TRIES = 20


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Client, Client]]:
    """A gateway of two data sets, both of which were asked; an owner and an auditor of one of them."""
    new = {"oto": "owner", "ada": "auditor"}
    people = "".join(
        f'[people.{one}]\nrole = "{role}"\ndata = ["plays"]\ntoken = "sha256:{digest(one * 20)}"\n'
        for one, role in new.items()
    )
    with serving(tmp_path_factory.mktemp("gateway"), data=people) as served:
        served.ann.ask({"verb": "top_k", "data": "plays", "k": 2, "epsilon": "1/5"})
        served.eve.ask({"verb": "top_k", "data": "other", "k": 2, "epsilon": "1/9"})
        yield served, *(a_client(served, one) for one in new)


def a_client(served: Served, name: str) -> Client:
    found = Client(served.http, None)
    found._headers = {"Authorization": f"Bearer {name * 20}"}
    return found


@pytest.mark.parametrize("path", PLACES)
def test_nothing_of_the_other_is_told(path: str, asked: tuple[Served, Client, Client]) -> None:
    served, *both = asked
    for somebody in both:
        told = somebody.get(path)
        assert told.status_code in (200, 403), told.text
        assert not re.search(r'\beve\b|"other"|>other<|, other\b', told.text), told.text
    assert '"eve"' in served.olga.get("/v1/people").text


def test_people_are_those_of_the_data(asked: tuple[Served, Client, Client]) -> None:
    served, oto, _ = asked
    found: list[dict[str, Any]] = oto.get("/v1/people").json()["people"]
    assert {one["name"] for one in found} == HERE
    assert all(one["data"] == ["plays"] for one in found)
    assert {one["name"] for one in served.olga.get("/v1/people").json()["people"]} == {*TOKENS, "oto", "ada"}


def test_a_verification_counts_the_entries_of_the_data(asked: tuple[Served, Client, Client]) -> None:
    served, *both = asked
    with Ledger(served.folder / "ledger.sqlite") as ledger:
        mine = sum(entry.account.dataset == "plays" for entry in ledger.entries())
        assert mine < ledger.count
        whole = ledger.count
    for somebody in both:
        for path in ("/v1/verification", "/v1/record/plays"):
            found = somebody.get(path).json()
            found = found.get("verification", found)
            assert (found["problems"], found["entries"]) == ([], mine)
    assert served.cleo.get("/v1/verification").json()["entries"] == whole


def test_what_others_ask_changes_nothing_that_is_counted(asked: tuple[Served, Client, Client]) -> None:
    served, oto, ada = asked

    def seen() -> list[Any]:
        found = [ada.get("/v1/verification").json(), ada.get("/v1/record/plays").json(), oto.get("/v1/people").json()]
        for one in found:
            one.pop("head", None)
            one.get("verification", {}).pop("head", None)  # of the chain, which is one for all
        return found

    before, whole = seen(), served.cleo.get("/v1/verification").json()["entries"]
    tries = [{"verb": "top_k", "data": "other", "k": 5 + place, "epsilon": "1/200"} for place in range(TRIES)]
    for number in [served.eve.asked(one) for one in tries]:
        served.eve.ended(number)
    assert seen() == before
    assert served.cleo.get("/v1/verification").json()["entries"] > whole


def test_numbers_of_all_are_for_those_to_whom_all_is_open(asked: tuple[Served, Client, Client]) -> None:
    served, *both = asked
    assert [one.get("/metrics").status_code for one in both] == [403, 403]
    assert [one.get("/metrics").status_code for one in (served.olga, served.cleo)] == [200, 200]


def test_a_problem_of_others_is_not_told_in_words(
    asked: tuple[Served, Client, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, _, ada = asked
    said = "the account of 'other' was changed"
    monkeypatch.setattr(Ledger, "verify", lambda _self, _head=None: [said])
    assert ada.get("/v1/verification").json()["problems"] == [RECORD_OF_ALL]
    assert ada.get("/v1/record/plays").json()["verification"]["problems"] == [RECORD_OF_ALL]
    assert served.cleo.get("/v1/verification").json()["problems"] == [said]
