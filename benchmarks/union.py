"""A set union from a Parquet file, end to end: dpselect beside plain DuckDB, OpenDP and PipelineDP.

10^7 rows of 10^6 users, items as strings: the file of `main_job`, or with --numbers the same items as whole numbers.
Each contender is a process of its own that starts Python, imports what it needs and reads the file. DuckDB counts the
distinct users of every item, without privacy, or makes the distinct pairs of user and item and nothing of them.
The peers release the keys that enough users share: at most 10 of a user's, epsilon 1, delta 1e-6. With --before SRC an
earlier build, whose modules are in that folder, asks the same. With --calls each of our builds asks three times in one
process: the first call also loads modules and makes the curves of its price.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from measure import Cost, alternate, cache, call, installed, process, seconds, single_threaded, table, verdict

EPSILON, DELTA, MOST_ITEMS = 1.0, 1e-6, 10
MOST_CPU, MOST_CPU_NUMBERS = 1.35, 1.15  # times DuckDB's
MOST_MEMORY = 1  # times DuckDB's
PEERS_TAKE = 5  # times our CPU, at least


def duckdb_counts(file: str) -> None:
    """Every item and its number of distinct users; nothing of it is turned into Python objects."""
    import duckdb

    counts = f"""SELECT item, count(DISTINCT "user") AS n FROM '{file}' GROUP BY item"""
    duckdb.execute(f"SELECT count(*), sum(n) FROM ({counts})").fetchall()


def duckdb_pairs(file: str) -> None:
    """Every user's distinct items, of which nothing but their number is asked."""
    import duckdb

    pairs = f"""SELECT DISTINCT "user", item FROM '{file}'"""
    duckdb.execute(f'SELECT count(*), sum("user") FROM ({pairs})').fetchall()


def dpselect_union(file: str, method: str = "auto") -> None:
    """Ours, the whole verb: from the file to the released items."""
    import dpselect as dps

    data = dps.Dataset(file, user="user", item="item", max_items_per_user=MOST_ITEMS)
    data.union(epsilon=EPSILON, delta=DELTA, method=method)


def opendp_rows(file: str) -> None:
    """OpenDP over 10 rows of each user, counted as they are."""
    _opendp(file, distinct=False)


def opendp_users(file: str) -> None:
    """OpenDP over 10 items of each user: a user counts once for an item, as in a union."""
    _opendp(file, distinct=True)


def _opendp(file: str, *, distinct: bool) -> None:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    query = dp.Context.compositor(
        data=pl.scan_parquet(file),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")),
        privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA),
        split_evenly_over=1,
    ).query()
    if distinct:
        query = query.truncate_per_group(1, by=["item"])
    query.truncate_per_group(MOST_ITEMS).group_by("item").agg(dp.len()).release().collect()


def pipelinedp(file: str) -> None:
    """PipelineDP's partition selection on its local backend, rows read as Python tuples."""
    import duckdb
    import pipeline_dp as pdp

    rows = duckdb.execute(f"""SELECT "user", item FROM '{file}'""").fetchall()
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    params = pdp.SelectPartitionsParams(
        max_partitions_contributed=MOST_ITEMS,
        partition_selection_strategy=pdp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING,
    )
    of_row = pdp.DataExtractors(privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1])
    found = pdp.DPEngine(accountant, pdp.LocalBackend()).select_partitions(rows, params, of_row)
    accountant.compute_budgets()
    list(found)


BASELINE, OURS, BEFORE = "DuckDB, not private", "dpselect", "dpselect, before"
FAST: dict[str, Callable[[str], None]] = {
    BASELINE: duckdb_counts,
    "DuckDB, distinct pairs": duckdb_pairs,
    OURS: dpselect_union,
    BEFORE: dpselect_union,
    "dpselect, greedy-geometric": partial(dpselect_union, method="greedy-geometric"),
    "dpselect, weighted-gaussian": partial(dpselect_union, method="weighted-gaussian"),
}
SLOW: dict[str, Callable[[str], None]] = {
    "OpenDP, rows": opendp_rows,
    "OpenDP, distinct users": opendp_users,
}
if importlib.util.find_spec("pipeline_dp") is not None:  # it has no wheels for some systems
    SLOW["PipelineDP, Gaussian"] = pipelinedp


def run(name: str, file: Path, before: Path | None) -> Cost:
    """One contender, as a process of its own."""
    earlier = [] if before is None else ["--before", before.as_posix()]
    return process([sys.executable, __file__, "--only", name, "--file", file.as_posix(), *earlier])


