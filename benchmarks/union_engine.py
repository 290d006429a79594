"""Set unions whose pairs stay in the engine, beside those in memory: costs from a file, and how many items come back.

Costs: the 10^7 rows of `main_job`, each line a whole process; `DPSELECT_MEMORY` limits the memory of some. Sizes: the
words of commit messages (commits.parquet in `DPSELECT_DATA`) and 10^5 users of about 9.4 Zipf items each, as files, by
the same verb with secure draws; delta = e^-10.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
from fractions import Fraction
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
from inputs import DATA, user_sets
from measure import Cost, alternate, cache, process, seconds, single_threaded, table
from scale import make_rows
from union import rows_file

DELTA = Fraction(math.exp(-10))
WORDS = DATA / "commits.parquet"
METHODS = ("renyi-shaped", "weighted-gaussian", "count-gaussian", "count-laplace")
SMALL = ("1500MB", "1GB", "500MB", "250MB")


def union(file: str, method: str, in_engine: bool, delta: Fraction = Fraction(1, 10**6), most: int = 10) -> int:
    """The whole verb; how many items come back. By `discover` it is a top 100."""
    import dpselect as dps

    data = dps.Dataset(file, user="user", item="item", max_items_per_user=most)
    if method == "discover":
        return len(data.top_k(100, epsilon=1, delta=delta, method=dps.Method(method, in_engine=in_engine)))
    return len(data.union(epsilon=1, delta=delta, method=dps.Method(method, in_engine=in_engine)))


def run(method: str, where: str, file: Path) -> Cost:
    """One question as a process of its own; `where` is memory, engine, or the engine's memory."""
    said = os.environ.pop("DPSELECT_MEMORY", None)
    if where in SMALL:
        os.environ["DPSELECT_MEMORY"] = where
    try:
        return process([sys.executable, __file__, "--only", f"{method} {where}", "--file", file.as_posix()])
    finally:
        os.environ.pop("DPSELECT_MEMORY", None)
        if said is not None:
            os.environ["DPSELECT_MEMORY"] = said


def costs(file: Path, runs: int) -> None:
    """CPU, clock and peak memory."""
    places = [(method, where) for method in METHODS[:2] for where in ("memory", "engine", *SMALL[1:])]
    found = alternate({f"{m}, {w}": partial(run, m, w, file) for m, w in places}, runs)
    rows = [[name, seconds(c.cpu), seconds(c.wall), f"{c.memory:.0f} MiB"] for name, c in found.items()]
    table(["method, where", "CPU", "clock", "peak memory"], rows)


def large(rows: int) -> None:
    """What the engine does in 1500 MB, one process after the other."""
    file = cache() / f"scale-{rows}.parquet"
    if not file.exists():
        make_rows(file, rows)
    found = {method: run(method, "1500MB", file) for method in ("discover", "renyi-shaped")}
    lines = [[name, seconds(c.cpu), seconds(c.wall), f"{c.memory:.0f} MiB"] for name, c in found.items()]
    table([f"{rows:,} rows", "CPU", "clock", "peak memory"], lines)


def sizes(file: str, most: int, runs: int) -> None:
    """Means of how many items come back, and their standard deviations."""
    rows = []
    for method in METHODS:
        found = [[union(file, method, here, DELTA, most) for _ in range(runs)] for here in (False, True)]
        rows.append([method, *(f"{statistics.fmean(one):,.1f} ({statistics.stdev(one):.1f})" for one in found)])
    table([f"D0 = {most}", "in memory", "in the engine"], rows)


def main() -> None:
    """Three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sizes", type=int, default=5, help="runs of each for the sizes")
    parser.add_argument("--file", type=Path, help="another file with columns user and item, for the costs")
    parser.add_argument("--only", help="one question here, printing nothing")
    parser.add_argument("--large", type=float, help="of so many rows of `scale`, in 1500 MB: top 100, and unions")
    options = parser.parse_args()
    if options.only is not None:
        method, where = options.only.split()
        union(str(options.file), method, where != "memory")
        return
    if options.large is not None:
        large(int(options.large))
        return
    costs(rows_file(None) if options.file is None else options.file, options.runs)
    with tempfile.TemporaryDirectory() as folder:
        words, zipf = f"{folder}/words.parquet", f"{folder}/zipf.parquet"
        if WORDS.exists():
            words_of = f"""SELECT "user", unnest(string_split(text, ' ')) AS item FROM '{WORDS}'"""
            duckdb.execute(f"COPY ({words_of}) TO '{words}'")
            sizes(words, 100, options.sizes)
        starts, items = user_sets()
        pairs = {"user": np.repeat(np.arange(len(starts) - 1), np.diff(starts)), "item": items}
        connection = duckdb.connect()
        connection.register("pairs", pairs)
        connection.execute(f"COPY pairs TO '{zipf}'")
        sizes(zipf, 10, options.sizes)


if __name__ == "__main__":
    single_threaded()
    main()
