"""What does costly ground cost: a long ledger, many groups, long items, many additions, a year of days?

Each case measures whole processes, one by one: seconds of CPU and on the clock, and peak memory.
"""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from measure import median, process, table

import dpselect as dps
from dpselect.ledger import Account, Charge, Ledger

ACCOUNT = Account("plays", "ann")
PRICE = Charge.round_up(Fraction("0.001"), Fraction("1e-9"))
QUESTION = '{"question": "top", "k": 10, "where": "' + "x" * 400 + '"}'
RELEASE = "[" + "1234567, " * 100 + "0]"
MIB = 2**20


class Lines:
    """The lines of one case: what was measured, and its figures."""

    def __init__(self, src: Path | None) -> None:
        self.src = src
        self.rows: list[list[object]] = []

    def run(self, case: str, what: str, command: list[str | Path], made: Path | None = None, runs: int = 1) -> None:
        """Measure a whole process, the median of some runs, and the size of the file that it makes."""
        cost = median([process([sys.executable, *command], self.src) for _ in range(runs)])
        self.rows.append([case, what, *(f"{figure:.3g}" for figure in (cost.cpu, cost.wall, cost.memory)), size(made)])
        print(*self.rows[-1], sep=", ", file=sys.stderr, flush=True)


def size(path: Path | None) -> str:
    """MiB of a file, or nothing."""
    return "" if path is None else f"{path.stat().st_size / MIB:.3g}"


def command(*words: str | Path) -> list[str | Path]:
    """`dpselect WORDS`, without the interpreter."""
    return ["-m", "dpselect", *words]


def step(name: str, *words: str | Path) -> list[str | Path]:
    """One step of this script, in a process of its own."""
    return [Path(__file__), "--step", name, *words]


# ---- a long ledger ------------------------------------------------------------------------------------------


