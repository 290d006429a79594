"""The house in numbers: `python -m tests.house.measure [SRC]`, where SRC is the `src` folder of any checkout.

Rooms, floors, arrows and circles are counted from imports, those for types and those inside functions included. Walks
are traced: a small question of each verb is asked, without a ledger, and every function of the package counts once,
in the order of first calls. A return is a first call into a file that the walk had left already.

A traced walk is longer than what a reader must follow, so the same trace is also read as a person reads (`followed`):
parameters, sentences and numbers are trusted by their names, and so is what lies behind a door (one call of a draw, or
into the engine's own SQL and scans, is one step). A hop is a call into another file, and a return is a hop into a file
that the walk had left: coming back from a call is a part of it. `--walk` prints these steps.
"""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.house.rules import PACKAGE, circles, import_graph, room_of

VERBS = ("top_k", "union", "quantile", "choose")
WALK = """
import sys, threading, dpselect
home, verb = sys.argv[1], sys.argv[2]
assert dpselect.__file__.startswith(home), dpselect.__file__
rows = {"user": [u for u in range(300) for _ in range(2)], "item": [i for u in range(300) for i in ("a", f"b{u % 3}")]}
ages = {"user": list(range(300)), "item": [u % 90 for u in range(300)]}
data = dpselect.Dataset(ages if verb == "quantile" else rows, user="user", item="item")
ask = {
    "top_k": lambda e: data.top_k(3, epsilon=e, delta="1e-6"),
    "union": lambda e: data.union(epsilon=e, delta="1e-6"),
    "quantile": lambda e: data.quantile(0.5, bounds=(0, 120), step=1, epsilon=e),
    "choose": lambda e: data.choose(domain=["a", "b0", "b1", "b2"], epsilon=e),
}[verb]
ask(2)  # so that no import is part of the walk
seen = {}
def watch(frame, event, _):
    code = frame.f_code
    if event != "call" or code in seen or not ours(code):
        return
    caller = frame.f_back
    while caller is not None and not ours(caller.f_code):
        caller = caller.f_back
    seen[code] = code.co_filename[len(home) + 1:], caller.f_code if caller else None
def ours(code):
    return code.co_filename.startswith(home) and (code.co_name == "<lambda>" or not code.co_name.startswith("<"))
threading.setprofile(watch)
sys.setprofile(watch)
ask(3)
sys.setprofile(None)
threading.setprofile(None)
place = {code: at for at, code in enumerate(seen)}
for code, (file, caller) in seen.items():
    print(file, code.co_qualname.replace(".<locals>", ""), code.co_firstlineno, place.get(caller, -1))
"""
# What a reader trusts by its name: parsed parameters, sentences, amounts, numbers. By the beginnings of paths.
TRUSTED = (
    "accounting/", "domain", "engines/identity", "engines/memory", "errors", "first_use", "mechanisms/port",
    "mechanisms/top_k/gaps", "mechanisms/widths", "methods", "parameters", "privacy", "processes", "reals",
    "release/accuracy", "release/formatting", "release/statement", "temporary",
)  # fmt: skip
DOORS = ("aggregates/", "draws/", "engines/", "texts/")  # the first step inside counts, and no further one
READ = ("engines/duckdb/engine", "engines/duckdb/questions", "engines/port", "engines/registry")  # no doors
NAMES = {
    "is_postgres", "is_spark", "native", "fresh_key", "refuse_inner",  # what it is, or may not be
    "gap", "has_curve", "level_shares", "reach", "users_for",  # numbers
}  # fmt: skip


def texts(package: Path) -> dict[str, str]:
    """The text of every file of a package, by its path in it."""
    return {path.relative_to(package).as_posix(): path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}


def room_graph(files: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """For every room the other rooms it imports. The package root re-exports, so it is none."""
    graph: dict[str, set[str]] = {room_of(path): set() for path in files if path != "__init__.py"}
    for path, others in files.items():
        for other in others:
            if "__init__.py" not in (path, other) and room_of(path) != room_of(other):
                graph[room_of(path)].add(room_of(other))
    return graph


def floors(graph: Mapping[str, set[str]]) -> int:
    """The longest chain of rooms that import one another."""

    @functools.cache
    def height(room: str) -> int:
        return 1 + max(map(height, graph[room]), default=0)

    return max(map(height, graph))


def fields_of(source: str, name: str) -> int:
    """The annotated fields of a class."""
    kinds = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef) and node.name == name]
    return sum(isinstance(one, ast.AnnAssign) and ast.unparse(one.target) != "_" for one in kinds[0].body)


@dataclass(frozen=True)
class Step:
    """A function that ran: where it is, and the place of its caller in the walk (-1: none of ours)."""

    file: str
    name: str
    line: int
    caller: int


