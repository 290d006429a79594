"""Cost: what a filter may do to one row at most, counted in its tree, before a source is opened.

How long a row takes tells that it is there. So every filter is small: it has few operators, short patterns, and reads a
text of the row a bounded number of times. docs/filters.md has what a reading of a byte takes, measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from decimal import Decimal

from dpselect._ground.dataclass import dataclass
from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.tree import Constant, Name, Node, Operation
from dpselect.errors import ParameterError

MAX_OPERATORS, MAX_PATTERN_LETTERS, MAX_READINGS, MAX_CONSTANTS = 64, 256, 32, 10_000
"""The limits of a filter: operators, letters of patterns, readings, constants of 64 characters each."""
MAX_BYTES = 4096
"""Bytes of a text in UTF-8: a longer one is missing for every operation but a comparison."""
MIN_HASHED = 5
"""IN looks up this number of constants or more; of fewer DuckDB makes as many comparisons, each with a copy."""
MIN_LOOKED_UP = 9
"""PostgreSQL looks up this number of constants or more: a text is read once for its hash, and once if one equals."""
MAX_SHORT_LETTERS = 64
"""Bytes of a constant with which a text is compared at the cost of an operator."""
MAX_LISTED = 50
"""Constants after IN that may be compared one by one at the cost of an operator; more must be looked up."""
EQUALS, ORDERS = ("=", "<>", "IS DISTINCT FROM"), ("<", "<=", ">", ">=")
MAX_POWERS = 300
"""Powers of ten that a double has."""
COLUMN_POWERS, READ_TEXT_POWERS = 100, 97  # powers of ten of a column, and of a text that was read as a number
_HINTS = {
    "operators": "use IN with a list instead of many ORs",
    "letters of patterns": "search for a shorter text",
    "readings of texts": "search for fewer or shorter texts, or in one column each",
    "constants": "",
}
_VIEW_HINT = "for richer conditions, use a view as the source"


@dataclass(frozen=True)
class RowCost:
    """The largest cost of a filter for one row.

    An operator is evaluated once; one that an engine or our SQL evaluates twice counts twice. A reading goes over a
    text from one end to the other, as slowly as the slowest operation does on the slowest text.
    """

    operators: int = 0
    letters: int = 0
    readings: int = 0
    constants: int = 0

    def plus(self, other: RowCost, times: int = 1) -> RowCost:
        """Return the sum of this cost and `times` another one."""
        return RowCost(
            self.operators + times * other.operators,
            self.letters + times * other.letters,
            self.readings + times * other.readings,
            self.constants + times * other.constants,
        )


@dataclass(frozen=True)
class Weight:
    """The cost of one operation: operators, readings of its texts, and how often it evaluates each part."""

    operators: int = 1
    readings: int = 0
    copies: tuple[int, ...] = ()  # the last one is also for all that follow; empty: once each


# Copies are what the dearest engine evaluates: PostgreSQL makes two comparisons of BETWEEN. What has several parts adds
# to its weight in `_weigh`. A cast from text is a regular expression over at most casts.BYTES bytes.
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
class _MeasuredNode:
    """The cost, size and range of a part of the tree."""

    cost: RowCost
    size: int = 1  # the largest size of a text, in units of BYTES
    powers: int = COLUMN_POWERS  # the largest powers of ten of a double, as written


def measure_cost(tree: Node) -> RowCost:
    """Return the cost of a filter."""
    return _measure_part(tree, {}).cost


def check(tree: Node) -> None:
    """Refuse a filter beyond the limits."""
    cost = measure_cost(tree)
    for (measure, hint), limit, count in zip(
        _HINTS.items(), (MAX_OPERATORS, MAX_PATTERN_LETTERS, MAX_READINGS, MAX_CONSTANTS), astuple(cost), strict=True
    ):
        if count > limit:
            raise ParameterError(
                "where",
                f"have at most {limit:,} {measure}",
                f"{count:,}",
                f"{hint}; {_VIEW_HINT}" if hint else _VIEW_HINT,
            )


def _measure_part(node: Node, measured: dict[int, _MeasuredNode]) -> _MeasuredNode:
    """Measure a part, which may occur in the tree several times, and is counted as often."""
    if isinstance(node, Name):
        return _MeasuredNode(RowCost())
    if isinstance(node, Constant):
        return _measure_constant(node)
    if id(node) not in measured:
        measured[id(node)] = _measure_operation(node, [_measure_part(part, measured) for part in node.operands])
    return measured[id(node)]


def _measure_constant(node: Constant) -> _MeasuredNode:
    value = node.value
    letters = len(value.encode()) if isinstance(value, str) else 0
    powers = COLUMN_POWERS
    if isinstance(value, int | float | Decimal) and value:
        powers = abs(int(f"{value:e}".partition("e")[2])) + 1
    return _MeasuredNode(RowCost(constants=1 + letters // MAX_SHORT_LETTERS), 1 + letters // MAX_BYTES, powers)


def _measure_operation(node: Operation, parts: Sequence[_MeasuredNode]) -> _MeasuredNode:
    weight = _weigh(node)
    copies = [weight.copies[min(index, len(weight.copies) - 1)] if weight.copies else 1 for index in range(len(parts))]
    powers, is_narrowed = _result_powers(node.operator, [part.powers for part in parts])
    if is_narrowed:  # Compiler._narrow: a magnitude BETWEEN two bounds, or 0, and then the number
        copies = [4 * number_of_copies for number_of_copies in copies]
    sizes = [part.size for part in parts]
    letters = sum(map(len, node.options[0].pieces)) if node.options and isinstance(node.options[0], Pattern) else 0
    total = RowCost(weight.operators, letters, weight.readings * sum(sizes[: 2 if node.operator == "||" else 1]))
    for part, times in zip(parts, copies, strict=True):
        total = total.plus(part.cost, times)
    return _MeasuredNode(total, sum(sizes) if node.operator == "||" else max(sizes, default=1), powers)


def _result_powers(operator: str, parts: Sequence[int]) -> tuple[int, bool]:
    """Return the powers of ten of a result, and whether its parts are narrowed to a range first."""
    if operator in ("+", "-", "*", "/"):
        combined = _combine_powers(operator, parts)
        return (
            (combined, False)
            if combined < MAX_POWERS
            else (_combine_powers(operator, [min(power, COLUMN_POWERS) for power in parts]), True)
        )
    return (max(parts), False) if operator in ("CASE", "COALESCE", "ABS") else (READ_TEXT_POWERS, False)


def _combine_powers(operator: str, parts: Sequence[int]) -> int:
    return max(parts) + 17 if operator in ("+", "-") else sum(parts) + 1


def _weigh(node: Operation) -> Weight:
    """Return the weight of an operation with its parts."""
    operator, parts = node.operator, node.operands
    base = WEIGHTS[operator]
    if operator in ("AND", "OR", "COALESCE"):
        return Weight(max(1, len(parts) - 1))
    if operator == "CASE":
        return Weight(len(parts) // 2)
    if operator == "LIKE":
        pattern = node.options[0]
        assert isinstance(pattern, Pattern)
        return Weight(max(1, pattern.test_count), pattern.reading_count, (pattern.test_count,))
    if operator == "CAST" and node.options[0] == "text":
        return Weight(base.operators, copies=(2,))
    if operator == "CAST" and node.options[0] == "timestamp":  # two patterns, and the parts of a text with a zone
        return Weight(12, copies=(8,))
    if operator == "IN":
        other_parts = sum(not isinstance(part, Constant) for part in parts[1:])
        constants = len(parts) - 1 - other_parts
        comparisons = constants if constants < MIN_HASHED else 1  # a short list is compared one by one
        passes = constants if constants < MIN_LOOKED_UP else 2
        readings = max(_text_readings(parts[1:]), passes * max(map(_extra_readings, parts[1:])))
        return Weight(
            comparisons + constants // 200 + other_parts, other_parts + readings, (comparisons + other_parts, 1)
        )
    if operator == "BETWEEN":
        return Weight(base.operators, 2 * _text_readings(parts), base.copies)
    if operator in EQUALS and any(isinstance(part, Constant) for part in parts):
        return Weight(1, max(map(_extra_readings, parts)))  # texts are compared only if they have the same length
    return Weight(1, _text_readings(parts)) if operator in EQUALS + ORDERS else base


def _extra_readings(part: Node) -> int:
    """Return the number of readings that a comparison with this part takes if it is a long constant, else 0."""
    length = len(part.value.encode()) if isinstance(part, Constant) and isinstance(part.value, str) else 0
    return -(-length // MAX_BYTES) if length > MAX_SHORT_LETTERS else 0


def _text_readings(parts: Sequence[Node]) -> int:
    """Return 1 if a comparison may be one of texts, else 0."""
    constants = [part.value for part in parts if isinstance(part, Constant)]
    return int(all(isinstance(value, str) for value in constants))
