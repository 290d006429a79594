"""The way to a gateway: what is lost is asked again and never twice, what is busy waited for, and Ctrl-C takes back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import dpselect as dps
from dpselect.remote.address import parse_address
from dpselect.remote.wire import FIRST_PAUSE
from tests.by_names import by_names
from tests.remote.small_gateway import LOST, TOKEN, Request, Response, SmallGateway, good, problem, serving


def posts(gateway: SmallGateway) -> list[Request]:
    return [one for one in gateway.seen if (one.method, one.path) == ("POST", "/v1/questions")]


# ---- lost and busy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [LOST, Response(202, b'{"id": ', {"Content-Length": "500"})], ids=["no reply", "half"])
def test_a_lost_question_is_sent_again_under_the_same_key(
    cut: Response, remote: dps.Remote, gateway: SmallGateway
) -> None:
    lost: list[str] = []

    def before(request: Request) -> Response | None:
        if request.method == "POST" and len(lost) < 3:
            lost.append(request.path)
            if len(lost) > 1:
                gateway.ask(request)  # it arrived, and only the reply is lost
            return cut
        return None

    gateway.before = before
    assert len(remote.data().top_k(1, epsilon=5)) == 1
    keys = {one.headers["idempotency-key"] for one in posts(gateway)}
    assert (len(posts(gateway)), len(keys), len(gateway.jobs)) == (4, 1, 1)
    remote.data().top_k(1, epsilon=5)
    assert len({one.headers["idempotency-key"] for one in posts(gateway)} - keys) == 1
    assert all(len(key) == 32 for key in keys)


def test_a_gateway_that_is_not_there_is_said_at_once() -> None:
    with serving(lambda _: good({})) as url:
        pass
    with pytest.raises(dps.GatewayError, match="nothing listens at that address") as found:
        dps.connect(url, token=TOKEN, patience=10**6).data().top_k(epsilon=1)
    assert found.value.kind == "connection"
    with pytest.raises(dps.GatewayError, match="no such host"):
        dps.connect("https://gateway.invalid", token=TOKEN, patience=10**6).me()


def test_a_gateway_that_went_away_is_waited_for_no_longer_than_was_said(gateway: SmallGateway) -> None:
    remote = dps.connect(gateway.url, token=TOKEN, patience=0)
    gateway.looks = 2

    def before(request: Request) -> Response | None:
        return LOST if "wait=" in request.path else None

    gateway.before = before
    with pytest.raises(
        dps.GatewayError, match=r"closed the connection\nhint: the question is still running: Remote.wait\('q1'\)"
    ):
        remote.data().top_k(1, epsilon=5)
    assert [one.path for one in gateway.seen] == ["/v1/questions", *["/v1/questions/q1?wait=25"] * 2]  # old, and new
    gateway.before = lambda _: None
    assert len(remote.wait("q1")) == 1
    remote.close()


def test_a_connection_that_was_closed_while_nobody_used_it_is_made_anew(gateway: SmallGateway) -> None:
    remote = dps.connect(gateway.url, token=TOKEN, patience=0)
    remote.me()
    closed = [LOST]
    gateway.before = lambda _: closed.pop() if closed else None
    assert remote.me()["name"] == "ann"
    assert (len(gateway.seen), gateway.connections) == (3, 2)
    remote.close()


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_gateway_is_waited_for(
    status: int, remote: dps.Remote, gateway: SmallGateway, waited: list[float]
) -> None:
    busy = [Response(status, b"", {"Retry-After": "Mon, 1 Jan"}), Response(status, b"", {"Retry-After": "1"})]
    gateway.before = lambda _: busy.pop() if busy else None
    assert len(remote.data().top_k(1, epsilon=5)) == 1
    assert busy == []
    assert waited[:2] == [1, 2 * FIRST_PAUSE]


def test_a_gateway_that_is_busy_for_long_is_left(remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.before = lambda _: Response(
        503,
        b'{"type": "/problems/busy", "detail": "100 questions wait"}',
        {"Retry-After": "3600", "Content-Type": "application/problem+json"},
    )
    with pytest.raises(dps.GatewayError, match="100 questions wait\nhint: try again in 3600 seconds") as found:
        remote.data().top_k(1, epsilon=5)
    assert found.value.kind == "busy"
    assert len(gateway.seen) == 1


def test_a_question_is_watched_until_its_end(remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.looks = 3
    told: list[float | None] = []
    assert len(by_names(remote.data()).top_k(1, epsilon=5, progress=told.append)) == 1
    assert told == [None] * 3
    looks = [one.path for one in gateway.seen if one.path.startswith("/v1/questions/")]
    assert looks == ["/v1/questions/q1?wait=1"] * 3
    gateway.looks = 1
    remote.data().top_k(1, epsilon=5)
    assert gateway.seen[-2].path == "/v1/questions/q2?wait=25"


def test_threads_have_connections_of_their_own(remote: dps.Remote) -> None:
    found: list[dps.Release] = []
    each = [threading.Thread(target=lambda: found.append(remote.data().top_k(1, epsilon=5))) for _ in range(8)]
    for one in each:
        one.start()
    for one in each:
        one.join()
    assert [len(release) for release in found] == [1] * 8


FORKS = """
import os, sys
import dpselect as dps
remote = dps.connect(sys.argv[1], token=sys.argv[2], patience=0)
remote.me()
child = os.fork()
if child == 0:
    os._exit(0 if all(remote.me()["name"] == "ann" for _ in range(3)) else 1)
