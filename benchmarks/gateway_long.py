"""Does a gateway stay small and on time while 200 analysts ask at its limits for ten minutes?

The server is `dpselect serve` with the limits that an owner gets without naming any, but for its workers, on prepared
rows and on a file; the analysts are a process of their own. Most of them ask, read and think for a while, and come back
later when they are told that too many wait. Some hurry: they repeat questions faster than the rate that one person has.
Some ask more at once than may wait, some leave while they wait for an answer and never ask for it, and some open a
connection for every request. Each minute: the server's memory, file handles, threads and CPU, what was answered and
refused, and by how much new answers came after their tick. Then all of them leave, and what stays open is counted; the
record is checked at the end, and nobody may be charged twice, or beyond the promise.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gateway import COUNTRIES, KS, PERSON, Analyst, prepared, token, used_by
from measure import seconds, table
from prepared import rows_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.gateway.processes import Server

SETTINGS = """[server]
ledger = "ledger.sqlite"
folder = "state"
port = 0
workers = {workers}
"""
DATA = """
[data.{name}]
source = "{source}"
user = "user"
items = ["artist"]
promise = {{ epsilon = 3, delta = "1e-4" }}
tick = {tick}
max_k = 100
sizes = {{ users = {users}, items = {items}, items_per_user = 20, rows = {rows}, bytes = {bytes} }}

[data.{name}.filters]
country = "any"
"""
SOURCES = ("prepared", "file")
UNFINISHED = ("queued", "running")
HURRY = 1 / 60  # seconds between two requests of somebody who hurries; 50 a second are allowed
AT_ONCE = 60  # requests of those who ask too much at once
LEAVING = 5.0  # seconds after the last analyst until what stays open is counted


# ---- analysts, in a process of their own --------------------------------------------------------------------


class Crowd:
    """All analysts, and what they were told since the last report."""

    def __init__(self, port: int, analysts: int, end: float) -> None:
        self.port, self.analysts, self.end = port, analysts, end
        self.rng = random.Random(1)
        self.statuses: Counter[str] = Counter()
        self.answers: list[tuple[str, float]] = []  # the number of a new question, and when its answer was told
        self.asked: list[bytes] = []  # questions that are answered
        self.next_question = 0

    @property
    def is_open(self) -> bool:
        """Whether there is time left."""
        return time.time() < self.end

    def new_question(self) -> bytes:
        """The body of a question that nobody asked before."""
        self.next_question += 1
        place, of_source = divmod(self.next_question, len(SOURCES))
        place, of_k = divmod(place, len(KS))
        body: dict[str, Any] = {"verb": "top_k", "data": SOURCES[of_source], "k": KS[of_k], "epsilon": "1/1000"}
        body["delta"] = f"{1000 + place // 2}e-13"
        if place % 2:
            body["where"] = f"country = 'C{place // 2 % COUNTRIES:03}'"
        return json.dumps(body).encode()

    async def call(self, analyst: Analyst, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
        """Status and content; the status is counted. Over a new connection, where an idle one was just closed."""
        try:
            status, content = await analyst.call(method, path, body)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.statuses["reconnected"] += 1
            analyst.close()
            status, content = await analyst.call(method, path, body)
        kind = json.loads(content).get("type", "").rpartition("/")[2] if status >= 400 else ""
        self.statuses[f"{status} {kind}".strip()] += 1
        return status, json.loads(content)

    async def ask(self, analyst: Analyst, body: bytes, *, new: bool) -> bool:
        """Ask until the answer is read; return whether it was taken."""
        status, job = await self.call(analyst, "POST", "/v1/questions", body)
        if status != 202:
            return False
        while job["state"] in UNFINISHED:
            job = await self.read(analyst, f"/v1/questions/{job['id']}?wait=30")
        told = time.time()
        self.statuses[job["state"]] += 1
        if job["state"] == "answered":
            await self.read(analyst, job["answer"])
            if new:
                self.answers.append((str(job["id"]), told))
                self.asked.append(body)
        return True

    async def read(self, analyst: Analyst, path: str) -> Any:
        """Read what is there, however often they are told to wait."""
        while True:
            status, content = await self.call(analyst, "GET", path)
            if status == 200:
                return content
            assert status in (429, 503), (status, content)
            await asyncio.sleep(1)

    async def think(self, mean: float) -> None:
        """Do nothing for a while."""
        await asyncio.sleep(self.rng.expovariate(1 / mean))

    async def steady(self, number: int) -> None:
        """Ask, read and think."""
        analyst = Analyst(self.port, number)
        while self.is_open:
            await self.think(5 if await self.ask(analyst, self.new_question(), new=True) else 10)

    async def hurried(self, number: int) -> None:
        """Repeat questions, and ask the next one at once when they are told to wait."""
        analyst = Analyst(self.port, number)
        while self.is_open:
            began = time.time()
            if self.asked:
                await self.ask(analyst, self.rng.choice(self.asked), new=False)
            await asyncio.sleep(max(0.0, HURRY - (time.time() - began)))

    async def many_at_once(self, number: int) -> None:
        """Ask more questions at once than may wait, each over a connection of its own."""
        while self.is_open:
            people = [Analyst(self.port, number) for _ in range(AT_ONCE)]
            await asyncio.gather(*(self.ask(analyst, self.new_question(), new=True) for analyst in people))
            for analyst in people:
                analyst.close()
            await self.think(20)

    async def leaving(self, number: int) -> None:
        """Ask, and be gone while the server waits for the answer."""
        while self.is_open:
            analyst = Analyst(self.port, number)
            status, job = await self.call(analyst, "POST", "/v1/questions", self.new_question())
            if status == 202:
                waiting = asyncio.create_task(analyst.call("GET", f"/v1/questions/{job['id']}?wait=30"))
                await self.think(1)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
            analyst.close()
            await self.think(5)

    async def reconnecting(self, number: int) -> None:
        """Look at the data and at their own questions, each time over a connection of its own."""
        while self.is_open:
            for path in ("/v1/data", "/v1/questions"):
                analyst = Analyst(self.port, number)
                await self.call(analyst, "GET", path)
                analyst.close()
            await self.think(0.5)

    async def report(self) -> None:
        """A line of JSON each minute, and one at the end."""
        minute = time.time()
        while self.is_open:
            minute += 60
            await asyncio.sleep(max(0.0, min(minute, self.end) - time.time()))
            self.write()

    def write(self) -> None:
        """What was told since the last line."""
        sys.stdout.write(json.dumps({"statuses": self.statuses, "answers": self.answers}) + "\n")
        sys.stdout.flush()
        self.statuses, self.answers = Counter(), []

    async def live(self) -> None:
        """Everybody, until the time is over and their last questions are answered."""
        kinds = [self.hurried, self.many_at_once, self.leaving, self.reconnecting, *[self.steady] * 16]
        work = (kinds[number % len(kinds)](number) for number in range(self.analysts))
        await asyncio.gather(self.report(), *work)
        self.write()


# ---- the server ---------------------------------------------------------------------------------------------


def state(number: int) -> dict[str, float]:
    """MiB of memory, open file handles, threads and CPU seconds of a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{number}/status").read_text("ascii").splitlines())
    return {
        "memory": int(status["VmRSS"].split()[0]) / 1024,
        "handles": len(os.listdir(f"/proc/{number}/fd")),
        "threads": int(status["Threads"]),
        "cpu": used_by(number),
    }


