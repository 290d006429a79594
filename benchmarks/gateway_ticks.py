"""Do the times at which answers leave a gateway tell what the rows were?

Three data sets of one server: rows; the same and one user more, who plays a lot; and rows that cannot be read to their
end, so that every question of them fails. They are asked in random order, by many at once, always anew. Of each
question: by how much its end reached the caller after the time at which it was due by the record of the server, and how
often it slipped to a later tick. Two-sample Kolmogorov-Smirnov tests compare the first, and the numbers of slips are
counted; beside them stands the smallest delay that the same test finds when it is added to half of the answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import seconds, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.gateway.processes import Server, make, write_broken_rows, write_rows

ARMS = {"rows": "plays", "one user more": "more", "failures": "broken"}
MORE = 10_000  # rows of that user
SURE = 0.01
FINAL = {"answered": True, "failed": False}


class Caller:
    """Asks over one connection, one question after the other."""

    def __init__(self, address: tuple[str, int], token: str) -> None:
        self._address = address
        self._head = f"Host: {address[0]}:{address[1]}\r\nAuthorization: Bearer {token}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, method: str, path: str, body: bytes = b"") -> dict[str, Any]:
        """What came back, as JSON."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        writer.write(f"{method} {path} HTTP/1.1\r\n{self._head}{more}\r\n".encode() + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        found: dict[str, Any] = json.loads(await reader.readexactly(length))
        return found

    async def ask(self, data: str) -> tuple[str, float]:
        """The number of the question, and when its end was told."""
        body = {"verb": "top_k", "data": data, "k": 3, "epsilon": "1/10000", "delta": "1e-12", "fresh": True}
        job = await self.call("POST", "/v1/questions", json.dumps(body).encode())
        while job["state"] not in FINAL:
            job = await self.call("GET", f"/v1/questions/{job['id']}?wait=30")
        assert FINAL[job["state"]] is (data != "broken"), job
        return str(job["id"]), time.time()


async def asked(server: Server, token: str, callers: int, questions: int) -> dict[str, list[tuple[str, float]]]:
    """So many of each, in random order."""
    rng = random.Random(1)
    order = [name for name in ARMS for _ in range(questions)]
    rng.shuffle(order)
    found: dict[str, list[tuple[str, float]]] = {name: [] for name in ARMS}

    async def work() -> None:
        assert server.address is not None
        caller = Caller(server.address, token)
        while order:
            name = order.pop()
            found[name].append(await caller.ask(ARMS[name]))
            if order and len(order) % 1000 == 0:
                print(f"{len(order):,} to go", file=sys.stderr, flush=True)

    await asyncio.gather(*(work() for _ in range(callers)))
    return found


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest difference of the two shares of values up to any point."""
    points = sorted([(value, 1 / len(one)) for value in one] + [(value, -1 / len(other)) for value in other])
    most = height = 0.0
    for place, (value, step) in enumerate(points):
        height += step
        if place + 1 == len(points) or points[place + 1][0] != value:
            most = max(most, abs(height))
    return most


def chance(one: Sequence[float], other: Sequence[float]) -> float:
    """How likely samples of one law lie so far apart (Kolmogorov's law, with Stephens's correction)."""
    size = math.sqrt(len(one) * len(other) / (len(one) + len(other)))
    scaled = (size + 0.12 + 0.11 / size) * distance(one, other)
    if scaled < 0.2:
        return 1.0
    terms = (math.exp(-2 * (place * scaled) ** 2) * (1 if place % 2 else -1) for place in range(1, 101))
    return min(1.0, 2 * sum(terms))


def smallest_seen(times: Sequence[float]) -> float:
    """The smallest delay of half of the answers that the test finds."""
    delay = 1e-6
    while chance(times[::2], [value + delay for value in times[1::2]]) > SURE:
        delay *= 1.1
    return delay


def main() -> None:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=lambda text: int(float(text)), default=10_000, help="of each data set")
    parser.add_argument("--tick", type=float, default=0.25)
    parser.add_argument("--workers", type=int, default=6)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ticks-") as name:
        folder = Path(name)
        world = make(
            folder, analysts=1, tick=args.tick, workers=args.workers, promise=30, quota=30, data=tuple(ARMS.values())
        )
        write_rows(folder / "plays.parquet")
        write_rows(folder / "more.parquet", more=MORE)
        write_broken_rows(folder / "broken.parquet")
        server = Server(world.settings())
        server.start()
        began = time.monotonic()
        try:
            found = asyncio.run(asked(server, world.tokens["ann0"], 2 * args.workers, args.questions))
        finally:
            server.stop()
        took = time.monotonic() - began
        with sqlite3.connect(folder / "state" / "questions.sqlite") as connection:
            rows = connection.execute("SELECT id, started_at, tick, slips FROM job").fetchall()
    due = {number: ((started + (tick << slips)) / 1e6, slips) for number, started, tick, slips in rows}
    late = {arm: [told - due[number][0] for number, told in found[arm]] for arm in ARMS}
    slips = {arm: Counter(due[number][1] for number, _ in found[arm]) for arm in ARMS}
    print(f"{args.questions:,} questions of each, tick {seconds(args.tick)}, {args.workers} workers, {took:.0f} s, ")
    print(f"load of the machine {os.getloadavg()[0]:.1f}\n")
    lines = []
    for arm, times in late.items():
        shown = ", ".join(f"{one}: {number:,}" for one, number in sorted(slips[arm].items()))
        compared = "" if arm == "rows" else f"{chance(late['rows'], times):.2g}"
        ends = (statistics.median(times), sorted(times)[int(0.99 * len(times))])
        lines.append([arm, *map(seconds, ends), compared, shown])
    table(["data", "after its tick, p50", "p99", "chance of such a difference from the first", "slips"], lines)
    print(f"A delay of {seconds(smallest_seen(late['rows']))} of half of the answers would have been seen.")


if __name__ == "__main__":
    main()