fine = all(remote.me()["name"] == "ann" for _ in range(3))
print(fine, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_makes_a_connection_of_its_own(gateway: SmallGateway) -> None:
    words = [sys.executable, "-c", FORKS, gateway.url, TOKEN]
    assert subprocess.run(words, check=True, capture_output=True, text=True).stdout == "True 0\n"
    assert gateway.connections == 2


# ---- what comes of a question -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "kind", "said"),
    [
        (
            {"state": "refused", "problem": {"type": "/problems/budget", "detail": "3 % left"}},
            dps.BudgetError,
            "3 % left",
        ),
        ({"state": "refused", "problem": None}, dps.BudgetError, "nothing was charged"),
        (
            {
                "state": "refused",
                "problem": {"type": "/problems/parameter", "parameter": "k", "must": "be 1", "came": "2", "hint": "so"},
            },
            dps.ParameterError,
            "k must be 1, got 2\nhint: so",
        ),
        (
            {"state": "failed", "problem": {"type": "/problems/failed", "detail": "no answer"}},
            dps.DataError,
            "no answer",
        ),
        ({"state": "failed"}, dps.DataError, "no answer: the question is failed"),
        ({"state": "lost"}, dps.GatewayError, "no answer: the question is lost"),
        ({"state": "cancelled"}, dps.GatewayError, "cancelled"),
        ({"state": "rejected"}, dps.GatewayError, "no answer: the question is rejected"),
        ({"state": "approval"}, dps.GatewayError, r"somebody else must approve.*\n.*Remote.wait\('q7'\)"),
    ],
)
def test_a_question_without_an_answer_is_an_error(
    job: dict[str, object], kind: type[Exception], said: str, remote: dps.Remote, gateway: SmallGateway
) -> None:
    gateway.before = lambda _: good({"id": "q7", **job}, 202)
    with pytest.raises(kind, match=said):
        remote.data().top_k(epsilon=1)
    assert [one.method for one in gateway.seen] == ["POST"]


@pytest.mark.parametrize(
    ("kind", "more", "error", "said"),
    [
        (
            "budget",
            {"detail": "it costs 40 %", "hint": "ask for less"},
            dps.BudgetError,
            "it costs 40 %\nhint: ask for",
        ),
        ("sign-in", {}, dps.GatewayError, "rejected this token\nhint: give token="),
        ("sign-in", {"detail": "it ended yesterday"}, dps.GatewayError, "rejected this token\nhint: give token="),
        ("role", {"detail": "auditors do not ask"}, dps.GatewayError, "auditors do not ask"),
        ("not-found", {"detail": "no such data"}, dps.GatewayError, "no such data"),
        (
            "parameter",
            {"parameter": "where", "must": "use columns", "came": "'x'", "hint": "did you mean y?"},
            dps.ParameterError,
            "where must use columns, got 'x'\nhint: did you mean y",
        ),
    ],
)
def test_problems_are_errors_of_ours(
    kind: str, more: dict[str, str], error: type[Exception], said: str, remote: dps.Remote, gateway: SmallGateway
) -> None:
    gateway.before = lambda _: problem(kind, **more)
    with pytest.raises(error, match=said) as found:
        remote.data().top_k(epsilon=1)
    if isinstance(found.value, dps.GatewayError):
        assert found.value.kind == kind
    if isinstance(found.value, dps.ParameterError):
        assert (found.value.parameter, found.value.must, found.value.came) == ("where", "use columns", "'x'")


# ---- Ctrl-C -----------------------------------------------------------------------------------------------


def stopping(_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (None, "^the question was cancelled; nothing was charged$"),
        (problem("state"), "still runs and is charged"),
        (problem("not-found"), "could not be reached"),
        (Response(500), "could not be reached"),
    ],
    ids=["cancelled", "state", "not found", "broken"],
)
def test_ctrl_c_takes_a_question_back(
    reply: Response | None, said: str, remote: dps.Remote, gateway: SmallGateway
) -> None:
    gateway.looks = 100
    gateway.before = lambda request: reply if request.method == "DELETE" else None
    with pytest.raises(KeyboardInterrupt, match=said):
        by_names(remote.data()).top_k(epsilon=1, progress=stopping)
    assert [(one.method, one.path) for one in gateway.seen][-1] == ("DELETE", "/v1/questions/q1")


def test_ctrl_c_before_the_reply_says_that_it_may_have_been_asked(remote: dps.Remote, gateway: SmallGateway) -> None:
    import _thread

    def before(_: Request) -> Response | None:
        _thread.interrupt_main()
        threading.Event().wait(0.5)
        return None

    gateway.before = before
    with pytest.raises(KeyboardInterrupt, match="may have been asked"):
        remote.data().top_k(epsilon=1)
    gateway.before = lambda _: None
    assert remote.me()["name"] == "ann"  # on a new connection, not in the middle of the old reply


