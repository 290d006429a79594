"""What a mutant changes: one place of the syntax tree, in ways that somebody could get it wrong.

Left alone are annotations, docstrings and other texts, the words of errors, asserts, `__repr__`, what only type
checkers read, and the bodies of ports.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "dpselect"
Change = tuple[str, ast.AST]  # the operator, and what stands there instead

FLIPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.Pow: ast.Mult,
}  # fmt: skip
PAIRS = (
    ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil"), ("down", "up"),
    ("lower", "upper"), ("below", "above"),
)  # fmt: skip
OTHER = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
WORD = re.compile(r"(?<![a-z])(?:" + "|".join(OTHER) + r")(?![a-z])")
BUILT_IN = {"min", "max", "any", "all"}
METHODS = {*OTHER, "__floor__", "__ceil__"} - {"down", "up", "below", "above"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Place:
    """A node, where it hangs, and the lines of its statement (of its head, where the statement has a body)."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    lines: range
    function: str | None

    def put(self, new: ast.AST) -> None:
        """Another node in its place."""
        ast.fix_missing_locations(ast.copy_location(new, self.node))
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.index] = new


def places(tree: ast.Module) -> Iterator[Place]:
    """Every node that may change, in the order of the source."""
    yield from _under(tree, range(0), (), False)


def _under(parent: ast.AST, lines: range, names: tuple[str, ...], inside: bool) -> Iterator[Place]:
    for field, value in ast.iter_fields(parent):
        if _left_alone(parent, field):
            continue
        # Defaults and decorators run outside of the function that they belong to.
        within = inside or (isinstance(parent, FUNCTIONS) and field == "body")
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(node, ast.AST) or _no_code(node):
                continue
            here = _head(node) if isinstance(node, (ast.stmt, ast.match_case)) else lines
            named = (*names, node.name) if isinstance(node, (*FUNCTIONS[:2], ast.ClassDef)) else names
            where = index if isinstance(value, list) else None
            yield Place(node, parent, field, where, here, ".".join(names) or "lambda" if within else None)
            yield from _under(node, here, named, within)


def _head(node: Any) -> range:
    """The lines of a statement, or of a case, before its body."""
    begin = _begin(node)
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    return range(begin, max(begin, _begin(body[0]) - 1 if body else node.end_lineno) + 1)


def _begin(node: Any) -> int:
    line: int = (node.pattern if isinstance(node, ast.match_case) else node).lineno
    return line


def _left_alone(parent: ast.AST, field: str) -> bool:
    """Annotations, the words of an error, and what only a type checker reads."""
    if field in ("annotation", "returns") or (isinstance(parent, ast.Raise) and field in ("exc", "cause")):
        return True
    return isinstance(parent, ast.If) and field == "body" and ast.unparse(parent.test).endswith("TYPE_CHECKING")


def _no_code(node: ast.AST) -> bool:
    """Asserts, docstrings, `__repr__`, overloads, ports and abstract methods."""
    if isinstance(node, ast.ClassDef):
        return any("Protocol" in ast.unparse(base) for base in node.bases)
    if isinstance(node, FUNCTIONS[:2]):
        marks = [ast.unparse(mark) for mark in node.decorator_list]
        return node.name == "__repr__" or any(mark.endswith(("overload", "abstractmethod")) for mark in marks)
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def changes(node: ast.AST, source: str) -> Iterator[Change]:
    """What may stand in the place of a node of this source instead."""
    match node:
        case ast.Compare():
            for index, op in enumerate(node.ops):
                yield "comparison", _with(node, "ops", [*node.ops[:index], FLIPS[type(op)](), *node.ops[index + 1 :]])
        case ast.BinOp() | ast.AugAssign() if type(node.op) in ARITHMETIC and not _joins(node):
            yield "arithmetic", _with(node, "op", ARITHMETIC[type(node.op)]())
        case ast.BoolOp():
            yield "and/or", _with(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "sign or not dropped", node.operand
        case ast.Constant(value=bool()):
            yield "true/false", ast.Constant(not node.value)
        case ast.Constant(value=int() | float() as number):
            yield "n to n + 1", ast.Constant(number + 1)
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
            yield from _opposite(node, source)
        case ast.Call():
            for dropped in node.keywords:
                if dropped.arg and dropped.arg != "strict":  # which sees lengths that never differ
                    yield (
                        "keyword dropped",
                        _with(node, "keywords", [one for one in node.keywords if one is not dropped]),
                    )
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "returns None", ast.Return(ast.Constant(None))
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield "statement dropped", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign(target=ast.Attribute()):
            yield "statement dropped", ast.Pass()
        case ast.If() | ast.IfExp():
            for operator, truth in (("always", True), ("never", False)):
                yield operator, _with(node, "test", ast.copy_location(ast.Constant(truth), node.test))
        case ast.comprehension() if node.ifs:
            yield "unfiltered", _with(node, "ifs", [])


def _with(node: ast.AST, field: str, value: object) -> ast.AST:
    new = copy.copy(node)
    setattr(new, field, value)
    return new


def _joins(node: ast.BinOp | ast.AugAssign) -> bool:
    """Does it join texts or lists, so that another operator makes no sense?"""
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    joined = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple)
    return any(isinstance(one, joined) or isinstance(getattr(one, "value", None), str) for one in sides)


def _opposite(node: ast.Name | ast.Attribute, source: str) -> Iterator[Change]:
    """The function that rounds the other way, or takes the other end, where there is one."""
    name = node.id if isinstance(node, ast.Name) else node.attr
    other = WORD.sub(lambda found: OTHER[found[0]], name)
    home = re.search(rf"^from (dpselect\S*) import .*\b{name}\b", source, re.MULTILINE)
    if other == name:
        return
    if isinstance(node, ast.Attribute):
        if other in METHODS or re.search(rf"\.{other}\b", source):
            yield "other direction", ast.Attribute(node.value, other, ast.Load())
    elif other in BUILT_IN or re.search(rf"(^from .* import .*|^def ){other}\b", source, re.MULTILINE):
        yield "other direction", ast.Name(other, ast.Load())
    elif home and f"def {other}(" in _text_of(home[1]):  # beside the one that is imported
        yield "other direction", ast.parse(f"__import__('sys').modules['{home[1]}'].{other}", mode="eval").body


@cache
def _text_of(module: str) -> str:
    """The source of a module of the package."""
    path = PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")
    return path.read_text("utf-8") if path.is_file() else ""
