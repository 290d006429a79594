"""Cost: what a filter may do to one row at most, counted in its tree, before a source is opened.

How long a row takes tells that it is there. So every filter is small: it has few operators, short patterns, and reads a
text of the row a bounded number of times. docs/filters.md has what a reading of a byte takes, measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from decimal import Decimal

from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.tree import Constant, Name, Node, Operation
from dpselect.errors import ParameterError

OPERATORS, LETTERS, READINGS, CONSTANTS = 64, 256, 32, 10_000
"""Of a filter at most: operators, letters of patterns, readings, constants of 64 characters each."""
BYTES = 4096
"""Bytes of a text in UTF-8: a longer one is missing for every operation but a comparison."""
HASHED = 5
"""Constants from which on IN looks them up; of fewer DuckDB makes as many comparisons, each with a copy."""
LOOKED_UP = 9
"""Constants from which on PostgreSQL looks them up too: a text is read once for its hash, and once where one equals."""
SHORT = 64
"""Bytes of a constant with which a text is compared at the cost of an operator."""
LISTED = 50
"""Constants behind IN that may be compared one by one at the cost of an operator; more must be looked up."""
EQUALS, ORDERS = ("=", "<>", "IS DISTINCT FROM"), ("<", "<=", ">", ">=")
POWERS = 300
"""Powers of ten that a double has."""
RANGE, READ = 100, 97  # those of a column, and those of a text that was read as a number
_HINTS = {
    "operators": "use IN with a list instead of many ORs",
    "letters of patterns": "search for a shorter text",
    "readings of texts": "search for fewer or shorter texts, or in one column each",
    "constants": "",
}
_OWNER = "for richer conditions, use a view as the source"


@dataclass(frozen=True)
class RowCost:
    """What may happen for one row at most.

    An operator is evaluated once; what an engine or our writing of it does twice counts twice. A reading goes over a
    text from one end to the other, as slowly as the slowest operation does on the slowest text.
    """

    operators: int = 0
    letters: int = 0
    readings: int = 0
    constants: int = 0

    def plus(self, other: RowCost, times: int = 1) -> RowCost:
        """This one, and another so many times."""
        return RowCost(
            self.operators + times * other.operators,
            self.letters + times * other.letters,
            self.readings + times * other.readings,
            self.constants + times * other.constants,
        )


@dataclass(frozen=True)
class Weight:
    """Of one operation: operators, readings of the texts it works on, and how often it evaluates each part."""

    operators: int = 1
    readings: int = 0
    copies: tuple[int, ...] = ()  # the last stands for all that follow; nothing: once each


# Copies are what the dearest engine evaluates: PostgreSQL makes two comparisons of BETWEEN. What has several parts adds
# to its weight in `_weight`. A cast from text is a regular expression over at most casts.BYTES bytes.
WEIGHTS = {
    "AND": Weight(0), "OR": Weight(0), "NOT": Weight(), "IS NULL": Weight(),
    **dict.fromkeys((*EQUALS, *ORDERS), Weight()),
    "IN": Weight(), "BETWEEN": Weight(2, copies=(2, 1)), "LIKE": Weight(0),
    "CASE": Weight(0), "COALESCE": Weight(0),
    "+": Weight(), "-": Weight(), "*": Weight(), "/": Weight(2, copies=(1, 2)), "%": Weight(2, copies=(1, 2)),
    "ABS": Weight(copies=(3,)), "FLOOR": Weight(2, copies=(3,)), "CEIL": Weight(2, copies=(3,)),
    **dict.fromkeys(("LOWER", "UPPER"), Weight(6, 2)),
    **dict.fromkeys(("TRIM", "LTRIM", "RTRIM"), Weight(1, 2)),
    **dict.fromkeys(("LEFT", "RIGHT", "SUBSTRING", "||", "LENGTH"), Weight(1, 1)),
    "PART": Weight(2), "TRUNC": Weight(2), "CAST": Weight(8, copies=(4,)),
}  # fmt: skip


@dataclass(frozen=True)
class _Part:
    """What is known of a part of the tree."""

    cost: RowCost
    size: int = 1  # of a text: how many times BYTES it may have
    powers: int = RANGE  # of a double: powers of ten around 1 within which it lies at most, as written


def of(tree: Node) -> RowCost:
    """The cost of a filter."""
    return _part(tree, {}).cost


def check(tree: Node) -> None:
    """Refuse a filter beyond the limits."""
    cost = of(tree)
    for (what, hint), most, count in zip(
        _HINTS.items(), (OPERATORS, LETTERS, READINGS, CONSTANTS), astuple(cost), strict=True
    ):
        if count > most:
            raise ParameterError(
                "where", f"have at most {most:,} {what}", f"{count:,}", f"{hint}; {_OWNER}" if hint else _OWNER
            )


def _part(node: Node, known: dict[int, _Part]) -> _Part:
    """A part may stand in the tree several times, and is counted as often."""
    if isinstance(node, Name):
        return _Part(RowCost())
    if isinstance(node, Constant):
        return _constant(node)
    if id(node) not in known:
        known[id(node)] = _operation(node, [_part(part, known) for part in node.parts])
    return known[id(node)]


def _constant(node: Constant) -> _Part:
    value = node.value
    letters = len(value.encode()) if isinstance(value, str) else 0
    powers = RANGE
    if isinstance(value, int | float | Decimal) and value:
        powers = abs(int(f"{value:e}".partition("e")[2])) + 1
    return _Part(RowCost(constants=1 + letters // SHORT), 1 + letters // BYTES, powers)


def _operation(node: Operation, parts: Sequence[_Part]) -> _Part:
    weight = _weight(node)
    copies = [weight.copies[min(at, len(weight.copies) - 1)] if weight.copies else 1 for at in range(len(parts))]
    powers, narrowed = _powers(node.sort, [part.powers for part in parts])
    if narrowed:  # Writer._narrowed: a magnitude BETWEEN two bounds, or 0, and then itself
        copies = [4 * one for one in copies]
    sizes = [part.size for part in parts]
    letters = sum(map(len, node.fixed[0].pieces)) if node.fixed and isinstance(node.fixed[0], Pattern) else 0
    total = RowCost(weight.operators, letters, weight.readings * sum(sizes[: 2 if node.sort == "||" else 1]))
    for part, times in zip(parts, copies, strict=True):
        total = total.plus(part.cost, times)
    return _Part(total, sum(sizes) if node.sort == "||" else max(sizes, default=1), powers)


def _powers(sort: str, parts: Sequence[int]) -> tuple[int, bool]:
    """The powers of ten of a result, and whether its parts are held to a range first."""
    if sort in ("+", "-", "*", "/"):
        found = _joined(sort, parts)
        return (found, False) if found < POWERS else (_joined(sort, [min(one, RANGE) for one in parts]), True)
    return (max(parts), False) if sort in ("CASE", "COALESCE", "ABS") else (READ, False)


def _joined(sort: str, parts: Sequence[int]) -> int:
    return max(parts) + 17 if sort in ("+", "-") else sum(parts) + 1


def _weight(node: Operation) -> Weight:
    """The weight of an operation as it stands there."""
    sort, parts = node.sort, node.parts
    base = WEIGHTS[sort]
    if sort in ("AND", "OR", "COALESCE"):
        return Weight(max(1, len(parts) - 1))
    if sort == "CASE":
        return Weight(len(parts) // 2)
    if sort == "LIKE":
        pattern = node.fixed[0]
        assert isinstance(pattern, Pattern)
        return Weight(max(1, pattern.tests), pattern.readings, (pattern.tests,))
    if sort == "CAST" and node.fixed[0] == "text":
        return Weight(base.operators, copies=(2,))
    if sort == "CAST" and node.fixed[0] == "timestamp":  # two patterns, and the parts of a text with a zone
        return Weight(12, copies=(8,))
    if sort == "IN":
        others = sum(not isinstance(part, Constant) for part in parts[1:])
        constants = len(parts) - 1 - others
        each = constants if constants < HASHED else 1  # a short list is compared one by one
        passes = constants if constants < LOOKED_UP else 2
        readings = max(_reads(parts[1:]), passes * max(map(_long, parts[1:])))
        return Weight(each + constants // 200 + others, others + readings, (each + others, 1))
    if sort == "BETWEEN":
        return Weight(base.operators, 2 * _reads(parts), base.copies)
    if sort in EQUALS and any(isinstance(part, Constant) for part in parts):
        return Weight(1, max(map(_long, parts)))  # texts are compared only where they are as long
    return Weight(1, _reads(parts)) if sort in EQUALS + ORDERS else base


def _long(part: Node) -> int:
    """How many readings it takes to compare a text with this one, where that is a long constant."""
    length = len(part.value.encode()) if isinstance(part, Constant) and isinstance(part.value, str) else 0
    return -(-length // BYTES) if length > SHORT else 0


def _reads(parts: Sequence[Node]) -> int:
    """1 where a comparison may be one of texts."""
    constants = [part.value for part in parts if isinstance(part, Constant)]
    return int(all(isinstance(value, str) for value in constants))
