"""No circle of imports between files: each can be read, and loaded, after the files it imports."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache

import pytest

import dpselect
from tests.house.rules import (
    AT_RUN_TIME,
    FILES,
    Import,
    circle,
    file_of,
    import_graph,
    imports_of,
    package_imports,
    package_of,
    sources,
)


@cache
def of_package() -> list[tuple[str, Import]]:
    """The imports of every file of the package."""
    return list(package_imports(sources()))


def test_no_files_import_each_other() -> None:
    found = circle(import_graph(sources()))
    assert not found, f"files import each other: {' <- '.join(found)}"


def test_every_import_from_the_package_leads_to_a_file() -> None:
    """Otherwise an arrow would be missing, and a circle with it."""
    texts = sources()
    lost = [f"{path}:{one.line}: {one.name}" for path, one in of_package() if file_of(one.name, texts) is None]
    assert not lost, "no file is known for:\n" + "\n".join(lost)
    graph = import_graph(texts)
    assert sorted(graph) == FILES
    assert {"draws/__init__.py", "engines/registry.py"} <= graph["asked_rows.py"]
    assert "draws/core.py" in graph["draws/certified.py"]


# Where a module's name is computed at run time no arrow is seen: at the root, and in rooms that fetch a name when it is
# first used, which name each again for type checkers; where optional packages are imported; and in registries, whose
# classes import them back: while modules load no arrow leads from a registry to what it names.
REGISTRIES = {"_ground/methods.py", "queries/planning.py", "command/parser.py"}
COMPUTED = {"__init__.py", "_ground/first_use.py", "release/formatting.py"} | REGISTRIES


def test_no_other_file_computes_what_it_imports() -> None:
    every = ((path, imports_of(source, package_of(path))) for path, source in sources().items())
    computed = {path for path, found in every if any(one.name == AT_RUN_TIME for one in found)}
    assert computed <= COMPUTED, f"name modules by constants in {sorted(computed - COMPUTED)}, or circles stay unseen"


def test_the_root_names_for_types_what_it_computes() -> None:
    homes = {file_of(home, FILES) for home in dpselect._HOMES.values()}
    assert homes <= import_graph(sources())["__init__.py"]


FETCHING = sorted(path for path, source in sources().items() if "= lazy_attributes(__name__" in source)


def test_all_that_fetch_at_first_use_are_found() -> None:
    using = {path for path, one in of_package() if one.within("dpselect._ground.first_use.lazy_attributes")}
    assert {"draws/__init__.py", "mechanisms/__init__.py"} <= set(FETCHING) == using


@pytest.mark.parametrize("path", FETCHING)
def test_a_room_names_for_types_what_it_fetches(path: str) -> None:
    name = "dpselect." + path.removesuffix("/__init__.py").replace("/", ".")
    room = importlib.import_module(name)
    found = {one.name for file, one in of_package() if file == path}
    plain = {one.name.rpartition(".")[2] for file, one in of_package() if file == path and not one.lazy}
    assert set(room._HOMES) <= set(room.__all__) <= {*room._HOMES, *plain}
    for public, home in room._HOMES.items():
        module, _, name_there = home.partition(":")
        place = module if module.startswith("dpselect.") else f"{name}.{module}"
        assert f"{place}.{name_there or public}" in found
        assert getattr(room, public) is getattr(importlib.import_module(place), name_there or public)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        room.Nothing  # noqa: B018


MADE_UP: dict[str, tuple[dict[str, str], list[str]]] = {
    "in a function": (
        {"a.py": "from dpselect.b import x", "b.py": "def f():\n    from dpselect.a import y"},
        ["a.py", "b.py"],
    ),
    "by importlib": (
        {"a.py": "import importlib\nimportlib.import_module('dpselect.b')", "b.py": "import dpselect.a as a"},
        ["a.py", "b.py"],
    ),
    "through a room's own names": (
        {"r/__init__.py": "from dpselect.r.a import x", "r/a.py": "from dpselect.r import x"},
        ["r/__init__.py", "r/a.py"],
    ),
    "long, with a way in and a way out": (
        {
            "a.py": "import dpselect.b",
            "b.py": "from dpselect import c, e",
            "c.py": "import dpselect.d.f",
            "d/f.py": "from ..b import x",
            "e.py": "import os",
        },
        ["b.py", "c.py", "d/f.py"],
    ),
    "none: two ways to one file, and a file beside a room that has its name": (
        {
            "__init__.py": "from dpselect.top import x",
            "top.py": "from dpselect import left, right",
            "left.py": "from dpselect.room import x",
            "right.py": "from dpselect.room.low import y\nimport dpselectors.top",
            "room/__init__.py": "from dpselect.room.low import x",
            "room/low.py": "import os, top",
        },
        [],
    ),
}


@pytest.mark.parametrize(("sources", "files"), MADE_UP.values(), ids=list(MADE_UP))
def test_a_circle_is_found(sources: Mapping[str, str], files: list[str]) -> None:
    assert sorted({*circle(import_graph(sources))}) == files


def test_a_name_leads_to_the_file_that_holds_it() -> None:
    files = {"__init__.py", "a.py", "r/__init__.py", "r/b.py"}
    names = ["dpselect", "dpselect.a", "dpselect.a.X", "dpselect.r", "dpselect.r.b", "dpselect.r.X", "dpselect.X"]
    assert [file_of(name, files) for name in names] == [
        "__init__.py", "a.py", "a.py", "r/__init__.py", "r/b.py", "r/__init__.py", "__init__.py",
    ]  # fmt: skip
    assert file_of("numpy.random", files) is None
    assert file_of("dpselectors.a", files) is None
