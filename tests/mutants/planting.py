"""Plant a mutant in the process that has imported the code: its functions get other code objects.

Functions that others make are remade from the constants of their makers, which change with them.
"""

from __future__ import annotations

import ast
import gc
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType

from tests.mutants.lines import PACKAGE, empty_caches
from tests.mutants.operators import Place, changes, places

Standing = tuple[str, tuple[str, ...], tuple[object, ...]]
Code = dict[Standing, CodeType]
Functions = dict[str, list[FunctionType]]  # by the path of their source


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

    def rank(self, seed: int, same: int) -> str:
        """Its place in the order of a sample, whatever changes elsewhere; `same` numbers those that look alike."""
        shape = (seed, same, self.path, self.function, self.operator, self.before, self.after)
        return hashlib.sha256(repr(shape).encode()).hexdigest()


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """All of one source."""
    for number, (place, operator, new) in enumerate(_all(ast.parse(source), source)):
        yield Mutant(path, number, place.lines, place.function, operator, _shown(place.node), _shown(new))


def _all(tree: ast.Module, source: str) -> Iterator[tuple[Place, str, ast.AST]]:
    return ((place, operator, new) for place in places(tree) for operator, new in changes(place.node, source))


def _shown(node: ast.AST) -> str:
    """In a few words."""
    head = getattr(node, "test", node)  # of a branch
    text = " ".join(ast.unparse(head).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def code_of(mutant: Mutant, source: str) -> Code:
    """The code that changes, by where the code that it replaces stands."""
    tree = ast.parse(source)
    place, _, new = next(one for number, one in enumerate(_all(tree, source)) if number == mutant.number)
    place.put(new)
    file = str(PACKAGE / mutant.path)
    pairs = _pairs(compile(source, file, "exec", dont_inherit=True), compile(tree, file, "exec", dont_inherit=True))
    return {standing(old): new for old, new in pairs if old != new}


def _pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Code and the code in its place. What is made inside is not looked at where a part of it has gone."""
    yield old, new
    inside = [[one for one in code.co_consts if isinstance(one, CodeType)] for code in (old, new)]
    if len(inside[0]) == len(inside[1]):
        for pair in zip(*inside, strict=True):
            yield from _pairs(*pair)


def standing(code: CodeType) -> Standing:
    """What no other code of a source has: its name and the places of its instructions."""
    return code.co_qualname, code.co_freevars, tuple(code.co_positions())


def plantable(code: Code) -> bool:
    """Does anything change, and do functions that live keep the variables that they share with their makers?"""
    return bool(code) and all(freevars == new.co_freevars for (_, freevars, _), new in code.items())


def live_functions(paths: Iterable[str]) -> Functions:
    """Every function of the package that is alive, once the modules of these sources are imported."""
    found: Functions = defaultdict(list)
    for path in paths:
        with suppress(ImportError):  # of an optional package
            import_module(".".join(("dpselect", *Path(path).with_suffix("").parts)).removesuffix(".__init__"))
    gc.unfreeze()
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(f"{PACKAGE}/"):
            found[one.__code__.co_filename.removeprefix(f"{PACKAGE}/")].append(one)
    return found


def plant(code: Code, functions: list[FunctionType]) -> int:
    """Give the functions their new code, and forget what the old one found; returns how many have changed."""
    planted = 0
    for function in functions:
        new = code.get(standing(function.__code__))
        if new is not None:
            function.__code__ = new
            planted += 1
    empty_caches()
    return planted
