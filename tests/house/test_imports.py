"""The architecture, kept by a test: imports run one way, engines stay at home, randomness has one door."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

import dpselect
from dpselect._ground.methods import METHODS
from tests.house.rules import (
    ALONE,
    APART,
    DOORS,
    FILES,
    PACKAGE,
    ROOMS,
    ROOT,
    TYPES_AT_DOORS,
    doors,
    import_graph,
    imports,
    may_import,
    package_of,
    room_of,
    sources,
    violations,
)

# ---- the project ------------------------------------------------------------------------------------------


def test_there_is_something_to_check() -> None:
    assert {"errors.py", "aggregates/count_groups.py"} <= set(FILES)


def test_architecture() -> None:
    broken = [found for path in FILES for found in violations((PACKAGE / path).read_text("utf-8"), path)]
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
    "later room, relative": ("draws/port.py", "from ..mechanisms import peeling", "mechanisms stands after"),
    "later room, lazily": (
        "_ground/privacy.py",
        "def f():\n    from dpselect.draws import Draws",
        "draws stands after _ground",
    ),
    "later room by importlib": (
        "aggregates/count_groups.py",
        "import importlib\nimportlib.import_module('dpselect.release.release')",
        "release stands after aggregates",
    ),
    "the package root": (
        "mechanisms/top_k/peeling.py",
        "from dpselect import Budget",
        "import from the module that",
    ),
    "testing": ("draws/port.py", "from dpselect.testing import ExactDraws", "testing is for tests"),
    "testing by the command": ("command/main.py", "import dpselect.testing", "testing is for tests"),
    "papers": ("queries/top/set.py", "from dpselect.papers import JointSet", "imported by no other room"),
    "an inner file of the ledger": (
        "audit/report.py",
        "from dpselect.ledger.standing import Usage",
        "is imported from dpselect.ledger",
    ),
    "an inner file of the ledger, as a name": (
        "audit/report.py",
        "def f():\n    from dpselect.ledger import sql",
        "is imported from dpselect.ledger",
    ),
    "papers, lazily": (
        "command/plan.py",
        "def f():\n    from dpselect.papers.gamma import GammaMechanism",
        "imported by no other room",
    ),
    "papers at the root": ("__init__.py", "from dpselect.papers import JointSet", "imported by no other room"),
    "papers in testing": ("testing/exact.py", "import dpselect.papers.noisy_draws", "imported by no other room"),
    "a later room in papers": (
        "papers/gamma.py",
        "from dpselect.queries.plan import Plan",
        "queries stands after papers",
    ),
    "unknown room": ("helpers.py", "", "has no place in the order"),
    "duckdb elsewhere": ("dataset.py", "def f():\n    import duckdb", "belongs in engines/duckdb/"),
    "duckdb's module elsewhere": ("dataset.py", "import _duckdb", "belongs in engines/duckdb/"),
    "duckdb by importlib": ("demo.py", "__import__('duckdb')", "belongs in engines/duckdb/"),
    "psycopg elsewhere": ("dataset.py", "def f():\n    import psycopg", "psycopg belongs in engines/postgres/"),
    "duckdb in PostgreSQL's engine": ("engines/postgres/database.py", "import duckdb", "belongs in engines/duckdb/"),
    "pyspark elsewhere": ("dataset.py", "def f():\n    import pyspark", "pyspark belongs in engines/spark/"),
    "pyspark's own door to Java": ("engines/sql/engine.py", "def f():\n    import py4j.protocol", "pyspark belongs in"),
    "a web framework elsewhere": ("command/serve.py", "def f():\n    import uvicorn", "belong in gateway/"),
    "eager pyspark": ("engines/spark/source.py", "from pyspark.sql import SparkSession", "pyspark is optional"),
    "eager pandas": ("dataset.py", "import pandas as pd", "pandas is optional"),
    "pandas elsewhere": ("frames.py", "import pandas", "pandas is optional"),
    "random": ("mechanisms/top_k/peeling.py", "import random", "random is refused here"),
    "a source told to analysts": (
        "engines/sql/engine.py",
        "raise ParameterError('item', 'be a column of the source', x, near(x, names))",
        "is a SourceError",
    ),
    "a source told to analysts, by any parameter": (
        "engines/sources/scans/scan.py",
        "def f(name):\n    return ParameterError(name, 'be a column', x)",
        "is a SourceError",
    ),
    "random, lazily": ("demo.py", "def f():\n    from random import Random", "random is refused here"),
    "secrets": ("accounting/ledger.py", "from secrets import token_bytes", "secrets is refused here"),
    "uuid": ("accounting/ledger.py", "import uuid", "uuid is refused here"),
    "numpy.random": ("dataset.py", "import numpy.random as r", "numpy.random is refused here"),
    "numpy.random by from": ("dataset.py", "from numpy import random", "numpy.random is refused here"),
    "numpy.random inside": (
        "dataset.py",
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
    "random of the engine": ("engines/duckdb/engine.py", "SQL = 'ORDER BY RANDOM()'", "SQL says 'random('"),
    "sample of the engine": (
        "engines/bounding.py",
        "q = f'FROM {t} USING SAMPLE 10'",
        "SQL says 'using sample'",
    ),
    "a later room without a door": (
        "questions/questions.py",
        "def f():\n    from dpselect.forecast.guide import forecast",
        "forecast stands after questions",
    ),
    "a door that is not listed": (
        "questions/questions.py",
        "def f():\n    return door('queries.outline', 'outline')()",
        "queries stands after questions",
    ),
    "a door of another file": (
        "questions/parts.py",
        "def f():\n    return door('forecast.guide', 'forecast')()",
        "forecast stands after questions",
    ),
    "a door that is open while modules load": (
        "questions/questions.py",
        "forecast = door('forecast.guide', 'forecast')",
        "forecast stands after questions",
    ),
}

ALLOWED = {
    "a name that the ledger offers": ("audit/report.py", "from dpselect.ledger import Ledger, Usage"),
    "the ledger in itself": ("ledger/journal.py", "from dpselect.ledger import sql"),
    "a domain that does not fit": ("engines/sql/engine.py", "raise ParameterError('domain', 'fit', 'something else')"),
    "earlier room": ("mechanisms/top_k/peeling.py", "from dpselect.draws import Draws"),
    "papers import what is before them": ("papers/gamma.py", "from dpselect.mechanisms import gaps"),
    "own room": ("draws/secure.py", "from dpselect.draws.port import Draws\nfrom .weights import Weights"),
    "a door": ("questions/questions.py", "def f():\n    return door('forecast.guide', 'forecast')()"),
    "the type of what comes through a door": (
        "questions/questions.py",
        "if TYPE_CHECKING:\n    from dpselect.queries.plan import Plan",
    ),
    "root re-exports": ("__init__.py", "def __getattr__(name):\n    from dpselect.command.main import main"),
    "command uses the root": ("command/main.py", "from dpselect import Budget"),
    "duckdb at home": ("engines/duckdb/engine.py", "import duckdb"),
    "psycopg in its engine": ("engines/postgres/connection.py", "def f():\n    import psycopg"),
    "lazy pandas": ("dataset.py", "def f():\n    import pandas as pd"),
    "pandas where it is asked for": ("pandas.py", "try:\n    import pandas\nexcept ImportError: ..."),
    "randomness behind its door": (
        "draws/secure.py",
        "import os, secrets\nimport numpy as np\nos.urandom(8)",
    ),
    "a name that only looks random": ("demo.py", "import randomness\nself.random = 1\nrandom.x"),
    "prose about randomness": ("engines/port.py", "'''No random() here.'''"),
}


@pytest.mark.parametrize(("path", "source", "message"), REFUSED.values(), ids=list(REFUSED))
def test_checker_refuses(path: str, source: str, message: str) -> None:
    found = violations(source, path)
    assert len(found) == 1, found
    assert message in found[0]


@pytest.mark.parametrize(("path", "source"), ALLOWED.values(), ids=list(ALLOWED))
def test_checker_allows(path: str, source: str) -> None:
    assert violations(source, path) == []


def test_names_computed_at_run_time_lead_to_no_papers() -> None:
    homes = [*dpselect._HOMES.values(), *(f"dpselect.{row.home}" for row in METHODS)]
    assert len(homes) > len(METHODS)
    assert not [home for home in homes if any(home.startswith(f"dpselect.{room}") for room in ALONE)]


def test_doors_are_listed_and_only_pass_on() -> None:
    for path in FILES:
        source = (PACKAGE / path).read_text("utf-8")
        there = list(doors(source))
        assert {function: module for function, module, _ in there} == DOORS.get(path, {}), path
        assert all(passes_on for _, _, passes_on in there), f"a door of {path} does work of its own"
        named = {one.name for one in imports(ast.parse(source), package_of(path))}
        assert TYPES_AT_DOORS.get(path, set()) <= named, f"{path} needs fewer of TYPES_AT_DOORS"


@pytest.mark.parametrize("path", DOORS)
def test_nothing_behind_a_door_loads_before_it_is_opened(path: str) -> None:
    module, rooms = f"dpselect.{path.removesuffix('.py').replace('/', '.')}", tuple(DOORS[path].values())
    code = f"import sys, {module}; print([name for name in sys.modules if name.startswith({rooms!r})])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


@pytest.mark.parametrize(
    "body",
    [
        "x = 1\n    y = 2\n    z = 3\n    found = door('a', 'b')(self)\n    return found",
        "return len(door('a', 'b')(self))",
    ],
)
def test_a_door_that_does_work_of_its_own_is_seen(body: str) -> None:
    assert list(doors(f"def f(self):\n    {body}")) == [("f", "dpselect.a", False)]


# What the gateway needs of the library, so that it could be a distribution of its own: the rooms' own doors.
OF_THE_GATEWAY = {
    "__init__.py", "_ground/dataclass.py", "_ground/parameters.py", "audit/__init__.py", "demo.py",
    "draws/__init__.py", "engines/__init__.py", "errors.py", "filter_texts.py", "flat.py", "forecast/__init__.py",
    "ledger/__init__.py", "mcp/__init__.py", "queries/__init__.py", "questions/__init__.py", "release/__init__.py",
}  # fmt: skip


def test_the_gateway_names_few_modules() -> None:
    graph = import_graph(sources())
    named = {other for path in FILES if room_of(path) == "gateway" for other in graph[path]}
    assert {other for other in named if room_of(other) != "gateway"} == OF_THE_GATEWAY


def test_order_is_total() -> None:
    """Of two different rooms at most one may import the other, so no cycle can ever form; most may."""
    for room in ROOMS:
        for other in ROOMS:
            allowed = may_import(room, other) + may_import(other, room)
            apart = other in APART.get(room, ()) or room in APART.get(other, ())
            apart |= max(room, other, key=ROOMS.index) not in ALONE and bool(ALONE & {room, other})
            assert allowed == (2 if room == other else 0 if apart else 1)
