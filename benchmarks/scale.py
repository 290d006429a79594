"""What questions cost as rows grow: 10^6, 10^7, 10^8 and, for a top k, 10^9 rows of Parquet, beside plain DuckDB.

A tenth as many users as rows, as many items as users by Zipf's law (exponent 1.1), 200 countries, of each user one. The
files are the same each time. Every figure is a whole process, the sides in turns; both may use MEMORY: ours by
DPSELECT_MEMORY, which gives DuckDB three quarters of it, and the plain query by a memory_limit of as much.

Each run is a line of results/scale.csv as soon as it ended; what is there is not run again (--anew begins anew). The
table is printed, and with --figure only docs/figures/scale.svg is drawn, of the lines that are there.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measure import Cost, cache, installed, median, process, seconds, table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "scale.csv"
FIGURE = ROOT / "docs" / "figures" / "scale.svg"
HEADER = ["rows", "question", "side", "run", "cpu_s", "clock_s", "peak_memory_MiB", "ended", "load", "date", "command"]
MEMORY, PLAIN_MEMORY, SPARK_MEMORY = "4GiB", "3GiB", "3g"
PLAIN, OURS, BEFORE = "plain DuckDB", "dpselect", "before"
PLAIN_SPARK, SPARK = "plain Spark", "dpselect, Spark"
TOP, BY_GROUP, UNION, PREPARE, PREPARED = "top k", "top k by group", "union", "prepare", "prepared top k"
QUESTIONS = (TOP, BY_GROUP, UNION, PREPARE, PREPARED)
COMPARED = {PREPARED: TOP}  # its plain query is that of another question
LARGE = 10**9  # rows, of which only a top k is asked, once
MINUTES_TO_PREPARE = 10**8  # rows, which are prepared once
SPARK_ROWS = 10**8
FEW = 10**4  # rows, of a run that is not measured
EXPONENT = 1.1


# ---- the rows ---------------------------------------------------------------------------------------------


def write_rows(file: Path, rows: int) -> None:
    """Write the rows by hashes of their numbers, on one thread in little memory."""
    import duckdb

    connection = duckdb.connect(config={"threads": 1, "memory_limit": "2GB"})
    draft = file.with_suffix(".draft")
    columns = ['"user"', "item"] if rows >= LARGE else ['"user"', "item", "country", "value"]
    query = f"SELECT {', '.join(columns)} FROM ({rows_query(rows)})"
    connection.execute(f"COPY ({query}) TO '{draft.as_posix()}' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)")
    draft.replace(file)


def rows_query(rows: int) -> str:
    """The SQL of the rows: users as numbers, items as texts whose numbers do not tell their ranks."""
    users, power = rows // 10, 1 - EXPONENT
    span = 1 - (users + 1) ** power
    rank = f"pow(1 - {span!r}::DOUBLE * {_share('r * 2 + 1')}, {1 / power!r}::DOUBLE)"  # from 1 to users + 1
    return f"""SELECT u AS "user", 'item-' || (i * 7368787 + 104729) % {users} AS item,
        'C' || lpad(floor(200 * pow({_share("u * 2 + 1000000000001")}, 3))::INT::VARCHAR, 3, '0') AS country,
        (hash(r + 2000000000000) % 100)::BIGINT AS value
        FROM (SELECT r, (hash(r * 2) % {users})::BIGINT AS u, least({users}, floor({rank}))::BIGINT - 1 AS i
        FROM range({rows}) AS t (r))"""


def _share(number: str) -> str:
    """A share of 1 by a hash."""
    return f"(hash({number}) / 18446744073709551616.0)"


def rows_file(folder: Path, rows: int) -> Path:
    """The file of so many rows, written in a process of its own where it is not there."""
    file = folder / f"scale-{rows}.parquet"
    if not file.exists():
        cost = process([sys.executable, __file__, "--data", folder, "--write", str(rows)])
        size = file.stat().st_size / 2**20
        print(f"wrote {rows:,} rows: {seconds(cost.wall)}, {size:,.0f} MiB", file=sys.stderr, flush=True)
    return file


# ---- the questions ----------------------------------------------------------------------------------------

ASKED = {
    TOP: "dps.Dataset({file!r}, user='user', item='item').top_k(10, epsilon=1)",
    BY_GROUP: "dps.Dataset({file!r}, user='user', item='item').top_k(10, by='country', epsilon=1)",
    UNION: "dps.Dataset({file!r}, user='user', item='item', max_items_per_user=10).union(epsilon=1)",
    PREPARE: "dps.Dataset({file!r}, user='user', item='item').prepare({to!r}, keep=['country'])",
    PREPARED: "dps.Dataset({prepared!r}).top_k(10, epsilon=1)",
}
COUNTS = """SELECT item, count(DISTINCT "user") AS n FROM '{file}' GROUP BY item"""
QUERIES = {
    TOP: [f"{COUNTS} ORDER BY n DESC, item LIMIT 1001"],
    BY_GROUP: [
        """SELECT country, item, n FROM (SELECT country, item, count(DISTINCT "user") AS n FROM '{file}' GROUP BY ALL)
        QUALIFY row_number() OVER (PARTITION BY country ORDER BY n DESC, item) <= 101"""
    ],
    UNION: [f"CREATE TABLE counts AS {COUNTS}"],
    PREPARE: [
        "ATTACH '{to}' AS kept",
        "CREATE TABLE kept.pairs AS SELECT DISTINCT \"user\", item, country FROM '{file}'",
        'CREATE TABLE kept.counts AS SELECT item, count(DISTINCT "user") AS n FROM kept.pairs GROUP BY item',
    ],
}
PLAIN_PROGRAM = """import duckdb
connection = duckdb.connect(config={{"memory_limit": {memory!r}, "temp_directory": {folder!r}}})
connection.execute("SET preserve_insertion_order = false")
for query in {queries!r}:
    found = connection.execute(query).fetchall()
