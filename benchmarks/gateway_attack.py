"""Can a filter make the clock of a gateway tell whether one person is in the data?

Two data sets of one server: rows, and the same with one user more. Two attacks ask both the same question, always
anew, and count slips. *One row*: the user has one long comment, and the filter looks for many patterns in comments that
begin as theirs does. *Many rows*: the user has 10,000 rows that only a dear branch of a CASE looks at; a second branch
is padding on everybody's rows, which is chosen first so that the question ends shortly before it is due. Each is tried
as it was first seen, and, where that is refused, with the dearest filters that are taken.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
from measure import table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests import postgres
from tests.gateway.processes import Caller, Server, make

ROWS = """SELECT 'u' || (i // 10) AS "user", 'artist ' || (i * 7919 % 1000) AS artist, 20 + i % 60 AS age,
    'I like it ' || (i % 100) AS comment FROM range({rows}) AS t (i)"""
LONG = """SELECT 'more', 'artist 1', 30, 'My secret ' || repeat('ab', {letters} // 2)"""
MANY = """SELECT 'more', 'artist ' || i, 95, repeat('b', 40) FROM range(10000) AS t (i)"""
FILTERS = ("age", "comment", "artist")
SETTLED = ("answered", "failed")


def one_row(patterns: int, letters: int) -> str:
    """Works on comments that begin as the user's does."""
    run = "_" * max(0, letters - 2)
    found = " OR ".join(f"comment LIKE '%b{run}{number % 10}'" for number in range(patterns))
    return f"starts_with(comment, 'My secret') AND ({found})"


def plain_row(patterns: int) -> str:
    """The same with patterns that are taken: plain texts that nearly fit everywhere."""
    found = " OR ".join(f"contains(comment, '{'ab' * 9}{number}')" for number in range(patterns))
    return f"starts_with(comment, 'My secret') AND ({found})"


def many_rows(dear: int, padding: int, below: int) -> str:
    """A dear branch for the user's rows, and padding for everybody younger than that."""

    def looked(patterns: int) -> str:
        return "(" + " OR ".join(f"contains(comment, 'b{number}')" for number in range(patterns)) + ")"

    rest = f"WHEN age < {below} THEN {looked(padding)} " if padding else ""
    return f"CASE WHEN age = 95 THEN {looked(dear)} {rest}ELSE FALSE END"


class Asker:
    """One analyst."""

    def __init__(self, server: Server, token: str) -> None:
        self._caller = Caller(server, token)

    def ask(self, data: str, where: str) -> dict[str, Any]:
        """The question when it has ended, or why it was refused."""
        body = {"verb": "top_k", "data": data, "k": 3, "epsilon": "1/1000", "delta": "1e-9", "fresh": True}
        before = self._slips(data)
        status, job = self._caller.until_answered("POST", "/v1/questions", {**body, "where": where})
        if status != 202:
            return {"refused": job.get("detail", ""), "slipped": False}
        while job["state"] not in SETTLED:
            _, job = self._caller.until_answered("GET", f"/v1/questions/{job['id']}?wait=30")
        return {**job, "slipped": job["slips"] > before}

    def _slips(self, data: str) -> int:
        """Those that are known of the data."""
        _, found = self._caller.until_answered("GET", "/v1/data")
        return int(next(one for one in found["data"] if one["name"] == data).get("slips", 0))


def tuned(asker: Asker) -> str | None:
    """The filter of many rows with most padding that does not slip without the user; None where all are refused."""
    for dear, padding in ((2_500, 330), (8, 1)):
        for below in (81, 71, 61, 51, 41, 31, 21):
            where = many_rows(dear, padding, below)
            job = asker.ask("rows0", where)
            if "refused" in job:
                break
            if not job["slipped"]:
                return where
    return None


def main() -> None:
    """Make both, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=32)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=300_000)
    parser.add_argument("--tick", type=float, default=0.25)
    parser.add_argument("--letters", type=int, default=4_000, help="of the one comment")
    parser.add_argument("--postgres", action="store_true")
    args = parser.parse_args()
    print(f"{args.rows:,} rows, tick {args.tick} s, load of the machine {os.getloadavg()[0]:.1f}\n")
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        folder = Path(name)
        base = ROWS.format(rows=args.rows)
        for number, more in enumerate((None, LONG.format(letters=args.letters), MANY)):
            rows = base if more is None else f"{base} UNION ALL {more}"
            duckdb.sql(rows).write_parquet(str(folder / f"rows{number}.parquet"))
        if args.postgres:
            with postgres.server() as place:
                address = place.format(name="postgres")
                _copy(address, folder)
                attacked(folder, args, address)
        else:
            attacked(folder, args, None)


def attacked(folder: Path, args: argparse.Namespace, address: str | None) -> None:
    """One server for all of it."""
    names = ("rows0", "rows1", "rows2")
    world = make(folder, analysts=1, tick=args.tick, workers=1, promise=30, quota=30, data=names)
    text = world.settings().read_text("utf-8")
    for name in names:
        opened = ", ".join(f'{column} = "any"' for column in FILTERS)
        more = f"filters = {{ {opened} }}\nsizes = {{ users = {args.rows // 10}, items = 1000, items_per_user = 10 }}\n"
        if address is not None:
            text = text.replace(f'source = "{name}.parquet"', f'source = "{address}"\ntable = "{name}"\nsnapshot = "1"')
        text = text.replace(f"[data.{name}]\n", f"[data.{name}]\n{more}")
    world.settings().write_text(text, "utf-8")
    server = Server(world.settings())
    server.start()
    try:
        asker = Asker(server, world.tokens["ann0"])
        lines = [
            row("one row, 110 patterns of 860 letters", asker, "rows1", one_row(110, 860), args.questions),
            row("one row, 2 plain patterns", asker, "rows1", plain_row(2), args.questions),
            row("many rows, 2,500 patterns", asker, "rows2", many_rows(2_500, 0, 0), args.questions),
        ]
        padded = tuned(asker)
        if padded is not None:
            lines.append(row("many rows, padded up to a tick", asker, "rows2", padded, args.questions))
        table(["attack", "questions with slips without the user", "with", "leaves after, s"], lines)
    finally:
        server.stop()


def row(name: str, asker: Asker, more: str, where: str, questions: int) -> list[str]:
    """Both data sets asked in turn."""
    found: dict[str, list[dict[str, Any]]] = {"rows0": [], more: []}
    for _ in range(questions):
        for data, jobs in found.items():
            jobs.append(asker.ask(data, where))
            if "refused" in jobs[-1]:
                return [name, "refused", "refused", jobs[-1]["refused"].split(", got")[0]]
    return [name, *(_slips(jobs) for jobs in found.values()), f"{found['rows0'][-1]['tick']:g}"]


def _slips(jobs: Sequence[dict[str, Any]]) -> str:
    return f"{sum(job['slipped'] for job in jobs)} of {len(jobs)}"


def _copy(address: str, folder: Path) -> None:
    import psycopg

    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        for name in ("rows0", "rows1", "rows2"):
            cursor.execute(f'CREATE TABLE {name} ("user" text, artist text, age int, comment text)')
            with cursor.copy(f"COPY {name} FROM STDIN") as copy, duckdb.connect() as source:
                for one in source.execute(f"SELECT * FROM '{folder}/{name}.parquet'").fetchall():
                    copy.write_row(one)
        cursor.execute("ANALYZE")


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"\n{time.monotonic() - began:.0f} s; {json.dumps(sys.argv[1:])}")