def test_another_error_while_waiting_takes_it_back_too(remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.looks = 100

    def failing(_: object) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        by_names(remote.data()).top_k(epsilon=1, progress=failing)
    assert gateway.jobs["q1"]["state"] == "cancelled"


def test_waiting_for_an_old_question_leaves_it_alone(remote: dps.Remote, gateway: SmallGateway) -> None:
    gateway.looks = 100
    with pytest.raises(KeyboardInterrupt):
        by_names(remote.data()).top_k(epsilon=1, progress=stopping)
    gateway.jobs["q1"]["state"] = "running"
    with pytest.raises(KeyboardInterrupt):
        remote.wait("q1", progress=stopping)
    assert gateway.jobs["q1"]["state"] == "running"


# ---- addresses, tokens, TLS -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://g.example.org",
        "https://g.example.org:8443/dp",
        "http://127.0.0.1:80",
        "http://[::1]:8080",
        "http://localhost",
    ],
)
def test_addresses(url: str) -> None:
    assert str(parse_address(url)) == str(parse_address(f"{url}/")) == url


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://g.example.org", "anybody on the network could read the token"),
        ("http://127.0.0.1.example.org", "anybody on the network"),
        ("http://10.0.0.1", "anybody on the network"),
        ("ftp://g.example.org", "be the address"),
        ("g.example.org", "be the address"),
        ("https://", "be the address"),
        ("https://g.example.org:99999", "be the address"),
        ("https://g.example.org/?a=b", "be the address"),
        ("https://g.example.org/a b", "be the address"),
        ("https://g.example.org\r\nHost: evil", "be the address"),
        ("https://g.example.org/\u202e", "be the address"),
        (8080, "be the address"),
    ],
)
def test_addresses_that_are_refused(url: object, said: str) -> None:
    with pytest.raises(dps.ParameterError, match=said):
        parse_address(url)


@pytest.mark.parametrize("password", ["secret", "12/secret", "secret/x", "secret?x", "sec ret", "secret#x", "secret[x"])
def test_a_password_in_an_address_is_not_shown(password: str) -> None:
    with pytest.raises(dps.ParameterError, match="hold no name and no password") as found:
        parse_address(f"https://ann:{password}@g.example.org")
    assert "sec" not in str(found.value)


def test_an_open_way_is_taken_where_somebody_says_so() -> None:
    assert repr(dps.connect("http://10.0.0.1:8080", token=TOKEN, insecure=True)) == "Remote('http://10.0.0.1:8080')"
    with pytest.raises(dps.ParameterError, match="insecure must be True or False"):
        dps.connect("http://10.0.0.1:8080", token=TOKEN, insecure="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("token", ["", " ", "a b", "a\r\nX: y", "\u00e9", 3, b"abc", "a" * 5000])
def test_a_token_that_is_none_is_refused_and_not_shown(token: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPSELECT_TOKEN", raising=False)
    with pytest.raises(dps.ParameterError, match=r"token must .*, got (nothing|something else)\n"):
        dps.connect("https://g.example.org", token=token)  # type: ignore[arg-type]


def test_the_token_may_be_in_the_environment_and_is_shown_nowhere(
    gateway: SmallGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSELECT_TOKEN", f"{TOKEN}\n")
    remote = dps.connect(gateway.url)
    assert remote.me()["name"] == "ann"
    assert TOKEN not in repr(remote) + repr(remote.data("listening", item="artist"))
    monkeypatch.delenv("DPSELECT_TOKEN")
    with pytest.raises(dps.ParameterError, match="token must be given"):
        dps.connect(gateway.url)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that signs itself, made by OpenSSL for a minute's use."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here")
    folder = tmp_path_factory.mktemp("tls")
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += [
        "-addext",
        "subjectAltName=DNS:localhost",
        "-keyout",
        str(folder / "key.pem"),
        "-out",
        str(folder / "cert.pem"),
    ]
    subprocess.run([openssl, *made], check=True, capture_output=True)
    return folder


def test_a_certificate_must_be_valid(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = SmallGateway()
    with serving(small, certificate) as place:
        url = place.replace("http://127.0.0.1", "https://localhost")
        with pytest.raises(dps.GatewayError, match=r"the certificate of https://localhost:\d+ is not valid: .*self"):
            dps.connect(url, token=TOKEN).me()
        assert small.seen == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
        assert dps.connect(url, token=TOKEN).me()["name"] == "ann"
        with pytest.raises(dps.GatewayError, match=r"certificate .* is not valid"):
            dps.connect(url.replace("localhost", "127.0.0.1"), token=TOKEN).me()  # another name than its own


def test_a_gateway_without_tls_is_no_gateway_with_it(gateway: SmallGateway) -> None:
    with pytest.raises(dps.GatewayError, match="does not speak TLS"):
        dps.connect(gateway.url.replace("http:", "https:"), token=TOKEN).me()