"""


@dataclass(frozen=True)
class Run:
    """One run of one side."""

    rows: int
    question: str
    side: str
    number: int

    @property
    def key(self) -> tuple[str, ...]:
        """How a line of the results names it."""
        return str(self.rows), self.question, self.side, str(self.number)


def planned(args: argparse.Namespace) -> Iterator[Run]:
    """All runs, those of one size together, and the sides of one question in turns."""
    for rows in sorted(args.rows):
        for question in [question for question in args.questions if rows < LARGE or question == TOP]:
            sides = [OURS] if question in COMPARED else [PLAIN, OURS]
            sides += [BEFORE] if args.before and question not in (PREPARE, PREPARED) else []
            once = rows >= LARGE or (question == PREPARE and rows >= MINUTES_TO_PREPARE)
            for number in range(1, (1 if once else args.runs) + 1):
                yield from (Run(rows, question, side, number) for side in sides)
    if args.spark:
        yield from (Run(SPARK_ROWS, TOP, side, 1) for side in (PLAIN_SPARK, SPARK))


def cost_of(run: Run, args: argparse.Namespace) -> Cost:
    """Run it as a process of its own, in a folder for what it writes."""
    file = rows_file(args.data, run.rows)
    if run.side in (PLAIN_SPARK, SPARK):
        return on_spark(run, args)
    with tempfile.TemporaryDirectory(dir=args.data) as folder:
        names = {
            "file": str(file),
            "to": f"{folder}/made.prepared",
            "prepared": str(prepared_file(args.data, run.rows)),
        }
        more = {"TMPDIR": folder, "DPSELECT_MEMORY": MEMORY}
        if run.side == PLAIN:
            queries = [query.format(**names) for query in QUERIES[run.question]]
            program = PLAIN_PROGRAM.format(memory=PLAIN_MEMORY, folder=folder, queries=queries)
        else:
            if run.question == PREPARED and not Path(names["prepared"]).exists():
                cost_of(Run(run.rows, PREPARE, OURS, 0), args)
            program = f"import dpselect as dps\n{ASKED[run.question].format(**names)}\n"
            more |= {"PYTHONPATH": str(args.before)} if run.side == BEFORE else {}
        cost = process([sys.executable, "-c", program], more=more, seconds_at_most=args.minutes * 60)
        if run.question == PREPARE and run.side == OURS:
            Path(names["to"]).replace(names["prepared"])
        return cost


def prepared_file(folder: Path, rows: int) -> Path:
    """Where the rows that were prepared last are, for the questions about them."""
    return folder / f"scale-{rows}.prepared"


def on_spark(run: Run, args: argparse.Namespace) -> Cost:
    """One question on Spark's two local cores, its start apart, whose memory is that of the JVM and of ours."""
    verb = "plain" if run.side == PLAIN_SPARK else "top_k"
    command = [sys.executable, str(Path(__file__).with_name("scale_engines.py")), "--only", f"spark/{verb}"]
    command += ["--rows", str(run.rows), "--data", str(args.data)]
    more = installed() | {"SCALE_SPARK_MEMORY": SPARK_MEMORY, "TMPDIR": str(args.data)}
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=args.minutes * 60, env=more)
    cost = json.loads(ran.stdout.splitlines()[-1])
    return Cost(cost["cpu"], cost["wall"], cost["memory"])


