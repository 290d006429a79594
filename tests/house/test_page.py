"""docs/architecture.md is true: paths exist, functions are where it says, rooms and picture are those of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import pytest

from tests.house.rules import PACKAGE, ROOMS, ROOT, import_graph, room_graph, room_of, sources

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
RECIPES = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PATH = re.compile(r"(?:[\w*.-]+/)+(?:[\w*.-]+\.\w+)?|[\w*]+\.py")
PLACEHOLDER = "NAME"


# ---- what a page names ------------------------------------------------------------------------------------


def paths(text: str) -> set[str]:
    """The files and folders in backquotes, also those before a function."""
    quoted = (one.partition(": ")[0] for one in re.findall(r"`([^`\n]+)`", text))
    return {one for one in quoted if PATH.fullmatch(one)}


def stray_paths(text: str) -> list[str]:
    """Paths that are neither in the repository nor in the package."""
    return sorted(path for path in paths(text) if not exists(path))


def exists(path: str) -> bool:
    """Is it there, from the root of the repository or from the package? A placeholder stands for any name."""
    path = path.rstrip("/").replace(PLACEHOLDER, "*")
    return any(next(iter(base.glob(path)), None) is not None for base in (ROOT, PACKAGE))


def functions(text: str) -> set[tuple[str, str]]:
    """Every `file.py: function` as (file, function)."""
    return set(re.findall(r"`([\w/]+\.py): ([\w.]+)`", text))


def defined(source: str) -> set[str]:
    """The functions and classes of a source: plain names, and those of classes with their class."""
    tree = ast.parse(source)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, kinds)}
    return found


def stray_functions(text: str) -> list[str]:
    """Functions that are not defined where the text says."""
    found = []
    for file, name in functions(text):
        path = PACKAGE / file
        if not path.is_file() or name not in defined(path.read_text("utf-8")):
            found.append(f"{file}: {name}")
    return sorted(found)


def section(text: str, title: str) -> str:
    """What stands under a heading of the second level."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def listed_rooms(text: str) -> list[str]:
    """The rooms in the first column of the table, in its order."""
    return [room_of(name) for name in re.findall(r"^\| `([\w./]+)` \|", section(text, "The rooms"), re.MULTILINE)]


def picture(text: str) -> list[list[str]]:
    """The rooms of every line of the picture, from above; what is said of them stands behind a bar."""
    drawn = section(text, "The picture").partition("```text\n")[2].partition("```")[0]
    return [line.partition("|")[0].split() for line in drawn.splitlines()]


def wrong_arrows(graph: Mapping[str, set[str]], lines: list[list[str]]) -> list[str]:
    """Imports that do not lead from a line of the picture to a lower one."""
    depth = {room: at for at, line in enumerate(lines) for room in line}
    return sorted(f"{a} -> {b}" for a, others in graph.items() for b in others if depth[a] >= depth[b])


# ---- the page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "least"), [(PAGE, 80), (RECIPES, 40)], ids=["architecture", "CONTRIBUTING"])
def test_every_path_exists(text: str, least: int) -> None:
    assert len(paths(text)) >= least
    assert stray_paths(text) == []


def test_every_function_is_where_the_page_says() -> None:
    assert len(functions(section(PAGE, "The life of one question"))) >= 40
    assert stray_functions(PAGE) == []


def test_every_room_has_its_line_in_the_order_of_imports() -> None:
    assert listed_rooms(PAGE) == [*ROOMS, "testing"]


def test_the_picture_is_the_one_that_imports_draw() -> None:
    graph, lines = room_graph(import_graph(sources())), picture(PAGE)
    assert sorted(room for line in lines for room in line) == sorted(graph)
    assert wrong_arrows(graph, lines) == []
