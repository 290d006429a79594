"""One top k of every kind of source, each a whole process, beside plain DuckDB that counts the same source.

10^6 rows of 10^5 users, users as integers, items as text, a tenth of the rows with the country DE. Plain DuckDB counts
all rows, and those that a filter leaves. `--before SRC` adds the code of an earlier checkout, in turns with this one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from measure import Cost, alternate, cache, process, seconds, table

MAKE = {
    "Parquet": "source = {folder!r} + '/rows.parquet'",
    "CSV": "source = {folder!r} + '/rows.csv'",
    "JSON lines": "source = {folder!r} + '/rows.jsonl'",
    "DuckDB file": "source = {folder!r} + '/rows.duckdb'",
    "DuckDB connection": "import duckdb; source = duckdb.connect({folder!r} + '/rows.duckdb', read_only=True)",
    "pandas": "import pandas; source = pandas.read_parquet({folder!r} + '/rows.parquet')",
    "pandas objects": "import pandas; source = pandas.read_parquet({folder!r} + '/rows.parquet').astype(object)",
    "polars": "import polars; source = polars.read_parquet({folder!r} + '/rows.parquet')",
    "PyArrow": "import pyarrow.parquet as p; source = p.read_table({folder!r} + '/rows.parquet')",
    "dict of lists": "import pyarrow.parquet as p; source = p.read_table({folder!r} + '/rows.parquet').to_pydict()",
}
TABLE = {"DuckDB file", "DuckDB connection"}
FILES = {
    "Parquet": "'{folder}/rows.parquet'",
    "CSV": "read_csv('{folder}/rows.csv', header = true, all_varchar = true)",
    "JSON lines": "read_json('{folder}/rows.jsonl', columns = {{{columns}}})",
}
ASK = """
import dpselect as dps
source = dps.Table(source, 'events') if {table} else source
data = dps.Dataset(source, user='user', item='item', where={where!r}, max_items_per_user={most})
data.top_k(10, epsilon=1, delta='1e-6')
"""
PLAIN = """
import duckdb
c = duckdb.connect()
if {file!r}:
    rows = "(FROM " + {file!r} + ")"
elif {table}:
    c = source if not isinstance(source, str) else duckdb.connect(source, read_only=True)
    rows = 'events'
elif isinstance(source, dict):
    import pyarrow
    held, rows = pyarrow.table(source), 'held'
    c.register('held', held)
else:
    c.register('held', source)
    rows = 'held'
kept = ' WHERE ' + {where!r} if {where!r} else ''
query = 'SELECT item, count(DISTINCT "user") AS n FROM ' + rows + kept + ' GROUP BY item ORDER BY n DESC LIMIT 1001'
c.execute(query).fetchall()
"""
QUESTIONS = {"all rows": (None, None), "filter": ("country = 'DE'", None), "bound": (None, 3)}


def folder(rows: int) -> Path:
    """The files, made once, in a process of its own."""
    place = cache() / f"sources-{rows}"
    if not (place / "rows.duckdb").exists():
        subprocess.run([sys.executable, *sys.argv, "--make"], check=True)
    return place


def make(rows: int) -> None:
    """Write the files."""
    import duckdb
    from inputs import raw_rows

    place = cache() / f"sources-{rows}"
    place.mkdir(exist_ok=True)
    user, item = raw_rows(rows // 10, 10, rows // 10)
    with duckdb.connect(place / "draft.duckdb") as connection:
        connection.register("held", {"user": user, "item": item})
        connection.execute(
            """CREATE TABLE events AS SELECT "user", 'item-' || item AS item,
            CASE WHEN hash("user") % 10 = 0 THEN 'DE' ELSE 'FR' END AS country FROM held"""
        )
        for name, options in (("parquet", "parquet"), ("csv", "csv, header"), ("jsonl", "json")):
            connection.execute(f"COPY events TO '{place}/rows.{name}' (FORMAT {options})")
    (place / "draft.duckdb").replace(place / "rows.duckdb")


def ours(code: str, src: Path | None) -> Cost:
    """A process with our code, or with that of another checkout."""
    if src is None:
        return process([sys.executable, "-c", code])
    held = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(src)
    try:
        return process([sys.executable, "-c", code])
    finally:
        del os.environ["PYTHONPATH"]
        if held is not None:
            os.environ["PYTHONPATH"] = held


def plain(kind: str, place: str, where: str | None) -> str:
    """The query of plain DuckDB."""
    columns = {"user": "BIGINT", "item": "VARCHAR"} | ({} if where is None else {"country": "VARCHAR"})
    file = FILES.get(kind, "").format(folder=place, columns=str(columns)[1:-1])
    return PLAIN.format(file=file, table=kind in TABLE, where=where)


def ratio(cost: Mapping[str, Cost], other: str, figure: str) -> str:
    """How many times what another one needs we need, if it was run."""
    return f"{getattr(cost['ours'], figure) / getattr(cost[other], figure):.2f}" if other in cost else ""


def main() -> None:
    """A line for each source and question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--before", type=Path, help="the src folder of an earlier checkout")
    parser.add_argument("--kinds", nargs="+", default=list(MAKE))
    parser.add_argument("--questions", nargs="+", default=["all rows"], choices=QUESTIONS)
    parser.add_argument("--make", action="store_true", help="only write the files")
    options = parser.parse_args()
    if options.make:
        return make(options.rows)
    place = folder(options.rows).as_posix()
    lines = []
    for kind in options.kinds:
        source = MAKE[kind].format(folder=place) + "\n"
        only = alternate({"": partial(ours, source, None)}, options.runs)[""]  # what it takes to have the source
        for question in options.questions:
            where, most = QUESTIONS[question]
            ask = source + ASK.format(table=kind in TABLE, where=where, most=most)
            contenders = {
                "plain": partial(ours, source + plain(kind, place, None), None),
                "filtered": partial(ours, source + plain(kind, place, where), None),
                "ours": partial(ours, ask, None),
            }
            if where is None:
                del contenders["filtered"]
            if options.before:
                contenders["before"] = partial(ours, ask, options.before)
            cost = alternate(contenders, options.runs)
            line = [kind, question, seconds(only.cpu)]
            line += [seconds(cost[name].cpu) if name in cost else "" for name in ("plain", "filtered", "ours")]
            line += [ratio(cost, name, "cpu") for name in ("plain", "filtered")] + [ratio(cost, "plain", "memory")]
            if options.before:
                line += [seconds(cost["before"].cpu), ratio(cost, "before", "cpu"), ratio(cost, "before", "memory")]
            lines.append(line)
    head = ["source", "question", "the source alone", "DuckDB, all rows, not private", "DuckDB, filtered", "dpselect"]
    head += ["CPU ratio", "CPU ratio, filtered", "memory ratio"]
    head += ["before", "CPU ratio to before", "memory ratio to before"] if options.before else []
    print(f"load of the machine: {os.getloadavg()[0]:.1f}\n")
    return table(head, lines)


if __name__ == "__main__":
    main()
