"""A gateway may be anybody's: nothing that it sends steers a terminal, names a file or a host, or fills memory."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.remote import wire
from tests.remote.small_gateway import TOKEN, Request, Response, SmallGateway, good, problem, serving

EVIL = "\x1b]0;mine\x07\x1b[2J\u202egood\r\n\x9b31m"
JSON = {"Content-Type": "application/json"}


def steers(text: str) -> bool:
    """Does it hold anything but printable characters and ends of lines?"""
    return any(not c.isprintable() and c != "\n" for c in text)


def evil(found: Any) -> Any:
    """The same JSON with evil in each of its texts that no reader takes for a name of ours."""
    if isinstance(found, dict):
        return {name: evil(value) for name, value in found.items()}
    if isinstance(found, list):
        return [evil(value) for value in found]
    return f"{found}{EVIL}" if isinstance(found, str) and " " in found else found


def test_the_evil_text_is_evil() -> None:
    assert steers(EVIL)
    assert steers(EVIL.replace("\n", "").replace("\r", ""))


@pytest.mark.parametrize("kind", ["parameter", "budget", "sign-in", "state", "not-found", "busy"])
def test_no_message_steers_a_terminal(kind: str, gateway: SmallGateway) -> None:
    said = dict.fromkeys(("detail", "title", "hint", "parameter", "must", "came"), EVIL)
    gateway.before = lambda _: problem(kind, **said)
    remote = dps.connect(gateway.url, token=TOKEN, patience=0)
    with pytest.raises(dps.DpselectError) as found:
        remote.data().top_k(epsilon=1)
    assert "good" in str(found.value)
    assert not steers(str(found.value))


@pytest.mark.parametrize("state", ["refused", "failed", "lost", "cancelled", "rejected"])
def test_no_word_of_a_job_steers_a_terminal(state: str, remote: dps.Remote, gateway: SmallGateway) -> None:
    told = {"type": f"/problems/{state}{EVIL}", "detail": EVIL, "hint": EVIL, "title": EVIL}
    gateway.before = lambda _: good({"id": "q1", "state": state, "problem": told})
    with pytest.raises(dps.DpselectError) as found:
        remote.data().top_k(epsilon=1)
    assert not steers(str(found.value))


def test_no_release_steers_a_terminal(remote: dps.Remote, gateway: SmallGateway) -> None:
    release = remote.data().top_k(2, epsilon=5, counts=True)
    found = evil(release.to_dict())
    for item in found["items"]:
        item["item"] += EVIL
    found["privacy"]["unit"] = f"user{EVIL}"
    found["privacy"]["mechanism"] = found["privacy"]["bound"] = EVIL
    found["exact"]["charged"] = [EVIL, {"left": EVIL, EVIL: 1}]

    def before(request: Request) -> Response | None:
        if request.path.startswith("/v1/answers/"):
            return good(found)
        if request.path == "/v1/questions":
            cost = {"sentence": EVIL, "share": EVIL, EVIL: EVIL, "left": [EVIL], "repeated": False}
            return good({"id": "q1", "state": "answered", "answer": "/v1/answers/a1", "cost": cost})
        return None

    gateway.before = before
    for shown in (remote.data().top_k(2, epsilon=5), remote.answer("a1")):
        assert "good" in str(shown)
        forms = [str(shown), repr(shown), shown.text, *shown.notes, shown._repr_html_(), str(shown.privacy.promise)]
        assert not [form for form in forms if steers(form)]


def test_no_other_reply_steers_a_terminal(remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.before = lambda _: good(
        {"name": EVIL, EVIL: [EVIL, {EVIL: EVIL}], "budgets": [{EVIL: EVIL}], "sentences": [EVIL]}
    )
    for found in (remote.me(), remote.plan(dps.TopK(), epsilon=1), *remote.budget()):
        assert not steers(json.dumps(found, ensure_ascii=False))
    assert not steers(str(remote.plan(dps.TopK(), epsilon=1)["sentences"]))


@pytest.mark.parametrize(
    "answer",
    [
        "//evil.example.org/v1/answers/a1",
        "http://evil.example.org/v1/answers/a1",
        "/v1/answers/../../metrics",
        "/v1/answers/a1?x=y",
        "/v1/answers/a1\r\nHost: evil",
        "/etc/passwd",
        "",
        None,
        7,
    ],
)
def test_only_an_answer_of_this_gateway_is_fetched(answer: object, remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.before = lambda _: good({"id": "q1", "state": "answered", "answer": answer})
    with pytest.raises(dps.GatewayError, match="this version does not understand"):
        remote.data().top_k(epsilon=1)
    assert len(gateway.seen) == 1


@pytest.mark.parametrize("name", ["../../v1/me", "a/b", "a?b", "", "a" * 101, "a\r\nb", None, 7, ["a"]])
def test_only_an_id_becomes_part_of_a_path(name: object, remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.before = lambda _: good({"id": name, "state": "queued"})
    with pytest.raises(dps.GatewayError):
        remote.data().top_k(epsilon=1)
    assert len(gateway.seen) == 1


@pytest.mark.parametrize("state", ["done", "", None, 3, ["queued"], {}])
def test_an_unknown_state_is_no_state(state: object, remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.before = lambda _: good({"id": "q1", "state": state})
    with pytest.raises(dps.GatewayError, match="this version does not understand"):
        remote.data().top_k(epsilon=1)


def test_an_answer_is_never_taken_for_the_path_of_a_file(
    remote: dps.Remote, gateway: SmallGateway, tmp_path: Path
) -> None:
    release = remote.data().top_k(1, epsilon=5)
    file = tmp_path / "release.json"
    release.to_json(file)
    assert dps.Release.from_json(str(file)) == release  # as it would be, if it were
    for body in (str(file).encode(), f" {file}".encode(), b'"x"', b"\xff{}", b"{}", b"[]", b""):
        gateway.before = lambda _, sent=body: Response(200, sent, JSON)  # type: ignore[misc]
        with pytest.raises(dps.GatewayError, match="this version cannot read"):
            remote.answer("a1")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'"text"',
        b"[" * 200_000,
        b'{"id": ' + b"9" * 10_000 + b"}",
        b'{"id": NaN}',
        b'{"id": Infinity}',
        b"\xff\xfe{}",
        b"{}",
        b'{"budgets": 3}',
        b'{"budgets": [3]}',
    ],
    ids=range(12),
)
def test_what_is_no_reply_is_refused(body: bytes, remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.before = lambda _: Response(200, body, JSON)
    for ask in (remote.budget, lambda: remote.data().top_k(epsilon=1), lambda: remote.wait("q1")):
        with pytest.raises(dps.GatewayError) as found:
            ask()
        assert found.value.kind == "reply"


def test_a_page_is_no_reply(remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.before = lambda _: Response(200, b"{}", {"Content-Type": "text/html"})
    with pytest.raises(dps.GatewayError, match="is the address right"):
        remote.me()
    gateway.before = lambda _: Response(404, b"<html>", {"Content-Type": "text/html"})
    with pytest.raises(dps.GatewayError, match="answers with status 404\nhint: is the address right"):
        remote.me()


def test_a_token_goes_nowhere_else(remote: dps.Remote, gateway: SmallGateway) -> None:
    other = SmallGateway()
    with serving(other) as url:
        for status in (301, 302, 303, 307, 308):
            gateway.before = lambda _, status=status: Response(status, b"", {"Location": f"{url}/v1/me"})  # type: ignore[misc]
            with pytest.raises(dps.GatewayError, match="redirects to another address"):
                remote.me()
    assert other.seen == []


def test_a_reply_has_a_bound(remote: dps.Remote, gateway: SmallGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_REPLY_BYTES", 2 << 20)
    gateway.before = lambda _: Response(200, b" " * (wire.MAX_REPLY_BYTES + 2), JSON)
    with pytest.raises(dps.GatewayError, match="sent more than 2 MB"):
        remote.me()
    assert len(gateway.seen) == 1  # and it is not asked for again


def test_an_endless_head_is_no_reply(remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.before = lambda _: Response(200, b"{}", {"X-Long": "a" * 70_000})
    with pytest.raises(dps.GatewayError, match="did not answer with HTTP") as found:
        remote.me()
    assert found.value.kind == "reply"
    assert len(gateway.seen) == 1


@pytest.mark.parametrize("told", ["Transfer-Encoding: chunked", "X: y"])
def test_an_endless_reply_is_cut(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_REPLY_BYTES", 1 << 20)
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        caller, _ = listening.accept()
        with caller, contextlib.suppress(OSError):
            caller.recv(1 << 16)
            caller.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{told}\r\n\r\n".encode())
            while True:
                caller.sendall(b"1000\r\n" + b" " * 0x1000 + b"\r\n")

    serving = threading.Thread(target=serve)
    serving.start()
    remote = dps.connect(f"http://127.0.0.1:{listening.getsockname()[1]}", token=TOKEN)
    with pytest.raises(dps.GatewayError, match="sent more than 1 MB"):
        remote.me()
    serving.join()
    listening.close()


def test_a_message_is_no_longer_than_one_reads(remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.before = lambda _: problem("budget", detail="a" * 10**6, hint="b" * 10**6)
    with pytest.raises(dps.BudgetError) as found:
        remote.data().top_k(epsilon=1)
    assert len(str(found.value)) < 1300


def test_a_deep_reply_is_shown_or_refused(remote: dps.Remote, gateway: SmallGateway) -> None:
    replies = [Response(200, b'{"a":' * deep + b"1" + b"}" * deep, JSON) for deep in (5_000, 700, 101, 100)]
    gateway.before = lambda _: replies.pop()
    assert list(remote.me()) == ["a"]
    while replies:
        with pytest.raises(dps.GatewayError) as found:
            remote.me()
        assert found.value.kind == "reply"
