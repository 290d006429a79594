"""The rules of the architecture, and what reads imports: rooms in order, no circles, engines at home, one door."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "dpselect"
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

# A room is a top-level module or sub-package of dpselect. A module imports from its own room or from earlier
# ones. `dpselect` is the package root itself: it re-exports everything up to the front door, so whoever imports
# from it stands after that. `testing` stands beside this row, see `may_import`.
ROOMS = (
    "errors", "_ground", "draws", "accounting", "aggregates", "texts", "mechanisms", "papers", "engines", "inspection",
    "release", "utility", "ledger", "audit", "questions", "rows", "filter_texts", "queries", "checking", "verbs",
    "asked_rows", "dataset", "flat", "forecast", "remote", "frames", "pandas", "polars", "dpselect", "demo", "mcp",
    "gateway", "command", "__main__",
)  # fmt: skip
# Rooms that never import some earlier ones.
APART = {
    "engines": {"accounting", "mechanisms"},
}
WHY_APART = {
    "engines": "what both need is in aggregates",
}
# What no other room imports: systems of papers, for tests and comparisons.
ALONE = {"papers"}
# Rooms whose files only they themselves name: others import from the package, which lists what it offers.
BEHIND_A_FRONT = {"ledger"}
# Methods that hand their work to a later room, which reads the value: by file and method the module that does it.
DOORS = {
    "ledger/ledger.py": {"plot": "dpselect.audit.spending", "verify": "dpselect.audit.verification"},
    "ledger/upgrade.py": {"_problems": "dpselect.audit.verification"},
    "queries/plan.py": {"from_dict": "dpselect.queries.planning"},
    "questions/questions.py": {"at": "dpselect.queries.planning", "forecast": "dpselect.forecast.guide"},
}
# The types of what these methods take and return, which are imported for type checkers alone.
TYPES_AT_DOORS = {
    "questions/questions.py": {
        "dpselect.forecast.Forecast", "dpselect.forecast.Population", "dpselect.queries.plan.Plan",
    },
}  # fmt: skip
LONGEST_DOOR = 4  # statements of a method that is one: docstring, a parsed argument, the call, what it returned
TESTING_SEES_UP_TO = "mechanisms"

AT_RUN_TIME = "(a name computed at run time)"
GATEWAY_ONLY = {"starlette", "uvicorn", "jinja2", "anyio", "joserfc", "pydantic", "pydantic_core"}
LAZY = {"ibis", "pandas", "polars", "pyarrow", "matplotlib", "narwhals", "psycopg", "pyspark", "shtab"}
LAZY |= {"deltalake", "fsspec", "pyiceberg"}
# Who imports one of these asks for the package, by its name.
ASKED_FOR = {"pandas.py": "pandas", "polars.py": "polars"}
# Of engines' parameters those that a question or a call says, and no source: all that they say was said by the caller.
WORDS_OF_A_QUESTION = {"domain", "tokenizer", "run", "types", "name"}
# What only an owner of data calls, of a source of their own: no analyst reads its errors.
CALLED_BY_OWNERS = {
    "engines/preparation.py", "engines/sources/scans/declarations.py",
}  # fmt: skip
RANDOMNESS = {
    "random", "secrets", "uuid", "numpy.random", "os.urandom", "os.getrandom", "ssl.RAND_bytes",
}  # fmt: skip
SQL_RANDOMNESS = ("random(", "uuid(", "uuidv4(", "uuidv7(", "setseed(", "using sample", "tablesample")


@dataclass(frozen=True)
class Import:
    """One imported name with its full dotted path, and whether it is imported only when a function runs."""

    name: str
    line: int
    lazy: bool
    door: bool = False

    def within(self, module: str) -> bool:
        """Is this `module` itself or something inside it?"""
        return self.name == module or self.name.startswith(module + ".")


# ---- what a source imports and touches --------------------------------------------------------------------


def imports(tree: ast.Module, package: str) -> Iterator[Import]:
    """Every import of a module, plain, relative or through importlib; `package` is the package it lies in."""
    for node, lazy in _statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, lazy)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                yield Import(f"{base}.{alias.name}", node.lineno, lazy)
        elif isinstance(node, ast.Call) and called(node) == "door" and node.args:
            yield Import(f"dpselect.{ast.literal_eval(node.args[0])}", node.lineno, lazy, door=True)
        elif isinstance(node, ast.Call) and called(node) in {"import_module", "__import__"} and node.args:
            first = node.args[0]
            name = first.value if isinstance(first, ast.Constant) else AT_RUN_TIME
            yield Import(str(name), node.lineno, lazy)


def _statements(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node, and whether it does not run when the module is imported: in a function, or for types only."""
    waiting: deque[tuple[ast.AST, bool]] = deque([(tree, False)])
    while waiting:
        node, lazy = waiting.popleft()
        yield node, lazy
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        body = set(node.body) if for_types else ()
        waiting.extend((child, lazy or child in body) for child in ast.iter_child_nodes(node))


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def attributes(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Dotted attributes of imported modules with the aliases undone: `np.random.x` is `numpy.random.x`."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                aliases[alias.asname or top] = alias.name if alias.asname else top
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, _, rest = ast.unparse(node).partition(".")
            if first in aliases:
                yield f"{aliases[first]}.{rest}", node.lineno


def sql_texts(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The strings of a module that are not docstrings, in lower case."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value.lower(), node.lineno


# ---- the rules --------------------------------------------------------------------------------------------


def room_of(path: str) -> str:
    """The room of a file, by its path inside the package: `draws/secure.py` lies in `draws`."""
    first = path.split("/", maxsplit=1)[0].removesuffix(".py")
    return "dpselect" if first == "__init__" else first


def may_import(room: str, other: str) -> bool:
    """Does the order of the rooms allow it?"""
    if room == other:
        return True
    if other == "testing" or other in ALONE:
        return False
    if other in APART.get(room, ()):
        return False
    reach = TESTING_SEES_UP_TO if room == "testing" else room
    return ROOMS.index(other) <= ROOMS.index(reach)


def violations(source: str, path: str) -> list[str]:
    """What a source breaks, one sentence each. `path` is relative to the package, with forward slashes."""
    tree = ast.parse(source)
    room = room_of(path)
    if room not in (*ROOMS, "testing"):
        return [f"{path}: the room {room} has no place in the order; add it to ROOMS in {Path(__file__).name}"]
    found = imports_of(source, package_of(path))
    return [
        f"src/dpselect/{path}:{line}: {message}"
        for line, message in [
            *wrong_rooms(found, room, path),
            *stray_engines(found, path),
            *eager_packages(found, path),
            *stray_randomness(tree, found, room),
            *told_of_sources(tree, path),
        ]
    ]


def wrong_rooms(found: list[Import], room: str, path: str) -> Iterator[tuple[int, str]]:
    """Imports against the order of the rooms. The package root re-exports, so it may name any room but those ALONE."""
    for one in found:
        if not one.within("dpselect") or is_at_a_door(one, path):
            continue
        parts = [*one.name.split("."), ""]
        other = parts[1] if parts[1] in (*ROOMS, "testing") else "dpselect"
        if path == "__init__.py" and other not in ALONE:
            continue
        if not may_import(room, other):
            yield one.line, f"{room} must not import {one.name}: {reason(room, other)}"
        elif other in BEHIND_A_FRONT and room != other and f"{other}/{parts[2]}.py" in FILES:
            yield one.line, f"{room} must not name {one.name}: what {other} offers is imported from dpselect.{other}"


def is_at_a_door(one: Import, path: str) -> bool:
    """Return whether it is the import of a door, or of a type at one. While modules load no arrow leads up there."""
    named = one.name in TYPES_AT_DOORS.get(path, ()) or (one.door and one.name in DOORS.get(path, {}).values())
    return one.lazy and named


def doors(source: str) -> Iterator[tuple[str, str, bool]]:
    """Yield of each door its function, the module behind it, and whether the function only passes through it."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and called(node) == "door":
                    (module, _), body = (ast.literal_eval(argument) for argument in node.args), function.body
                    last = body[-1]
                    passed = isinstance(last, ast.Return) and isinstance(last.value, ast.Name)
                    yield function.name, f"dpselect.{module}", passed and len(body) <= LONGEST_DOOR


def reason(room: str, other: str) -> str:
    """Why the order refuses it, said so that the reader can act."""
    if other == "testing":
        return "testing is for tests and is imported by no module"
    if other in ALONE:
        return f"{other} is imported by no other room; only tests and benchmarks use it"
    if room == "testing":
        return f"testing sees the rooms up to {TESTING_SEES_UP_TO} only"
    if other == "dpselect":
        return "the package root stands after the front door; import from the module that defines the name"
    if other in APART.get(room, ()):
        return f"{room} and {other} never import each other; {WHY_APART[room]}"
    return f"{other} stands after {room} (order: {', '.join(ROOMS)})"


def stray_engines(found: list[Import], path: str) -> Iterator[tuple[int, str]]:
    """DuckDB outside its own folder, psycopg, PySpark and web frameworks outside what speaks to them."""
    folder, _, file = path.rpartition("/")
    duckdb_home = folder == "engines/duckdb"
    psycopg_home = folder == "engines/postgres" or (folder == "ledger" and file.startswith("postgres_"))
    spark_home = folder == "engines/spark"
    ibis_home = folder == "engines/ibis"
    gateway_home = room_of(path) == "gateway"
    for one in found:
        if (one.within("duckdb") or one.within("_duckdb")) and not duckdb_home:
            yield one.line, "duckdb belongs in engines/duckdb/; ask the engine instead"
        if one.within("psycopg") and not psycopg_home:
            yield one.line, "psycopg belongs in engines/postgres/ and ledger/postgres_*.py"
        if (one.within("pyspark") or one.within("py4j")) and not spark_home:
            yield one.line, "pyspark belongs in engines/spark/"
        if one.within("ibis") and not ibis_home:
            yield one.line, "ibis belongs in engines/ibis/"
        if one.name.partition(".")[0] in GATEWAY_ONLY and not gateway_home:
            yield one.line, "web frameworks belong in gateway/"


def eager_packages(found: list[Import], path: str) -> Iterator[tuple[int, str]]:
    """Optional packages imported as soon as the module is."""
    for one in found:
        top = one.name.partition(".")[0]
        if top in LAZY and not one.lazy and ASKED_FOR.get(path) != top:
            yield (
                one.line,
                f"{top} is optional and slow to import: import it inside the function that uses it",
            )


def stray_randomness(tree: ast.Module, found: list[Import], room: str) -> Iterator[tuple[int, str]]:
    """Randomness from anywhere but `draws`, in Python or in an engine's SQL."""
    if room == "draws":
        return
    names = [(one.name, one.line) for one in found] + list(attributes(tree))
    lines = {
        line: source for name, line in names for source in RANDOMNESS if name == source or name.startswith(source + ".")
    }
    for line, source in sorted(lines.items()):
        yield line, f"{source} is refused here: all randomness comes through dpselect.draws"
    for text, line in sql_texts(tree) if room in ("engines", "inspection") else ():
        for word in SQL_RANDOMNESS:
            if word in text:
                yield line, f"SQL says {word!r}: all randomness comes through dpselect.draws"


def told_of_sources(tree: ast.Module, path: str) -> Iterator[tuple[int, str]]:
    """An engine's ParameterError, which an analyst of a gateway may read, about anything but what a question says."""
    if not path.startswith("engines/") or path.startswith("engines/filters/") or path in CALLED_BY_OWNERS:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) == "ParameterError":
            first = node.args[0] if node.args else None
            if not (isinstance(first, ast.Constant) and first.value in WORDS_OF_A_QUESTION):
                yield node.lineno, "what an engine says of a source is a SourceError, which a gateway keeps for its log"


# ---- circles ----------------------------------------------------------------------------------------------


def sources() -> dict[str, str]:
    """The text of every file of the package, by its path in it."""
    return {path: (PACKAGE / path).read_text("utf-8") for path in FILES}


def package_imports(sources: Mapping[str, str]) -> Iterator[tuple[str, Import]]:
    """Every import of something of the package, at the top, in functions and for types alike: (file, import).

    Doors to later rooms are left out.
    """
    for path, source in sources.items():
        for one in imports_of(source, package_of(path)):
            if one.within("dpselect") and not is_at_a_door(one, path):
                yield path, one


@cache
def imports_of(source: str, package: str) -> list[Import]:
    """All imports of a file, read once however often its text is looked at."""
    return list(imports(ast.parse(source), package))


def package_of(path: str) -> str:
    """The package that a file lies in."""
    return ".".join(["dpselect", *path.split("/")[:-1]])


def import_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """For every file of the package the files it imports."""
    graph: dict[str, set[str]] = {path: set() for path in sources}
    for path, one in package_imports(sources):
        file = file_of(one.name, sources)
        if file is not None:
            graph[path].add(file)
    return graph


def room_graph(files: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """For every room the other rooms it imports. The package root re-exports, so it is none."""
    graph: dict[str, set[str]] = {room_of(path): set() for path in files if path != "__init__.py"}
    for path, others in files.items():
        for other in others:
            if "__init__.py" not in (path, other) and room_of(path) != room_of(other):
                graph[room_of(path)].add(room_of(other))
    return graph


def file_of(name: str, files: Collection[str]) -> str | None:
    """The file that an imported name comes from: the module itself, or the one that defines or re-exports the name."""
    if name.partition(".")[0] != "dpselect":
        return None
    parts = name.split(".")[1:]
    for path in ("/".join(parts), "/".join(parts[:-1])):
        for file in (f"{path}.py", f"{path}/__init__.py".removeprefix("/")):
            if file in files:
                return file
    return None


def circle(graph: Mapping[str, Collection[str]]) -> list[str]:
    """Files of which each imports the one before it, and the first is the last; none where there is no such circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []
