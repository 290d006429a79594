"""The architecture, kept by a test: imports run one way, engines stay at home, randomness has one door."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "dpselect"

# A room is a top-level module or sub-package of dpselect. A module imports from its own room or from earlier
# ones. `dpselect` is the package root itself: it re-exports everything up to the session, so whoever imports
# from it stands after the session. `testing` stands beside this row, see `may_import`.
ROOMS = (
    "errors", "claims", "processes", "parameters", "reals", "privacy", "accounting", "draws", "histogram", "user_sets",
    "texts", "grid", "kernels", "mechanisms", "engines",
    "forms", "plots", "accuracy", "statement", "typed", "release_json", "leaflet", "saving", "release", "archive",
    "counting", "plans", "union_accuracy", "unions", "union_answers", "engine_unions", "discovery",
    "planning", "answers", "prospects", "questions", "ledger", "payments", "deposits", "verbs", "quantiles", "dataset",
    "inspection", "session", "dpselect", "demo",
    "options", "ledger_arguments", "union_arguments", "plan_arguments", "inspect_arguments", "arguments",
    "ledger_command", "output", "progress", "asking", "union_command", "plan_command", "inspect_command", "cli",
    "__main__",
)  # fmt: skip
TESTING_SEES_UP_TO = "mechanisms"

LAZY = {"pandas", "polars", "pyarrow", "matplotlib", "narwhals", "numba", "psycopg", "pyspark"}
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

    def within(self, module: str) -> bool:
        """Is this `module` itself or something inside it?"""
        return self.name == module or self.name.startswith(module + ".")


# ---- what a source imports and touches --------------------------------------------------------------------


def imports(tree: ast.Module, package: str) -> Iterator[Import]:
    """Every import of a module, plain, relative or through importlib; `package` is the package it lies in."""
    lazy = lazy_nodes(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, node in lazy)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                yield Import(f"{base}.{alias.name}", node.lineno, node in lazy)
        elif isinstance(node, ast.Call) and called(node) in {"import_module", "__import__"} and node.args:
            first = node.args[0]
            name = first.value if isinstance(first, ast.Constant) else "(a name computed at run time)"
            yield Import(str(name), node.lineno, node in lazy)


def lazy_nodes(tree: ast.Module) -> set[ast.AST]:
    """The nodes that do not run when the module is imported: in functions, and under TYPE_CHECKING."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found.update(ast.walk(node))
        elif isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            found.update(inner for statement in node.body for inner in ast.walk(statement))
    return found


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
    if other == "testing":
        return False
    reach = TESTING_SEES_UP_TO if room == "testing" else room
    return ROOMS.index(other) <= ROOMS.index(reach)


def violations(source: str, path: str) -> list[str]:
    """What a source breaks, one sentence each. `path` is relative to the package, with forward slashes."""
    tree = ast.parse(source)
    room = room_of(path)
    if room not in (*ROOMS, "testing"):
        return [f"{path}: the room {room} has no place in the order; add it to ROOMS in {Path(__file__).name}"]
    package = ".".join(["dpselect", *path.split("/")[:-1]])
    found = list(imports(tree, package))
    return [
        f"src/dpselect/{path}:{line}: {message}"
        for line, message in [
            *wrong_rooms(found, room, path),
            *stray_engines(found, path),
            *eager_packages(found),
            *stray_randomness(tree, found, room),
        ]
    ]


def wrong_rooms(found: list[Import], room: str, path: str) -> Iterator[tuple[int, str]]:
    """Imports against the order of the rooms. The package root only re-exports, so it may name every room."""
    for one in found:
        if not one.within("dpselect") or path == "__init__.py":
            continue
        parts = [*one.name.split("."), ""]
        other = parts[1] if parts[1] in (*ROOMS, "testing") else "dpselect"
        if not may_import(room, other):
            yield one.line, f"{room} must not import {one.name}: {reason(room, other)}"


def reason(room: str, other: str) -> str:
    """Why the order refuses it, said so that the reader can act."""
    if other == "testing":
        return "testing is for tests and is imported by no module"
    if room == "testing":
        return f"testing sees the rooms up to {TESTING_SEES_UP_TO} only"
    if other == "dpselect":
        return "the package root stands after session; import from the module that defines the name"
    return f"{other} stands after {room} (order: {', '.join(ROOMS)})"


