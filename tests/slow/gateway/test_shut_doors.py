"""Nobody without a token keeps others out: not by many requests, and not by connections that say nothing."""

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
from starlette.testclient import TestClient

from dpselect.gateway.web import app, guards
from tests.conftest import ROOT
from tests.gateway import processes
from tests.gateway.served import ADDRESS, TOKENS, Served, serving

TRIES, RATE, IDLE = 20, 20, 1300
TRUSTED = 'proxy = { addresses = ["10.1.0.0/16"] }'
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
PAGE = (ROOT / "docs" / "gateway.md").read_text("utf-8")
PROXY, ATTACKER, OTHER = "10.1.2.3", "203.0.113.9", "198.51.100.7"
OPEN = {"sign-in": {303: TRIES}, "token": {200: TRIES}, "/healthz": {200: TRIES}, "/readyz": {200: TRIES}}


@pytest.fixture
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """All requests come at once."""
    monkeypatch.setattr(guards, "time", SimpleNamespace(monotonic=lambda: 0.0))


def at(served: Served, address: str, passed: str | None = None) -> TestClient:
    """Somebody at an address; or a proxy there, which passes on what comes from elsewhere."""
    headers = {} if passed is None else {"X-Forwarded-For": passed}
    return TestClient(served.http.app, base_url=ADDRESS, client=(address, 1), headers=headers)


def exhausted(somebody: TestClient) -> None:
    """Until an address may send nothing more."""
    while somebody.get("/v1/me").status_code != 429:
        pass


def signing_in(somebody: TestClient, token: str) -> int:
    somebody.cookies.clear()
    return somebody.post("/sign-in", data={"token": token}, follow_redirects=False).status_code


def told(served: Served, somebody: TestClient) -> dict[str, Counter[int]]:
    """What comes back to whoever has a right token, and to whoever looks after the server."""
    calls: dict[str, Callable[[], int]] = {
        "sign-in": lambda: signing_in(somebody, TOKENS["ann"]),
        "token": lambda: somebody.get("/v1/me", headers=served.headers("ann")).status_code,
        "/healthz": lambda: somebody.get("/healthz").status_code,
        "/readyz": lambda: somebody.get("/readyz").status_code,
    }
    return {what: Counter(call() for _ in range(TRIES)) for what, call in calls.items()}


@pytest.mark.usefixtures("one_moment")
def test_a_right_token_and_health_are_not_held_up_by_the_same_address(tmp_path: Path) -> None:
    with serving(tmp_path, rate=RATE) as served:
        somebody = at(served, PROXY)
        exhausted(somebody)
        assert told(served, somebody) == OPEN
        assert [signing_in(somebody, "wrong") for _ in range(TRIES)] == [429] * TRIES


@pytest.mark.usefixtures("one_moment")
def test_what_is_counted_before_it_is_looked_at_is_shut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "UNCOUNTED", set())  # as it was
    with serving(tmp_path, rate=RATE) as served:
        somebody = at(served, PROXY)
        exhausted(somebody)
        shut = {429: TRIES}
        assert told(served, somebody) == {**OPEN, "sign-in": shut, "/healthz": shut, "/readyz": shut}


@pytest.mark.usefixtures("one_moment")
@pytest.mark.parametrize(("proxy", "status"), [(TRUSTED, 200), ("", 429)])
def test_a_trusted_proxy_says_which_address_it_was(proxy: str, status: int, tmp_path: Path) -> None:
    """Without one, whoever is behind the same proxy is taken for the same."""
    with serving(tmp_path, rate=RATE, server=proxy) as served:
        exhausted(at(served, PROXY, ATTACKER))
        for other in (OTHER, f"{OTHER}, 10.1.9.9", f"{ATTACKER}, {OTHER}"):
            assert at(served, PROXY, other).get("/sign-in").status_code == status
        for same in (ATTACKER, f"{OTHER}, {ATTACKER}", f"{OTHER},{ATTACKER}, 10.1.9.9"):
            assert at(served, PROXY, same).get("/sign-in").status_code == 429


@pytest.mark.usefixtures("one_moment")
def test_nobody_else_says_where_they_are(tmp_path: Path) -> None:
    with serving(tmp_path, rate=RATE, server=TRUSTED) as served:
        exhausted(at(served, ATTACKER))
        tries = [at(served, ATTACKER, f"192.0.2.{one}").get("/sign-in").status_code for one in range(TRIES)]
        assert tries == [429] * TRIES
        assert at(served, PROXY, "").get("/sign-in").status_code == 200
        assert at(served, PROXY).get("/sign-in").status_code == 200


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


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[Callable[[tuple[str, int]], tuple[str, int]]]:
    """Starts nginx as the guide has it, but without certificates, before a gateway; its address."""
    if NGINX is None:
        pytest.skip("there is no nginx here; .ci/run installs nginx-light")
    text = re.search(r"```nginx\n(.*?)```", PAGE, re.DOTALL)
    assert text is not None
    started: list[subprocess.Popen[bytes]] = []

    def start(behind: tuple[str, int]) -> tuple[str, int]:
        with socket.socket() as free:  # only now: the gateway has its own port
            free.bind(("0.0.0.0", 0))
            address = ("127.0.0.1", int(free.getsockname()[1]))
        site = text[1].replace("listen 443 ssl;", f"listen {address[1]};")
        site = site.replace("127.0.0.1:8080", f"{behind[0]}:{behind[1]}").replace("$host", f"{behind[0]}:{behind[1]}")
        paths = "".join(
            f"{one}_temp_path {tmp_path}/{one};\n" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"daemon off;\npid {tmp_path}/pid;\nerror_log {tmp_path}/error.log;\n"
            f"events {{ worker_connections 768; }}\nhttp {{ access_log off;\n{paths}{site} }}\n"  # Debian's number
        )
        started.append(subprocess.Popen([str(NGINX), "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]))
        while True:
            assert started[0].poll() is None, (tmp_path / "error.log").read_text()
            with contextlib.suppress(OSError), socket.create_connection(address, 1):
                return address
            time.sleep(0.02)

    yield start
    for process in started:
        process.terminate()
        process.wait(30)


def test_idle_connections_to_a_gateway_shut_nobody_out(tmp_path: Path) -> None:
    with gateway(tmp_path) as (address, token), idle(address, "127.0.0.2"):
        assert called(address, "127.0.0.3", token) == OPEN


def test_one_address_behind_nginx_shuts_nobody_else_out(
    tmp_path: Path, nginx: Callable[[tuple[str, int]], tuple[str, int]]
) -> None:
    with gateway(tmp_path) as (behind, token):
        address = nginx(behind)
        flood = Counter(call(address, "127.0.0.2", "GET", "/v1/me") for _ in range(600))
        assert set(flood) == {401, 429}
        assert called(address, "127.0.0.3", token) == OPEN
        forged = Counter(
            call(address, "127.0.0.2", "GET", "/v1/me", **{"X-Forwarded-For": f"192.0.2.{one}"}) for one in range(250)
        )
        assert forged[429]
        assert call(address, "127.0.0.3", "GET", "/v1/me", **{"X-Forwarded-User": "ann0"}) == 401
        with idle(address, "127.0.0.2"):
            assert called(address, "127.0.0.4", token) == OPEN
