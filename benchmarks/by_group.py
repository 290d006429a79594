"""Top k by group: how many right answers, beside which way without it; what a large table costs; 10^5 groups.

`films`: the ten most rated films of every genre (the files of the folder `DPSELECT_DATA`; only figures are printed), of
the users as they are and of six copies of each. A right answer is one of the true ten. `table`: views of pages by users
in one country each; with --before SRC an earlier build asks the same. `tail`: very many groups, most of them tiny.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from inputs import DATA
from measure import alternate, cache, call, process, seconds, table, verdict

import dpselect as dps
from dpselect.aggregates.groups import GroupedCounts
from dpselect.mechanisms import LimitedDomainByGroup
from dpselect.testing import SeededDraws

GROUPS = 18
BEST = "genre, item FROM (SELECT genre, item, row_number() OVER (PARTITION BY genre ORDER BY n DESC, item) AS r FROM c)"


def films(copies: int) -> tuple[dict[str, Any], dict[str, set[int]]]:
    """Users, films and genres, and the true ten of each."""
    one = duckdb.sql(
        f"SELECT r.user, item, g AS genre FROM '{DATA}/ml100k.parquet' AS r JOIN "
        f"(SELECT item, unnest(string_split(genres, '|')) AS g FROM '{DATA}/ml100k_items.parquet') USING (item) "
        "WHERE g <> 'unknown'"
    ).fetchnumpy()
    rows = {name: np.concatenate([values] * copies) for name, values in one.items()}
    rows["user"] = rows["user"].astype(np.int64) + np.repeat(np.arange(copies), len(one["user"])) * 10**6
    duckdb.sql("CREATE OR REPLACE TABLE c AS SELECT genre, item, count(*) AS n FROM one GROUP BY genre, item")
    true: dict[str, set[int]] = {}
    for genre, item in duckdb.sql(f"SELECT {BEST} WHERE r <= 10").fetchall():
        true.setdefault(genre, set()).add(item)
    return rows, true


def right_films(runs: int) -> None:
    """Right answers of 180, at two epsilons."""
    for copies in (1, 6):
        rows, true = films(copies)
        data = dps.Dataset(rows, user="user", item="item")

        def right(found: dps.Release, true: dict[str, set[int]] = true) -> int:
            return sum(item.item in true[str(item.group[0])] for item in found.items)

        def loop(epsilon: float, rows: dict[str, Any] = rows, true: dict[str, set[int]] = true) -> int:
            """One question a genre, each for its part of epsilon and delta."""
            found = 0
            for genre, best in true.items():
                of = dps.Dataset(
                    rows, user="user", item="item", where=f"genre = '{genre.replace(chr(39), chr(39) * 2)}'"
                )
                answer = of.top_k(10, epsilon=epsilon / GROUPS, delta=1e-6 / GROUPS)
                found += len(best.intersection(answer.labels))
            return found

        lines = []
        for epsilon in (1, 0.3):
            ways: dict[str, Callable[[], int]] = {"a loop": lambda e=epsilon: loop(e)}  # type: ignore[misc]
            for method in ("limited-domain", "discover"):
                for groups in (1, 5, GROUPS):
                    asked = {"epsilon": epsilon, "by": dps.By("genre", max_groups_per_user=groups), "method": method}
                    ways[f"{method}, {groups}"] = lambda given=asked, asking=data: right(asking.top_k(10, **given))  # type: ignore[misc]
            lines.append([epsilon, *(round(statistics.median(way() for _ in range(runs))) for way in ways.values())])
        print(f"films, {943 * copies:,} users: right answers of 180 (method, max_groups_per_user)\n")
        table(["epsilon", *ways], lines)


def views(rows: int, users: int, countries: int, pages: int) -> Path:
    """A file of users, each in one country, and of the pages that they saw; made once."""
    path = cache() / f"views-{rows}-{users}.parquet"
    if path.exists():
        return path
    random = np.random.default_rng(5)
    shares = 1 / np.arange(1, countries + 1)
    country = random.choice(countries, users, p=shares / shares.sum()).astype(np.int32)
    user = random.integers(0, users, rows, dtype=np.int32)
    rank = np.minimum((random.pareto(0.9, rows) * 2).astype(np.int64), pages - 1)
    page = ((rank + country[user] * 7919) % pages).astype(np.int32)
    frame = {"user": user, "country": country[user], "page": page}
    duckdb.from_arrow(pa.table(frame)).query("views", f"COPY views TO '{path}'")
    return path


PLAIN = (
    'import duckdb; duckdb.sql("SELECT country, page, n FROM '
    "(SELECT country, page, count(DISTINCT v.user) AS n "
    "FROM '{file}' AS v GROUP BY ALL) QUALIFY row_number() OVER "
    '(PARTITION BY country ORDER BY n DESC, page) <= 101").fetchall()'
)
QUESTIONS = {
    "top, bound given": ("top_k(10, epsilon=1, by=dpselect.By('country', max_groups_per_user=1), counts=True)", 1.05),
    "top, bound chosen": ("top_k(10, epsilon=1, by='country', counts=True)", 1.1),
    "top of 50, discover": ("top_k(50, epsilon=1, by='country', counts=True)", 1.4),
    "union": ("union(epsilon=1, by='country', counts=True)", 1.4),
}


def asking(question: str, file: Path, before: Path | None) -> str:
    """The program that asks, of this build or of an earlier one, whose modules are in the folder `before`."""
    earlier = "" if before is None else f"import sys; sys.path.insert(0, {str(before)!r}); "
    bound = ", max_items_per_user=10" if question.startswith("union") else ""
    return f"{earlier}import dpselect; dpselect.Dataset('{file}', user='user', item='page'{bound}).{question}"


def large_table(runs: int, rows: int, before: Path | None) -> None:
    """CPU and memory of whole processes: plain DuckDB, this build, and an earlier one if it is there."""
    file = views(rows, rows // 20, 200, 10**5)
    programs = {"plain": PLAIN.format(file=file)}
    for name, (question, _) in QUESTIONS.items():
        programs[name] = asking(question, file, None)
        if before is not None:
            programs[f"{name}, before"] = asking(question, file, before)
    contenders = {name: lambda p=p: process([sys.executable, "-c", p]) for name, p in programs.items()}  # type: ignore[misc]
    found = alternate(contenders, runs)
    plain, lines = found["plain"], []
    for name, cost in found.items():
        times = cost.cpu / plain.cpu
        shown = verdict(times, QUESTIONS[name][1]) if name in QUESTIONS else f"{times:.2f}"
        lines.append([name, seconds(cost.cpu), shown, f"{cost.memory:.0f} MiB", f"{cost.memory / plain.memory:.2f}"])
    load = " ".join(Path("/proc/loadavg").read_text("ascii").split()[:3]) if sys.platform == "linux" else "unknown"
    print(f"{rows:,} rows, 200 countries, 10^5 pages in each: whole processes, medians of {runs}, load {load}\n")
    table(["way", "CPU", "of plain", "memory", "of plain"], lines)


def long_tail(groups: int) -> None:
    """Draws alone, beyond the scan."""
    random = np.random.default_rng(1)
    sizes = np.minimum(101, (random.pareto(1.0, groups) * 3 + 1).astype(np.int64))
    counts = [np.sort((random.pareto(1.2, size) * size / 3 + 1).astype(np.int64))[::-1] for size in sizes]

    def unnamed(places: Any) -> Sequence[object]:
        return list(places)

    found = GroupedCounts(sizes=sizes, counts=np.concatenate(counts), groups=unnamed, items=unnamed, users=np.asarray)
    mechanism = LimitedDomainByGroup(k=10, max_groups_per_user=1, epsilon=1, delta="1e-6", k_bar=100)
    picked: list[int] = []
    cost = call(lambda: picked.append(len(mechanism.picks(found, SeededDraws(1)))))
    print(
        f"{groups:,} groups, {len(found.counts):,} rows of them: {seconds(cost.cpu)} CPU, {picked[0]:,} with an item\n"
    )


def main() -> None:
    """All parts, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("films", "table", "tail"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2 * 10**7)
    parser.add_argument("--before", type=Path, help="the folder of the modules of an earlier build, for the table")
    args = parser.parse_args()
    if args.only in (None, "films"):
        right_films(args.runs)
    if args.only in (None, "tail"):
        for groups in (10**5, 10**6):
            long_tail(groups)
    if args.only in (None, "table"):
        large_table(args.runs, args.rows, args.before)


if __name__ == "__main__":
    main()