# ---- the results ------------------------------------------------------------------------------------------


def kept() -> dict[tuple[str, ...], dict[str, str]]:
    """The lines that are there, by their runs."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(encoding="utf-8", newline="") as lines:
        return {tuple(line[name] for name in HEADER[:4]): line for line in csv.DictReader(lines)}


def keep(run: Run, cost: Cost | None, ended: str) -> None:
    """Add a line, at once."""
    figures = [""] * 3 if cost is None else [f"{cost.cpu:.3g}", f"{cost.wall:.3g}", f"{cost.memory:.0f}"]
    command = "./dev bench scale --spark" if run.side in (PLAIN_SPARK, SPARK) else "./dev bench scale"
    is_new = not RESULTS.exists()
    with RESULTS.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        if is_new:
            writer.writerow(HEADER)
        load, today = f"{os.getloadavg()[0]:.1f}", datetime.datetime.now(datetime.UTC).date()
        writer.writerow([*run.key, *figures, ended, load, today, command])


def perform(run: Run, args: argparse.Namespace) -> None:
    """Run it, and keep what it cost or how it ended."""
    try:
        cost, ended = cost_of(run, args), "answered"
    except subprocess.TimeoutExpired:
        cost, ended = None, f"over {args.minutes:g} minutes"
    except subprocess.CalledProcessError as error:
        cost, ended = None, f"exit status {error.returncode}"
    keep(run, cost, ended)
    shown = ended if cost is None else f"{seconds(cost.cpu)} CPU, {seconds(cost.wall)}, {cost.memory:,.0f} MiB"
    print(f"{run.rows:.0e} {run.question}, {run.side}, {run.number}: {shown}", file=sys.stderr, flush=True)


def medians() -> dict[tuple[int, str, str], Cost | str]:
    """The median of each figure of each size, question and side; how it ended where none was answered."""
    answered: dict[tuple[int, str, str], list[Cost]] = {}
    ended: dict[tuple[int, str, str], str] = {}
    for line in kept().values():
        key = int(line["rows"]), line["question"], line["side"]
        ended[key] = line["ended"]
        if line["cpu_s"]:
            figures = [float(line[name]) for name in HEADER[4:7]]
            answered.setdefault(key, []).append(Cost(*figures))
    return {key: median(answered[key]) if key in answered else said for key, said in ended.items()}


def shown(found: dict[tuple[int, str, str], Cost | str]) -> None:
    """Print the table: each side's cost, and ours as multiples of the plain query's."""
    lines = []
    for rows, question in dict.fromkeys((rows, question) for rows, question, _ in found):
        for plain, ours, on in ((PLAIN, OURS, ""), (PLAIN_SPARK, SPARK, " on Spark")):
            sides = [found.get((rows, COMPARED.get(question, question), plain))]
            sides += [found.get((rows, question, side)) for side in (ours, *([BEFORE] if ours == OURS else []))]
            if sides[1] is not None:
                lines.append(
                    [f"{rows:,}", f"{question}{on}", *map(_cost, [*sides, None][:3]), *_ratios(sides[0], sides[1])]
                )
    header = ["rows", "question", "plain", "dpselect", "before", "CPU, of plain", "memory, of plain"]
    table(header, sorted(lines, key=lambda line: QUESTIONS.index(line[1].removesuffix(" on Spark"))))


def _cost(cost: Cost | str | None) -> str:
    if cost is None or isinstance(cost, str):
        return cost or ""
    return f"{seconds(cost.cpu)}, {seconds(cost.wall)} on the clock, {cost.memory:,.0f} MiB"


def _ratios(plain: Cost | str | None, ours: Cost | str | None) -> list[str]:
    if isinstance(plain, Cost) and isinstance(ours, Cost):
        return [f"{ours.cpu / plain.cpu:.3g}", f"{ours.memory / plain.memory:.3g}"]
    return ["", ""]


def figure(found: dict[tuple[int, str, str], Cost | str]) -> None:
    """CPU over rows, both on a logarithmic scale: a color for each question, ours solid, the plain query dashed."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    pyplot.rcParams.update({"svg.hashsalt": "dpselect", "svg.fonttype": "none", "font.size": 9})
    picture, panel = pyplot.subplots(figsize=(7.5, 4), layout="constrained")
    for question, color in zip(QUESTIONS, ("#1f77b4", "#2ca02c", "#d62728", "#9467bd", "#ff7f0e"), strict=True):
        for side, style in ((OURS, "-"), (PLAIN, "--")):
            costs = sorted(
                (rows, cost.cpu)
                for (rows, asked, of), cost in found.items()
                if (asked, of) == (question, side) and isinstance(cost, Cost)
            )
            if costs:
                label = question if side == OURS else f"{question}, plain DuckDB"
                panel.plot(*zip(*costs, strict=True), style, marker="o", markersize=3, color=color, label=label)
    panel.set(xscale="log", yscale="log", xlabel="rows", ylabel="CPU seconds of the process")
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)
    picture.legend(frameon=False, fontsize=8, loc="outside right center")
    picture.savefig(FIGURE, metadata={"Date": None, "Creator": None})


