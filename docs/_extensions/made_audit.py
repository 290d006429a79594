"""The trusted base as an auditor reads it: every file with its code lines, what it does, its proof, tests and twins."""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections.abc import Collection, Iterator
from functools import cache

from made_methods import table
from repository import DOCS, ROOT

sys.path.insert(0, str(ROOT))  # the rules of the architecture are the tests'
from tests.house.reading_load import published
from tests.house.rules import FILES, PACKAGE, file_of, imports_of, package_of, room_of
from tests.house.trusted import (
    ADAPTERS,
    BASE,
    MAY_NAME,
    adapter_files,
    base_files,
    code_lines,
    core_files,
    needs,
    total_lines,
)

MOST_TESTS = 3
PROOFS = ("exact-draws.md", "accounting.md", "composing.md")  # they name the files that they are about


def rooms(_page: str, _argument: str) -> str:
    """The rooms of the core in reading order: their size, and what became of faults planted in them."""
    with (ROOT / "benchmarks" / "results" / "mutants.csv").open(encoding="utf-8") as lines:
        planted = {row["room"]: row for row in csv.DictReader(lines)}
    found = []
    for room in BASE:
        files = [file for file in core_files() if room_of(file) == room]
        found.append([f"`{room}`", *_size(files), _noticed(planted.get(room))])
    found.append(["the core", *_size(core_files()), ""])
    found.append(["with all adapters", *_size(base_files()), ""])
    return table(["room", "files", "code lines", "planted faults"], found)


def adapters(_page: str, _argument: str) -> str:
    """What each kind of source adds to read, to the core alone."""
    found = []
    for name in ADAPTERS:
        needed = " and ".join(needs(name)) or "nothing"
        found.append([name, *_size(adapter_files(name)), needed])
    return table(["who uses", "reads so many files more", "code lines", "and those of"], found)


def adapter_table(_page: str, _argument: str) -> str:
    """The files of all adapters."""
    found = [[name, *_row(file)] for name in ADAPTERS for file in adapter_files(name)]
    return table(["of", "file", "lines", "what it does", "tests and twins"], found)


def load(_page: str, _argument: str) -> str:
    """What a question runs of the base, as it was measured."""
    found = [[f"`{one.question}`", str(one.files), f"{one.lines:,}", f"{one.run:,}"] for one in published()]
    return table(["question of a Parquet file", "files", "their code lines", "of these in functions that run"], found)


def _size(files: Collection[str]) -> list[str]:
    return [str(len(files)), f"{total_lines(files):,}"]


def _noticed(row: dict[str, str] | None) -> str:
    """What became of the faults that were tried; those drawn and not begun say nothing about the tests."""
    if row is None:
        return "none planted"
    tried = int(row["mutants"]) - int(row["not_begun"])
    noticed = int(row["killed"]) + int(row["killed_by_tests_written_now"])
    slow = row["killed_by_slow_tests"]
    return f"{tried} of {row['mutants']} tried: {noticed} noticed, {slow} by slow tests only, {row['survived']} missed"


def files(_page: str, places: str) -> str:
    """The files of the core in some folders, and some files."""
    found = [file for place in places.split() for file in core_files() if place in (file, file.rpartition("/")[0])]
    return table(["file", "lines", "what it does", "tests and twins"], map(_row, found))


def others(_page: str, _argument: str) -> str:
    """What each room outside the base may name of the rooms that hold rows, counts and coins."""
    guarded = sorted(({room_of(file) for file in FILES} | {*MAY_NAME}) - {*BASE, "testing", "dpselect"})
    names = {room: ", ".join(f"`{name}`" for name in MAY_NAME.get(room, ())) or "nothing" for room in guarded}
    return table(["room", "may name"], ([f"`{room}`", said] for room, said in names.items()))


def _row(file: str) -> list[str]:
    text, docstring = _text(file), _docstring(file)
    said = docstring.partition("\n")[0].replace("|", "\\|")
    tests, twins = [], []
    for path, names in _named().items():
        if file in names:
            (twins if path.startswith("tests/twins/") else tests).append(path)
    most = sorted(tests, key=lambda path: (len(_named()[path]), path))[:MOST_TESTS]
    paths = [*most, *twins[:MOST_TESTS]] or _run_it()[file]
    shown = [f"`{path.removeprefix('tests/')}`" for path in paths]
    more = len(tests) + len(twins) - len(paths)
    words = [*shown, f"{more} more"] if more > 0 else shown
    return [f"`{file}`{_proof(file, text, docstring)}", str(len(code_lines(file))), said, ", ".join(words)]


def _proof(file: str, text: str, docstring: str) -> str:
    """A link to the first page that the file names at its top, or to the one that names it or a mechanism of it."""
    for page in re.findall(r"docs/([\w/-]+\.md)", docstring):
        return f" ([proof](../{page}))"
    for page in PROOFS:
        if f"`{file}`" in (DOCS / page).read_text("utf-8"):
            return f" ([proof](../{page}))"
    for name in re.findall(r"^class (\w+)", text, re.MULTILINE) if file.startswith("mechanisms/") else ():
        for path in sorted((DOCS / "mechanisms").glob("*.md")):
            if re.search(rf"(?<!\[)`{name}`", path.read_text("utf-8")):
                return f" ([proof](../mechanisms/{path.name}))"
    return ""


@cache
def _run_it() -> dict[str, list[str]]:
    """For every file of the package the files of tests that run most of it and little else."""
    with (ROOT / "benchmarks" / "results" / "tests_of_files.csv").open(encoding="utf-8") as lines:
        return {row["file"]: row["tests"].split() for row in csv.DictReader(lines)}


@cache
def _named() -> dict[str, set[str]]:
    """For every file of tests the files of the package that it imports, through the rooms that re-export names."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        names = set(_defined(path.read_text("utf-8")))
        if names:
            found[path.relative_to(ROOT).as_posix()] = names
    return found


def _defined(text: str) -> Iterator[str]:
    for one in imports_of(text, "tests"):
        file = file_of(one.name, FILES)
        if file is None:
            continue
        again = [name for name in imports_of(_text(file), package_of(file)) if file.endswith("__init__.py")]
        last = one.name.rpartition(".")[2]
        homes = [file_of(name.name, FILES) for name in again if name.name.rpartition(".")[2] == last]
        yield next((home for home in homes if home), file)


@cache
def _text(file: str) -> str:
    return (PACKAGE / file).read_text("utf-8")


@cache
def _docstring(file: str) -> str:
    """What the file says of itself."""
    return ast.get_docstring(ast.parse(_text(file))) or ""
