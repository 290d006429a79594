"""Unions and discovery whose pairs are read into Python, block by block: CPU and peak memory as rows grow, on DuckDB.

DuckDB itself makes the rows, in a temporary folder: a tenth as many users draw 10 items each, a few of them often.
With --texts rows are messages of 10 such words.
Each line is a process of its own, whose peak memory is that of all of it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time

import duckdb
from measure import seconds, table

QUESTIONS = ("renyi-shaped", "greedy-geometric", "discover")
TEXTS = {"words": 1, "words and pairs": 2}
WORDS = 10  # of a message


def make(file: str, rows: int, *, texts: bool) -> None:
    """The rows, as Parquet."""
    item = f"'item-' || floor(pow(random(), 4) * {rows // 10})::BIGINT"
    if texts:
        item = f"concat_ws(' ', {', '.join([item.replace('-', '')] * WORDS)})"
    connection = duckdb.connect(config={"memory_limit": "1GB"})
    connection.execute("SET preserve_insertion_order = false")
    made = f'SELECT i // 10 AS "user", {item} AS item FROM range({rows}) AS t (i)'
    connection.execute(f"COPY ({made}) TO '{file}' (FORMAT parquet)")


def asked(question: str, file: str) -> dict[str, float]:
    """One question in this process."""
    import dpselect as dps

    data = dps.Dataset(file, user="user", item="item", max_items_per_user=10)
    start, clock = time.process_time(), time.perf_counter()
    if question in TEXTS:
        words = dps.Text("item", ngrams=(1, TEXTS[question]))
        found = dps.Dataset(file, user="user", item=words, max_items_per_user=100).union(epsilon=1, delta="1e-6")
    elif question == "discover":
        found = data.top_k(100, epsilon=1, delta="1e-6", method="discover")
    else:
        found = data.union(epsilon=1, delta="1e-6", method=question)
    cost = {"cpu": time.process_time() - start, "wall": time.perf_counter() - clock, "items": len(found)}
    return cost | {"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--questions", nargs="+")
    parser.add_argument("--texts", action="store_true", help="messages in place of items")
    parser.add_argument("--only", nargs=2, help="one question of one file here")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(asked(*options.only)))
        return
    shown = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in map(int, options.rows):
            file = f"{folder}/rows.parquet"
            make(file, rows, texts=options.texts)
            for question in options.questions or (TEXTS if options.texts else QUESTIONS):
                command = [sys.executable, __file__, "--only", question, file]
                ran = subprocess.run(command, capture_output=True, text=True, check=True)
                cost = json.loads(ran.stdout.splitlines()[-1])
                figures = [seconds(cost["cpu"]), seconds(cost["wall"]), f"{cost['memory']:,.0f} MiB"]
                shown.append([f"{rows:.0e}", question, *figures, f"{cost['items']:,}"])
                print(shown[-1], file=sys.stderr, flush=True)
    table(["rows", "question", "CPU", "clock", "peak memory", "items"], shown)


if __name__ == "__main__":
    main()
