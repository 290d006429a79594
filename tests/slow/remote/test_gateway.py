"""A real gateway, as a process of its own: what Python and the command ask of it, also while it dies."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import dpselect as dps
from dpselect.command.main import main
from tests.by_names import by_names
from tests.gateway.processes import Demonstration, demonstration
from tests.remote import small_gateway
from tests.remote.small_gateway import LOST, Request, Response


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demonstration]:
    with demonstration(tmp_path_factory.mktemp("gateway") / "demo") as found:
        yield found


@pytest.fixture
def remote(served: Demonstration) -> Iterator[dps.Remote]:
    found = dps.connect(served.url, token=served.tokens["analyst"])
    yield found
    found.close()


COUNTRIES = ["Germany", "Brazil", "Iceland"]


def test_plan_price_and_answer_agree(remote: dps.Remote) -> None:
    data = remote.data("listening", item="artist").where("minutes > 3")
    price = remote.price(dps.TopK(4), data=data, epsilon="0.15")
    plan = remote.plan(dps.TopK(4), data=data, epsilon="0.15")
    assert (price["fits"], price["free"]) == (True, False)
    assert plan["price"] == price
    assert plan["sentences"]
    release = data.top_k(4, epsilon="0.15")
    assert release.charged is not None
    assert release.charged.numbers["share"] <= price["share"]  # type: ignore[operator]
    assert remote.price(dps.TopK(4), data=data, epsilon="0.15")["free"] is True
    assert remote.price(dps.Plan.from_dict({"verb": "top_k", "k": 5, "epsilon": "0.15"}), data=data)["free"] is False
    newest = remote.questions()[0]
    assert newest["question"]["where"] == "minutes > 3"  # type: ignore[index, call-overload]
    assert remote.question(str(newest["id"])) == newest
    assert remote.wait(str(newest["id"])) == release
    names = [one["id"] for one in remote.answers() if one["question"] == newest["question"]]
    assert [remote.answer(str(name)).items for name in names] == [release.items]
    with pytest.raises(dps.GatewayError, match="no longer be cancelled") as found:
        remote.cancel(str(newest["id"]))
    assert found.value.kind == "state"


def test_who_may_not_ask_is_told_so(served: Demonstration) -> None:
    for token, kind in (
        ("dps_" + "b" * 40, "sign-in"),
        (served.tokens["auditor"], "role"),
        (served.tokens["owner"], "role"),
    ):
        remote = dps.connect(served.url, token=token)
        with pytest.raises(dps.GatewayError) as found:
            remote.data().top_k(epsilon=1)
        remote.close()
        assert found.value.kind == kind


def test_the_command_asks_it(
    served: Demonstration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DPSELECT_TOKEN", served.tokens["analyst"])
    file = tmp_path / "median.json"
    words = [
        "quantile",
        "listening",
        "--gateway",
        served.url,
        "--item",
        "minutes",
        "--bounds",
        "0",
        "240",
        "--step",
        "1",
    ]
    assert main([*words, "--epsilon", "0.1", "--by", "country", "--groups", "Germany,Poland", "-o", str(file)]) == 0
    assert len(dps.Release.from_json(file)) == 2
    assert main(["top", "listening", "--gateway", served.url, "--epsilon", "9"]) == 5
    assert "of the quota of 'analyst'" in capsys.readouterr().err
    words = ["union", "listening", "--gateway", served.url, "--threshold", "800", "--max-items-per-user", "1"]
    assert main([*words, "--method", "truncated-geometric", "--format", "lines"]) == 0
    assert re.search(r"^dpselect: with epsilon [0-9.e-]+ the question costs up to ", capsys.readouterr().err)
    monkeypatch.setenv("DPSELECT_TOKEN", "dps_" + "b" * 40)
    assert main(["top", "listening", "--gateway", served.url, "--epsilon", "9"]) == 9


# ---- lost replies and dead servers ------------------------------------------------------------------------


def forwarded(request: Request, url: str) -> Response:
    """The reply of the gateway at another address, or a lost connection where there is none."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
    try:
        content = None if request.body is None else json.dumps(request.body)
        connection.request(request.method, request.path, content, headers)
        reply = connection.getresponse()
        return Response(reply.status, reply.read(), {"Content-Type": reply.headers["Content-Type"]})
    except (OSError, http.client.HTTPException):
        return LOST
    finally:
        connection.close()


