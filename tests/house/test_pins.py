"""The pins are stages: a larger file holds all of a smaller one, and the quick tests import no more than theirs."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from importlib.metadata import packages_distributions

import pytest

from tests.house.rules import ROOT

PINS = ROOT / "requirements"
DEV = runpy.run_path(str(ROOT / "dev"))
OURS = {"dpselect", "tests"} | {
    path.stem for path in [*(ROOT / "docs" / "_extensions").iterdir(), ROOT / "benchmarks/gallery.py"]
}
STARTS = {"tests/spark.py", "tests/mariadb.py"}  # for slow tests, by fixtures that refuse where there is none


def pinned(name: str) -> dict[str, str]:
    """Return the version and hashes of each package of a pin file; for which systems it is may differ."""
    blocks = re.split(r"^(?=\S)", (PINS / name).read_text("utf-8"), flags=re.MULTILINE)
    parts = [re.fullmatch(r"([\w.-]+)==([\w.]+)[^\n]*\n(.*)", block, re.DOTALL) for block in blocks if block]
    return {part[1]: f"{part[2]}\n{part[3]}" for part in parts if part}


@pytest.mark.parametrize(
    ("larger", "smaller"), [(file, part) for file, parts in DEV["HOLDS"].items() for part in parts]
)
def test_a_larger_file_pins_all_of_a_smaller_one_alike(larger: str, smaller: str) -> None:
    assert pinned(smaller).items() <= pinned(larger).items()
    assert len(pinned(smaller)) > 3


def imported(source: str) -> set[str]:
    """Return the top-level packages that a file imports when it runs."""
    tree = ast.parse(source)
    types = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    for_types = {inner for node in types for inner in ast.walk(node)}
    names: set[str] = set()
    for node in set(ast.walk(tree)) - for_types:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(str(node.module))
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def test_quick_tests_import_what_they_install() -> None:
    files = [path for path in (ROOT / "tests").rglob("*.py") if "slow" not in path.parts]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files}
    names = set().union(*(imported(text) for place, text in texts.items() if place not in STARTS)) - OURS
    distributions = packages_distributions()
    packages = {name: {re.sub("[-_.]+", "-", one).lower() for one in distributions.get(name, [name])} for name in names}
    assert {name for name, providers in packages.items() if not providers & pinned("tests.txt").keys()} == set()
    assert len(names) > 15


@pytest.mark.parametrize(
    ("arguments", "pins"),
    [
        ("", "tests.txt"),
        ("tests/docs tests/exact/test_peeling.py -q -n 2", "tests.txt"),
        ("tests/slow", "dev.txt"),
        ("-q tests/docs ./tests/slow/docs/test_docs.py::test_every_command_is_documented", "dev.txt"),
        ("-o norecursedirs=.*", "dev.txt"),
    ],
)
def test_slow_tests_have_all_pins(arguments: str, pins: str) -> None:
    assert DEV["pins_for"](arguments.split()) == pins


def test_an_import_is_noticed_unless_it_is_for_types() -> None:
    assert imported("def f():\n    import pyspark.sql") == {"pyspark"}
    assert imported("if TYPE_CHECKING:\n    import pyspark\nfrom numba.core import x\nimport os") == {"numba"}
