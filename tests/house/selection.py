"""Which test files a change can touch: those whose imports, followed to their ends, meet a changed file.

`./dev check` runs these; with --all, in CI and with SLOW=1 it runs every test. Where this module does not know, it
says everything. CI judges it: there a test fails that runs a function of the package in a file which is not among
what its own file needs (`tests/house/observed.py`).
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "src/dpselect/"
# A change of these can change what any test does, and no import shows it.
TOUCH_ALL = re.compile(r"pyproject\.toml|requirements/.*|dev|\.ci/.*|tests/(conftest|__init__)\.py|LICENSE")
ALWAYS = "tests/house/"  # these read the tree itself, whatever lies there
# Registries name modules by text and import one when it is used; each may come to any file of its room.
REGISTRIES = {"_ground/methods.py": "mechanisms/", "queries/query.py": "queries/", "command/parser.py": "command/"}
MODULE_NAME = re.compile(r"\b(?:dpselect|tests)(?:\.\w+)+")


# ---- what a file names ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A Python file of the checkout: its path from the root, its module, and its syntax tree."""

    path: str
    module: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        return self.module if self.path.endswith("/__init__.py") else self.module.rpartition(".")[0]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree: to walk it takes as long as to parse it."""
        return list(ast.walk(self.tree))

    @cached_property
    def imported(self) -> list[tuple[str, str, str]]:
        """Every import, also those in functions: the module, the name taken from it or nothing, and what binds it."""
        found = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found.append((alias.name, "", alias.asname or ""))
                    if not alias.asname:
                        top = alias.name.partition(".")[0]
                        found.append((top, "", top))
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    above = self.package.split(".")
                    base = ".".join([*above[: len(above) - node.level + 1], *([base] if base else [])])
                found += [(base, alias.name, alias.asname or alias.name) for alias in node.names]
        return found

    @cached_property
    def uses(self) -> dict[str, set[str] | None]:
        """For each bare name, the attributes read from it; None where it is used in any other way."""
        attributes: dict[str, set[str] | None] = {}
        inner = {id(node.value) for node in self.nodes if isinstance(node, ast.Attribute)}
        for node in self.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                known = attributes.setdefault(node.value.id, set())
                if known is not None:
                    known.add(node.attr)
            elif isinstance(node, ast.Name) and id(node) not in inner:
                attributes[node.id] = None
        return attributes

    @cached_property
    def texts(self) -> list[str]:
        """Its strings, but for docstrings."""
        prose = {id(node.value) for node in self.nodes if isinstance(node, ast.Expr)}
        return [
            node.value
            for node in self.nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        ]

    @cached_property
    def words(self) -> set[str]:
        """The parts of its strings that may name a file or a folder."""
        return {word for text in self.texts for word in re.split(r"[^\w.*-]+", text)}

    @cached_property
    def starts_python(self) -> bool:
        """Does it start another Python, in which anything may be imported, or import by a computed name?"""
        for node in self.nodes:
            if isinstance(node, ast.Attribute) and node.attr == "executable" and ast.unparse(node) == "sys.executable":
                return True
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
                return not (node.args and isinstance(node.args[0], ast.Constant))
        return False


def read(root: Path, path: str) -> Source:
    """Parse one file."""
    dotted = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return Source(path, dotted, ast.parse((root / path).read_text("utf-8")))


# ---- what a file needs ------------------------------------------------------------------------------------


class Graph:
    """All Python files of the package, the tests and the benchmarks, and which needs which."""

    def __init__(self, root: Path = ROOT) -> None:
        self.sources = {
            path.relative_to(root).as_posix(): read(root, path.relative_to(root).as_posix())
            for folder in ("src/dpselect", "tests", "benchmarks", "release")
            for path in (root / folder).rglob("*.py")
        }
        self.modules = {source.module: source for source in self.sources.values()}
        self.package = {path for path in self.sources if path.startswith(PACKAGE)}
        self.tests = sorted(path for path in self.sources if re.fullmatch(r"tests/(.*/)?test_\w+\.py", path))
        self.direct = cache(self._direct)
        self.needs = cache(self._needs)

    def _needs(self, path: str) -> frozenset[str]:
        """The files that a file needs, itself among them: its imports and theirs, to the end."""
        found: set[str] = set()
        left = [path]
        while left:
            one = left.pop()
            if one not in found:
                found.add(one)
                left += self.direct(one)
        # A package's own file runs when anything in it is imported, but what it re-exports is then not used.
        above = {f"{folder}/__init__.py" for one in found for folder in folders(one)}
        return frozenset(found | (above & self.sources.keys()))

    def _direct(self, path: str) -> set[str]:
        source = self.sources[path]
        found = {module.path for name in self._names(source) for module in self.resolve(*name)}
        room = REGISTRIES.get(path.removeprefix(PACKAGE)) if path.startswith(PACKAGE) else None
        found |= {other for other in self.package if room is not None and other.startswith(PACKAGE + room)}
        if path in self.tests:
            found |= {f"{folder}/conftest.py" for folder in folders(path)} & self.sources.keys()
        if path.startswith("tests/"):
            for text in source.texts:
                for name in MODULE_NAME.findall(text):
                    found |= {module.path for module in self.resolve(*self.split(name))}
            if source.starts_python:
                folder = path.rpartition("/")[0]
                found |= self.package | {other for other in self.sources if other.rpartition("/")[0] == folder}
        return found

    def _names(self, source: Source) -> Iterator[tuple[str, str]]:
        """The imports, where one of a package whose attributes alone are used counts as an import of these."""
        for module, name, bound in source.imported:
            whole = f"{module}.{name}" if name else module
            package = self.modules.get(whole)
            used = source.uses.get(bound) if bound in source.uses else set()
            if package is not None and package.path.endswith("/__init__.py") and bound and used is not None:
                yield from ((whole, attribute) for attribute in used)
            else:
                yield module, name

    def resolve(self, module: str, name: str = "") -> Iterator[Source]:
        """The files behind `from module import name`: where it is defined, if a package re-exports it from there."""
        if f"{module}.{name}" in self.modules:
            yield self.modules[f"{module}.{name}"]
            return
        source = self.modules.get(module)
        if source is None:
            return
        if source.path.endswith("/__init__.py") and name:
            homes = {(base, real) for base, real, bound in source.imported if bound == name and real}
            if homes:
                for base, real in homes:
                    yield from self.resolve(base, real)
                return
        yield source

    def split(self, dotted: str) -> tuple[str, str]:
        """A dotted name as the longest module in it and the next part."""
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            module = ".".join(parts[:end])
            if module in self.modules:
                return module, parts[end] if end < len(parts) else ""
        return dotted, ""

    def words(self, path: str) -> set[str]:
        """What the strings of a test file and of the tests' modules it needs may name."""
        return {word for one in self.needs(path) if not one.startswith(PACKAGE) for word in self.sources[one].words}


