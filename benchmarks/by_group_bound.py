"""How many groups a user counts in where nobody says so: one, each of several, or as many as are chosen privately.

Right answers are those of the true ten (or fewer) of each group. `films` by genre, the same by weekday, and `words` of
commits by project are in the folder `DPSELECT_DATA` (only figures are printed; without it they are skipped); `views`
are made up: users of one country, a few of two, or a fifth of them of all.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from inputs import DATA
from measure import table

import dpselect as dps
from dpselect.queries.top.group_bound import GROUP_BOUNDS
from dpselect.queries.union.bound import BOUND_SHARE, BoundChoice
from dpselect.testing import SeededDraws

BEST, GROUPS, PAGES = 10, 18, 2_000
FILMS = (
    f"SELECT r.user, r.item, g FROM '{DATA}/ml100k.parquet' AS r JOIN (SELECT item, unnest(string_split(genres, '|')) "
    f"AS g FROM '{DATA}/ml100k_items.parquet') USING (item) WHERE g <> 'unknown'"
)
DAYS = f"SELECT user, item, dayname(to_timestamp(timestamp) AT TIME ZONE 'UTC') AS g FROM '{DATA}/ml100k.parquet'"
WORDS = f"SELECT DISTINCT user, unnest(string_split(text, ' ')) AS item, project AS g FROM '{DATA}/commits.parquet'"
Columns = Mapping[str, Any]


@dataclass(frozen=True)
class Rows:
    """Users, items and groups, what is true of them, and in how many groups users are."""

    name: str
    columns: Columns
    true: dict[object, set[object]]
    groups: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, name: str, columns: Columns, copies: int = 1) -> Rows:
        """With the true best of each group; `copies` of each user."""
        rows = {key: np.concatenate([np.asarray(values)] * copies) for key, values in columns.items()}
        users = len(rows["user"]) // copies
        rows["user"] = rows["user"].astype(np.int64) + np.repeat(np.arange(copies), users) * 10**7
        import pyarrow as pa

        found = duckdb.from_arrow(pa.table(rows))
        best = "SELECT g, item, row_number() OVER (PARTITION BY g ORDER BY count(DISTINCT rows.user) DESC, item) AS r "
        true: dict[object, set[object]] = {}
        for group, item in found.query(
            "rows", f"SELECT g, item FROM ({best} FROM rows GROUP BY g, item) WHERE r <= {BEST}"
        ).fetchall():
            true.setdefault(group, set()).add(item)
        each = "SELECT count(DISTINCT g) AS n FROM rows GROUP BY rows.user"
        sizes = found.query("rows", f"SELECT n, count(*) AS users FROM ({each}) GROUP BY n ORDER BY n").fetchnumpy()
        return cls(name, pa.table(rows), true, (sizes["n"], sizes["users"]))


def public() -> Iterator[Rows]:
    """Those of the folder of public data."""
    films = duckdb.sql(FILMS).fetchnumpy()
    yield Rows.of("films by genre", films)
    yield Rows.of("films by genre, six copies", films, 6)
    yield Rows.of("films by weekday, six copies", duckdb.sql(DAYS).fetchnumpy(), 6)
    yield Rows.of("words by project", duckdb.sql(WORDS).fetchnumpy())


def views(users: int, part: float, among: int) -> Columns:
    """Twenty pages of each user, in one country, or for a `part` of them in `among`."""
    random = np.random.default_rng(3)
    shares = 1 / np.arange(1, GROUPS + 1)
    home = random.choice(GROUPS, users, p=shares / shares.sum())
    several = random.random(users) < part
    user = np.repeat(np.arange(users), 20)
    country = (home[user] + several[user] * random.integers(0, among, len(user))) % GROUPS
    page = (np.minimum((random.pareto(0.9, len(user)) * 2).astype(np.int64), PAGES - 1) + country * 79) % PAGES
    return {"user": user, "item": page, "g": country}


def made_up() -> Iterator[Rows]:
    """Users of one country each, a few of two, and a fifth of them of all."""
    for users in (2_000, 20_000):
        yield Rows.of(f"{users:,} users of one group", views(users, 0, 1))
        yield Rows.of(f"{users:,} users, 5 % of two", views(users, 0.1, 2))
        yield Rows.of(f"{users:,} users, 20 % of most", views(users, 0.2, GROUPS))


def right(rows: Rows, epsilon: float, most: int | None, runs: int) -> float:
    """The mean number of right answers."""
    data = dps.Dataset(rows.columns, user="user", item="item")
    found = (data.top_k(BEST, epsilon=epsilon, by=dps.By("g", max_groups_per_user=most)) for _ in range(runs))
    return statistics.mean(sum(one.item in rows.true[one.group[0]] for one in answer) for answer in found)


def chosen(rows: Rows, epsilon: float, runs: int = 200) -> str:
    """Which bounds are chosen, and how often of 100 times."""
    from fractions import Fraction

    choice, draws = BoundChoice(Fraction(epsilon) * BOUND_SHARE, GROUP_BOUNDS), SeededDraws(1)
    counts = Counter(choice.of_lengths(*rows.groups, draws) for _ in range(runs))
    return ", ".join(f"{most}: {round(100 * times / runs)}" for most, times in sorted(counts.items()))


def main() -> None:
    """All data, at three epsilons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    sources: list[Callable[[], Iterator[Rows]]] = [made_up]
    if (DATA / "ml100k.parquet").exists():
        sources.insert(0, public)
    else:
        print("films and words are skipped: DPSELECT_DATA names no folder with them\n")
    fixed = (1, 5, GROUPS)
    header = ["data", "epsilon", "of", *map(str, fixed), "left out", "chosen, of 100 times"]
    for rows in (rows for source in sources for rows in source()):
        of = sum(map(len, rows.true.values()))
        lines = [
            [
                rows.name,
                epsilon,
                of,
                *(f"{right(rows, epsilon, most, args.runs):.0f}" for most in (*fixed, None)),
                chosen(rows, epsilon),
            ]
            for epsilon in (0.3, 1, 3)
        ]
        table(header, lines)


if __name__ == "__main__":
    main()
