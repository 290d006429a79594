"""A real gateway on a small table, in this process: its settings, its people, and a client for each of them."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from starlette.testclient import TestClient

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.log import Log
from dpselect.gateway.settings.reading import read_text
from dpselect.gateway.settings.tokens import digest
from dpselect.gateway.web.app import application

ADDRESS = "http://127.0.0.1:8080"
TOKENS = {name: f"a-token-of-{name}-{'x' * 30}" for name in ("olga", "ann", "bob", "cleo", "eve", "udo")}

SETTINGS = """
[server]
ledger = "{ledger}"
folder = "state"
workers = 2
rate = 10000
{server}

[data.plays]
source = "plays.parquet"
user = "user"
items = ["artist", "country", ["country", "artist"]]
groups = ["country"]
promise = {{ epsilon = 3, delta = "1e-5" }}
sizes = {{ users = 300, items = 20, items_per_user = 3 }}
tick = {tick}
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
tick = {tick}

[people.olga]
role = "owner"
token = "sha256:{olga}"

[people.ann]
role = "analyst"
data = ["plays"]
quota = {{ epsilon = 2, delta = "5e-6" }}
token = "sha256:{ann}"

[people.bob]
role = "analyst"
data = ["plays"]
quota = {{ epsilon = 2, delta = "5e-6" }}
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
quota = {{ epsilon = 2, delta = "5e-6" }}
token = "sha256:{udo}"
until = 2020-01-01
"""


def rows() -> dict[str, list[Any]]:
    """300 users; each played a few of 20 artists."""
    found: dict[str, list[Any]] = {"user": [], "artist": [], "country": [], "minutes": []}
    for user in range(300):
        for place in range(1 + user % 4):
            found["user"].append(user)
            found["artist"].append(f"artist {(user * place) % (2 + 9 * place)}")
            found["country"].append(("Germany", "Brazil", "Japan")[user % 3])
            found["minutes"].append(user % 50 + place)
    return found


def settings_in(
    folder: Path, *, tick: str = "0.05", ledger: str = "ledger.sqlite", server: str = "", data: str = ""
) -> Path:
    """Write rows and settings; the path of the settings."""
    if not (folder / "plays.parquet").exists():
        pq.write_table(pa.table(rows()), folder / "plays.parquet")
    digests = {name: digest(token) for name, token in TOKENS.items()}
    path = folder / "gateway.toml"
    path.write_text(SETTINGS.format(tick=tick, ledger=ledger, server=server, data=data, **digests))
    return path


class Client:
    """A program of one person; without a name of nobody."""

    def __init__(self, http: TestClient, name: str | None) -> None:
        self._http = http
        self._headers = {} if name is None else {"Authorization": f"Bearer {TOKENS[name]}"}

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
        self.nobody = Client(http, None)
        self.olga, self.ann, self.bob, self.cleo, self.eve, self.udo = (Client(http, name) for name in TOKENS)


@contextmanager
def serving(folder: Path, **said: str) -> Iterator[Served]:
    """The gateway of these settings, as long as the block runs."""
    path = settings_in(folder, **said)
    log = io.StringIO()
    settings = read_text(path.read_text(), folder)
    gateway = Gateway(settings, Log(log), file=path)
    with TestClient(application(settings, gateway), base_url=ADDRESS) as http:
        yield Served(http, gateway, folder, log)
