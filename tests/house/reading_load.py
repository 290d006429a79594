"""What somebody must read to trust one answer: the files of the base that a question runs, and their lines of code.

python -m tests.house.reading_load        measures, and writes benchmarks/results/reading_load.csv
"""

from __future__ import annotations

import ast
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import dpselect as dps
from dpselect.demo import write_listening_events
from tests.house.rules import PACKAGE, ROOT, room_of
from tests.house.trusted import BASE, code_lines, total_lines

PUBLISHED = ROOT / "benchmarks" / "results" / "reading_load.csv"
USERS = 500
QUESTIONS: Mapping[str, Callable[[dps.Dataset], object]] = {
    "top_k(10)": lambda data: data.top_k(10, epsilon=1),
    'top_k(10, by="country")': lambda data: data.top_k(10, by="country", epsilon=1),
    "union()": lambda data: data.union(epsilon=1),
    "top_k(10), where and a budget": lambda data: dps.Dataset(
        data._original_source,
        user="user",
        item="artist",
        where="country = 'DE'",
        budget=dps.Budget(epsilon=1, delta="1e-5"),
    ).top_k(10, epsilon=1),
}


@dataclass(frozen=True)
class Load:
    """How much of the base a question runs."""

    question: str
    files: int
    lines: int
    """Of these files."""
    run: int
    """Of the functions that run."""


def measure() -> Iterator[tuple[Load, list[str]]]:
    """Ask every question of a small file of Parquet, and yield what of the base it ran, and these files."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(ROOT)])}
    code = "from tests.house.reading_load import trace_all; trace_all()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    for question, functions in json.loads(done.stdout).items():
        of_base = {file: set(lines) for file, lines in functions.items() if room_of(file) in BASE}
        run = sum(len(_lines_of(file, first_lines)) for file, first_lines in of_base.items())
        yield Load(question, len(of_base), total_lines(of_base), run), sorted(of_base)


def trace_all() -> None:
    """Print which functions of the package each question runs: by file the first lines of each."""
    import duckdb  # noqa: F401 - once for all questions

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plays.parquet")
        _in_a_process(lambda: write_listening_events(path, users=USERS))
        traced = {
            question: json.loads(_in_a_process(lambda ask=ask: _trace(ask, path)))  # type: ignore[misc]
            for question, ask in QUESTIONS.items()
        }
    sys.stdout.write(json.dumps(traced))


def _in_a_process(work: Callable[[], object]) -> str:
    """Return the text that work returns, in a process of its own: what is kept in memory is not run again."""
    reader, writer = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.write(writer, str(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as text:
        written = text.read()
    os.waitpid(process, 0)
    return written


def _trace(ask: Callable[[dps.Dataset], object], path: str) -> str:
    os.urandom = random.Random(1).randbytes  # the same coins each time, so the same functions run
    data = dps.Dataset(path, user="user", item="artist")
    entered = set[tuple[str, int]]()

    def enter(frame: Any, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(str(PACKAGE)):
            entered.add((code.co_filename, code.co_firstlineno))

    sys.setprofile(enter)
    try:
        ask(data)
    finally:
        sys.setprofile(None)
    functions: dict[str, list[int]] = {}
    for name, line in sorted(entered):
        functions.setdefault(Path(name).relative_to(PACKAGE).as_posix(), []).append(line)
    return json.dumps(functions)


def _lines_of(file: str, first_lines: set[int]) -> set[int]:
    """Return the lines of code of the functions that begin in some lines; a decorator begins one."""
    lines = set[int]()
    for node in _nodes(file):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            if first in first_lines:
                lines |= set(range(first, (node.end_lineno or first) + 1))
    return lines & code_lines(file)


@cache
def _nodes(file: str) -> list[ast.AST]:
    return [*ast.walk(ast.parse((PACKAGE / file).read_text("utf-8")))]


def published() -> list[Load]:
    """Return what the auditor's page says."""
    with PUBLISHED.open(encoding="utf-8") as lines:
        return [
            Load(row["question"], int(row["files"]), int(row["lines"]), int(row["run"]))
            for row in csv.DictReader(lines)
        ]


if __name__ == "__main__":
    with PUBLISHED.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["question", "files", "lines", "run"])
        for load, _ in measure():
            writer.writerow([load.question, load.files, load.lines, load.run])
            sys.stdout.write(f"{load}\n")
