"""For every file of the package the files of tests that run most of its functions and little else."""

from __future__ import annotations

import ast
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path

from tests.mutants.operators import FUNCTIONS, PACKAGE

MOST, ENOUGH = 3, 0.75  # files of tests; of the lines that the one with most of them runs


def narrowest(lines: Path) -> dict[str, list[str]]:
    """Of those that run enough of its lines the ones that run the fewest files, from the notes of `lines`."""
    bodies = {one.relative_to(PACKAGE).as_posix(): _bodies(one) for one in sorted(PACKAGE.rglob("*.py"))}
    ran: dict[str, dict[str, int]] = {file: defaultdict(int) for file in bodies}  # by tests: lines as bits of a number
    with closing(sqlite3.connect(lines)) as notes:
        joined = "line_bits JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        for path, test, bits in notes.execute(f"SELECT path, context, numbits FROM {joined} WHERE context <> ''"):
            file = Path(path).relative_to(PACKAGE).as_posix()
            if file in bodies:  # templates are there, too
                ran[file][test.partition("::")[0]] |= int.from_bytes(bits, "little") & bodies[file]
    breadth = Counter(tests for each in ran.values() for tests, found in each.items() if found)
    return {file: _best({tests: one.bit_count() for tests, one in each.items()}, breadth) for file, each in ran.items()}


def _best(counts: dict[str, int], breadth: Counter[str]) -> list[str]:
    enough = max(1, ENOUGH * max(counts.values(), default=0))
    found = [tests for tests, count in counts.items() if count >= enough]
    return sorted(found, key=lambda tests: (breadth[tests], -counts[tests], tests))[:MOST]


def _bodies(path: Path) -> int:
    """The lines of its functions, without their heads, which run when the file is imported."""
    functions = [one for one in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(one, FUNCTIONS[:2])]
    lines = {line for one in functions for line in range(one.body[0].lineno, (one.end_lineno or 0) + 1)}
    return sum(1 << line for line in lines)