def folders(path: str) -> list[str]:
    """The folders above a file, the nearest last."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


# ---- what a change selects --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """Test files to run, and why these."""

    files: list[str]
    reason: str


def select(changed: Collection[str], graph: Graph) -> Selection:
    """The test files that these changed files can touch."""
    if not changed:
        return Selection(graph.tests, "all tests: git shows no change since main")
    for path in sorted(changed):
        if TOUCH_ALL.fullmatch(path):
            return Selection(graph.tests, f"all tests: any may depend on {path}")
        if path.endswith(".py") and path not in graph.sources:
            return Selection(graph.tests, f"all tests: {path} is not there, so who needed it cannot be seen")
    files = [test for test in graph.tests if test.startswith(ALWAYS) or any(needs(graph, test, p) for p in changed)]
    first = ", ".join(sorted(changed)[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
    return Selection(files, f"{len(files)} of {len(graph.tests)} test files: tests/house and what needs {first}")


def needs(graph: Graph, test: str, changed: str) -> bool:
    """Can a change of this file change what this test file does?"""
    if changed in graph.needs(test):
        return True
    if changed.startswith("tests/") and not changed.endswith(".py"):
        beside = changed.split("/")[1]
        return test.split("/")[1] == beside or changed.rpartition("/")[2] in graph.words(test)
    parts = {*changed.split("/")}
    return not changed.startswith((PACKAGE, "tests/")) and bool(parts & graph.words(test))


def changes(root: Path = ROOT) -> list[str]:
    """What differs from where this branch left main, in commits and in the working tree; empty where git cannot say.

    On main itself, and on no branch, the last commit counts with what is not committed. A branch without a commit of
    its own and without anything uncommitted has no change.
    """
    here, base = git(root, "rev-parse", "HEAD"), git(root, "merge-base", "HEAD", "main")
    new = git(root, "ls-files", "--others", "--exclude-standard")
    if not here or not base or new is None:
        return []
    dirty = git(root, "diff", "--no-renames", "--name-only", "HEAD")
    if here == base and not dirty and not new:
        return []
    if here == base and git(root, "symbolic-ref", "--quiet", "--short", "HEAD") in (["main"], None):
        base = git(root, "rev-parse", "--verify", "--quiet", "HEAD~1") or base
    differ = git(root, "diff", "--no-renames", "--name-only", base[0])
    return [] if differ is None else sorted({*differ, *new})


def git(root: Path, *arguments: str) -> list[str] | None:
    """The lines that git prints; None where there is no git, or it refuses."""
    command = ["git", "-c", "core.quotepath=off", *arguments]
    try:
        return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None


def main() -> int:
    """Print the test files, one a line, and the reason on standard error."""
    selection = select(changes(), Graph())
    sys.stderr.write(f"dev: {selection.reason}\n")
    sys.stdout.write("\n".join(selection.files) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
