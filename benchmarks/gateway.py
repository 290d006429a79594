"""A gateway under load: 100 analysts, a tenth of their questions new, the others asked before by somebody.

The rows are those of `prepared`, prepared; the server is `dpselect serve`, in a process of its own, and so are the
analysts, who keep their connections. A new question takes from its POST until its answer is read, at ticks of half a
second; new ones come at a pace, as from people, and nine repeated ones with each. Then repeated ones alone, as fast as
they go; then as many new ones as there are analysts, all at once. At the end the record is checked: every question was
answered, every new one charged once, every repeated one not at all, and nothing beyond the promise.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from measure import cache, seconds, table, verdict
from prepared import COUNTS, K_BAR, rows_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.gateway.faults import Places, databases
from tests.gateway.processes import Server

EPSILON, DELTA = "1/100", "1e-9"
KS, COUNTRIES = (5, 10, 20, 50, 100), 199
SETTINGS = """[server]
ledger = "{ledger}"
folder = "state"
port = 0
{jobs}
workers = {workers}
waiting = 10000
waiting_each = 1000
rate = 100000

[data.plays]
source = "{source}"
user = "user"
items = ["artist"]
promise = {{ epsilon = 3, delta = "1e-5" }}
tick = "1/2"
max_k = 100

[data.plays.filters]
country = "any"
"""
PERSON = """
[people.ann{number}]
role = "analyst"
token = "sha256:{digest}"
quota = {{ epsilon = 3, delta = "1e-5" }}
"""


# ---- the world ----------------------------------------------------------------------------------------------


def prepared(rows: int) -> Path:
    """The rows and beside them their prepared form, made where it is not there yet."""
    found = cache() / f"gateway-{rows}.prepared"
    if not found.exists():
        import dpselect as dps

        dps.Dataset(str(rows_file(rows)), user="user", item="artist").prepare(found, keep=["country"])
    return found


def make(folder: Path, source: Path, analysts: int, workers: int, places: Places | None) -> Path:
    """The settings."""
    from dpselect.gateway.settings.tokens import digest

    ledger, jobs = (places.ledger, places.jobs) if places else ("ledger.sqlite", None)
    text = SETTINGS.format(
        ledger=ledger, jobs=f'jobs = "{jobs}"' if jobs else "", workers=workers, source=source.as_posix()
    )
    people = [PERSON.format(number=number, digest=digest(token(number))) for number in range(analysts)]
    file = folder / "gateway.toml"
    file.write_text(text + "".join(people), "utf-8")
    return file


def token(number: int) -> str:
    """Of an analyst."""
    return f"ann{number}-{'x' * 40}"


def question(number: int) -> bytes:
    """The body of a question; each number is another one."""
    k, place = KS[number % len(KS)], number // len(KS)
    body: dict[str, Any] = {"verb": "top_k", "k": k, "epsilon": EPSILON, "delta": DELTA}
    if place % (COUNTRIES + 1):
        body["where"] = f"country = 'C{place % (COUNTRIES + 1) - 1:03}'"
    if place > COUNTRIES:
        body["delta"] = f"{1 + place // (COUNTRIES + 1)}e-9"
    return json.dumps(body).encode()


# ---- analysts, in a process of their own --------------------------------------------------------------------


class Analyst:
    """Sends requests over one connection, one after the other."""

    def __init__(self, port: int, number: int) -> None:
        self._port, self._free = port, asyncio.Lock()
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token(number)}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and content. What was idle for long may have been closed by the server: then over a new one."""
        if self._streams is None or self._streams[0].at_eof():
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        writer.write(f"{method} {path} HTTP/1.1\r\n{self._head}{more}\r\n".encode() + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        return int(head[9:12]), await reader.readexactly(int(length))

    def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def ask(self, number: int, *, new: bool = False) -> dict[str, float | bool]:
        """A question, until its answer is read; how long that took, and until it was taken."""
        async with self._free:
            began = time.perf_counter()
            status, content = await self.call("POST", "/v1/questions", question(number))
            taken = time.perf_counter() - began
            job = json.loads(content)
            assert status == 202, (status, content)
            while job["state"] in ("queued", "running"):
                job = json.loads((await self.call("GET", f"/v1/questions/{job['id']}?wait=30"))[1])
            assert job["state"] == "answered", job
            status, content = await self.call("GET", job["answer"])
            assert status == 200, (status, content)
            found = {"took": time.perf_counter() - began, "taken": taken, "slips": job["slips"]}
            return {**found, "first": new}


async def load(port: int, analysts: int, questions: int, pace: float) -> None:
    """All phases; what each took goes to standard output as one line of JSON."""
    rng, people = random.Random(1), [Analyst(port, number) for number in range(analysts)]
    distinct = questions // 10
    answered: list[int] = []
    found: list[dict[str, float | bool]] = []

    async def again() -> None:
        found.append(await rng.choice(people).ask(rng.choice(answered)))

    async def new(number: int) -> None:
        found.append(await rng.choice(people).ask(number, new=True))
        answered.append(number)
        await asyncio.gather(*(again() for _ in range(9)))

    async def phase(name: str, *work: Any) -> None:
        found.clear()
        before, began = processor(), time.perf_counter()
        await asyncio.gather(*work)
        took, used = time.perf_counter() - began, processor() - before
        sys.stdout.write(json.dumps({"phase": name, "took": took, "own": used, "questions": found}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)

    async def paced() -> None:
        running = set()
        for number in range(distinct):
            running.add(asyncio.create_task(new(number)))
            await asyncio.sleep(rng.expovariate(pace))
        await asyncio.gather(*running)

    async def first(person: Analyst, number: int) -> None:
        found.append(await person.ask(number, new=True))

    async def repeats(person: Analyst) -> None:
        for _ in range(questions // analysts):
            found.append(await person.ask(rng.choice(answered)))

    async def taken(person: Analyst, numbers: Sequence[int]) -> None:
        for number in numbers:
            began = time.perf_counter()
            status, _ = await person.call("POST", "/v1/questions", question(number))
            assert status == 202
            found.append({"took": time.perf_counter() - began, "first": False, "slips": 0, "taken": 0.0})

    await phase("mixed", paced())
    await phase("repeated, of others", *map(repeats, people))
    own = [[rng.choice(answered) for _ in range(5)] * max(1, questions // analysts // 5) for _ in people]
    await phase("repeated, taken alone", *(taken(person, one) for person, one in zip(people, own, strict=True)))
    await phase("at once", *(first(person, distinct + number) for number, person in enumerate(people)))


def processor() -> float:
    """Seconds of CPU of this process."""
    now = os.times()
    return now.user + now.system


# ---- the run ------------------------------------------------------------------------------------------------


def used_by(number: int) -> float:
    """Seconds of CPU of a process."""
    fields = Path(f"/proc/{number}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(args: argparse.Namespace, source: Path, places: Places | None) -> None:
    """One server, all phases, and the check."""
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="load-") as name:
        server = Server(make(Path(name), source, args.analysts, args.workers, places))
        server.start()
        try:
            assert server.address is not None
            given = [str(one) for one in (server.address[1], args.analysts, args.questions, args.pace)]
            with subprocess.Popen(
                [sys.executable, __file__, "--load", *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as driver:
                assert driver.stdout is not None
                assert driver.stdin is not None
                before = used_by(server.number)
                for line in driver.stdout:
                    phase, after = json.loads(line), used_by(server.number)
                    rows += _rows(phase, after - before)
                    driver.stdin.write("\n")
                    driver.stdin.flush()
                    before = used_by(server.number)
            assert driver.returncode == 0
        finally:
            server.stop()
        table(["phase", "questions", "a second", "p50", "p99", "slips", "CPU of the server, each"], rows)
        check(places.ledger if places else str(Path(name) / "ledger.sqlite"), args)


def _rows(phase: dict[str, Any], cpu: float) -> Iterator[list[str]]:
    asked = phase["questions"]
    rate = len(asked) / phase["took"]
    each = seconds(cpu / len(asked))
    yield [phase["phase"], f"{len(asked):,}", _rate(phase["phase"], rate), "", "", "", each]
    for name, which in (("new", True), ("repeated", False)):
        times = sorted(one["took"] for one in asked if one["first"] is which)
        if times:
            slips = sum(one["slips"] for one in asked if one["first"] is which)
            middle = statistics.median(times)
            shown = verdict(middle, 1) + " s" if phase["phase"] == "mixed" and which else seconds(middle)
            last = seconds(times[min(len(times) - 1, int(0.99 * len(times)))])
            yield [f"- {name}", f"{len(times):,}", "", shown, last, f"{slips:,}" if which else "", ""]


def _rate(phase: str, rate: float) -> str:
    return verdict(rate, 1000, least=True) if phase == "repeated, taken alone" else f"{rate:,.0f}"


def check(place: str, args: argparse.Namespace) -> None:
    """None lost, none charged twice, nothing beyond the promise."""
    from dpselect.ledger import EntryKind, Ledger

    with Ledger(place) as ledger:
        assert ledger.verify() == []
        entries = list(ledger.entries())
        settled = [one.refers_to for one in entries if one.kind is EntryKind.SETTLE]
        holds = {one.number: one.question for one in entries if one.kind is EntryKind.HOLD}
        new = args.questions // 10 + args.analysts
        assert len(settled) == len({holds[one] for one in settled if one is not None}) == new == len(holds)
        told = sum(one.kind is EntryKind.REPEAT for one in entries)
        standing = ledger.standing(ledger.all_standings()[0].account)
        part = float(standing.data.open_to_analysts.part(standing.all.total.as_spent))
        assert part <= 1
        print(f"{new:,} questions were charged, once each: {100 * part:.0f} % of the promise; {told:,} answers were")
        print(f"given again to somebody else for nothing; {len(entries):,} entries verify.\n")


def plain(source: Path, runs: int) -> None:
    """DuckDB's own counts of some of the questions on the rows, in a process of its own."""
    import duckdb

    rows = []
    for name, number in (("all rows", 0), ("one country", 5)):
        where = json.loads(question(number)).get("where")
        sql = COUNTS.format("rows" if where is None else f"rows WHERE {where}", K_BAR)
        walls, cpus = [], []
        with duckdb.connect() as connection:
            connection.execute(f"CREATE VIEW rows AS FROM '{source.as_posix()}'")
            for _ in range(runs):
                began, before = time.perf_counter(), processor()
                connection.sql(sql).fetchall()
                walls.append(time.perf_counter() - began)
                cpus.append(processor() - before)
        rows.append([name, seconds(statistics.median(walls)), seconds(statistics.median(cpus))])
    table(["plain DuckDB on the rows, alone", "clock", "CPU"], rows)


def main() -> None:
    """Print the tables."""
    args = _arguments()
    if args.load:
        port, analysts, questions, pace = args.load
        asyncio.run(load(int(port), int(analysts), int(questions), pace))
        return
    source = prepared(args.rows)
    busy = os.getloadavg()[0]
    print(f"{args.rows:,} rows, {args.analysts} analysts, {args.workers} workers, load of the machine {busy:.1f}\n")
    plain(rows_file(args.rows), args.runs)
    for store in args.stores:
        print(f"\n## {store}\n", flush=True)
        if store == "sqlite":
            run(args, source, None)
        else:
            with databases() as places:
                run(args, source, places)


def _arguments() -> argparse.Namespace:
    def whole(text: str) -> int:
        return int(float(text))

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=whole, default=10**7)
    parser.add_argument("--analysts", type=whole, default=100)
    parser.add_argument("--questions", type=whole, default=10**4, help="of each of two phases; a tenth are new")
    parser.add_argument("--pace", type=float, default=5, help="new questions a second, in the first phase")
    parser.add_argument("--workers", type=whole, default=8)
    parser.add_argument("--runs", type=whole, default=5)
    parser.add_argument("--stores", nargs="*", default=["sqlite", "postgres"])
    parser.add_argument("--load", nargs=4, type=float, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