def walk(package: Path, verb: str) -> list[Step]:
    """Every function that a question of this verb calls, in the order of first calls."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    command = [sys.executable, "-W", "ignore", "-c", WALK, str(package), verb]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=package)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [Step(file, name, int(line), int(caller)) for file, name, line, caller in rows]


def followed(package: Path, steps: Sequence[Step]) -> tuple[list[Step], list[str]]:
    """What a reader must follow of a walk, in its order, and the files that it hops into."""
    kept: dict[int, Step] = {}
    page: dict[int, int] = {-1: -1}  # the step on whose page a function is; what is left out has none
    for at, step in enumerate(steps):
        outer = [n for n, one in kept.items() if step.file == one.file and step.name.startswith(one.name + ".")]
        if outer:
            page[at] = outer[0]  # defined inside of it, whoever calls it
            continue
        above = kept[page[step.caller]].file if page.get(step.caller, -1) >= 0 else ""
        door = step.file.startswith(DOORS) and not step.file.startswith(READ)
        behind = door and above.startswith(DOORS) and not above.startswith(READ)
        made = door and step.name.endswith(("__post_init__", ".of"))  # of a value: its parameters are looked at
        trusted = step.file.startswith(TRUSTED) or step.name.rpartition(".")[2] in NAMES
        again = door and any(one.file == step.file for one in kept.values())
        if step.caller in page and not (behind or made or trusted or again):
            kept[at], page[at] = step, at
    callers = {at: page[step.caller] for at, step in kept.items()}
    for at in sorted(kept, reverse=True):  # one statement that leads nowhere: its name says it
        door = kept[at].file.startswith(DOORS) and not kept[at].file.startswith(READ)
        leads = any(callers[one] == at for one in kept)
        if not leads and not door and statements(package / kept[at].file, kept[at].line) <= 1:
            del kept[at]
    hops = [step.file for at, step in kept.items() if callers[at] >= 0 and steps[callers[at]].file != step.file]
    return list(kept.values()), hops


@functools.cache
def lengths(file: Path) -> dict[int, int]:
    """How many statements every function of a file has, by its first line; a docstring is none."""
    found = {}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            body = [one for one in ast.walk(node) if isinstance(one, ast.stmt) and one is not node]
            found[first] = len(body) - (ast.get_docstring(node) is not None)
    return found


def statements(file: Path, line: int) -> int:
    """How many statements the function has that begins there."""
    return lengths(file).get(line, 2)


def returns(files: list[str]) -> int:
    """How often a list of files comes back to one that was left."""
    steps = [file for at, file in enumerate(files) if at == 0 or files[at - 1] != file]
    return len(steps) - len(set(steps))


def public_names(package: Path) -> int:
    """How many names the package root offers."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    command = [sys.executable, "-c", "import dpselect; print(len(dpselect.__all__))"]
    return int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=package).stdout)


def measures(package: Path) -> dict[str, str]:
    """Every number, by what it counts."""
    sources = texts(package)
    graph = import_graph(sources)
    rooms = room_graph(graph)
    found = circles(graph)
    lines = {file: text.count("\n") for file, text in sources.items()}
    numbers = {
        "rooms": len(rooms),
        "floors (longest chain of rooms)": floors(rooms),
        "arrows from room to room": sum(map(len, rooms.values())),
        "files": len(sources),
        "arrows from file to file": sum(map(len, graph.values())),
        "files in circles": len({file for way in found for file in way}),
        "lines of src": sum(lines.values()),
        "lines of the longest file": max(lines.values()),
        "public names": public_names(package),
        "fields of Dataset": fields_of(sources["dataset.py"], "Dataset"),
    }
    said = {name: f"{number:,}" for name, number in numbers.items()}
    for verb in VERBS:
        steps = walk(package, verb)
        files = [step.file for step in steps if not step.name.endswith("<lambda>")]
        said[f"traced walk of {verb}"] = f"{len(files)} functions, {len(set(files))} files, {returns(files)} returns"
        read, hops = followed(package, steps)
        files = {step.file for step in read}
        said[f"by reading, {verb}"] = f"{len(hops)} hops, {len(files)} files, {returns(['dataset.py', *hops])} returns"
    return said


def main(words: list[str]) -> None:
    """Print them as a table."""
    named = [word for word in words if not word.startswith("-")]
    source = Path(named[0]).resolve() if named else PACKAGE.parent
    package = source if (source / "dataset.py").exists() else source / "dpselect"
    if "--walk" not in words:
        for name, number in measures(package).items():
            sys.stdout.write(f"{name:34}{number:>14}\n")
        return
    for verb in VERBS:
        read, hops = followed(package, walk(package, verb))
        sys.stdout.write(f"{verb}: {len(hops)} hops\n")
        sys.stdout.writelines(f"    {step.file}: {step.name}\n" for step in read)


if __name__ == "__main__":
    main(sys.argv[1:])
