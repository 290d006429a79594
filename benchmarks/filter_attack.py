"""Can one row, or one user's many rows, be told by the CPU time of a question with a filter?

Rows of ordinary users, with the dearest filters that the limits allow. Each filter works hard only on rows with age =
85, which one user has. First comes CPU with one such row over CPU without it, for texts of different lengths; then CPU
for each row of a user with many. The filters that once took seconds for one row are refused.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from filter_cost import LONG, engines
from measure import table, verdict

from dpselect.engines.filters.cost import BYTES
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
    "IN 9,000 texts": ("comment IN (" + ", ".join(f"'name {one}'" for one in range(9000)) + ")", "a"),
    "casts": (" OR ".join(f"comment::DECIMAL(38, {one}) = 1" for one in range(1, 7)), "1"),
}
BYTES_OF_ONE = (50, 1000, BYTES, 65_536, 1_000_000)
HARD = "CASE WHEN age = 85 THEN {} ELSE FALSE END"  # within the least and the largest age, which engines know
COLUMNS = ("age", "comment")


class Rows:
    """Ordinary rows on an engine, and the same with those of one user more."""

    def __init__(self, engine: Any, rows: int) -> None:
        self.engine, self.rows, self._is_duckdb = engine, rows, engine.name == "DuckDB"
        self._text = "VARCHAR" if self._is_duckdb else "text"
        self.make("without", "a", 0, 0)

    def _series(self, rows: int) -> str:
        return f"range({rows}) AS s(i)" if self._is_duckdb else f"generate_series(1, {rows}) AS s(i)"

    def make(self, table: str, letter: str, length: int, more: int) -> None:
        """A table of all rows, and of `more` of one user with a text of a length."""
        run, times = self.engine.connection.execute, length // len(letter.encode())
        run(f"DROP TABLE IF EXISTS {table}")
        run(
            f"CREATE TABLE {table} AS SELECT i / 10 AS u, i % 1000 AS i, CAST(i % 50 * 2 AS BIGINT) AS age, "
            f"'an ordinary comment, number ' || CAST(i AS {self._text}) AS comment FROM {self._series(self.rows)} "
            f"UNION ALL SELECT 0, i, 85, repeat('{letter}', {times}) FROM {self._series(more)}"
        )
        if not self._is_duckdb:
            run(f"VACUUM ANALYZE {table}")

    def cpu(self, where: str, table: str) -> float:
        """Nanoseconds of a count of users by item, with a filter."""
        found, engine = parse(where), self.engine
        types = {"age": engine.types["n"], "comment": engine.types["t"]}
        condition = found.sql({name: types[name] for name in found.needs(COLUMNS)}, engine.quote, engine.spelling)
        rows = f"SELECT DISTINCT u, i FROM {table} WHERE ({condition}) OR age < 80"
        return float(engine.run(f"SELECT i, count(*) FROM ({rows}) AS t GROUP BY i"))

    def both(self, where: str, runs: int) -> tuple[float, float]:
        """The least of runs in turns, without and with that user."""
        found = [(self.cpu(where, "without"), self.cpu(where, "more")) for _ in range(runs)]
        return min(one for one, _ in found), min(one for _, one in found)


def compare(rows: Rows, more: int, lengths: Sequence[int], runs: int) -> dict[str, list[tuple[float, float]]]:
    """CPU without and with rows of one user, for each filter and length of text."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in DEAR}
    for length in lengths:
        for letter in {letter for _, letter in DEAR.values()}:
            rows.make("more", letter, length, more)
            for name, (dear, bad) in DEAR.items():
                if bad == letter:
                    found[name].append(rows.both(HARD.format(dear), runs))
    return found


def one_row(rows: Rows, runs: int) -> None:
    """CPU with one row over CPU without it."""
    found = compare(rows, 1, BYTES_OF_ONE, runs)
    head = [f"{rows.engine.name}, {rows.rows:,} rows", "without", *(f"with {one:,} bytes" for one in BYTES_OF_ONE)]
    lines = [
        [name, f"{took[0][0] / 1e6:.0f} ms", *(f"{more / alone:.3f}" for alone, more in took)]
        for name, took in found.items()
    ]
    table(head, lines)
    worst = max(more / alone for took in found.values() for alone, more in took)
    print(f"at most {verdict(worst, 1.05)}\n", flush=True)


def many_rows(rows: Rows, count: int, runs: int) -> None:
    """CPU of each of a user's rows, and of an ordinary row for which the filter does little."""
    found = compare(rows, count, (50, BYTES), runs)
    lines = [
        [name, f"{took[0][0] / rows.rows:.0f} ns", *(f"{(more - alone) / count / 1e3:.1f} us" for alone, more in took)]
        for name, took in found.items()
    ]
    table([f"{rows.engine.name}, a user of {count:,} rows", "an ordinary row", "of 50 bytes", f"of {BYTES:,}"], lines)


def main() -> None:
    """Refuse what was an attack, and measure what is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", default="duckdb,postgres")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--many", type=int, default=10_000)
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
            rows = Rows(engine, given.rows)
            one_row(rows, given.runs)
            many_rows(rows, given.many, 2)


if __name__ == "__main__":
    main()
