"""`dpselect mcp` as a client starts it: in front of a file, of settings and of a gateway; also while it is killed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.command.main import main
from dpselect.mcp.tools import PAID_BEFORE
from tests.gateway.processes import PATIENCE, demonstration, write_rows


class Client:
    """One that starts the server, and sends it a message after the other."""

    def __init__(self, folder: Path, *words: object, environment: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-c", "from dpselect.command.main import process; process()", "mcp"]
        self.log = folder / "mcp.log"
        with self.log.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*command, *map(str, words)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env={**os.environ, **(environment or {})},
            )
        self.last = 0

    def send(self, method: str, **given: object) -> None:
        assert self.process.stdin is not None
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": given}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def reply(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text("utf-8")[-2000:]
        return json.loads(line)

    def call(self, name: str, **arguments: object) -> Any:
        """The JSON of a tool; of an error its text."""
        self.send("tools/call", name=name, arguments=arguments)
        result = self.reply()["result"]
        text = result["content"][0]["text"]
        return text if result["isError"] else json.loads(text)

    def leave(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def talking(folder: Path, *words: object, **more: Any) -> Iterator[Client]:
    client = Client(folder, *words, **more)
    try:
        yield client
    finally:
        if client.process.poll() is None:
            client.process.kill()
        client.process.wait()
        for pipe in (client.process.stdin, client.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def ledger(folder: Path) -> dps.Ledger:
    """A file of rows, and a ledger that grants an agent a part of what is promised."""
    write_rows(folder / "plays.parquet")
    made = dps.Ledger.create(str(folder / "budget.sqlite"))
    made.data("plays", 3, "1e-3", user="user")
    made.grant(dps.Account(dataset="plays", analyst="agent"), 2, "1e-4")
    return made


OF_A_FILE = ("plays.parquet", "--user", "user", "--item", "artist", "--budget", "budget.sqlite", "--data", "plays")
OF_A_FILE = (*OF_A_FILE, "--analyst", "agent", "--rows", "10000")


def test_in_front_of_a_file(tmp_path: Path) -> None:
    with ledger(tmp_path) as kept:
        with talking(tmp_path, *OF_A_FILE) as client:
            client.send("initialize", protocolVersion="2025-06-18", capabilities={})
            assert client.reply()["result"]["protocolVersion"] == "2025-06-18"
            client.send("tools/list")
            assert len(client.reply()["result"]["tools"]) == 11
            begun = time.monotonic()
            found = client.call("top_k", k=2, share="80%")
            assert time.monotonic() - begun >= 1  # the first tick
            assert set(found["rows"]) == {"a0", "a1"}  # of all users
            assert client.call("top_k", k=2, share="80%") == {**found, "cost": PAID_BEFORE}
            assert client.leave() == 0
        (entry,) = [one for one in kept.entries() if one.release is not None]
        assert entry.account == dps.Account(dataset="plays", analyst="agent")
        with talking(tmp_path, *OF_A_FILE) as client:  # another day
            assert client.call("answer", id=found["id"])["rows"] == found["rows"]
            with talking(tmp_path, *OF_A_FILE) as second:
                assert second.process.wait(PATIENCE) == 4
                assert "another gateway serves the folder" in second.log.read_text("utf-8")


def test_who_leaves_early_and_what_is_killed_lose_no_answer(tmp_path: Path) -> None:
    with ledger(tmp_path) as kept:
        with talking(tmp_path, *OF_A_FILE) as client:
            client.send("tools/call", name="top_k", arguments={"k": 3, "share": "10%"})
            assert client.leave() == 0
            assert client.reply()["result"]["isError"] is False
        with talking(tmp_path, *OF_A_FILE) as client:
            client.send("tools/call", name="top_k", arguments={"k": 4, "share": "10%"})
            until = time.monotonic() + PATIENCE
            while not [*kept.pending()] and time.monotonic() < until:
                time.sleep(0.005)
            client.process.kill()
            client.process.wait()
        with talking(tmp_path, *OF_A_FILE) as client:
            client.call("top_k", k=4, share="10%")
            client.call("top_k", k=5, share="10%")
            assert client.leave() == 0
        held = {one.number for one in kept.entries() if one.kind == "hold"}
        assert len(held) >= 3
        for hold in held:
            outcome = kept.outcome(hold)
            assert outcome is not None
            assert outcome.settle is not None or outcome.given_back or outcome.reservation.may_have_read


def test_what_it_needs_is_said_by_the_name_of_the_option(tmp_path: Path) -> None:
    ledger(tmp_path).close()
    for words, said in (
        (("plays.parquet",), "--analyst must name who asks"),
        (("plays.parquet", "--analyst", "agent"), "--item must be given for a file"),
        ((*OF_A_FILE, "--analyst", "eve"), "--analyst must have a quota of plays, got eve"),
        (("none.toml", "--analyst", "agent"), "none.toml: cannot be read"),
        (("http://127.0.0.1:9",), "token must be given"),
    ):
        with talking(tmp_path, *words, environment={"DPSELECT_TOKEN": ""}) as client:
            assert client.process.wait(PATIENCE) == 2
            assert said in client.log.read_text("utf-8")


def test_what_a_client_needs_is_printed(tmp_path: Path) -> None:
    ledger(tmp_path).close()
    with talking(tmp_path, *OF_A_FILE, "--config") as client:
        out, _ = client.process.communicate(timeout=PATIENCE)
    entry = json.loads(out)["mcpServers"]["dpselect"]
    assert entry["args"][:4] == ["-m", "dpselect", "mcp", str(tmp_path / "plays.parquet")]
    ran = subprocess.run([entry["command"], *entry["args"]], input=b"", check=False, timeout=PATIENCE)
    assert ran.returncode == 0
    assert str(tmp_path / "budget.sqlite") in entry["args"]
    assert "--config" not in entry["args"]


def test_in_front_of_a_gateway_and_of_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with demonstration(tmp_path / "demo") as demo:
        with talking(tmp_path, demo.url, environment={"DPSELECT_TOKEN": demo.tokens["analyst"]}) as client:
            assert client.call("data")[0]["name"] == "listening"
            price = client.call("price", tool="top_k", arguments={"k": 3, "share": "5%"})
            assert price["how_near"]
            found = client.call("top_k", k=3, share="5%")
            assert found["planted_text"] == price["planted_text"]
            monkeypatch.setenv("DPSELECT_TOKEN", demo.tokens["auditor"])
            assert main(["check", found["id"], "--gateway", demo.url]) == 0  # by whom the id is shown to
            assert main(["check", "none", "--gateway", demo.url]) == 9
            assert str(client.call("top_k", where="user = 3")).startswith("refused: where must use columns that")
            assert client.leave() == 0
        with talking(tmp_path, demo.url, environment={"DPSELECT_TOKEN": "dps_" + "b" * 40}) as client:
            assert str(client.call("budget")).startswith("refused: the gateway rejected this token")
        demo.server.stop()
        with talking(tmp_path, demo.url, environment={"DPSELECT_TOKEN": demo.tokens["analyst"]}) as client:
            said = str(client.call("budget"))
            assert said.startswith("refused: the data cannot be reached now")
            assert "127.0.0.1" not in said
        with talking(tmp_path, tmp_path / "demo" / "gateway.toml", "--analyst", "analyst") as client:
            again = client.call("answer", id=found["id"])
            assert again == {**found, "cost": "free"}


def test_a_client_that_reads_no_more_ends_it_in_order(tmp_path: Path) -> None:
    with ledger(tmp_path) as kept, talking(tmp_path, *OF_A_FILE) as client:
        client.send("ping")
        assert client.reply()["result"] == {}
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.send("tools/call", name="top_k", arguments={"share": "1%"})
        assert client.leave() == 0
        assert len([one for one in kept.entries() if one.release is not None]) == 1