def make_ledger(path: Path, entries: int) -> None:
    """Make a ledger of so many entries: two of the owner, then three for each question, all by the public calls."""
    with Ledger.create(path) as ledger:
        ledger.data(ACCOUNT.dataset, 10**6, "0.9")
        ledger.grant(ACCOUNT, 10**6, "0.5")
        for number in range((entries - 2) // 3):
            ask(ledger, number)


def ask(ledger: Ledger, number: int) -> None:
    """Reserve, start and settle one question."""
    reservation = ledger.reserve(ACCOUNT, PRICE, f"{QUESTION}{number}")
    ledger.start(reservation)
    ledger.settle(reservation, PRICE, RELEASE)


def open_ledger(path: Path) -> None:
    """Open a ledger, and read how long it is."""
    with Ledger(path) as ledger:
        print(ledger.count)


def one_question(path: Path) -> None:
    """Open a ledger, and ask one more question."""
    with Ledger(path) as ledger:
        ask(ledger, -ledger.count)


def repeated(path: Path) -> None:
    """Open a ledger, and repeat a stored answer."""
    with Ledger(path) as ledger:
        assert ledger.repeat(ACCOUNT, f"{QUESTION}0") == RELEASE


def ledger_case(lines: Lines, folder: Path, options: argparse.Namespace) -> None:
    """Every act of a ledger, as it grows."""
    for entries in options.entries:
        path, case = folder / f"{entries}.ledger", f"ledger of {entries:,} entries"
        lines.run(case, "make", step("make-ledger", path, str(entries)), path)
        for name in ("open", "question", "repeat"):
            lines.run(case, name, step(f"ledger-{name}", path))
        for act in ("show", "pending", "history", "verify"):
            lines.run(case, act, command("ledger", act, path))
        for act, ending in (("report", ".json"), ("report", ".html"), ("export", ".lines")):
            made = folder / f"made{ending}"
            lines.run(case, f"{act} {ending}", command("ledger", act, path, "-o", made), made)
            made.unlink()
        path.unlink()


# ---- many groups --------------------------------------------------------------------------------------------


def make_groups(path: Path, groups: int) -> None:
    """Make 40 users of each group, each with one of three items."""
    import duckdb

    rows = f"SELECT range AS u, 'group ' || (range % {groups}) AS g, 'item ' || (hash(range) % 3) AS i"
    duckdb.sql(f"COPY ({rows} FROM range({40 * groups})) TO '{path}'")


def ask_groups(path: Path, groups: int, way: str, made: Path) -> None:
    """Ask the two best items of every group, and write the answer in one form."""
    names = [f"group {number}" for number in range(groups)] if way == "listed" else None
    by = dps.By("g", groups=names, max_groups_per_user=1)
    release = dps.Dataset(path, user="u", item="i").top_k(2, by=by, epsilon=10, counts=True)
    assert release.groups is not None
    assert len(release.groups.shown) == groups
    release.to_json(made)


def show(path: Path, form: str, made: Path) -> None:
    """Read an answer from its JSON, and write it in another form."""
    release = dps.Release.from_json(path)
    forms = {"print": str, "html": lambda shown: shown._repr_html_(), "text": lambda shown: shown.text}
    if form in forms:
        made.write_text(forms[form](release), "utf-8")
    elif form == "csv":
        release.to_csv(made)


def groups_case(lines: Lines, folder: Path, options: argparse.Namespace) -> None:
    """Found and listed groups, and the forms of the answer; reading the JSON again is in each form's cost."""
    path, case = folder / "groups.parquet", f"{options.groups:,} groups of 40 users"
    made, shown = folder / "answer.json", folder / "shown"
    process([sys.executable, *step("make-groups", path, str(options.groups))])
    for way in ("listed", "found"):
        lines.run(case, f"ask, {way}", step("ask-groups", path, str(options.groups), way, made), made)
    lines.run(case, "read from JSON", step("show", made, "nothing", shown))
    for form in ("print", "html", "text", "csv"):
        lines.run(case, f"{form}, read from JSON", step("show", made, form, shown), shown)


# ---- long items ---------------------------------------------------------------------------------------------


def make_long(path: Path, length: int) -> None:
    """Make 400 users with a short item and one of so many letters, in a file of the kind that its name has."""
    import duckdb

    long = f"repeat('x', {length})"
    rows = f"SELECT range // 2 AS u, CASE WHEN range % 2 = 0 THEN 'tea' ELSE {long} END AS i FROM range(800)"
    if path.suffix == ".sqlite":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE t (u INTEGER, i TEXT)")
            pairs = ((user, item) for user in range(400) for item in ("tea", "x" * length))
            connection.executemany("INSERT INTO t VALUES (?, ?)", pairs)
        connection.close()
    else:
        duckdb.sql(f"COPY ({rows}) TO '{path}' (FORMAT {FORMATS[path.suffix]})")


def ask_long(path: Path, verb: str, length: int) -> None:
    """Ask a source with long items."""
    data = dps.Dataset(dps.Table(path, "t") if path.suffix == ".sqlite" else path, user="u", item="i")
    listed = {"domain": ["tea", "x" * length, "milk"]} if verb == "listed" else {}
    release = data.union(epsilon=4) if verb == "union" else data.top_k(2, epsilon=4, **listed)
    assert ("x" * length in release.labels) is (length < MIB)


def long_case(lines: Lines, folder: Path, options: argparse.Namespace) -> None:
    """Items of nearly 1 MiB, which count in a line of a text file too, and of a byte more, which are missing."""
    del options
    for length in (MIB - 64, MIB + 1):
        case = f"400 users with an item of {length:,} letters"
        for ending in FORMATS:
            path = folder / f"long{ending}"
            process([sys.executable, *step("make-long", path, str(length))])
            for verb in ("top", "union", *(["listed"] if length < MIB else [])):
                lines.run(case, f"{verb}, {ending}", step("ask-long", path, verb, str(length)), path)
            path.unlink()


# ---- many additions -----------------------------------------------------------------------------------------

DAY_ROWS = 1_000
FIRST_DAY = datetime.date(2026, 1, 1)


def make_days(path: Path, first: int, days: int) -> None:
    """Make the rows of some days: each day's 1,000 rows are of users of 20,000, and items of 2,000."""
    import duckdb

    item = "'item ' || (hash(range + 7) % 2000 * (hash(range + 9) % 2000) // 2000)"
    rows = (
        f"SELECT hash(range) % 20000 AS u, {item} AS i, DATE '{FIRST_DAY}' + CAST(range // {DAY_ROWS} AS INTEGER) AS at"
    )
    duckdb.sql(f"COPY ({rows} FROM range({first * DAY_ROWS}, {(first + days) * DAY_ROWS})) TO '{path}'")


def days_file(path: Path, first: int, days: int) -> None:
    """`make_days` in a process of its own, so that this one stays small."""
    process([sys.executable, *step("make-days", path, str(first), str(days))])


def additions_case(lines: Lines, folder: Path, options: argparse.Namespace) -> None:
    """A prepared file that grows by one small day at a time, beside one prepared at once."""
    grown, once, rows = folder / "grown.prepared", folder / "once.prepared", folder / "rows.parquet"
    columns = ("--user", "u", "--item", "i", "--keep", "at")
    case = f"prepared days of {DAY_ROWS:,} rows"
    days_file(rows, 0, 1)
    lines.run(case, "prepare the first day", command("prepare", rows, *columns, "-o", grown), grown)
    for day in range(1, options.additions + 1):
        rows = folder / f"day{day}.parquet"
        days_file(rows, day, 1)
        add = command("prepare", "--add", rows, "-o", grown)
        if day in {1, options.additions // 4, options.additions // 2, options.additions}:
            lines.run(case, f"addition {day}", add, grown)
        else:
            process([sys.executable, *add], lines.src)
    whole = folder / "whole.parquet"
    days_file(whole, 0, options.additions + 1)
    lines.run(case, "prepare all at once", command("prepare", whole, *columns, "-o", once), once)
    of_one_day = ("--where", f"at = DATE '{FIRST_DAY + datetime.timedelta(days=options.additions // 2)}'")
    for what, words in (("top 10", ()), ("top 10 of a day", of_one_day), ("at most 10 items", MOST_ITEMS)):
        for name, path in (("grown", grown), ("at once", once)):
            question = command("top", path, "-k", "10", "--epsilon", "1", *words)
            lines.run(case, f"{what}, {name}", question, path, runs=3)


MOST_ITEMS = ("--max-items-per-user", "10")


# ---- a year of days -----------------------------------------------------------------------------------------


def ask_days(rows: Path, path: Path, first: int, days: int) -> None:
    """Ask one question about each of some days."""
    budget = dps.Budget.open(path, data="plays", analyst="ann")
    data = dps.Dataset(rows, user="u", item="i", time=dps.Time("at", period="day"), budget=budget)
    for day in range(first, first + days):
        name = str(FIRST_DAY + datetime.timedelta(days=day))
        release = data.during(name).top_k(10, epsilon="0.5", delta="1e-7")
        assert release.charged is not None


def ask_year(rows: Path, path: Path, days: int, made: Path) -> None:
    """Ask one question about all days at once."""
    budget = dps.Budget.open(path, data="plays", analyst="ann")
    data = dps.Dataset(rows, user="u", item="i", time=dps.Time("at", period="day"), budget=budget)
    last = FIRST_DAY + datetime.timedelta(days=days - 1)
    made.write_text(str(data.during(f"{FIRST_DAY}..{last}").top_k(10, epsilon="0.1", delta="1e-8")), "utf-8")


def year_case(lines: Lines, folder: Path, options: argparse.Namespace) -> None:
    """365 questions, each about a day that has a budget of its own; then what reads the ledger."""
    rows, path, case = folder / "year.parquet", folder / "year.ledger", f"{options.days} daily periods"
    days_file(rows, 0, options.days)
    with Ledger.create(path) as ledger:
        ledger.data("plays", 1, "1e-6", period="day", time="at", user="u")
        ledger.grant(Account("plays", "ann"), 1, "1e-6")
    made = folder / "made"
    lines.run(case, "the first question", step("ask-days", rows, path, "0", "1"), path)
    lines.run(case, "the other questions", step("ask-days", rows, path, "1", str(options.days - 1)), path)
    lines.run(case, "one question about all days", step("ask-year", rows, path, str(options.days), made), made)
    for act in ("show", "history", "verify"):
        lines.run(case, f"ledger {act}", command("ledger", act, path))
    for ending in (".json", ".html"):
        page = folder / f"report{ending}"
        lines.run(case, f"ledger report {ending}", command("ledger", "report", path, "-o", page), page)


FORMATS = {".parquet": "parquet", ".csv": "csv", ".jsonl": "json", ".sqlite": ""}
STEPS: dict[str, Callable[..., None]] = {
    "make-groups": lambda path, groups: make_groups(Path(path), int(groups)),
    "make-long": lambda path, length: make_long(Path(path), int(length)),
    "make-days": lambda path, first, days: make_days(Path(path), int(first), int(days)),
    "ask-groups": lambda path, groups, way, made: ask_groups(Path(path), int(groups), way, Path(made)),
    "show": lambda path, form, made: show(Path(path), form, Path(made)),
    "ask-long": lambda path, verb, length: ask_long(Path(path), verb, int(length)),
    "ask-days": lambda rows, path, first, days: ask_days(Path(rows), Path(path), int(first), int(days)),
    "ask-year": lambda rows, path, days, made: ask_year(Path(rows), Path(path), int(days), Path(made)),
    "make-ledger": lambda path, entries: make_ledger(Path(path), int(entries)),
    "ledger-open": lambda path: open_ledger(Path(path)),
    "ledger-question": lambda path: one_question(Path(path)),
    "ledger-repeat": lambda path: repeated(Path(path)),
}
CASES: dict[str, Callable[[Lines, Path, argparse.Namespace], None]] = {
    "ledger": ledger_case,
    "groups": groups_case,
    "long": long_case,
    "additions": additions_case,
    "year": year_case,
}


def main() -> None:
    """One table for all cases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)} (default: all)")
    parser.add_argument("--entries", type=int, nargs="+", default=[10**3, 10**5, 10**6], help="of ledgers")
    parser.add_argument("--groups", type=int, default=10**5)
    parser.add_argument("--additions", type=int, default=365)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--folder", type=Path, help="on the disk to measure (default: where temporary files are)")
    parser.add_argument("--before", type=Path, metavar="SRC", help="measure this build instead")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        name, *words = options.step
        STEPS[name](*words)
        return
    lines = Lines(options.before)
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        for case in options.cases or CASES:
            CASES[case](lines, folder, options)
    finally:
        shutil.rmtree(folder)
    print(f"load {os.getloadavg()[0]:.1f}")
    table(["case", "what", "cpu_s", "clock_s", "peak_memory_MiB", "file_MiB"], lines.rows)


if __name__ == "__main__":
    main()
