"""What each verb costs on DuckDB, PostgreSQL and Spark, of 10^6 and 10^7 rows (docs/prepared.md).

The rows are those of `scale`. Every line is a process of its own; CPU is counted from when the engine stands until
the answer is there, of the engine's processes and of ours. For Spark the event log says what was read, shuffled and
spilled.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import cache, seconds, table
from scale import rows_file

ROOT = Path(__file__).resolve().parents[1]
VERBS = ("plain", "top_k", "top_k, bound 10", "median", "union, renyi-shaped")
HEADER = ["rows", "engine", "question", "CPU", "clock", "peak memory", "answer", "rows read", "shuffled", "spilled"]
TICKS = os.sysconf("SC_CLK_TCK")


def make_skewed(file: Path, rows: int) -> None:
    """One user has half of all rows, each with an item of its own; everybody else has one item and all the same one."""
    import duckdb

    lone = f"SELECT 0 AS \"user\", 'item-' || i AS item, i % 100 AS value FROM range({rows // 2}) AS t (i)"
    same = f"SELECT 1 + i AS \"user\", 'item-0' AS item, i % 100 AS value FROM range({rows // 2}) AS t (i)"
    draft = file.with_suffix(".draft")
    duckdb.execute(f"COPY ({lone} UNION ALL {same}) TO '{draft.as_posix()}' (FORMAT parquet)")
    draft.replace(file)


def skewed_file(folder: Path, rows: int) -> Path:
    """The file of so many skewed rows, written in a process of its own where it is not there."""
    file = folder / f"skewed-{rows}.parquet"
    if not file.exists():
        subprocess.run([sys.executable, __file__, "--data", folder, "--make-skewed", str(rows)], check=True)
    return file


# ---- one question -----------------------------------------------------------------------------------------


def asked(verb: str, source: Any, plain: Any) -> int:
    """Ask it; how many rows or items came back."""
    import dpselect as dps

    if verb == "plain":
        return len(plain())
    item = "value" if verb == "median" else "item"
    bound = 10 if "bound" in verb or "union" in verb else None
    data = dps.Dataset(source, user="user", item=item, max_items_per_user=bound)
    if verb.startswith("top_k"):
        return len(data.top_k(20, epsilon=1, delta="1e-6", method="limited-domain"))
    if verb == "median":
        return len(data.median(bounds=(0, 100), step=1, epsilon=1))
    return len(data.union(epsilon=1, delta="1e-6", method=dps.Method(verb.partition(", ")[2], in_engine=True)))


PLAIN = 'SELECT item, count(DISTINCT "user") AS n FROM {} GROUP BY item ORDER BY n DESC LIMIT 1001'


def on_duckdb(verb: str, file: Path) -> dict[str, object]:
    """DuckDB in this process."""
    import duckdb

    with measured(os.getpid) as cost:
        cost["rows"] = asked(verb, str(file), lambda: duckdb.execute(PLAIN.format(f"'{file}'")).fetchall())
    return cost


def on_postgres(verb: str, file: Path) -> dict[str, object]:
    """A server of our own, which the parent filled."""
    import psycopg

    import dpselect as dps

    address, pid = os.environ["SCALE_SERVER"], int(os.environ["SCALE_SERVER_PID"])

    def plain() -> list[Any]:
        with psycopg.connect(address) as connection:
            return connection.execute(PLAIN.format(f"rows_{rows_of(file)}")).fetchall()

    with measured(os.getpid, pid) as cost:
        cost["rows"] = asked(verb, dps.Table(address, f"rows_{rows_of(file)}"), plain)
    return cost


def on_spark(verb: str, file: Path) -> dict[str, object]:
    """Local Spark on two cores, whose event log is read after it ended."""
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": os.environ.get("SCALE_SPARK_MEMORY", "6g"),
            "spark.sql.shuffle.partitions": "16",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file:{folder}",
            "spark.local.dir": folder,
            "spark.sql.warehouse.dir": folder,
        }
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        spark.range(10).selectExpr("sum(id)").collect()  # it stands
        frame = spark.read.parquet(str(file))
        frame.createOrReplaceTempView("rows")
        jvm = spark.sparkContext._gateway.proc.pid
        with measured(os.getpid, jvm) as cost:
            cost["rows"] = asked(verb, frame, lambda: spark.sql(PLAIN.format("rows").replace('"', "`")).collect())
        spark.stop()
        for log in Path(folder).rglob("*"):
            if log.is_file() and log.name.startswith(("events", "local-")):  # beside them lie checksums
                cost |= logged(log, cost)
    return cost


def logged(log: Path, cost: dict[str, Any]) -> dict[str, Any]:
    """Rows that tasks read, also of what Spark kept, and bytes that they wrote for others and spilled."""
    found = {name: cost.get(name, 0) for name in ("read", "shuffled", "spilled")}
    with contextlib.suppress(UnicodeDecodeError):
        for line in log.read_text().splitlines():
            event = json.loads(line)
            metrics = event.get("Task Metrics") or {}
            if event.get("Event") == "SparkListenerTaskEnd" and metrics:
                found["read"] += metrics["Input Metrics"]["Records Read"]
                found["shuffled"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                found["spilled"] += metrics["Disk Bytes Spilled"]
    return found


ENGINES = {"duckdb": on_duckdb, "postgres": on_postgres, "spark": on_spark}


def rows_of(file: Path) -> int:
    """How many rows a file has, by its name."""
    return int(file.stem.rpartition("-")[2])


# ---- what it cost -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def measured(*processes: Any) -> Iterator[dict[str, Any]]:
    """CPU, clock and peak memory of processes and their children while the block runs."""
    pids = [one() if callable(one) else one for one in processes]
    cost: dict[str, Any] = {}
    cpu, wall = sum(map(cpu_of, pids)), time.perf_counter()
    yield cost
    cost |= {"wall": time.perf_counter() - wall, "cpu": sum(map(cpu_of, pids)) - cpu, "memory": sum(map(peak_of, pids))}


def cpu_of(pid: int) -> float:
    """Seconds of CPU of a process, of its children that ended and of those that run."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / TICKS + sum(map(cpu_of, children_of(pid)))


