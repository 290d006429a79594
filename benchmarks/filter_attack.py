"""Can one row, or one user's many rows, be told by the CPU time of a question with a filter?

Rows of ordinary users, with the dearest filters that the limits allow. Each filter works hard only on rows with age =
85, which one user has. What one such row takes is the mean of many, for texts of different lengths; the verdict is on
CPU with one row over CPU without it. The filters that once took seconds for one row are refused.
"""

from __future__ import annotations

import argparse
from typing import Any

from filter_cost import LONG, engines, least
from measure import seconds, table, verdict

from dpselect.engines.filters.cost import MAX_BYTES
from dpselect.engines.row_filter import parse
from dpselect.errors import ParameterError

REFUSED = {
    "110 patterns of 860 letters": " OR ".join([f"comment LIKE '%b{'_' * 858}c%'"] * 110),
    "100 underscores between two %": f"comment LIKE '%b{'_' * 100}c%'",
    "2,500 patterns": " OR ".join(f"comment LIKE '%b{one}'" for one in range(2500)),
}
# What is asked of the rows of one user, with a text that is bad for it.
DEAR: dict[str, tuple[str, str]] = {
    "contains, 240 letters": (f"contains(comment, '{LONG}')", "a"),
    "contains, first letter wrong": (f"contains(comment, 'b{'a' * 239}')", "a"),
    "ten times contains, 8 letters": (" OR ".join(f"contains(comment, 'aaaaaaa{one}')" for one in "bcdefghijk"), "a"),
    "LIKE with two pieces": (f"comment LIKE '%a%{'a' * 107}b%'", "a"),
    "LIKE with 12 pieces": ("comment LIKE '%" + "a%" * 11 + "b%'", "a"),
    "lower and upper, 9 times": ("lower(upper(" * 4 + "lower(comment)" + "))" * 4 + " = 'b'", "Z"),
    "rtrim, 15 times": (" OR ".join(f"rtrim(comment) = 'b{one}'" for one in range(15)), " "),
    "right, 20 times": (" OR ".join(f"right(comment, {4000 + one}) = 'b'" for one in range(20)), "a"),
    "concatenation": ("length(" + " || ".join(["comment"] * 6) + ") = 1", "\u00e9"),
    "comparisons": (" OR ".join(f"comment < 'A{one}'" for one in range(31)), "a"),
    "IN 9,000 texts": ("comment IN (" + ", ".join("'" + "Az"[one % 2] + f" {one}'" for one in range(9000)) + ")", "a"),
    "casts": (" OR ".join(f"comment::DECIMAL(38, {one}) = 1" for one in range(1, 7)), "1"),
}
LENGTHS = (50, 1000, MAX_BYTES, 65_536, 1_000_000)
MANY, BESIDE = 300, 1000  # rows of that user, and ordinary rows beside them
HARD = "CASE WHEN age = 85 THEN {} ELSE FALSE END"  # within the least and the largest age, which engines know
COLUMNS = ("age", "comment")


class Rows:
    """Tables of ordinary rows on an engine, and of one user more."""

    def __init__(self, engine: Any, runs: int) -> None:
        self.engine, self._runs, self._is_duckdb = engine, runs, engine.name == "DuckDB"
        self._text = "VARCHAR" if self._is_duckdb else "text"

    def _series(self, rows: int) -> str:
        return f"range({rows}) AS s(i)" if self._is_duckdb else f"generate_series(1, {rows}) AS s(i)"

    def make(self, table: str, rows: int, letter: str = "a", length: int = 0, more: int = 0) -> None:
        """A table of ordinary rows, and of `more` of one user with a text of a length."""
        run, times = self.engine.connection.execute, length // len(letter.encode())
        run(f"DROP TABLE IF EXISTS {table}")
        run(
            f"CREATE TABLE {table} AS SELECT i / 10 AS u, i % 1000 AS i, CAST(i % 50 * 2 AS BIGINT) AS age, "
            f"'an ordinary comment, number ' || CAST(i AS {self._text}) AS comment FROM {self._series(rows)} "
            f"UNION ALL SELECT 0, i, 85, repeat('{letter}', {times}) FROM {self._series(more)}"
        )
        if not self._is_duckdb:
            run(f"VACUUM ANALYZE {table}")

    def cpu(self, dear: str, table: str) -> float:
        """Nanoseconds of a count of users by item, with a filter: the least of several runs."""
        found, engine = parse(HARD.format(dear)), self.engine
        types = {"age": engine.types["n"], "comment": engine.types["t"]}
        condition = found.sql({name: types[name] for name in found.needs(COLUMNS)}, engine.quote, engine.spelling)
        rows = f"SELECT DISTINCT u, i FROM {table} WHERE ({condition}) OR age < 80"
        return least(engine, f"SELECT i, count(*) FROM ({rows}) AS t GROUP BY i", self._runs)


def attack(rows: Rows, ordinary: int) -> None:
    """CPU of a question, and of each row of that user by the length of its text."""
    rows.make("ordinary", ordinary)
    rows.make("without_them", BESIDE)
    took: dict[str, list[float]] = {name: [] for name in DEAR}
    for length in LENGTHS:
        for letter in {letter for _, letter in DEAR.values()}:
            rows.make("with_them", BESIDE, letter, length, MANY)
            for name, (dear, bad) in DEAR.items():
                if bad == letter:
                    took[name].append((rows.cpu(dear, "with_them") - rows.cpu(dear, "without_them")) / MANY)
    alone = {name: rows.cpu(dear, "ordinary") for name, (dear, _) in DEAR.items()}
    table(
        [f"{rows.engine.name}, {ordinary:,} rows", "CPU", "an ordinary row", *(f"of {one:,} bytes" for one in LENGTHS)],
        [
            [
                name,
                seconds(alone[name] / 1e9),
                *(f"{one / 1e3:.1f} us" for one in (alone[name] / ordinary, *took[name])),
            ]
            for name in DEAR
        ],
    )
    worst = max((alone[name] + max(took[name])) / alone[name] for name in DEAR)
    print(f"with one row over without it {verdict(worst, 1.05)}\n", flush=True)


def main() -> None:
    """Refuse what was an attack, and measure what is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", default="duckdb,postgres")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    for name, where in REFUSED.items():
        try:
            parse(where)
        except ParameterError as error:
            print(f"{name}: {str(error).splitlines()[0]}")
    print()
    with engines(given.engines.split(",")) as asked:
        for engine in asked:
            attack(Rows(engine, given.runs), given.rows)


if __name__ == "__main__":
    main()