def stray_engines(found: list[Import], path: str) -> Iterator[tuple[int, str]]:
    """DuckDB outside the engines that say so in their file names, psycopg and PySpark outside what speaks to them."""
    folder, _, file = path.rpartition("/")
    duckdb_home = folder == "engines" and "duckdb" in file
    psycopg_home = folder in ("engines", "ledger") and file.startswith("postgres_")
    spark_home = folder == "engines" and file.startswith("spark_")
    for one in found:
        if one.within("duckdb") and not duckdb_home:
            yield one.line, "duckdb belongs in engines/duckdb_engine.py; ask the engine instead"
        if one.within("psycopg") and not psycopg_home:
            yield one.line, "psycopg belongs in engines/postgres_*.py and ledger/postgres_*.py"
        if (one.within("pyspark") or one.within("py4j")) and not spark_home:
            yield one.line, "pyspark belongs in engines/spark_*.py"


def eager_packages(found: list[Import]) -> Iterator[tuple[int, str]]:
    """Optional packages imported as soon as the module is."""
    for one in found:
        top = one.name.partition(".")[0]
        if top in LAZY and not one.lazy:
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
    for text, line in sql_texts(tree) if room == "engines" else ():
        for word in SQL_RANDOMNESS:
            if word in text:
                yield line, f"SQL says {word!r}: all randomness comes through dpselect.draws"


# ---- the project ------------------------------------------------------------------------------------------

FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def test_there_is_something_to_check() -> None:
    assert {"errors.py", "histogram.py"} <= set(FILES)


@pytest.mark.parametrize("path", FILES)
def test_architecture(path: str) -> None:
    broken = violations((PACKAGE / path).read_text("utf-8"), path)
    assert not broken, "\n" + "\n".join(broken)


def test_pins_hold_no_address() -> None:
    """Versions and hashes only: where packages come from is the reader's own choice."""
    for path in sorted((ROOT / "requirements").iterdir()):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            words = line.strip().removesuffix("\\").split()
            option = bool(words) and words[0].startswith("-") and not words[0].startswith("--hash=sha256:")
            assert "://" not in line, f"requirements/{path.name}:{number} holds an address"
            assert not option, f"requirements/{path.name}:{number} holds an option of an installer"


# ---- the checker itself: each rule refuses its twin, and lets its neighbour pass --------------------------

REFUSED = {
    "later room": (
        "draws/secure.py",
        "from dpselect.engines.port import Engine",
        "engines stands after draws",
    ),
    "later room by plain import": ("errors.py", "import dpselect.cli", "cli stands after errors"),
    "later room through the package": (
        "draws/port.py",
        "from dpselect import session",
        "session stands after",
    ),
    "later room, relative": ("draws/port.py", "from ..mechanisms import peeling", "mechanisms stands after"),
    "later room, relative from a module": ("privacy.py", "from . import draws", "draws stands after privacy"),
    "later room, lazily": (
        "privacy.py",
        "def f():\n    from dpselect.draws import Draws",
        "draws stands after",
    ),
    "later room, for types only": (
        "privacy.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dpselect.draws import Draws",
        "privacy.py:3: ",
    ),
    "later room by importlib": (
        "histogram.py",
        "import importlib\nimportlib.import_module('dpselect.release')",
        "release stands after histogram",
    ),
    "the package root": (
        "mechanisms/peeling.py",
        "from dpselect import Session",
        "import from the module that",
    ),
    "testing": ("draws/port.py", "from dpselect.testing import ExactDraws", "testing is for tests"),
    "testing by the command": ("cli.py", "import dpselect.testing", "testing is for tests"),
    "testing reaches too far": ("testing.py", "from dpselect.engines import port", "up to mechanisms only"),
    "testing in a package": (
        "testing/exact.py",
        "from dpselect.dataset import Dataset",
        "up to mechanisms only",
    ),
    "unknown room": ("helpers.py", "", "has no place in the order"),
    "duckdb elsewhere": ("dataset.py", "def f():\n    import duckdb", "belongs in engines/duckdb_engine.py"),
    "duckdb in another engine": ("engines/polars_engine.py", "from duckdb import sql", "belongs in engines/"),
    "duckdb by importlib": ("demo.py", "__import__('duckdb')", "belongs in engines/duckdb_engine.py"),
    "psycopg elsewhere": ("dataset.py", "def f():\n    import psycopg", "psycopg belongs in engines/postgres_"),
    "psycopg in DuckDB's engine": ("engines/duckdb_engine.py", "def f():\n    import psycopg", "psycopg belongs in"),
    "duckdb in PostgreSQL's engine": ("engines/postgres_database.py", "import duckdb", "belongs in engines/duckdb_"),
    "pyspark elsewhere": ("dataset.py", "def f():\n    import pyspark", "pyspark belongs in engines/spark_"),
    "pyspark in another engine": (
        "engines/frames.py",
        "def f():\n    from pyspark.sql import DataFrame",
        "pyspark belongs in engines/spark_",
    ),
    "pyspark's own door to Java": ("engines/sql_engine.py", "def f():\n    import py4j.protocol", "pyspark belongs in"),
    "eager pyspark": ("engines/spark_source.py", "from pyspark.sql import SparkSession", "pyspark is optional"),
    "eager psycopg": ("engines/postgres_workspace.py", "import psycopg", "psycopg is optional"),
    "eager pandas": ("dataset.py", "import pandas as pd", "pandas is optional"),
    "eager pyarrow": (
        "engines/duckdb_engine.py",
        "from pyarrow.parquet import read_table",
        "pyarrow is optional",
    ),
    "eager in a class": ("plots.py", "class A:\n    import matplotlib.pyplot", "matplotlib is optional"),
    "eager under a condition": (
        "release.py",
        "try:\n    import polars\nexcept ImportError: ...",
        "polars is",
    ),
    "random": ("mechanisms/peeling.py", "import random", "random is refused here"),
    "random, lazily": ("demo.py", "def f():\n    from random import Random", "random is refused here"),
    "secrets": ("accounting/ledger.py", "from secrets import token_bytes", "secrets is refused here"),
    "uuid": ("accounting/ledger.py", "import uuid", "uuid is refused here"),
    "numpy.random": ("session.py", "import numpy.random as r", "numpy.random is refused here"),
    "numpy.random by from": ("session.py", "from numpy import random", "numpy.random is refused here"),
    "numpy.random inside": (
        "session.py",
        "from numpy.random import default_rng",
        "numpy.random is refused here",
    ),
    "numpy.random as attribute": ("demo.py", "import numpy as np\nnp.random.default_rng(7)", "demo.py:2: "),
    "os.urandom": ("engines/port.py", "import os\nos.urandom(8)", "os.urandom is refused here"),
    "os.urandom renamed": (
        "engines/port.py",
        "import os as o\nkey = o.urandom",
        "os.urandom is refused here",
    ),
    "os.urandom by from": ("testing.py", "from os import urandom", "os.urandom is refused here"),
    "random of the engine": ("engines/duckdb_engine.py", "SQL = 'ORDER BY RANDOM()'", "SQL says 'random('"),
    "sample of the engine": (
        "engines/bounding.py",
        "q = f'FROM {t} USING SAMPLE 10'",
        "SQL says 'using sample'",
    ),
}