def peak_of(pid: int) -> float:
    """MiB that a process had at its peak; children that run count as well."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    own = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0) / 1024
    return own + sum(map(peak_of, children_of(pid)))


def children_of(pid: int) -> list[int]:
    """The processes that a process started and that still run; Python's and Java's own threads start some too."""
    found: list[int] = []
    if pid != os.getpid():
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


# ---- all of them ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def server(files: list[Path]) -> Iterator[dict[str, str]]:
    """A PostgreSQL server that holds the rows; what a child needs to find it."""
    sys.path.insert(0, str(ROOT))
    import psycopg
    import pyarrow.parquet as pq

    from tests import postgres

    with postgres.server() as pattern:
        address = pattern.format(name="postgres")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET shared_buffers = '1GB'")
            for file in files:
                name = f"rows_{rows_of(file)}"
                connection.execute(f'CREATE TABLE {name} ("user" int8, item text, value int8)')
                with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                    for batch in pq.ParquetFile(file).iter_batches(columns=["user", "item", "value"]):
                        lines = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                        copy.write("".join(f"{user}\t{item}\t{value}\n" for user, item, value in lines))
                connection.execute(f"VACUUM ANALYZE {name}")
            folder = connection.execute("SHOW data_directory").fetchone()
        pid = Path(str(folder and folder[0]), "postmaster.pid").read_text().split()[0]
        yield {"SCALE_SERVER": address, "SCALE_SERVER_PID": pid}


def line(rows: int, engine: str, verb: str, more: dict[str, str], data: Path, skewed: bool) -> list[str]:
    """One question as a process of its own."""
    command = [sys.executable, __file__, "--only", f"{engine}/{verb}", "--rows", str(rows)]
    command += ["--data", str(data), *(["--skewed"] if skewed else [])]
    ran = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, check=False)
    if ran.returncode:
        return [f"{rows:.0e}", engine, verb, "failed: " + ran.stderr.strip().rpartition("\n")[2][:80]]
    cost = json.loads(ran.stdout.splitlines()[-1])
    shown = [f"{cost['read']:.1e}" if "read" in cost else ""]
    shown += [f"{cost[name] / 2**20:,.0f} MiB" if name in cost else "" for name in ("shuffled", "spilled")]
    figures = [seconds(cost["cpu"]), seconds(cost["wall"]), f"{cost['memory']:,.0f} MiB", str(cost["rows"])]
    return [f"{rows:.0e}", engine, verb, *figures, *shown]


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--engines", nargs="+", default=list(ENGINES))
    parser.add_argument("--verbs", nargs="+", default=list(VERBS))
    parser.add_argument("--data", type=Path, default=cache(), metavar="FOLDER", help="where the files of rows are")
    parser.add_argument("--make-skewed", type=int, help="only write a file")
    parser.add_argument("--only", help="one question here")
    parser.add_argument(
        "--skewed", action="store_true", help="one user with half of the rows, one item in all the rest"
    )
    options = parser.parse_args()
    sizes = [int(rows) for rows in options.rows]
    if options.make_skewed is not None:
        return make_skewed(options.data / f"skewed-{options.make_skewed}.parquet", options.make_skewed)
    files = [(skewed_file if options.skewed else rows_file)(options.data, rows) for rows in sizes]
    if options.only is not None:
        import dpselect  # noqa: F401 - start-up apart

        engine, _, verb = options.only.partition("/")
        print(json.dumps(ENGINES[engine](verb, files[0])))
        return None
    with server(files) if "postgres" in options.engines else contextlib.nullcontext({}) as more:
        found = []
        for rows in sizes:
            for engine in options.engines:
                for verb in options.verbs:
                    found.append(line(rows, engine, verb, more, options.data, options.skewed))
                    print(found[-1], file=sys.stderr, flush=True)
    return table(HEADER, found)


if __name__ == "__main__":
    main()
