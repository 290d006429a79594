"""What privacy costs in each engine: a private top 100 against the plain query for the 101 items with the most users.

10^7 rows of 10^6 users, items as strings (the file of `main_job`). Each run is a process of its own, which asks once
over a few rows, so that start-up and imports are over, and then measures one question: CPU of this process and of the
server or JVM that works for it. Of the private question it measures what the engine does, from opening the source to
the k_bar + 1 items, and the whole call, which also plans (by the parameters alone) and draws. Target: the engine takes
at most 1.1 times the plain query's CPU, in every engine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import measure
from measure import Cost, alternate, seconds, table, verdict
from union import rows_file

from dpselect.mechanisms.top_k.limited_domain import default_k_bar

K = 100
MOST = 1.1
ENGINES = ("duckdb", "polars", "postgres", "spark")
SQL = "SELECT item, count(DISTINCT {user}) AS n FROM {rows} GROUP BY item ORDER BY n DESC LIMIT {most}"
Question = Callable[[], object]


def private(who: str, source: object) -> object:
    """The private question: limited domain looks at k_bar + 1 items. Whole, or what the engine has to do for it."""
    import dpselect as dps

    data = dps.Dataset(source, user="user", item="item")
    if who == "whole":
        return data.top_k(K, epsilon=1, delta="1e-6", method="limited-domain")
    with data.engine() as engine:
        return engine.top(default_k_bar(K) + 1)


def in_duckdb(file: Path, who: str) -> Question:
    """DuckDB over the Parquet file."""
    import duckdb

    if who != "plain":
        return partial(private, who, file)
    sql = SQL.format(user='"user"', rows=f"'{file.as_posix()}'", most=K + 1)
    return lambda: duckdb.connect().execute(sql).fetchall()


def in_polars(file: Path, who: str) -> Question:
    """A lazy frame over the Parquet file, in the engine that polars chooses."""
    import polars as pl

    frame = pl.scan_parquet(file)
    if who != "plain":
        return partial(private, who, frame)
    users = pl.col("user").n_unique().alias("n")
    return lambda: frame.group_by("item").agg(users).sort("n", descending=True).head(K + 1).collect().rows()


def in_postgres(address: str, rows: str, who: str) -> Question:
    """A table of a PostgreSQL server, over a connection of its own, as a question of ours has."""
    import psycopg

    if who != "plain":
        import dpselect as dps

        return partial(private, who, dps.Table(address, rows))

    def ask() -> object:
        with psycopg.connect(address) as connection:
            return connection.execute(SQL.format(user='"user"', rows=rows, most=K + 1).encode()).fetchall()

    return ask


def in_spark(file: Path, who: str) -> Question:
    """A frame of a local Spark with as many threads as there are processors."""
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8", "spark.driver.memory": "4g"}
    builder = SparkSession.builder.master("local[*]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    frame = spark.read.parquet(file.as_posix())
    if who != "plain":
        return partial(private, who, frame)
    name = file.stem.replace("-", "_")
    frame.createOrReplaceTempView(name)
    return lambda: spark.sql(SQL.format(user="user", rows=name, most=K + 1)).collect()


# ---- the cost of a question whose work is done by other processes ------------------------------------------


def call(question: Question, root: int) -> Cost:
    """One question: CPU of this process and of the tree below `root`; memory is that tree's, sampled."""
    start, done = _memory(root), threading.Event()
    peaks = [start]
    watch = threading.Thread(target=_watch, args=(root, peaks, done))
    clock, own, theirs = time.perf_counter(), time.process_time(), _cpu(root)
    watch.start()
    question()
    wall = time.perf_counter() - clock
    time.sleep(0.2)  # a server's process has gone by then, and its CPU is its parent's
    own, theirs = time.process_time() - own, _cpu(root) - theirs
    done.set()
    watch.join()
    return Cost(own + theirs, wall, max(peaks) - start)


def _watch(root: int, peaks: list[float], done: threading.Event) -> None:
    while not done.wait(0.05):
        peaks.append(_memory(root))


def _tree(root: int) -> Iterator[int]:
    """A process and all below it."""
    yield root
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{root}/task").iterdir():
            for child in (thread / "children").read_text("ascii").split():
                yield from _tree(int(child))


