"""Docstrings and comments of src name only what is there: a rename that forgets them leaves a reader with nothing."""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import dpselect as dps

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "dpselect"
FILES = sorted(SRC.rglob("*.py"))
NAME = re.compile(r"`([A-Za-z_][A-Za-z_0-9.]*)(?:\(.*?\))?`")
# Names of other packages and languages, which no code here spells.
OUTSIDE = {
    "dense_rank",  # of SQL
    "frame.dps",  # of data frames, once dpselect.pandas or dpselect.polars is imported
    "spark.sql.functionResolution.sessionOrder",  # an option of Spark
    "system.builtin",  # a schema of Spark
    "system.main",  # a schema of DuckDB
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_what_is_named_in_a_text_is_there(path: Path) -> None:
    assert not unknown_names(path.read_text("utf-8"), path.parent)


def test_a_name_that_was_left_behind_is_refused() -> None:
    code = (
        '{}\n"""Uses `{}`."""\n# {}\ndef made(kept):\n    """Keep `kept`, as `one` does (`SQL`)."""\n    return "SQL"\n'
    )
    assert unknown_names(code.format("", "made", "of `kept`").replace("`one`", "one"), SRC) == []
    assert unknown_names(code.format("", "gone", "no name: `a b`"), SRC) == ["gone", "one"]
    assert unknown_names(code.format('"""`gone` and `made.gone`."""', "made", "`last`"), SRC) == [
        "gone",
        "last",
        "made.gone",
        "one",
    ]
    for known in ("Dataset.ask", "dpselect.draws.weights", "max_items_per_user", "tables.py", "None", "TopK(10)"):
        assert unknown_names(f'"""`{known}`."""', SRC / "gateway") == []
    for unknown in ("Dataset.asked", "dpselect.draws.heights", "max_item_per_user", "chairs.py", "mechanisms.weights"):
        assert unknown_names(f'"""`{unknown}`."""', SRC / "gateway") == [unknown]


def unknown_names(code: str, folder: Path) -> list[str]:
    """Return the names between backticks in docstrings and comments that neither this code nor the package has."""
    tree = ast.parse(code)
    documents = dict(_docstrings(tree))
    texts = list(documents.values())
    texts += [
        token.string for token in tokenize.generate_tokens(io.StringIO(code).readline) if token.type == tokenize.COMMENT
    ]
    here = _names(tree, set(documents))
    found = {name for text in texts for name in NAME.findall(text)}
    return sorted(name for name in found if not _is_known(name, here, folder))


def _is_known(name: str, here: set[str], folder: Path) -> bool:
    if name in here or name in OUTSIDE or name in _public_names() or keyword.iskeyword(name):
        return True
    if name.endswith(".py"):
        return any((parent / name).is_file() for parent in (folder, SRC, ROOT))
    *owner, last = name.split(".")
    if not owner:
        is_class = name[0].isupper() and name in _members()
        return is_class or hasattr(builtins, name) or re.fullmatch("__[a-z_]+__", name) is not None
    path = SRC.joinpath(*(owner[1:] if owner[0] == "dpselect" else owner))
    if (path / last).is_dir() or (path / f"{last}.py").is_file():
        return True
    members = _members().get(owner[-1])
    return last in members if members is not None else owner[0] in here and last in here


def _docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the identity and the text of each docstring, and of each text that stands below an assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield id(node.value), node.value.value


def _names(tree: ast.AST, documents: set[int]) -> set[str]:
    """Return what code spells: names, and the words of its texts, which may be SQL or keys."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.keyword(arg=str(name)):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names |= {*name.split("."), other or name}
            case ast.Constant(value=str(text)) if id(node) not in documents:
                names |= set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", text))
    return names


@cache
def _public_names() -> set[str]:
    """Return the names of the package, of its methods, and of their parameters."""
    names = {"dpselect", *dps.__all__}
    for name in dps.__all__:
        value = getattr(dps, name)
        for member in [value, *(member for _, member in inspect.getmembers(value, inspect.isfunction))]:
            if inspect.isfunction(member) or inspect.isclass(member):
                with contextlib.suppress(ValueError):  # a class of C has no signature
                    names |= {member.__name__, *inspect.signature(member).parameters}
    return names


@cache
def _members() -> dict[str, set[str]]:
    """Return the names in each class and module of the package, all of those that have one name together."""
    members: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for path in FILES:
        module = path.parent.name if path.name == "__init__.py" else path.stem
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef)):
                defined = members.setdefault(node.name if isinstance(node, ast.ClassDef) else module, set())
                defined.update(name for child in ast.walk(node) for name in _defined(child))
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, set()).update(base.id for base in node.bases if isinstance(base, ast.Name))
    for name, todo in bases.items():
        seen, left = {name}, [*todo]
        while left:
            if (base := left.pop()) not in seen:
                seen.add(base)
                members[name] |= members.get(base, set())
                left += bases.get(base, ())
    return members


def _defined(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ImportFrom(names=imported):  # a package has what its door imports
            yield from (alias.asname or alias.name for alias in imported)
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
