"""What does a cap of one user's weight cost, and what does it find? And how long do sums take, against plain DuckDB?

Recall is the share of the k places filled with an item whose true sum is at least that of the true k-th: of sums with
the cap, which is what is asked for, and of sums without any. Beside it are the items with the most users, by the same
price. Data: the Parquet files of the folder `DPSELECT_DATA`; only figures about them are printed, no items.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
from inputs import DATA
from measure import Cost, alternate, cache, call, seconds, table

import dpselect as dps
from dpselect.aggregates.totals import Totals
from dpselect.mechanisms import LimitedDomain
from dpselect.mechanisms.top_k.limited_domain import default_k_bar
from dpselect.testing import SeededDraws

K, DELTA = 20, "1e-6"
EPSILONS = ("1", "3")
# What a row's item and weight are, and the caps that are tried.
ASKED: dict[str, tuple[str, str, Sequence[int]]] = {
    "lastfm": ("item", "plays", (1, 100, 1000, 3000, 10_000, 100_000)),
    "ml100k": ("item", "rating", (1, 3, 5)),
    "commits": ("unnest(split(text, ' '))", "1", (1, 3, 10, 30, 100, 1000)),
}
RAW = "SELECT i, sum(w) AS n FROM $1 GROUP BY i ORDER BY n DESC, i"
CUT = (
    "SELECT i, sum(n) AS n FROM (SELECT u, i, least(sum(w), $2) AS n FROM $1 GROUP BY u, i) GROUP BY i ORDER BY n DESC"
)
BY_ROW = CUT.replace("SELECT u, i, least(sum(w), $2) AS n FROM $1 GROUP BY u, i", "SELECT i, least(w, $2) AS n FROM $1")


@dataclass(frozen=True)
class Truth:
    """The true sums of a data set, and which items are among its first k."""

    sums: dict[object, int]
    least: int

    @classmethod
    def of(cls, rows: Sequence[tuple[object, int]]) -> Truth:
        """From all items and their sums, largest first."""
        return cls(dict(rows), rows[K - 1][1])

    def recall(self, labels: Sequence[object]) -> float:
        """The share of the k places that are filled rightly."""
        return sum(self.sums[label] >= self.least for label in labels) / K


def found(data: dps.Dataset, totals: Totals | None, epsilon: str, truths: Sequence[Truth], repeats: int) -> list[str]:
    """Mean recall against each truth."""
    rows = default_k_bar(K) + 1
    with data.engine(totals=totals) as engine:
        histogram = engine.top(rows)
    labels = [histogram.label(g, 0) for g in range(len(histogram.counts))]
    sensitivity = 1 if totals is None else totals.max_units
    mechanism = LimitedDomain(k=K, epsilon=epsilon, delta=DELTA, sensitivity=sensitivity)
    draws = SeededDraws(seed=1)
    answers = [[labels[i] for i in mechanism(histogram.counts, draws=draws)] for _ in range(repeats)]
    return [f"{100 * np.mean([truth.recall(answer) for answer in answers]):.0f} %" for truth in truths]


def recalls(repeats: int) -> None:
    """One table over the data sets that are there."""
    lines = []
    for name, (item, weight, caps) in ASKED.items():
        file = DATA / f"{name}.parquet"
        if not file.exists():
            print(f"{name} is left out: there is no {file.name} in the folder that DPSELECT_DATA names.\n")
            continue
        connection = duckdb.connect()
        rows = f"(SELECT \"user\" AS u, {item} AS i, {weight} AS w FROM '{file.as_posix()}')"
        connection.execute(f"CREATE TABLE rows AS FROM {rows}")
        data = dps.Dataset(dps.Table(connection, "rows"), user="u", item="i")
        raw = Truth.of(connection.execute(RAW.replace("$1", "rows")).fetchall())
        for cap in (None, *caps):
            if cap is None:
                totals, cut = None, "SELECT i, count(DISTINCT u) AS n FROM rows GROUP BY i ORDER BY n DESC"
            else:
                totals, cut = Totals.parse("w", cap), CUT.replace("$1", "rows").replace("$2", str(cap))
            mine = Truth.of(connection.execute(cut).fetchall())
            exact = raw.recall(list(mine.sums)[:K])
            cells = [cell for e in EPSILONS for cell in found(data, totals, e, (mine, raw), repeats)]
            lines.append([name, "users" if cap is None else f"{cap:,}", f"{100 * exact:.0f} %", *cells])
    heads = [f"epsilon {e}, {of}" for e in EPSILONS for of in ("of its own", "of uncut sums")]
    table(["data", "cap", "without noise, of uncut sums", *heads], lines)


# ---- time -------------------------------------------------------------------------------------------------


def rows_file(rows: int) -> Path:
    """Rows of a tenth as many users, Zipf items as texts, weights as doubles."""
    file = cache() / f"weights-{rows}.parquet"
    if not file.exists():
        item = "'item ' || CAST(floor(pow(1 - (hash(n, 2) % 1000003) / 1000003.0, -1 / 1.1)) AS BIGINT) AS item"
        user, weight = f'hash(n, 1) % {rows // 10} AS "user"', "(hash(n, 3) % 10000) / 100.0 AS w"
        duckdb.execute(f"COPY (SELECT {user}, {item}, {weight} FROM range({rows}) AS r(n)) TO '{file.as_posix()}'")
    return file


def plain(file: Path, question: str) -> object:
    """One of DuckDB's own questions."""
    rows = f"(SELECT \"user\" AS u, item AS i, w FROM '{file.as_posix()}')"
    sql = question.replace("$1", rows).replace("$2", "60")
    return duckdb.connect().execute(f"{sql} LIMIT {default_k_bar(K) + 1}").fetchall()


def private(file: Path, score: dps.Total | None = None) -> object:
    """The whole private question."""
    data = dps.Dataset(file, user="user", item="item")
    return data.top_k(K, epsilon=1, delta=DELTA, method="limited-domain", score=score)


def times(rows: int, runs: int) -> None:
    """One table: sums by DuckDB that are cut by row, which is not private, cut by user, and ours."""
    file = rows_file(rows)
    questions: dict[str, Callable[[], object]] = {
        "DuckDB, each row cut": partial(plain, file, BY_ROW),
        "DuckDB, each user's total cut": partial(plain, file, CUT),
        "top_k(by_weight=, at_most=60)": partial(private, file, score=dps.Total("w", at_most=60)),
        "top_k, by users": partial(private, file),
    }
    contenders: dict[str, Callable[[], Cost]] = {name: partial(call, ask) for name, ask in questions.items()}
    alternate(contenders, 1)
    costs = alternate(contenders, runs)
    base = costs["DuckDB, each user's total cut"].cpu
    lines = [
        [name, seconds(cost.cpu), seconds(cost.wall), f"{cost.memory:.0f} MiB", f"{cost.cpu / base:.2f}"]
        for name, cost in costs.items()
    ]
    table(["question", "CPU", "clock", "peak memory", "times the CPU of totals cut by user"], lines)


def main() -> None:
    """Two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100, help="answers of each")
    parser.add_argument("--rows", type=int, default=10**7, help="rows of the second table")
    parser.add_argument("--runs", type=int, default=3, help="runs of each question in the second table")
    asked = parser.parse_args()
    recalls(asked.repeats)
    times(asked.rows, asked.runs)


if __name__ == "__main__":
    main()
