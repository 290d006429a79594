"""What preparing costs and gives: each verb on rows of texts, and on the same rows prepared; DuckDB's own count beside.

Users and artists are texts, of a country and a device, with minutes and a time; about a twentieth as many users as
rows, 10^5 artists by Zipf's law. Every line is a process of its own; CPU is counted from when its modules are there
until the answer is, and, for whole commands, from the start.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import Cost, alternate, cache, median, process, seconds, table, verdict

import dpselect as dps

DAY = 10**6  # rows; fewer are those of a day
K_BAR = 1001  # as limited domain asks for
COUNTS = 'SELECT artist, count(DISTINCT "user") AS n FROM {} GROUP BY artist ORDER BY n DESC, artist LIMIT {}'
GERMAN = "country = 'C003'"
MOBILE = "device = 'phone' AND country <> 'C001'"
COLUMNS = {"user": "user", "item": "artist"}
MONTHS = {"time": "played_at", "period": "month"}
MARCH = {**MONTHS, "during": "2026-03"}
PLAIN = {
    "top": COUNTS.format("rows", K_BAR),
    "top, one country": COUNTS.format(f"rows WHERE {GERMAN}", K_BAR),
    "top, phones": COUNTS.format(f"rows WHERE {MOBILE}", K_BAR),
    "top, a month": COUNTS.format("rows WHERE date_trunc('month', played_at) = DATE '2026-03-01'", K_BAR),
}
QUESTIONS: dict[str, Callable[[Any], object]] = {
    "top": lambda ask: ask().top_k(10, epsilon=1),
    "top, one country": lambda ask: ask(where=GERMAN).top_k(10, epsilon=1),
    "top, phones": lambda ask: ask(where=MOBILE).top_k(10, epsilon=1),
    "top, a month": lambda ask: ask(**MARCH).top_k(10, epsilon=1),
    "top, at most 10 items a user": lambda ask: ask(max_items_per_user=10).top_k(10, epsilon=1),
    "top of every country": lambda ask: ask().top_k(10, epsilon=1, by="country"),
    "top by minutes": lambda ask: ask().top_k(10, epsilon=1, score=dps.Total("minutes", at_most=60)),
    "median of minutes": lambda ask: ask(item="minutes").median(epsilon=1, bounds=(0, 90)),
    "union, 10 items a user": lambda ask: ask(max_items_per_user=10).union(epsilon=1),
}
LEAST = 10  # times less CPU than plain DuckDB's on the rows


def make_rows(file: Path, rows: int) -> None:
    """Rows by hashes of their numbers: the same ones each time. Few are of one day, which comes after the others."""
    import duckdb

    def real(of: str) -> str:
        return f"((hash({of}) % 1000000007) / 1000000007.0)"

    first, days = ("2026-01-01", 300) if rows > DAY else ("2026-11-23", 1)
    drawn = (
        f"SELECT r, floor({rows // 20} * pow({real('r * 5 + 2')}, 1.7))::BIGINT AS u, "
        f"floor(pow(100000::DOUBLE, {real('r * 13 + 3')}) - 1)::BIGINT AS i FROM range({rows}) AS t (r)"
    )
    columns = (
        "'user-' || lpad((hash(u) % 100000000000)::VARCHAR, 11, '0') AS \"user\"",
        "'artist ' || i || ' ' || substr(md5(i::VARCHAR), 1, 8) AS artist",
        f"'C' || lpad(least(199, floor(-30 * ln(1 - {real('u * 7 + 1')})))::INT::VARCHAR, 3, '0') AS country",
        "['phone', 'desktop', 'tablet'][1 + (hash(r * 3) % 10 > 6)::INT + (hash(r * 3) % 10 > 8)::INT] AS device",
        "(hash(r) % 90)::INTEGER AS minutes",
        f"TIMESTAMP '{first}' + INTERVAL 1 SECOND * (hash(r * 11) % ({days} * 86400))::BIGINT AS played_at",
    )
    draft = file.with_suffix(".draft")
    duckdb.execute(
        f"COPY (SELECT {', '.join(columns)} FROM ({drawn})) TO '{draft.as_posix()}' (FORMAT parquet, COMPRESSION zstd)"
    )
    draft.replace(file)


def rows_file(rows: int) -> Path:
    """The file of so many rows, written in a process of its own where it is not there."""
    file = cache() / f"plays-{rows}.parquet"
    if not file.exists():
        subprocess.run([sys.executable, __file__, "--make-rows", str(rows)], check=True)
    return file


def ask(name: str, source: str) -> None:
    """One question in this process; its cost as JSON."""
    import duckdb

    from dpselect.flat import dataset_of

    if name in QUESTIONS:  # imports what it needs
        few = {name: [name] for name in ("user", "artist", "country", "device")} | {"minutes": [1]}
        few["played_at"] = ["2026-03-01"]
        QUESTIONS[name.removeprefix("counts: ")](lambda **more: dataset_of(few, **(COLUMNS | more)))
    wall, before = time.perf_counter(), _used()
    if name.startswith("plain: "):
        duckdb.execute(f"CREATE VIEW rows AS FROM '{source}'")
        duckdb.sql(PLAIN[name.removeprefix("plain: ")]).fetchall()
    elif name in ("prepare", "add"):
        rows, _, to = source.partition("+")
        more = {"add": True} if name == "add" else {"keep": ["country", "device"], "weights": "minutes"}
        dataset_of(rows, **COLUMNS, **MONTHS).prepare(to, memory=os.environ.get("BENCH_MEMORY"), **more)
    else:
        QUESTIONS[name](lambda **more: dataset_of(source, **(COLUMNS | more)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    sys.stdout.write(json.dumps([_used() - before, time.perf_counter() - wall, peak]))


def _used() -> float:
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime


def asked(name: str, source: str | Path, runs: int) -> Cost:
    """The median cost of a question, each time in a process of its own."""
    costs = []
    for _ in range(runs):
        found = subprocess.run(
            [sys.executable, __file__, "--ask", name, str(source)], stdout=subprocess.PIPE, check=True
        )
        costs.append(Cost(*json.loads(found.stdout)))
    return median(costs)


def main() -> None:
    """Print the tables."""
    args = _arguments()
    if args.make_rows:
        make_rows(cache() / f"plays-{args.make_rows}.parquet", args.make_rows)
        return
    if args.ask:
        ask(*args.ask)
        return
    file = rows_file(args.rows)
    print(f"\n## {args.rows:,} rows, {file.stat().st_size / 2**20:,.0f} MiB\n")
    ours_file = Path(f"{file}.prepared")
    made = asked("prepare", f"{file}+{ours_file}", 1)
    size = ours_file.stat().st_size
    print(f"prepare: {_cost(made)}, {size / 2**20:,.0f} MiB on the disk\n")
    if args.add:
        more = rows_file(args.add)
        print(f"add {args.add:,} rows: {_cost(asked('add', f'{more}+{ours_file}', 1))}\n")
    rows = []
    for name in QUESTIONS:
        raw, ours = asked(name, file, args.runs), asked(name, ours_file, args.runs)
        plain = asked(f"plain: {name}", file, args.runs) if name in PLAIN else None
        times = "" if plain is None else verdict(plain.cpu / ours.cpu, LEAST, least=True)
        rows.append([name, *("" if one is None else _cost(one) for one in (plain, raw, ours)), times])
    table(["question", "plain DuckDB, rows", "rows", "prepared", "plain / prepared, CPU"], rows)
    command = [Path(sys.executable).with_name("dpselect"), "top", ours_file, "-k", "10", "--epsilon", "1", "--quiet"]
    more = {"top": command, "top, one country": [*command, "--where", GERMAN]}
    whole = alternate({name: lambda line=line: process(line) for name, line in more.items()}, 3 * args.runs)
    print("\nWhole commands, from the start:\n")
    most = 0.6 if args.rows <= 10**7 else 2
    table(
        ["command", "cost", "clock"],
        [[name, _cost(one), verdict(one.wall, most)] for name, one in whole.items()],
    )


def _cost(one: Cost) -> str:
    return f"{seconds(one.cpu)}, {seconds(one.wall)} on the clock, {one.memory:,.0f} MiB"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**7)
    parser.add_argument("--add", type=lambda text: int(float(text)), default=10**5, help="rows to add; 0 for none")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--make-rows", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--ask", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