def _cpu(root: int) -> float:
    """Seconds of a tree so far, with those of its ended processes."""
    ticks = 0
    for process in _tree(root):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory(root: int) -> float:
    """MiB that a tree holds for itself, without what its processes share."""
    found = 0
    for process in _tree(root):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
            found += sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
    return found / 1024


# ---- one run, and all of them -----------------------------------------------------------------------------


def once(engine: str, who: str, file: Path, few: Path, address: str | None) -> Cost:
    """In a process of its own: the question of a few rows, and then what the question of all rows costs."""
    if engine == "postgres":
        import psycopg

        assert address is not None
        with psycopg.connect(address) as connection:
            backend = connection.info.backend_pid
            status = Path(f"/proc/{backend}/status").read_text("ascii")
        server = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))
        in_postgres(address, "few", who)()
        return call(in_postgres(address, "events", who), server)
    ask = {"duckdb": in_duckdb, "polars": in_polars, "spark": in_spark}[engine]
    ask(few, who)()
    if engine != "spark":
        return measure.call(ask(file, who))
    question = ask(file, who)
    question()  # a JVM compiles what it runs often: the first time costs twice as much
    machine = next(child for child in _tree(os.getpid()) if child != os.getpid())
    return call(question, machine)


def apart(engine: str, who: str, file: Path, few: Path, address: str | None) -> Cost:
    """`once` in a new process."""
    command = [sys.executable, __file__, "--only", engine, who, "--file", file, "--few", few]
    command += [] if address is None else ["--address", address]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=measure.installed()).stdout
    return Cost(**json.loads(said.splitlines()[-1]))


def copy(address: str, name: str, file: Path) -> None:
    """A table of PostgreSQL with the rows of a file; it has no index, and its statistics are fresh."""
    import duckdb
    import psycopg

    with tempfile.TemporaryDirectory() as folder, psycopg.connect(address, autocommit=True) as connection:
        rows = Path(folder) / "rows.csv"
        duckdb.execute(f"""COPY (SELECT "user", item FROM '{file.as_posix()}') TO '{rows.as_posix()}' (HEADER false)""")
        connection.execute(f'CREATE TABLE {name} ("user" bigint, item text)'.encode())
        with rows.open("rb") as blocks, connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)".encode()) as to:
            while block := blocks.read(2**20):
                to.write(block)
        connection.execute(f"VACUUM ANALYZE {name}".encode())


@contextlib.contextmanager
def server(file: Path, few: Path) -> Iterator[str]:
    """The address of a PostgreSQL of our own that holds the rows."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests import postgres

    with postgres.server() as started:
        address = started.format(name="postgres")
        copy(address, "few", few)
        copy(address, "events", file)
        yield address


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", choices=[*ENGINES, []], help="which engines; all without")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--first", type=int, help="only so many rows")
    parser.add_argument("--only", nargs=2, help="one run: an engine, and plain, engine or whole")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--few", type=Path)
    parser.add_argument("--address")
    options = parser.parse_args()
    if options.only is not None:
        cost = once(*options.only, options.file, options.few, options.address)
        print(json.dumps({"cpu": cost.cpu, "wall": cost.wall, "memory": cost.memory}))
        return
    file, few = rows_file(options.first), rows_file(1000)
    left = f"{K + 1} and {default_k_bar(K) + 1} rows leave the engine"
    print(f"{options.first or '10^7'} rows, k = {K}, {left}, CPU seconds, medians of {options.runs} runs\n")
    for engine in options.engines or ENGINES:
        with server(file, few) if engine == "postgres" else contextlib.nullcontext() as address:
            sides = {who: partial(apart, engine, who, file, few, address) for who in ("plain", "engine", "whole")}
            alternate(sides, 1)  # once for the compiled modules and the file cache
            plain, ours, whole = alternate(sides, options.runs).values()
        row = [
            engine,
            *(seconds(cost.cpu) for cost in (plain, ours, whole)),
            verdict(ours.cpu / plain.cpu, MOST),
            f"{whole.cpu / plain.cpu:.3g}",
            " / ".join(seconds(cost.wall) for cost in (plain, ours, whole)),
            " / ".join(f"{cost.memory:.0f}" for cost in (plain, ours, whole)),
        ]
        table(["engine", "plain", "private, engine", "whole", "engine / plain", "whole / plain", "clock", "MiB"], [row])


if __name__ == "__main__":
    main()