def rows_file(first: int | None, *, numbers: bool = False) -> Path:
    """The rows of `main_job`, which writes them where they are not there yet; `numbers` if items are whole numbers."""
    name = "rows" if first is None else f"rows-{first}"
    file = cache() / f"{name}.parquet"
    if not file.exists():
        fewer = [] if first is None else ["--first", str(first)]
        subprocess.run(
            [sys.executable, str(Path(__file__).with_name("main_job.py")), "--make-rows", *fewer], check=True
        )
    if not numbers:
        return file
    whole = cache() / f"{name}-numbers.parquet"
    if not whole.exists():  # in a process of its own, see measure.process
        columns = f"""SELECT "user", replace(item, 'item-', '')::BIGINT AS item FROM '{file.as_posix()}'"""
        copy = f"COPY ({columns}) TO '{whole.as_posix()}' (FORMAT parquet)"
        subprocess.run([sys.executable, "-c", f"import duckdb; duckdb.execute({copy!r})"], check=True)
    return whole


def compare(file: Path, names: list[str], runs: int, most_cpu: float, *, before: Path | None, peers: bool) -> None:
    """One table: each contender's costs, and as multiples of DuckDB's and of ours."""
    contenders = {name: partial(run, name, file, before) for name in names if name != BEFORE or before is not None}
    alternate(contenders, 1)  # once for the compiled modules and the file cache
    costs = alternate(contenders, runs)
    costs |= alternate({name: partial(run, name, file, None) for name in SLOW}, 1) if peers else {}
    baseline, ours = costs[BASELINE], costs[OURS]
    rows = []
    for name, cost in costs.items():
        times = f"{cost.cpu / baseline.cpu:.3g}"
        if name == OURS:
            times = verdict(cost.cpu / baseline.cpu, most_cpu)
        less = verdict(cost.cpu / ours.cpu, PEERS_TAKE, least=True) if name in SLOW else f"{cost.cpu / ours.cpu:.3g}"
        rows.append([name, seconds(cost.cpu), seconds(cost.wall), f"{cost.memory:.0f} MiB", times, less])
    table(["process", "CPU", "clock", "peak memory", "times DuckDB's CPU", "times our CPU"], rows)
    print("Our peak memory over DuckDB's:", verdict(ours.memory / baseline.memory, MOST_MEMORY))
    print("Load of the machine:", *(f"{load:.1f}" for load in os.getloadavg()))


def compare_calls(file: Path, runs: int, before: Path | None) -> None:
    """One table: CPU of the first, second and third union of a process, and the first as a multiple of the second."""
    builds = {OURS: [], **({} if before is None else {BEFORE: ["--before", before.as_posix()]})}
    costs: dict[str, list[list[float]]] = {name: [] for name in builds}
    for _ in range(runs + 1):  # once for the compiled modules and the file cache
        for name, earlier in builds.items():
            command = [sys.executable, __file__, "--calls", "--only", name, "--file", file.as_posix(), *earlier]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=installed())
            costs[name].append([float(cost) for cost in done.stdout.split()])
    rows = []
    for name, of_runs in costs.items():
        medians = [statistics.median(of_call) for of_call in zip(*of_runs[1:], strict=True)]
        rows.append([name, *map(seconds, medians), f"{medians[0] / medians[1]:.3g}"])
    table(["calls of one process", "first", "second", "third", "first, times the second"], rows)
    print("Load of the machine:", *(f"{load:.1f}" for load in os.getloadavg()))


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--first", type=int, help="only so many rows")
    parser.add_argument("--numbers", action="store_true", help="items as whole numbers")
    parser.add_argument("--file", type=Path, help="another file with columns user and item")
    parser.add_argument("--before", type=Path, metavar="SRC", help="the folder src of an earlier build, beside ours")
    parser.add_argument("--contenders", nargs="+", choices=FAST, default=list(FAST), help="only DuckDB, ours and these")
    parser.add_argument("--skip-peers", action="store_true", help="they take minutes")
    parser.add_argument("--calls", action="store_true", help="three of ours in one process, in place of all contenders")
    parser.add_argument("--only", choices=[*FAST, *SLOW], help="run one contender here and print nothing")
    options = parser.parse_args()
    if options.only is not None:
        warnings.simplefilter("ignore")
        if options.only == BEFORE:
            sys.path.insert(0, str(options.before))
        if options.calls:
            ask = partial(FAST[options.only], str(options.file))
            print(*(call(ask).cpu for _ in range(3)))
            return None
        return (FAST | SLOW)[options.only](str(options.file))
    file = rows_file(options.first, numbers=options.numbers) if options.file is None else options.file
    if options.calls:
        print(f"{options.first or '10^7'} rows, medians of {options.runs} runs\n")
        return compare_calls(file, options.runs, options.before)
    print(f"{options.first or '10^7'} rows, medians of {options.runs} runs, peers once\n")
    most_cpu = MOST_CPU_NUMBERS if options.numbers else MOST_CPU
    names = [name for name in FAST if name in (BASELINE, OURS, *options.contenders)]
    compare(file, names, options.runs, most_cpu, before=options.before, peers=not options.skip_peers)
    return None


if __name__ == "__main__":
    single_threaded()
    main()