def settings(folder: Path, args: argparse.Namespace) -> Path:
    """The file of settings, with the limits that need no setting."""
    from dpselect.gateway.settings.tokens import digest

    places = {"prepared": prepared(args.rows), "file": rows_file(args.rows)}
    text = SETTINGS.format(workers=args.workers)
    sizes = {"users": args.rows // 20, "items": 100_000, "rows": args.rows, "bytes": places["file"].stat().st_size}
    for name, place in places.items():
        text += DATA.format(name=name, source=place.as_posix(), tick=args.tick, **sizes)
    text += "".join(PERSON.format(number=number, digest=digest(token(number))) for number in range(args.analysts))
    path = folder / "gateway.toml"
    path.write_text(text, "utf-8")
    return path


def sampled(server: Server, driver: subprocess.Popen[str]) -> Iterator[tuple[dict[str, Any], list[dict[str, float]]]]:
    """Each line of the analysts, with the states of the server since the line before, one a second."""
    assert driver.stdout is not None
    os.set_blocking(driver.stdout.fileno(), False)
    states, line = [state(server.number)], ""
    while True:
        line += driver.stdout.readline()
        if line.endswith("\n"):
            yield json.loads(line), states
            states, line = [states[-1]], ""
        elif driver.poll() is not None:
            return
        else:
            time.sleep(1)
            states.append(state(server.number))


def lateness(folder: Path, answers: Sequence[tuple[str, float]]) -> list[float]:
    """By how much analysts had answers after the tick at which they were due, sorted; pauses of theirs included."""
    with sqlite3.connect(folder / "state" / "questions.sqlite") as connection:
        rows = connection.execute("SELECT id, started_at, tick, slips FROM job WHERE started_at IS NOT NULL").fetchall()
    due = {str(number): (started + (tick << slips)) / 1e6 for number, started, tick, slips in rows}
    return sorted(told - due[number] for number, told in answers)


def slips(folder: Path) -> int:
    """How often a question was late so far, by which the windows of its data doubled."""
    with sqlite3.connect(folder / "state" / "questions.sqlite") as connection:
        rows = connection.execute("SELECT value FROM setting WHERE name LIKE 'late %'").fetchall()
    return sum(int(value.split()[1]) for (value,) in rows)


def minute(number: int, told: dict[str, Any], states: list[dict[str, float]], folder: Path) -> list[object]:
    """A row of the table; the last one is of the time after the end, until their last questions are answered."""
    statuses, answers = Counter(told["statuses"]), told["answers"]
    late = lateness(folder, answers)
    refused = sum(count for status, count in statuses.items() if status[:3] in ("429", "503"))
    requests = sum(count for status, count in statuses.items() if status[0].isdigit())
    ends = [seconds(late[int(share * (len(late) - 1))]) for share in (0.5, 0.99)] if late else ["", ""]
    most = [f"{max(one[figure] for one in states):.0f}" for figure in ("memory", "handles", "threads")]
    cpu = f"{states[-1]['cpu'] - states[0]['cpu']:.1f}"
    return [number, f"{requests:,}", f"{refused:,}", len(answers), *ends, slips(folder), *most, cpu]


def windows(folder: Path) -> str:
    """How many questions had which window, in seconds."""
    with sqlite3.connect(folder / "state" / "questions.sqlite") as connection:
        rows = connection.execute(
            "SELECT tick << slips, count(*) FROM job WHERE started_at IS NOT NULL GROUP BY 1 ORDER BY 1"
        ).fetchall()
    return ", ".join(f"{seconds(window / 1e6)}: {count:,}" for window, count in rows)


def check(place: Path) -> None:
    """Nobody was charged twice for one question, nothing beyond the promise, and the record verifies."""
    from dpselect.ledger import EntryKind, Ledger

    with Ledger(place) as ledger:
        assert ledger.verify() == []
        entries = list(ledger.entries())
        holds = {one.number: one.question for one in entries if one.kind is EntryKind.HOLD}
        settled = [one.refers_to for one in entries if one.kind is EntryKind.SETTLE]
        assert len(settled) == len({holds[one] for one in settled if one is not None})
        for one in ledger.all_standings():
            standing = ledger.standing(one.account)
            part = float(standing.data.open_to_analysts.part(standing.all.total.as_spent))
            assert part <= 1
        ends = Counter(one.kind.value for one in entries)
        print(f"The ledger verifies: {len(entries):,} entries ({', '.join(f'{n:,} {k}' for k, n in ends.items())}),")
        print(f"{place.stat().st_size / 2**20:.1f} MiB; each question charged once, all within the promise.")


def main() -> None:
    """Let them ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**6)
    parser.add_argument("--analysts", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--tick", type=float, default=1)
    parser.add_argument("--crowd", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.crowd:
        port, analysts, end = args.crowd
        asyncio.run(Crowd(int(port), int(analysts), float(end)).live())
        return
    with tempfile.TemporaryDirectory(prefix="long-") as name:
        folder, total = Path(name), Counter[str]()
        server = Server(settings(folder, args))
        server.start()
        try:
            time.sleep(LEAVING)
            rows: list[Sequence[object]] = [["before", *[""] * 6, *_shown(state(server.number)), ""]]
            assert server.address is not None
            given = [str(server.address[1]), str(args.analysts), str(time.time() + 60 * args.minutes)]
            command = [sys.executable, __file__, "--crowd", *given]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
                for number, (told, states) in enumerate(sampled(server, driver), 1):
                    total.update(told["statuses"])
                    rows.append(minute(number, told, states, folder))
                    print(*rows[-1], sep=", ", file=sys.stderr, flush=True)
            assert driver.returncode == 0
            time.sleep(LEAVING)
            rows.append(["after", *[""] * 6, *_shown(state(server.number)), ""])
        finally:
            server.stop()
        assert server.output is not None
        errors = [line for line in server.output.read_text("utf-8").splitlines() if "rror" in line]
        print(f"{args.analysts} analysts, {args.rows:,} rows, {args.workers} workers, tick {seconds(args.tick)}, ")
        print(f"load of the machine {os.getloadavg()[0]:.1f}; {len(errors)} errors in the server's log\n")
        heads = ["minute", "requests", "refused", "new answers", "after their tick, p50", "p99", "slips so far"]
        table([*heads, "memory, MiB", "handles", "threads", "CPU, s"], rows)
        print(", ".join(f"{status}: {count:,}" for status, count in sorted(total.items())))
        print(f"Windows of new questions: {windows(folder)}.")
        print(f"Questions kept: {(folder / 'state' / 'questions.sqlite').stat().st_size / 2**20:.1f} MiB.")
        check(folder / "ledger.sqlite")


def _shown(one: dict[str, float]) -> list[str]:
    return [f"{one[figure]:.0f}" for figure in ("memory", "handles", "threads")]


if __name__ == "__main__":
    main()
