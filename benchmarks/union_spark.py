"""Set unions on local Spark: ours, as asked and with the pairs left there, beside Tumult Analytics and PipelineDP.

The rows of `scale` (user, item), epsilon 1, delta 1e-6, at most 10 items a user; one process each, on two cores. CPU is
that of the JVM, of Python workers and of the process itself, from when Spark stands until the items are there; with
`--warm` from when it has answered the same question for 10^6 rows, so that the JVM has compiled what it runs. The peers
need versions of PySpark that ours does not: `--peers` names a Python that has tmlt.analytics and pipeline-dp.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import seconds, table, verdict
from scale import measured, rows_file

OURS = ("renyi-shaped", "renyi-shaped in the engine")
PEERS = ("tumult", "pipelinedp gaussian", "pipelinedp truncated geometric")
PARTITIONS = 16
LEAST = 3.0


def ours(method: str, frame: Any) -> int:
    """The verb."""
    import dpselect as dps

    data = dps.Dataset(frame, user="user", item="item", max_items_per_user=10)
    method, _, there = method.partition(" ")
    return len(data.union(epsilon=1, delta="1e-6", method=dps.Method(method, in_engine=bool(there))))


def tumult(frame: Any) -> int:
    """Tumult Analytics' groups."""
    from tmlt.analytics import (
        AddRowsWithID,
        ApproxDPBudget,
        MaxGroupsPerID,
        MaxRowsPerGroupPerID,
        QueryBuilder,
        Session,
    )

    budget = ApproxDPBudget(1, 1e-6)
    session = Session.from_dataframe(budget, "rows", frame, protected_change=AddRowsWithID("user"))
    query = QueryBuilder("rows").enforce(MaxGroupsPerID("item", 10)).enforce(MaxRowsPerGroupPerID("item", 1))
    return int(session.evaluate(query.get_groups(["item"]), budget).count())


def pipelinedp(strategy: str, frame: Any, spark: Any) -> int:
    """PipelineDP's partition selection over an RDD."""
    import pipeline_dp

    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.SparkRDDBackend(spark.sparkContext))
    chosen = {
        "gaussian": pipeline_dp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING,
        "truncated geometric": pipeline_dp.PartitionSelectionStrategy.TRUNCATED_GEOMETRIC,
    }
    parameters = pipeline_dp.SelectPartitionsParams(
        max_partitions_contributed=10, partition_selection_strategy=chosen[strategy]
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1]
    )
    selected = engine.select_partitions(frame.rdd.map(tuple), parameters, extractors)
    accountant.compute_budgets()
    return int(selected.count())


def released(name: str, spark: Any, file: Path) -> int:
    """How many items one contender finds in the rows of a file."""
    frame = spark.read.parquet(str(file)).select("user", "item")
    if name in OURS:
        return ours(name, frame)
    return tumult(frame) if name == "tumult" else pipelinedp(name.partition(" ")[2], frame, spark)


def one(name: str, file: Path, before: Path | None) -> dict[str, Any]:
    """One contender in this process, which may have asked the same of other rows before."""
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[2]")
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "6g",
            "spark.sql.shuffle.partitions": str(PARTITIONS),
            "spark.default.parallelism": str(PARTITIONS),
            "spark.local.dir": folder,
            "spark.sql.warehouse.dir": folder,
        }
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        spark.range(10).selectExpr("sum(id)").collect()
        if before is not None:
            released(name, spark, before)
        with measured(os.getpid, spark.sparkContext._gateway.proc.pid) as cost:
            cost["items"] = released(name, spark, file)
        spark.stop()
    return cost


def main() -> None:
    """One table a size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--peers", help="a Python that has tmlt.analytics and pipeline-dp")
    parser.add_argument("--contenders", nargs="+")
    parser.add_argument("--warm", action="store_true", help="ask for 10^6 rows first, unmeasured")
    parser.add_argument("--only", help="one contender here")
    options = parser.parse_args()
    file = rows_file(int(options.rows))
    if options.only is not None:
        print(json.dumps(one(options.only, file, rows_file(10**6) if options.warm else None)))
        return
    names = options.contenders or [*OURS, *(PEERS if options.peers else ())]
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        python = sys.executable if name in OURS else options.peers
        command = [python, __file__, "--only", name, "--rows", str(options.rows)]
        command += ["--warm"] if options.warm else []
        workers = {**os.environ, "PYSPARK_PYTHON": python}
        ran = subprocess.run(command, env=workers, capture_output=True, text=True, check=False)
        if ran.returncode:
            print(name, "failed:", ran.stderr.strip()[-500:], file=sys.stderr)
            continue
        found[name] = json.loads(ran.stdout.splitlines()[-1])
        print(name, found[name], file=sys.stderr, flush=True)
    base = found.get(OURS[0])
    rows = []
    for name, cost in found.items():
        times = "" if base is None or name in OURS else verdict(cost["cpu"] / base["cpu"], LEAST, least=True)
        memory = f"{cost['memory']:,.0f} MiB"
        rows.append([name, seconds(cost["cpu"]), seconds(cost["wall"]), memory, f"{cost['items']:,}", times])
    table([f"{options.rows:.0e} rows", "CPU", "clock", "peak memory", "items", "times our CPU"], rows)


if __name__ == "__main__":
    main()
