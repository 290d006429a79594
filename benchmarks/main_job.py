"""The main job as a whole process: `dpselect top` against plain DuckDB answering the same question without privacy.

10^7 rows of 10^6 users, items as strings, in one Parquet file (made once, in benchmarks/.cache). Both sides
start Python and import DuckDB. Targets: at most 1.1 times the CPU, at most 1.1 times the peak memory. With --before SRC
an earlier build, whose modules are in that folder, asks the same. Beside medians stand the least of all runs, which a
busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from measure import alternate, cache, in_turns, median, process, seconds, table, verdict

from dpselect.mechanisms.top_k.limited_domain import default_k_bar

MOST = 1.1


def make_rows(file: Path, first: int | None) -> None:
    """Write the rows, or the first of them: user as integer, item as string."""
    import duckdb
    from inputs import raw_rows

    user, item = (column[:first] for column in raw_rows(10**6, 10, 10**6))
    connection = duckdb.connect()
    connection.register("columns", {"user": user, "item": item})
    draft = file.with_suffix(".draft")
    query = """COPY (SELECT "user", 'item-' || item AS item FROM columns) TO '{}' (FORMAT parquet)"""
    connection.execute(query.format(draft.as_posix()))
    draft.replace(file)


def plain(file: Path, rows: int) -> list[str]:
    """The command of the non-private query."""
    query = (
        f"SELECT item, count(DISTINCT user) AS n FROM '{file.as_posix()}' GROUP BY item ORDER BY n DESC LIMIT {rows}"
    )
    return [sys.executable, "-c", f"import duckdb; print(duckdb.execute({query!r}).fetchall())"]


def private(file: Path, options: list[str]) -> list[str]:
    """The command of ours."""
    command = shutil.which("dpselect", path=str(Path(sys.executable).parent)) or "dpselect"
    question = ["--user", "user", "--item", "item", "-k", "10", "--epsilon", "1", "--delta", "1e-6"]
    return [command, "top", str(file), *question, *options]


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--first", type=int, help="only so many rows")
    parser.add_argument("--make-rows", action="store_true", help="only write the file")
    parser.add_argument("--k-bar", type=int, help="instead of the default")
    parser.add_argument("--before", type=Path, metavar="SRC", help="the folder src of an earlier build, beside ours")
    options = parser.parse_args()
    file = cache() / ("rows.parquet" if options.first is None else f"rows-{options.first}.parquet")
    if options.make_rows:
        return make_rows(file, options.first)
    if not file.exists():  # in a process of its own, see measure.process
        subprocess.run([sys.executable, *sys.argv, "--make-rows"], check=True)

    more = [] if options.k_bar is None else ["--k-bar", str(options.k_bar)]
    limit = (options.k_bar or default_k_bar(10)) + 1
    contenders = {
        "DuckDB, not private": partial(process, plain(file, limit)),
        "dpselect top": partial(process, private(file, more)),
    }
    if options.before is not None:
        contenders["dpselect top, before"] = partial(process, private(file, more), options.before)
    alternate(contenders, 1)  # once for the compiled modules and the file cache
    runs = in_turns(contenders, options.runs)
    costs = {name: median(of_runs) for name, of_runs in runs.items()}
    least = {name: min(cost.cpu for cost in of_runs) for name, of_runs in runs.items()}
    baseline, *ours = contenders
    print(f"{options.first or '10^7'} rows, k_bar = {limit - 1}, {options.runs} runs; load {os.getloadavg()[0]:.1f}\n")
    rows = [
        [name, seconds(cost.cpu), seconds(least[name]), seconds(cost.wall), f"{cost.memory:.0f} MiB"]
        for name, cost in costs.items()
    ]
    for name in ours:
        cost, plain_cost = costs[name], costs[baseline]
        ratios = [verdict(cost.cpu / plain_cost.cpu, MOST), f"{least[name] / least[baseline]:.3g}"]
        ratios += [f"{cost.wall / plain_cost.wall:.3g}", verdict(cost.memory / plain_cost.memory, MOST)]
        rows.append([f"ratio of {name}", *ratios])
    table(["process", "CPU", "least CPU", "clock", "peak memory"], rows)
    return None


if __name__ == "__main__":
    main()
