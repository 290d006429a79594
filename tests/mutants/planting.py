"""Mutants of the rooms that decide what is private, and the pytest plugin that plants one or notes what runs where.

With a mutant in the environment its module is compiled from the changed syntax tree when a test first imports it. With
a folder there, what each test costs is written down, and caches are emptied before each: a test that finds a result in
a cache would not seem to need its lines.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import math
import os
import resource
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType

import pytest
from coverage import Coverage

from tests.mutants.operators import PACKAGE, Place, changes, places

ROOMS = ("draws", "mechanisms", "accounting", "ledger", "queries", "engines")
COSTS = "MUTANTS_COSTS"  # a variable of the environment
FAILED = "failed"  # a file
LEAST = 20  # mutants of each room


@dataclass(frozen=True)
class Mutant:
    """One change of one source: the number says which of all that are possible there."""

    path: str
    number: int
    lines: range
    function: str | None
    operator: str
    before: str
    after: str

    @property
    def room(self) -> str:
        """Where it is planted."""
        return self.path.partition("/")[0]

    @property
    def key(self) -> str:
        """Its name among all mutants of the present sources."""
        return f"{self.path} {self.number}"

    def __str__(self) -> str:
        return f"{self.path}:{self.lines.start} {self.function}, {self.operator}: `{self.before}` -> `{self.after}`"


def mutants(path: str) -> Iterator[Mutant]:
    """All of one source."""
    source = (PACKAGE / path).read_text("utf-8")
    for number, (place, operator, new) in enumerate(_all(ast.parse(source), source)):
        yield Mutant(path, number, place.lines, place.function, operator, _shown(place.node), _shown(new))


def _all(tree: ast.Module, source: str) -> Iterator[tuple[Place, str, ast.AST]]:
    return ((place, operator, new) for place in places(tree) for operator, new in changes(place.node, source))


def _shown(node: ast.AST) -> str:
    """In a few words."""
    text = " ".join(ast.unparse(getattr(node, "test", node)).split())  # of a branch its condition
    return text if len(text) <= 100 else f"{text[:97]}..."


def sample(size: int, seed: int) -> list[Mutant]:
    """At least so many, spread over the rooms as their lines of code are.

    The order follows from the seed and each change alone, so that a change of the source elsewhere moves none.
    """
    lines = Counter[str]()
    ranked: dict[str, list[tuple[str, Mutant]]] = defaultdict(list)
    for path in (
        one.relative_to(PACKAGE).as_posix() for room in ROOMS for one in sorted((PACKAGE / room).rglob("*.py"))
    ):
        every, alike = list(mutants(path)), Counter[tuple[object, ...]]()
        lines[path.partition("/")[0]] += len({line for one in every for line in one.lines})
        for one in every:
            shape = (seed, one.path, one.function, one.operator, one.before, one.after)
            ranked[one.room].append((hashlib.sha256(repr((shape, alike[shape])).encode()).hexdigest(), one))
            alike[shape] += 1
    taken: list[tuple[str, Mutant]] = []
    for room, found in ranked.items():
        wanted = max(min(LEAST, size // len(ROOMS)), round(size * lines[room] / lines.total()))
        taken += sorted(found, key=_rank)[:wanted]
    return [one for _, one in sorted(taken, key=_rank)]


def _rank(pair: tuple[str, Mutant]) -> str:
    return pair[0]


# ---- the plugin -----------------------------------------------------------------------------------------------------


class Planted(SourceFileLoader):
    """The code of a source with one change."""

    def __init__(self, name: str, path: str, number: int) -> None:
        super().__init__(name, path)
        self._number = number

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - there is one
        source = Path(self.path).read_text("utf-8")
        tree = ast.parse(source)
        place, _, new = next(one for number, one in enumerate(_all(tree, source)) if number == self._number)
        place.put(new)
        return compile(tree, self.path, "exec", dont_inherit=True)


class Planting(MetaPathFinder):
    """Finds the module of one mutant."""

    def __init__(self, key: str) -> None:
        path, _, number = key.rpartition(" ")
        self._file, self._number = PACKAGE / path, int(number)
        self._name = ".".join(("dpselect", *Path(path).with_suffix("").parts)).removesuffix(".__init__")

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        if fullname != self._name:
            return None
        return spec_from_file_location(fullname, self._file, loader=Planted(fullname, str(self._file), self._number))


def run(key: str, tests: list[str], folder: str, seconds: float) -> None:
    """The life of a process: plant the mutant, run the tests up to the first that fails, and exit as pytest does.

    Without a mutant it runs all.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(2 * seconds)))
    signal.signal(signal.SIGXCPU, signal.default_int_handler)  # so that what tests have started is ended
    # Numba's keys do not see constants, so that its cache would have the sound code.
    os.environ |= {"TMPDIR": folder, "NUMBA_CACHE_DIR": folder}
    tempfile.tempdir = None
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    options = ["-q", "-p", "no:cacheprovider", "--assert=plain", "-o", "norecursedirs=.*"]
    if key:
        sys.meta_path.insert(0, Planting(key))
        options.append("-x")
    sys.exit(pytest.main([*options, *tests], plugins=[_Failing(Path(folder, FAILED))]))


class _Failing:
    """Writes down which tests have failed, or the files that cannot be collected."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(report.nodeid + "\n")

    pytest_collectreport = pytest_runtest_logreport


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In the process that hears of all tests: what a part of a test cost, and whether it failed."""
    if COSTS in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(os.environ[COSTS]).open("a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, report.duration, report.failed]) + "\n")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget the results of all functions of the package and of the tests that remember some."""
    if COSTS not in os.environ:
        return
    tracing = Coverage.current()
    if tracing is not None and type(sys.gettrace()).__name__ != "CTracer":  # a test that traces took its place
        tracing.stop()
        tracing.start()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("dpselect", "tests"):
            owners = [module, *(one for one in vars(module).values() if isinstance(one, type))]
            for one in [one for owner in owners for one in vars(owner).values()]:
                if isinstance(one, functools._lru_cache_wrapper):
                    one.cache_clear()
