"""docs/reference/settings.md has every variable that is read from the environment, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
SRC = sorted((ROOT / "src").rglob("*.py"))
ELSEWHERE = [ROOT / "dev", *(path for one in ("tests", "benchmarks", "docs") for path in (ROOT / one).rglob("*.py"))]
READS = {"get", "pop", "setdefault", "getenv"}


def read(paths: Iterable[Path]) -> set[str]:
    """The names that some files look up in the environment."""
    return {name for path in paths for name in looked_up(path.read_text("utf-8"))}


def looked_up(source: str) -> Iterator[str]:
    """The names in one file, also those that are constants of it."""
    if "environ" not in source and "getenv" not in source:
        return
    tree = ast.parse(source)
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in READS
            and node.args
        ):
            key, of = node.args[0], ast.unparse(node.func.value)
        elif isinstance(node, ast.Subscript):
            key, of = node.slice, ast.unparse(node.value)
        else:
            continue
        name = key.value if isinstance(key, ast.Constant) else constants.get(ast.unparse(key))
        if of in {"os", "os.environ", "environ"} and isinstance(name, str):
            yield name


def listed(heading: str) -> list[str]:
    """The names in the table below a heading."""
    part = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)


def ours(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.startswith("DPSELECT_")}


def test_every_variable_that_the_package_reads_is_on_the_page_and_no_other() -> None:
    told = listed("Environment variables")
    assert sorted(told) == sorted({*told})
    assert {*told} == ours(read(SRC))


def test_what_else_the_package_sets_or_reads_is_said() -> None:
    assert read(SRC) - ours(read(SRC)) <= set(re.findall(r"`([A-Z_]+)`", PAGE))


def test_every_variable_of_developers_is_on_the_page_and_no_other() -> None:
    told, found = listed("For developers of dpselect"), read(ELSEWHERE)
    assert ours(told) == ours(found) - ours(read(SRC))
    assert {*told} - ours(told) == {"CI"} <= found


def test_a_name_is_found_in_every_way_of_reading_it() -> None:
    source = (
        "import os\nNAME = 'B'\nos.environ['A'], os.environ.get(NAME), os.getenv('C')\n"
        "os.environ.setdefault('D', '1'), {}.get('E'), os.path['F']\n"
    )
    assert set(looked_up(source)) == {"A", "B", "C", "D"}