def main() -> None:
    """Run what is not there yet, and print the table."""
    args = _arguments()
    args.data.mkdir(exist_ok=True)
    if args.write is not None:
        write_rows(args.data / f"scale-{args.write}.parquet", args.write)
        return
    if args.figure:
        figure(medians())
        return
    if args.anew:
        RESULTS.unlink(missing_ok=True)
    done = kept()
    runs = [run for run in planned(args) if run.key not in done]
    for question, side in dict.fromkeys((run.question, run.side) for run in runs if run.side in (OURS, BEFORE)):
        cost_of(Run(FEW, question, side, 0), args)  # once for the compiled modules
    for place, run in enumerate(runs):
        perform(run, args)
        if args.delete and run.rows not in {later.rows for later in runs[place + 1 :]}:
            for file in args.data.glob(f"scale-{run.rows}[.-]*"):
                file.unlink()
    shown(medians())


def _arguments() -> argparse.Namespace:
    def whole(text: str) -> int:
        return int(float(text))

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=whole, nargs="*", default=[10**6, 10**7, 10**8], help="10^9: only a top k, once")
    parser.add_argument("--questions", nargs="+", choices=QUESTIONS, default=QUESTIONS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="SRC", help="the src folder of an earlier build, a third side")
    parser.add_argument("--spark", action="store_true", help="a top k of 10^8 rows on Spark, once")
    parser.add_argument("--minutes", type=float, default=40, help="what takes longer is ended")
    parser.add_argument("--data", type=Path, default=cache(), metavar="FOLDER", help="where the files of rows are")
    parser.add_argument("--delete", action="store_true", help="delete the files of a size after its last run")
    parser.add_argument("--anew", action="store_true", help="forget the results that are there")
    parser.add_argument("--figure", action="store_true", help="only draw docs/figures/scale.svg")
    parser.add_argument("--write", type=whole, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
