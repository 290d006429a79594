"""Nobody keeps others out: not by many requests, and, behind a proxy of the guide, not by slow or idle connections."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import resource
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpselect.gateway.web import guards
from tests.conftest import ROOT
from tests.gateway import processes
from tests.gateway.served import TOKENS, Served, serving

TRIES, RATE, IDLE = 20, 20, 1300
PAGE = (ROOT / "docs" / "gateway.md").read_text("utf-8")
OPEN = {"sign-in": {303: TRIES}, "token": {200: TRIES}, "/healthz": {200: TRIES}, "/readyz": {200: TRIES}}


@pytest.fixture
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """All requests come at once."""
    monkeypatch.setattr(guards, "time", SimpleNamespace(monotonic=lambda: 0.0))


def called_here(served: Served, who: str) -> dict[str, Counter[int]]:
    """What comes back to somebody with a right token, and to whoever looks after the server."""

    def sign_in() -> int:
        served.http.cookies.clear()
        return served.http.post("/sign-in", data={"token": TOKENS[who]}, follow_redirects=False).status_code

    calls: dict[str, Callable[[], int]] = {
        "sign-in": sign_in,
        "token": lambda: served.http.get("/v1/me", headers=served.headers(who)).status_code,
        "/healthz": lambda: served.http.get("/healthz").status_code,
        "/readyz": lambda: served.http.get("/readyz").status_code,
    }
    return {what: Counter(one() for _ in range(TRIES)) for what, one in calls.items()}


@pytest.mark.usefixtures("one_moment")
def test_one_person_s_requests_are_counted_and_shut_nobody_else_out(tmp_path: Path) -> None:
    with serving(tmp_path, rate=RATE) as served:
        while (told := served.ann.get("/v1/me")).status_code != 429:
            assert told.status_code == 200
        assert told.headers["retry-after"] == "1"
        assert called_here(served, "bob") == OPEN
        assert called_here(served, "ann") == {**OPEN, "token": {429: TRIES}}
        served.http.cookies.clear()
        nobody = [served.nobody.get("/v1/me").status_code for _ in range(5 * RATE)]
        assert nobody == [401] * (5 * RATE)
        assert called_here(served, "cleo") == OPEN


# ---- as processes, with connections -------------------------------------------------------------------------


@contextlib.contextmanager
def idle(address: tuple[str, int], source: str) -> Iterator[None]:
    """Many connections on which nothing is said."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * IDLE:
        pytest.skip(f"a process may open {hard} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * IDLE), hard))
    with contextlib.ExitStack() as stack:
        for _ in range(IDLE):
            stack.enter_context(socket.create_connection(address, 30, (source, 0)))
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def call(address: tuple[str, int], source: str, method: str, path: str, body: str | None = None, **headers: str) -> int:
    connection = http.client.HTTPConnection(*address, timeout=30, source_address=(source, 0))
    kind = {} if body is None else {"Content-Type": "application/x-www-form-urlencoded"}
    with contextlib.closing(connection):
        connection.request(method, path, body, {**kind, **headers})
        return connection.getresponse().status


def called(address: tuple[str, int], source: str, token: str) -> dict[str, Counter[int]]:
    """The same over a connection for each."""
    calls: dict[str, Callable[[], int]] = {
        "sign-in": lambda: call(address, source, "POST", "/sign-in", f"token={token}"),
        "token": lambda: call(address, source, "GET", "/v1/me", Authorization=f"Bearer {token}"),
        "/healthz": lambda: call(address, source, "GET", "/healthz"),
        "/readyz": lambda: call(address, source, "GET", "/readyz"),
    }
    return {what: Counter(call() for _ in range(TRIES)) for what, call in calls.items()}


@contextlib.contextmanager
def gateway(folder: Path) -> Iterator[tuple[tuple[str, int], str]]:
    """A gateway behind a proxy on the same machine, with the rate that it has unless told: its address, and a token."""
    world = processes.make(folder, analysts=1)
    file = world.settings()
    file.write_text(file.read_text("utf-8").replace("rate = 100000", 'proxy = { addresses = ["127.0.0.1"] }'), "utf-8")
    with processes.running(processes.Server(file)) as server:
        assert server.address is not None
        yield server.address, world.tokens["ann0"]


Start = Callable[[tuple[str, int]], tuple[str, int]]


def text_of(language: str, behind: tuple[str, int], address: tuple[str, int]) -> str:
    """A proxy's text as the guide has it, but for the port and TLS; and 10 seconds are one."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    text = found[1].replace("127.0.0.1:8080", f"{behind[0]}:{behind[1]}").replace(" 10s", " 1s")
    text = text.replace("listen 443 ssl;", f"listen {address[1]};").replace("$host", f"{behind[0]}:{behind[1]}")
    return text.replace("ask.example.org {", f"http://:{address[1]} {{")


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Start]:
    """Starts a real proxy of the guide before a gateway; its address."""
    name, started = str(request.param), list[subprocess.Popen[bytes]]()
    program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip(f"there is no {name} here; .ci/run installs it")

    def start(behind: tuple[str, int]) -> tuple[str, int]:
        with socket.socket() as free:  # only now: the gateway has its own port
            free.bind(("0.0.0.0", 0))
            address = ("127.0.0.1", int(free.getsockname()[1]))
        text, conf = text_of({"caddy": "caddyfile"}.get(name, name), behind, address), tmp_path / f"{name}.conf"
        command = [program, "run", "--adapter", "caddyfile", "--config", str(conf)]
        if name == "nginx":
            paths = "".join(
                f"{one}_temp_path {tmp_path}/{one};\n" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
            )
            text = (
                f"daemon off;\npid {tmp_path}/pid;\nerror_log {tmp_path}/error.log;\n"
                f"events {{ worker_connections 768; }}\nhttp {{ access_log off;\n{paths}{text} }}\n"  # Debian's number
            )
            command = [program, "-p", str(tmp_path), "-c", str(conf)]
        else:
            text = text.replace("{\n", "{\n    admin off\n", 1)
            forged = "header_up -X-Forwarded-User\n"
            text = text.replace(forged, f"{forged}        header_up Host {behind[0]}:{behind[1]}\n")
        conf.write_text(text)
        homes = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
        with (tmp_path / "said").open("wb") as said:
            started.append(subprocess.Popen(command, env={**os.environ, **homes}, stderr=said))
        while True:
            assert started[0].poll() is None, (tmp_path / "said").read_text()
            with contextlib.suppress(OSError), socket.create_connection(address, 1):
                return address
            time.sleep(0.02)

    start.name = name  # type: ignore[attr-defined]
    yield start
    for process in started:
        process.terminate()
        process.wait(30)


def test_idle_connections_to_a_gateway_shut_nobody_out(tmp_path: Path) -> None:
    with gateway(tmp_path) as (address, token), idle(address, "127.0.0.2"):
        assert called(address, "127.0.0.3", token) == OPEN


def test_a_proxy_of_the_guide_keeps_slow_and_greedy_callers_away(tmp_path: Path, proxy: Start) -> None:
    with gateway(tmp_path) as (behind, token):
        address = proxy(behind)
        assert called(address, "127.0.0.3", token) == OPEN
        forged = call(address, "127.0.0.3", "GET", "/v1/me", **{"X-Forwarded-User": "ann0"})
        assert forged == 401
        large = call(address, "127.0.0.3", "POST", "/v1/price", "x" * (2 << 20), Authorization=f"Bearer {token}")
        assert large in (413, 502)  # the latter where the gateway has refused it before Caddy had sent all of it
        for half in (b"GET / HT", b"POST /sign-in HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\ntok"):
            with socket.create_connection(address, 30, ("127.0.0.2", 0)) as slow:
                slow.sendall(half)
                said = b""
                with contextlib.suppress(ConnectionResetError):  # it is sent away, before half a minute is over
                    said = b"".join(iter(lambda slow=slow: slow.recv(1 << 16), b""))
                assert b"content-security-policy" not in said.lower()  # and the gateway has not heard of it
        if proxy.name == "nginx":  # type: ignore[attr-defined]
            flood = Counter(call(address, "127.0.0.2", "GET", "/v1/me") for _ in range(600))
            assert set(flood) == {401, 429}
        with idle(address, "127.0.0.2"):
            assert called(address, "127.0.0.4", token) == OPEN