ALLOWED = {
    "earlier room": ("mechanisms/peeling.py", "from dpselect.draws import Draws"),
    "own room": ("draws/secure.py", "from dpselect.draws.port import Draws\nfrom .weights import Weights"),
    "root re-exports": ("__init__.py", "def __getattr__(name):\n    from dpselect.cli import main"),
    "command uses the root": ("cli.py", "from dpselect import Session"),
    "module form of the command": ("__main__.py", "from dpselect.cli import main"),
    "testing looks at mechanisms": ("testing.py", "from dpselect.mechanisms import peeling"),
    "duckdb at home": ("engines/duckdb_engine.py", "import duckdb"),
    "duckdb beside its home": ("engines/duckdb_tables.py", "from duckdb import DuckDBPyConnection"),
    "psycopg in its engine": ("engines/postgres_workspace.py", "def f():\n    import psycopg"),
    "psycopg in its ledger": ("ledger/postgres_store.py", "def f():\n    from psycopg.conninfo import make_conninfo"),
    "pyspark in its engine": ("engines/spark_source.py", "def f():\n    from pyspark.sql import SparkSession"),
    "lazy pandas": ("dataset.py", "def f():\n    import pandas as pd"),
    "pandas for types": ("dataset.py", "import typing\nif typing.TYPE_CHECKING:\n    import pandas as pd"),
    "randomness behind its door": (
        "draws/secure.py",
        "import os, secrets\nimport numpy as np\nos.urandom(8)",
    ),
    "a name that only looks random": ("demo.py", "import randomness\nself.random = 1\nrandom.x"),
    "prose about randomness": ("engines/port.py", "'''No random() here.'''"),
    "another package of a similar name": ("dataset.py", "import duckdb_types, dpselector"),
}


@pytest.mark.parametrize(("path", "source", "message"), REFUSED.values(), ids=list(REFUSED))
def test_checker_refuses(path: str, source: str, message: str) -> None:
    found = violations(source, path)
    assert len(found) == 1, found
    assert message in found[0]


@pytest.mark.parametrize(("path", "source"), ALLOWED.values(), ids=list(ALLOWED))
def test_checker_allows(path: str, source: str) -> None:
    assert violations(source, path) == []


def test_order_is_total() -> None:
    """Of two different rooms exactly one may import the other, so no cycle can ever form."""
    for room in ROOMS:
        for other in ROOMS:
            assert may_import(room, other) + may_import(other, room) == (2 if room == other else 1)
