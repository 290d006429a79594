"""A real gateway in this process: its settings, its people, and a client for each of them.

Answers leave when they are there, and not at their ticks, unless a test holds them; times are for test_ticks, and for
gateways that are processes of their own (processes.py).
"""

from __future__ import annotations

import datetime
import io
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from dpselect.gateway import people as watched
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.log import Log
from dpselect.gateway.settings.reading import read
from dpselect.gateway.settings.tokens import digest
from dpselect.gateway.settings.values import Settings
from dpselect.gateway.turn import Turn
from dpselect.gateway.web.app import application

ADDRESS = "http://127.0.0.1:8080"
TOKENS = {name: f"a-token-of-{name}-{'x' * 30}" for name in ("olga", "ann", "bob", "cleo", "eve", "udo", "vera", "rex")}

SETTINGS = """
[server]
ledger = "{ledger}"
folder = "state"
workers = 2
rate = {rate}
{server}

[data.plays]
source = "plays.parquet"
user = "user"
items = ["artist", "country", ["country", "artist"]]
groups = ["country"]
promise = {{ epsilon = {promise}, delta = "1e-5" }}
sizes = {{ users = 300, items = 20, items_per_user = 3 }}
max_k = 50
{data}

[data.plays.filters]
country = ["Germany", "Brazil"]
minutes = "any"

[data.plays.values]
minutes = {{ low = 0, high = 100, step = 1 }}

[data.plays.weights]
minutes = {{ at_most = 60 }}

[data.plays.domains]
country = ["Germany", "Brazil", "Japan"]

[data.other]
source = "plays.parquet"
user = "user"
items = ["artist"]
promise = {{ epsilon = 1, delta = "1e-6" }}
sizes = {{ users = 300, items = 20, items_per_user = 3 }}

[data.visits]
source = "plays.parquet"
user = "user"
items = ["artist"]
promise = {{ epsilon = {promise}, delta = "1e-5" }}
time = "day"
period = "month"
since = "2026-10"
approve = true

[people.olga]
role = "owner"
token = "sha256:{olga}"

[people.ann]
role = "analyst"
data = ["plays"]
quota = {{ epsilon = {quota}, delta = "5e-6" }}
token = "sha256:{ann}"

[people.bob]
role = "analyst"
data = ["plays"]
quota = {{ epsilon = {quota}, delta = "5e-6" }}
token = "sha256:{bob}"

[people.cleo]
role = "auditor"
token = "sha256:{cleo}"

[people.eve]
role = "analyst"
data = ["other"]
quota = {{ epsilon = 1, delta = "1e-6" }}
token = "sha256:{eve}"

[people.udo]
role = "analyst"
data = ["plays"]
quota = {{ epsilon = {quota}, delta = "5e-6" }}
token = "sha256:{udo}"
until = 2020-01-01

[people.vera]
role = "analyst"
data = ["visits"]
quota = {{ epsilon = {quota}, delta = "5e-6" }}
token = "sha256:{vera}"

[people.rex]
role = "owner"
token = "sha256:{rex}"
"""


def rows() -> dict[str, list[Any]]:
    """300 users; each played a few of 20 artists."""
    found: dict[str, list[Any]] = {"user": [], "artist": [], "country": [], "minutes": [], "day": []}
    for user in range(300):
        for place in range(1 + user % 4):
            found["user"].append(user)
            found["artist"].append(f"artist {(user * place) % (2 + 9 * place)}")
            found["country"].append(("Germany", "Brazil", "Japan")[user % 3])
            found["minutes"].append(user % 50 + place)
            found["day"].append(datetime.date(2026, 9 + user % 2, 1 + user % 28))
    return found


def settings_in(
    folder: Path,
    *,
    ledger: str = "ledger.sqlite",
    rate: int = 10_000,
    server: str = "",
    data: str = "",
    promise: str = "3",
    quota: str = "2",
) -> Path:
    """Write rows and settings; the path of the settings."""
    if not (folder / "plays.parquet").exists():
        pq.write_table(pa.table(rows()), folder / "plays.parquet")
    said = {"ledger": ledger, "rate": rate, "server": server, "data": data, "promise": promise, "quota": quota}
    path = folder / "gateway.toml"
    path.write_text(SETTINGS.format(**said, **{name: digest(token) for name, token in TOKENS.items()}))
    return path


