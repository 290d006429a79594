"""How long questions take beside what the gateway's clock allows for them (`dpselect.forecast.work`).

Each question is asked of a file of invented rows that are declared as they are; CPU and time of the whole question
stand beside its bound, which must be larger. With `--postgres` the same rows are asked in a server started for it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
from measure import seconds, table

from dpselect.flat import dataset_of
from dpselect.forecast import work
from dpselect.gateway.settings.kinds import Amount
from dpselect.gateway.settings.values import DataSettings, Sizes
from dpselect.queries.plan import Plan

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests import postgres

ROWS = """SELECT 'u' || (random() * {rows} // 10)::INT AS "user",
    'artist ' || floor(100000 * pow(random(), 4))::INT AS artist, 'c' || floor(200 * pow(random(), 2))::INT AS country,
    (random() * 60)::INT AS minutes, repeat('some words of text ', (random() * 4)::INT) AS comment FROM range({rows})"""
ITEMS = [f"artist {number}" for number in range(100_000)]
GROUPS = [f"c{number}" for number in range(20_000)]
TOP: dict[str, Any] = {"verb": "top_k", "epsilon": "1/10", "delta": "1e-6"}
UNION: dict[str, Any] = {"verb": "union", "epsilon": "1", "delta": "1e-6"}
MEDIAN: dict[str, Any] = {"verb": "quantile", "bounds": ["0", "60"], "step": "1", "epsilon": "1/10"}
DEAR = " OR ".join(f"contains(comment, 'word {number}')" for number in range(10))


def questions() -> Iterator[tuple[str, dict[str, Any], str | None]]:
    """Name, body, filter."""
    by = {"by": ["country"]}
    yield "top 10", TOP, None
    yield "top 1000", {**TOP, "k": 1000}, None
    yield "top 10, k_bar 10^6", {**TOP, "k_bar": 10**6}, None
    yield "top 10, 10 patterns", TOP, DEAR
    yield "top 10, bounded", {**TOP, "max_items_per_user": 5}, None
    yield "top 10 of each country", {**TOP, **by}, None
    yield "top 10 of each country, sums", {**TOP, **by, "by_weight": "minutes", "at_most": "60"}, None
    yield "top 10 of 100,000 items", {**TOP, "domain": ITEMS}, None
    yield "top 1000, canonical-set", {**TOP, "domain": ITEMS, "k": 1000, "method": "canonical-set"}, None
    yield "union", UNION, None
    yield "union, greedy-geometric", {**UNION, "method": "greedy-geometric"}, None
    yield "median", MEDIAN, None
    yield "median of each country", {**MEDIAN, **by, "delta": "1e-6"}, None
    yield "median of 20,000 listed groups", {**MEDIAN, **by, "groups": GROUPS}, None
    nine = [f"{one}/10" for one in range(1, 10)]
    yield "9 quantiles of 1,000 listed groups", {**MEDIAN, **by, "groups": GROUPS[:1000], "q": nine}, None
    yield (
        "histogram of 100,000 items",
        {"verb": "histogram", "epsilon": "1/10", "domain": ITEMS, "max_items_per_user": 5},
        None,
    )


def took(source: object, tab: str | None, body: dict[str, Any], where: str | None) -> tuple[float, float]:
    """CPU of this process, and time, of planning and asking."""
    item = "minutes" if body["verb"] == "quantile" else "artist"
    began, cpu = time.perf_counter(), time.process_time()
    query = Plan.from_dict(body)
    most = body.get("max_items_per_user")
    dataset_of(source, table=tab, user="user", item=item, where=where, max_items_per_user=most).ask(query)
    return time.process_time() - cpu, time.perf_counter() - began


def compared(source: object, tab: str | None, data: DataSettings) -> None:
    """The table."""
    lines, least = [], float("inf")
    for name, body, where in questions():
        item = "minutes" if body["verb"] == "quantile" else "artist"
        work_bound = work.bound_work(Plan.from_dict(body), where, item, data)
        bound = work_bound.python_seconds + work_bound.engine_seconds
        cpu, wall = min(took(source, tab, body, where) for _ in range(2))
        least = min(least, bound / wall)
        lines.append([name, seconds(cpu), seconds(wall), seconds(bound), f"{bound / wall:.1f}"])
    table(["question", "CPU", "time", "bound", "bound / time"], lines)
    print(f"\nleast bound / time: {least:.1f}\n")


def main() -> None:
    """Make the rows, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--postgres", action="store_true")
    args = parser.parse_args()
    one = Amount(epsilon=Fraction(1), delta=Fraction(0))
    with tempfile.TemporaryDirectory(prefix="work-") as name:
        file = Path(name) / "rows.parquet"
        duckdb.sql("SELECT setseed(0.5)")
        duckdb.sql(ROWS.format(rows=args.rows)).write_parquet(str(file))
        texts = 'length("user" || artist || country || comment) + 4'
        text = int(duckdb.sql(f"SELECT sum({texts}) FROM '{file}'").fetchall()[0][0])
        sizes = Sizes(users=args.rows // 10, items=100_000, rows=args.rows, bytes=text)
        data = DataSettings(name="plays", source=str(file), user="user", items=("artist",), promise=one, sizes=sizes)
        print(f"{args.rows:,} rows of {text // args.rows} bytes, a Parquet file\n")
        compared(str(file), None, data)
        if not args.postgres:
            return
        with postgres.server() as place:
            address = place.format(name="postgres")
            _copy(address, file)
            print("the same rows in PostgreSQL\n")
            compared(address, "rows", data.model_copy(update={"source": address}))


def _copy(address: str, file: Path) -> None:
    import psycopg

    with duckdb.connect() as source, psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute('CREATE TABLE rows ("user" text, artist text, country text, minutes int, comment text)')
        with cursor.copy("COPY rows FROM STDIN") as copy:
            for row in source.execute(f"SELECT * FROM '{file}'").fetchall():
                copy.write_row(row)
        cursor.execute("ANALYZE rows")


if __name__ == "__main__":
    main()
