"""Servers as processes of their own, which may be killed; what they are asked of, and how they are called.

Nothing here stands in for a part of the gateway: `dpselect serve` runs as a user would run it.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpselect.gateway import demo
from dpselect.gateway.settings.tokens import digest

ARTISTS, USERS = 12, 400
PATIENCE = 120.0  # seconds for what takes one or two, on a machine that does much else
SETTINGS = """[server]
ledger = "{ledger}"
folder = "{folder}"
{jobs}
workers = {workers}
rate = 100000
waiting = 100000
waiting_each = 10000

"""
DATA = """
[data.{name}]
source = "{name}.parquet"
user = "user"
items = ["artist"]
promise = {{ epsilon = {promise}, delta = "1e-3" }}
tick = "{tick}"
"""
PERSON = """
[people.{name}]
role = "{role}"
token = "sha256:{digest}"
"""
QUOTA = """quota = {{ epsilon = {epsilon}, delta = "1e-4" }}
"""


@dataclass(frozen=True)
class World:
    """A folder with rows and the settings of one server or of several."""

    folder: Path
    tokens: Mapping[str, str]

    def settings(self, name: str = "state") -> Path:
        """The file for the server that keeps its questions in the folder of this name."""
        return self.folder / f"{name}.toml"


def make(
    folder: Path,
    *,
    analysts: int = 6,
    tick: float = 0.2,
    workers: int = 4,
    ledger: str | None = None,
    jobs: str | None = None,
    servers: tuple[str, ...] = ("state",),
    promise: float = 3,
    quota: float = 1,
    data: tuple[str, ...] = ("plays",),
) -> World:
    """Everything that a server needs, but for other data than plays. The last of several analysts may ask little."""
    if "plays" in data:
        write_rows(folder / "plays.parquet")
    names = [f"ann{number}" for number in range(analysts)]
    tokens = {name: f"{name}-{'x' * 40}" for name in [*names, "olga"]}
    people = ""
    for name, token in tokens.items():
        role = "owner" if name == "olga" else "analyst"
        people += PERSON.format(name=name, role=role, digest=digest(token))
        if role == "analyst":
            people += QUOTA.format(epsilon=0.2 if name == names[-1] and analysts > 1 else quota)
    for server in servers:
        text = SETTINGS.format(
            ledger=ledger or "ledger.sqlite",
            folder=server,
            jobs=f'jobs = "{jobs}"' if jobs else "",
            workers=workers,
        )
        text += "".join(DATA.format(name=name, tick=tick, promise=promise) for name in data)
        (folder / f"{server}.toml").write_text(text + people, "utf-8")
    return World(folder, tokens)


def write_rows(path: Path, users: int = USERS, *, more: int = 0) -> None:
    """A small table: user u plays the artists that divide u + 1, and artist 0; perhaps one user more plays a lot."""
    import duckdb

    rows = (
        f"SELECT 'u' || u AS \"user\", 'a' || i AS artist FROM range({users}) AS t (u), range({ARTISTS}) AS s (i) "
        f"WHERE i = 0 OR (u + 1) % i = 0 UNION ALL SELECT 'more', 'a' || i FROM range({more}) AS t (i)"
    )
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({rows}) TO '{path.as_posix()}' (FORMAT parquet)")


def write_broken_rows(path: Path) -> None:
    """A table whose schema can be read, and whose rows cannot, past a point."""
    write_rows(path, 50 * USERS)
    raw = bytearray(path.read_bytes())
    middle = len(raw) // 2
    raw[middle : middle + 2000] = bytes(2000)
    path.write_bytes(raw)


@dataclass
class Server:
    """One `dpselect serve` at a time; killed and started again at will."""

    settings: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    address: tuple[str, int] | None = None
    process: subprocess.Popen[str] | None = None
    output: Path | None = None

    def start(self, *, ready: bool = True) -> None:
        """Run it; with `ready` until it can be called."""
        self.address = None
        self.output = self.settings.with_suffix(".log")
        with self.output.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", "from dpselect.command.main import process; process()",
                 "serve", str(self.settings), "--port", "0", "--quiet"],
                stdout=subprocess.PIPE, stderr=log, text=True, cwd=self.settings.parent,
                env={**os.environ, **self.environment},
            )  # fmt: skip
        reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        reader.start()
        if ready:
            reader.join(PATIENCE)
            if self.address is None:
                raise AssertionError(f"the server did not start: {self.output.read_text('utf-8')[-2000:]}")

    def _read(self, process: subprocess.Popen[str]) -> None:
        """Its one line says where it is."""
        assert process.stdout is not None
        line = process.stdout.readline()
        if line and process is self.process:
            host, _, port = json.loads(line)["url"].removeprefix("http://").partition(":")
            self.address = (host, int(port))

    @property
    def url(self) -> str:
        """Where it can be called."""
        assert self.address is not None
        return f"http://{self.address[0]}:{self.address[1]}"

    @property
    def number(self) -> int:
        """Of the process."""
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """As a crash does it: at once."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As an owner does it."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.address = None


@contextlib.contextmanager
def running(server: Server) -> Iterator[Server]:
    """A server that is gone at the end."""
    server.start()
    try:
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()


@dataclass(frozen=True)
class Demonstration:
    """A server, where it is, and the tokens of its people by name."""

    server: Server
    url: str
    tokens: Mapping[str, str]


@contextlib.contextmanager
def demonstration(folder: Path, change: str = "tick = 0.1") -> Iterator[Demonstration]:
    """The demonstration, with ticks of 0.1 s, or other settings in the place of those."""
    tokens, file = demo.make(folder, 2_000), folder / demo.SETTINGS_FILE
    file.write_text(file.read_text("utf-8").replace("tick = 1\n", f"{change}\n"), "utf-8")
    with running(Server(file)) as server:
        yield Demonstration(server, server.url, tokens)


class GoneError(Exception):
    """Nobody answered: the server died, or is not there yet."""


@dataclass
class Caller:
    """One person who calls servers, over a connection that is kept."""

    server: Server
    token: str
    statuses: Counter[int] = field(default_factory=Counter)
    _connection: http.client.HTTPConnection | None = None
    _address: tuple[str, int] | None = None

    def call(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Status and content; GoneError where none came."""
        address = self.server.address
        if address is None:
            raise GoneError
        try:
            if self._connection is None or address != self._address:
                self.close()
                self._connection, self._address = http.client.HTTPConnection(*address, timeout=PATIENCE), address
            raw = None if body is None else json.dumps(body).encode()
            given = {"Authorization": f"Bearer {self.token}", **(headers or {})}
            if raw is not None:
                given["Content-Type"] = "application/json"
            self._connection.request(method, path, raw, given)
            answer = self._connection.getresponse()
            content = answer.read()
            self.statuses[answer.status] += 1
            return answer.status, content
        except (OSError, http.client.HTTPException):
            self.close()
            raise GoneError from None

    def until_answered(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """The same, again and again while nobody answers or the server asks for patience; JSON is read."""
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(GoneError):
                status, content = self.call(method, path, body, headers)
                if status not in (429, 503):
                    return status, json.loads(content)
            if time.monotonic() > end:
                raise AssertionError(f"nobody answered {method} {path} for {PATIENCE:.0f} s")
            time.sleep(0.05)

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