class Client:
    """A program of one person; without a name of nobody."""

    def __init__(self, http: TestClient, name: str | None) -> None:
        self._http = http
        self._headers = {} if name is None else {"Authorization": f"Bearer {TOKENS.get(name, name)}"}

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        given: dict[str, Any] = {} if body is None else {"json": body}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._http.request(method, path, headers={**self._headers, **named}, **given)

    def get(self, path: str) -> Any:
        return self.send("GET", path)

    def post(self, path: str, body: object, **headers: str) -> Any:
        return self.send("POST", path, body, **headers)

    def ask(self, body: Mapping[str, object], **headers: str) -> dict[str, Any]:
        """A question, until it has ended."""
        return self.ended(self.asked(body, **headers))

    def asked(self, body: Mapping[str, object], **headers: str) -> str:
        """The id of a question that was taken."""
        sent = self.post("/v1/questions", dict(body), **headers)
        assert sent.status_code == 202, sent.text
        number: str = sent.json()["id"]
        return number

    def ended(self, number: str) -> dict[str, Any]:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            job: dict[str, Any] = self.get(f"/v1/questions/{number}?wait=20").json()
            if job["state"] not in ("approval", "queued", "running"):
                return job
        raise AssertionError(f"the question did not end: {job}")


class Served:
    """A gateway that runs, and a client for everybody."""

    def __init__(self, http: TestClient, gateway: Gateway, folder: Path, log: io.StringIO) -> None:
        self.http, self.gateway, self.folder, self.log = http, gateway, folder, log
        self.people = dict(gateway.settings.people)  # as it began
        self.leave = threading.Event()
        """Answers leave while it is set."""
        self.leave.set()
        self.nobody = Client(http, None)
        self.olga, self.ann, self.bob, self.cleo, self.eve, self.udo, self.vera, *_ = (
            Client(http, name) for name in TOKENS
        )

    def headers(self, name: str | None) -> dict[str, str]:
        """What a request of somebody says."""
        return dict(Client(self.http, name)._headers)

    def remove(self, name: str) -> None:
        """As an owner does it: the file of settings is written without them, and the gateway reads it again."""
        path = self.folder / "gateway.toml"
        before, found, after = path.read_text().partition(f"[people.{name}]")
        assert found
        path.write_text(f"{before}{''.join(after.partition('[people.')[1:])}")
        self.until(lambda: self.gateway.people.find(name) is None)

    def until(self, so: Callable[[], bool]) -> None:
        """Wait for what another thread does."""
        end = time.monotonic() + 60
        while not so():
            assert time.monotonic() < end
            time.sleep(0.01)


@contextmanager
def running(settings: Settings, folder: Path, file: Path | None = None) -> Iterator[Served]:
    """The gateway of these settings, as long as the block runs; people are read again when their file is written."""
    log = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watched, "SECONDS_BETWEEN_READS", 0.05)
        gateway = Gateway(settings, Log(log), file=file)
        with TestClient(application(settings, gateway), base_url=ADDRESS) as http:
            served = Served(http, gateway, folder, log)
            patch.setattr(Turn, "_until", lambda *_: served.leave.wait(60))
            try:
                yield served
            finally:
                served.leave.set()


@contextmanager
def at_its_ticks(settings: Settings) -> Iterator[Gateway]:
    """The same without HTTP, and with answers at their times."""
    gateway = Gateway(settings, Log(io.StringIO()))
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.stop()


@contextmanager
def serving(folder: Path, **said: Any) -> Iterator[Served]:
    """One that runs, of the settings above, in which all that is said is written."""
    path = settings_in(folder, **said)
    with running(read(path), folder, path) as served:
        yield served
