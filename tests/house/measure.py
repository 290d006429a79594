"""The house in numbers: `python -m tests.house.measure [SRC]`, where SRC is the `src` folder of any checkout.

Rooms, floors, arrows and circles are counted from imports, those for types and those inside functions included. Walks
are traced: a small question of each verb is asked, without a ledger, and every function of the package counts once,
in the order of first calls. A return is a first call into a file that the walk had left already.
"""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from collections.abc import Mapping
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
    if event == "call" and code.co_filename.startswith(home) and not code.co_name.startswith("<"):
        seen.setdefault(code, code.co_filename[len(home) + 1:])
threading.setprofile(watch)
sys.setprofile(watch)
ask(3)
sys.setprofile(None)
threading.setprofile(None)
print("\\n".join(f"{file}:{code.co_name}" for code, file in seen.items()))
"""


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


def walk(package: Path, verb: str) -> list[str]:
    """file:function for every function that a question of this verb calls, in the order of first calls."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    command = [sys.executable, "-W", "ignore", "-c", WALK, str(package), verb]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=package)
    return done.stdout.split()


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
    lengths = {file: text.count("\n") for file, text in sources.items()}
    numbers = {
        "rooms": len(rooms),
        "floors (longest chain of rooms)": floors(rooms),
        "arrows from room to room": sum(map(len, rooms.values())),
        "files": len(sources),
        "arrows from file to file": sum(map(len, graph.values())),
        "files in circles": len({file for way in found for file in way}),
        "lines of src": sum(lengths.values()),
        "lines of the longest file": max(lengths.values()),
        "public names": public_names(package),
        "fields of Dataset": fields_of(sources["dataset.py"], "Dataset"),
    }
    said = {name: f"{number:,}" for name, number in numbers.items()}
    for verb in VERBS:
        files = [step.rpartition(":")[0] for step in walk(package, verb)]
        said[f"traced walk of {verb}"] = f"{len(files)} functions, {len(set(files))} files, {returns(files)} returns"
    return said


def main(words: list[str]) -> None:
    """Print them as a table."""
    source = Path(words[0]).resolve() if words else PACKAGE.parent
    for name, number in measures(source if (source / "dataset.py").exists() else source / "dpselect").items():
        sys.stdout.write(f"{name:34}{number:>14}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