def test_a_question_whose_reply_is_lost_is_asked_and_paid_once(served: Demonstration, remote: dps.Remote) -> None:
    lost: list[str] = []

    def reply(request: Request) -> Response:
        found = forwarded(request, served.url)
        if request.path not in lost:  # of each path the first reply, with every question among them
            lost.append(request.path)
            return LOST
        return found

    before = len(remote.questions())
    with small_gateway.serving(reply) as url:
        far = dps.connect(url, token=served.tokens["analyst"])
        first = by_names(far.data("listening", item="country")).choose(domain=COUNTRIES, epsilon="0.07", fresh=True)
        far.close()
    assert first.charged is not None
    assert first.charged.numbers["repeated"] is False
    assert len(remote.questions()) == before + 1
    assert lost[0] == "/v1/questions"


def test_an_answer_is_waited_for_while_the_gateway_is_started_again(tmp_path: Path) -> None:
    backend: list[str] = []
    folder, change = tmp_path / "demo", "tick = 2"
    with small_gateway.serving(lambda request: forwarded(request, backend[-1])) as url:
        outcome: list[object] = []
        with demonstration(folder, change=change) as first:
            backend.append(first.url)
            remote = dps.connect(url, token=first.tokens["analyst"])

            def ask() -> None:
                try:
                    outcome.append(remote.data(item="country").choose(domain=COUNTRIES, epsilon="0.1"))
                except dps.DpselectError as error:
                    outcome.append(error)
                remote.close()

            asking = threading.Thread(target=ask)
            asking.start()
            end = time.monotonic() + 60
            while not remote.questions() and time.monotonic() < end:
                time.sleep(0.02)
            remote.close()
            first.server.kill()
        with demonstration(folder, change=change) as second:
            backend.append(second.url)
            asking.join(60)
            again = dps.connect(url, token=second.tokens["analyst"])
            states = [one["state"] for one in again.questions()]
            again.close()
    (found,) = outcome
    assert isinstance(found, dps.Release) or (isinstance(found, dps.GatewayError) and found.kind == "lost")
    assert states == ["answered" if isinstance(found, dps.Release) else "lost"]


# ---- a second pair of eyes --------------------------------------------------------------------------------


def test_a_question_that_somebody_must_agree_to(tmp_path: Path) -> None:
    with demonstration(tmp_path / "demo", change="tick = 0.1\napprove = true") as served:
        remote = dps.connect(served.url, token=served.tokens["analyst"])
        data = remote.data(item="country")
        numbers = []
        for epsilon in ("0.1", "0.2", "0.3"):
            with pytest.raises(dps.GatewayError, match="somebody else must approve") as found:
                data.choose(domain=COUNTRIES, epsilon=epsilon)
            assert found.value.kind == "approval"
            numbers.append(str(remote.questions()[0]["id"]))
            assert numbers[-1] in str(found.value)
        owner = dps.connect(served.url, token=served.tokens["owner"])
        owner._wire.post(f"/v1/questions/{numbers[0]}/approve", {})
        assert remote.wait(numbers[0]).labels[0] in COUNTRIES
        owner._wire.post(f"/v1/questions/{numbers[1]}/reject", {})
        with pytest.raises(dps.GatewayError) as found:
            remote.wait(numbers[1])
        assert found.value.kind == "rejected"
        assert remote.cancel(numbers[2])["state"] == "cancelled"
        with pytest.raises(dps.GatewayError, match="cancelled"):
            remote.wait(numbers[2])
        owner.close()
        remote.close()
