"""What a small question costs: `import dpselect`, `dpselect --help`, and `dpselect top` on a file of 300 rows.

Targets: 0.25 s, 0.5 s, and at most 1.4 times the CPU of a Python script that asks plain DuckDB the same. Plain Python,
NumPy, and that script with the two libraries that exact draws need, run beside them, say how much of that is ours.
`--before SRC` has a column for the build in another folder `src`. Modules are compiled before anything is measured,
whatever PYTHONDONTWRITEBYTECODE says (measure.installed).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from measure import alternate, cache, process, seconds, table, verdict

PACKAGES = ("duckdb", "pandas", "polars", "pyarrow", "matplotlib", "psycopg", "pyspark", "flint", "numpy")
MOST = 1.4
PLAIN, LIBRARIES, OURS = "plain DuckDB on a tiny file", "the same, with NumPy and python-flint", "dpselect top on it"
OF_A_BUILD = ("import dpselect", "dpselect --help", OURS)


def tiny() -> Path:
    """300 rows of 50 users and 7 items; made in a process of its own, see measure.process."""
    file = cache() / "tiny.parquet"
    if not file.exists():
        rows = """SELECT 'user-' || i % 50 AS "user", 'item-' || i % 7 AS item FROM range(300) t(i)"""
        copy = f"COPY ({rows}) TO '{file.as_posix()}' (FORMAT parquet)"
        subprocess.run([sys.executable, "-c", f"import duckdb; duckdb.execute({copy!r})"], check=True)
    return file


def plain(file: Path, packages: str) -> list[str]:
    """The command of the non-private query; some packages are only imported."""
    query = (
        f"SELECT item, count(DISTINCT \"user\") AS n FROM '{file.as_posix()}' GROUP BY item ORDER BY n DESC LIMIT 10"
    )
    one_thread = 'import os; os.environ["OPENBLAS_NUM_THREADS"] = "1"'  # as the command has it: NumPy starts faster
    return [sys.executable, "-c", f"{one_thread}; import {packages}; print(duckdb.execute({query!r}).fetchall())"]


def loaded(code: str, among: str) -> list[str]:
    """The modules in sys.modules after some code: what `among`, an expression of a `name`, says of them."""
    question = f"{code}\nimport sys; print(*sorted(name for name in sys.modules if {among}), file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", question], check=True, capture_output=True, text=True)
    return found.stderr.splitlines()[-1].split()


def main() -> None:
    """One table and two lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--before", type=Path, metavar="SRC", help="the folder src of an earlier build")
    options = parser.parse_args()
    command = shutil.which("dpselect", path=str(Path(sys.executable).parent)) or "dpselect"
    file = tiny()
    top = ["top", str(file), "--user", "user", "--item", "item", "-k", "3", "--epsilon", "1", "--delta", "1e-6"]
    commands = {
        "python, nothing imported": ([sys.executable, "-c", "pass"], None),
        "import numpy": ([sys.executable, "-c", "import numpy"], None),
        PLAIN: (plain(file, "duckdb"), None),
        LIBRARIES: (plain(file, "duckdb, numpy, flint"), None),
        "import dpselect": ([sys.executable, "-c", "import dpselect"], 0.25),
        "dpselect --help": ([command, "--help"], 0.5),
        OURS: ([command, *top], None),
    }
    contenders = {name: partial(process, words) for name, (words, _) in commands.items()}
    if options.before is not None:
        contenders |= {f"{name} before": partial(process, commands[name][0], options.before) for name in OF_A_BUILD}
    alternate(contenders, 1)  # once for the compiled modules
    costs = alternate(contenders, options.runs)
    print(f"Medians of {options.runs} runs; load of the machine {os.getloadavg()[0]:.1f}\n")
    rows = []
    for name, (_, target) in commands.items():
        cost, before = costs[name], costs.get(f"{name} before")
        clock = seconds(cost.wall) if target is None else verdict(cost.wall, target)
        rows.append([name, seconds(cost.cpu), clock, f"{cost.memory:.0f} MiB", seconds(before.cpu) if before else ""])
    plain_cost, before = costs[PLAIN], costs.get(f"{OURS} before")
    ratio = [verdict(costs[OURS].cpu / plain_cost.cpu, MOST), f"{costs[OURS].wall / plain_cost.wall:.3g}"]
    ratio += [f"{costs[OURS].memory / plain_cost.memory:.3g}", f"{before.cpu / plain_cost.cpu:.3g}" if before else ""]
    table(
        ["process", "CPU", "clock", "peak memory", "CPU before"],
        [*rows, [f"ratio: {OURS}, to {PLAIN}", *ratio]],
    )

    packages = loaded("import dpselect", f"name in {PACKAGES}")
    print(f"Packages loaded by the import: {', '.join(packages) or 'none'}")
    asked = f"from dpselect.command.main import main; main({top!r})"
    modules = loaded(asked, "name.partition('.')[0] == 'dpselect'")
    print(f"Modules of ours loaded by the question: {len(modules)}")


if __name__ == "__main__":
    main()
