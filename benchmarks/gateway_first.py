"""The first answer to a question at a gateway: how much of its time is its window, work and HTTP.

The rows are those of `prepared`, as Parquet and prepared, and are declared as they are. One analyst asks one new top 10
after the other, at the tick and with the workers of the demonstration. An answer leaves when its window ends; work is
the clock of the same question asked directly, so the window over it is how far away a slip is.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import os
import statistics
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

from gateway import PERSON, Analyst, prepared, token
from measure import seconds, table
from prepared import rows_file

import dpselect as dps
from dpselect.gateway import demo
from dpselect.gateway.settings.tokens import digest
from tests.gateway.processes import Server

ARTISTS = 100_000  # of these rows
BYTES_OF_A_ROW = 50  # at most
QUESTIONS = {"top 10": None, "top 10 of one country": "country = 'C003'"}
SETTINGS = """[server]
ledger = "ledger.sqlite"
folder = "state"
workers = {workers}

[data.plays]
source = "{source}"
user = "user"
items = ["artist"]
promise = {{ epsilon = 3, delta = "1e-5" }}
sizes = {{ users = {users}, items = {items}, items_per_user = 20, rows = {rows}, bytes = {bytes} }}
tick = "{tick}"

[data.plays.filters]
country = "any"
"""


def settings_of_demo() -> tuple[object, int]:
    """The tick and the workers of the demonstration."""
    settings = tomllib.loads(demo.text(1, 1, dict.fromkeys(demo.PEOPLE, "")))
    return settings["data"]["listening"]["tick"], settings["server"]["workers"]


async def ask(port: int, where: str | None, questions: int) -> list[dict[str, float]]:
    """The seconds of each first answer: all of them, its window, its wait for a worker and what else there is."""
    ann, found = Analyst(port, 0), []
    for number in range(1, questions + 1):
        body: dict[str, Any] = {"verb": "top_k", "k": 10, "epsilon": "1/100", "delta": f"{number}e-9"}
        body |= {} if where is None else {"where": where}
        began = time.perf_counter()
        job = json.loads((await ann.call("POST", "/v1/questions", json.dumps(body).encode()))[1])
        while job["state"] in ("queued", "running"):
            job = json.loads((await ann.call("GET", f"/v1/questions/{job['id']}?wait=30"))[1])
        if job["state"] != "answered":  # late twice, on a machine that does much else
            found.append({"slips": job["slips"]})
            continue
        status, _ = await ann.call("GET", job["answer"])
        took = time.perf_counter() - began
        assert status == 200
        times = [datetime.datetime.fromisoformat(job[name]).timestamp() for name in ("asked_at", "ready_at")]
        queued = times[1] - times[0] - job["tick"]
        rest = took - job["tick"] - queued
        found.append({"took": took, "window": job["tick"], "queued": queued, "rest": rest, "slips": job["slips"]})
    return found


def work(source: Path, where: str | None, runs: int) -> float:
    """The clock of the same question asked directly, in a process that has asked before."""
    walls = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        dps.Dataset(source, user="user", item="artist", where=where).top_k(10, epsilon="1/100", delta="1e-9")
        walls.append(time.perf_counter() - began)
    return statistics.median(walls[1:])


def measured(rows: int, source: Path, args: argparse.Namespace) -> list[list[str]]:
    """A line for each question of a source."""
    tick, workers = settings_of_demo()
    sizes = {"users": rows // 20, "items": ARTISTS, "rows": rows, "bytes": rows * BYTES_OF_A_ROW}
    lines = []
    with tempfile.TemporaryDirectory(prefix="first-") as name:
        file = Path(name) / "gateway.toml"
        text = SETTINGS.format(
            source=source.as_posix(), tick=args.tick or tick, workers=args.workers or workers, **sizes
        )
        person = PERSON.format(number=0, digest=digest(token(0)))
        file.write_text(text + person, "utf-8")
        server = Server(file)
        server.start()
        assert server.address is not None
        try:
            for question, where in QUESTIONS.items():
                found = asyncio.run(ask(server.address[1], where, args.questions))
                slips, answered = max(one["slips"] for one in found), [one for one in found if "took" in one]
                if not answered:
                    lines.append([f"{rows:,}", source.suffix[1:], question, "late", "", "", "", "", f"{slips}"])
                    continue
                middle = {part: statistics.median(one[part] for one in answered) for part in answered[0]}
                direct = work(source, where, args.questions)
                shown = [seconds(value) for value in (middle["took"], middle["window"], direct, middle["rest"])]
                lines.append(
                    [f"{rows:,}", source.suffix[1:], question, *shown, f"{middle['window'] / direct:.0f}", f"{slips}"]
                )
        finally:
            server.stop()
    return lines


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), nargs="+", default=[10**6, 10**7])
    parser.add_argument("--sources", nargs="+", choices=("parquet", "prepared"), default=("parquet", "prepared"))
    parser.add_argument("--questions", type=int, default=5, help="of each kind")
    parser.add_argument("--tick", help="in place of the demonstration's")
    parser.add_argument("--workers", type=int, help="in place of the demonstration's")
    args = parser.parse_args()
    tick, workers = settings_of_demo()
    print(f"tick {args.tick or tick} s, workers {args.workers or workers}; medians of {args.questions}, ", end="")
    print(f"load of the machine {os.getloadavg()[0]:.1f}\n")
    lines = []
    for rows in args.rows:
        for source in args.sources:
            lines += measured(rows, rows_file(rows) if source == "parquet" else prepared(rows), args)
    table(
        ["rows", "source", "question", "p50", "window", "work alone", "HTTP and rest", "window / work", "slips"], lines
    )


if __name__ == "__main__":
    main()
