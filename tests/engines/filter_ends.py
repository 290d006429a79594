"""Columns of numbers that hold the ends of their types, expressions over them, and what each expression means."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from dpselect.engines.filters.cost import EQUALS, ORDERS
from dpselect.engines.filters.tree import Constant, Name, Node, Operation
from tests.covering import covering

INTEGERS = {"ti": ("TINYINT", 8), "si": ("SMALLINT", 16), "it": ("INTEGER", 32), "bi": ("BIGINT", 64)}
DECIMALS = {
    f"d{digits}_{scale}": (digits, scale)
    for digits, scale in ((4, 2), (18, 3), (19, 0), (36, 2), (36, 18), (37, 0), (38, 0), (38, 4), (38, 19), (38, 38))
}
DOUBLES = ["1.7976931348623157e308", "-1e100", "1e-100", "9e-101", "5e-324", "-0.0", "0.1", "NaN", "Infinity",
           "-Infinity", None]  # fmt: skip
FLOATS = ["3.4028234663852886e38", "-3.4028234663852886e38", "1e-45", "-0.0", "0.1", "NaN", "Infinity", "-Infinity",
          "16777216", "-2.5", None]  # fmt: skip
WRITTEN = ["9" * 38, "-" + "9" * 38, "9" * 40, "0." + "9" * 38, "-0." + "9" * 40, "9" * 36 + ".99", "123.45",
           "9007199254740993", "-9223372036854775808", "-" + "9" * 18, None]  # fmt: skip


def _whole(bits: int) -> list[str | None]:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return [*map(str, (least, least + 1, -7, -1, 0, 1, 2, 7, most - 1, most)), None]


def _decimal(digits: int, scale: int) -> list[str | None]:
    most = 10**digits - 1
    middle = 5 * 10**scale // 2 if digits > scale else 10**scale // 2  # 2.5, or 0.5
    values = (-most, -most + 1, -middle, -1, 0, 1, middle, 10 ** (digits // 2), most - 1, most)
    return [*(format(Decimal(f"{value}e-{scale}"), "f") for value in values), None]


ONLY_DUCKDB = {
    "ub": ("UBIGINT", [*map(str, (0, 1, 2, 7, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1)), None]),
    "hu": ("HUGEINT", _whole(128)),
}
# A type in DuckDB, and eleven values. Each type has two columns, in whose 121 rows each value meets each.
TYPES: dict[str, tuple[str, list[str | None]]] = {
    **{name: (sql_type, _whole(bits)) for name, (sql_type, bits) in INTEGERS.items()},
    **{name: (f"DECIMAL({digits},{scale})", _decimal(digits, scale)) for name, (digits, scale) in DECIMALS.items()},
    **ONLY_DUCKDB,
    "fl": ("FLOAT", FLOATS),
    "do": ("DOUBLE", DOUBLES),
    "tx": ("VARCHAR", WRITTEN),
}
COLUMNS = {f"{name}{side}": sql_type for name, (sql_type, _) in TYPES.items() for side in "ab"}
NUMBERS = [name for name, sql_type in COLUMNS.items() if sql_type != "VARCHAR"]
ROWS = [
    [values[place] for _, values in TYPES.values() for place in (first, second)]
    for first, second in itertools.product(range(11), repeat=2)
]

# x and y are columns of numbers, of one type or of two.
OF_ONE = """
-x | abs(x) | abs(-x) | -abs(x) | abs(abs(x) - 1) | floor(x) | ceil(x) | floor(-x) | abs(floor(x)) | -x + 1 | x + 1
x - 1 | x + 0.1 | x * 10 | x * 0.01 | x * -1 | x % 7 | x % -7 | 7 % x | -7 % x | floor(x) % 7 | x / 3 | 3 / x
x / -0.01 | x + -9223372036854775808 | x * 9223372036854775807 | x - 9007199254740993 | x % -9223372036854775808
x::BIGINT | x::DOUBLE | x::DECIMAL(38,0) | x::DECIMAL(38,4) | x::DECIMAL(36,18) | x::DECIMAL(38,38) | x::DECIMAL(10,2)
x::DECIMAL(3,0) | x::DECIMAL(19,0) | floor(x)::BIGINT | ceil(x)::DECIMAL(18,0) | floor(x::DOUBLE) | ceil(x::DOUBLE)
abs(x)::BIGINT | abs(x)::DOUBLE | -(x::DOUBLE) | abs(x::DOUBLE) | abs(x)::DECIMAL(38,0) | (-x)::DECIMAL(37,0)
x::TEXT | floor(x)::TEXT | abs(x)::TEXT | (x::BIGINT)::TEXT
COALESCE(x, 0) | COALESCE(-x, 0.5) | NULLIF(x, 0) | CASE WHEN x < 0 THEN -x ELSE x END | COALESCE(x, 1e0)
abs(x) = x | abs(x) = -x | abs(x) > 1 | x = 0 | x > 0.5 | x >= 2.5 | x < 9223372036854775807 | x > -9223372036854775808
x IN (0, 1, -2.5) | x BETWEEN -1 AND 2.5 | x IN (9223372036854775807, 0.1) | x < 1e0 | x >= 9.007199254740993e15
x = 1e-1 | x = 99999999999999.99 | abs(-x) BETWEEN x AND abs(x) | -x = 0.0001
x * -1 IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) | x > 1e38 | x IS NULL | -x < 0
x IS DISTINCT FROM 0 | abs(x) IN (1, 2) | x % 7 = 0.5 | 7 % x IN (0.5, 2) | floor(x) = 0.5 | x * -1 < 0.0001
floor(x)::DECIMAL(38,0) = 0.5 | floor(x)::BIGINT = 0.1234567890123456 | COALESCE(x, 1) = 0.5
(x % 7)::DECIMAL(38,0) = 0.5
"""
ARITHMETIC = """
x + y | x - y | x * y | x / y | x % y
"""
OF_TWO = """
abs(x - y) | abs(x * y) | -x - y | floor(x) % floor(y) | abs(x) % abs(y)
abs(x) + abs(y) | x * y = 0 | x = y | x < y | x >= y | x <> y | x IN (y, 0) | x BETWEEN -1 AND y
abs(x) = abs(y) | abs(x) > y | -x = y
COALESCE(x, y) | NULLIF(x, y) | CASE WHEN x < y THEN x ELSE y END | CASE WHEN abs(x) > 1 THEN abs(y) ELSE -x END
x::DOUBLE + y::DOUBLE | x::DOUBLE * y::DOUBLE | x::DOUBLE / y::DOUBLE | x::DOUBLE = y::DOUBLE | x IS DISTINCT FROM y
"""
ALWAYS = f"""
abs(bia::BIGINT) | d38_0a * 0 | d18_3a * 10 | d38_0a::DECIMAL(19,0) | hua = d38_0b
d19_0a IN ({", ".join(map(str, range(60)))})
"""
OF_TEXT = """
tx::BIGINT | tx::DECIMAL(38,0) | tx::DECIMAL(38,38) | tx::DECIMAL(38,2) | tx::DECIMAL(5,2) | tx::DOUBLE
abs(tx::DECIMAL(38,0)) | -(tx::DECIMAL(38,38)) | abs(tx::DECIMAL(38,38)) | floor(tx::DECIMAL(38,2)) | abs(tx::BIGINT)
abs(tx::DOUBLE) | floor(tx::DOUBLE)
"""


def _words(text: str) -> list[str]:
    return [one.strip() for line in text.strip().splitlines() for one in line.split("|")]


def expressions(step: int = 1) -> list[str]:
    """Operations on a column of each type, and on columns of two types: all of them, or each `step`-th.

    Arithmetic is tried on each two types. Of other operations on two columns, each with each type on either side.
    """
    numbers = [name for name in TYPES if name != "tx"]
    found = [_named(one, name, "") for name in numbers for one in _words(OF_ONE)]
    found += [_named(one, a, b) for a, b in itertools.product(numbers, repeat=2) for one in _words(ARITHMETIC)]
    found += [_named(*case) for case in covering(_words(OF_TWO), numbers, numbers)]
    return [*found[::step], *_words(ALWAYS), *(one.replace("tx", "txa") for one in _words(OF_TEXT))]


def _named(words: str, x: str, y: str) -> str:
    return re.sub(r"\by\b", f"{y}b", re.sub(r"\bx\b", f"{x}a", words))


def nestings(many: int) -> list[str]:
    """Operations of operations, put together at random; always the same ones."""
    chance = random.Random(1)

    def number(depth: int) -> str:
        if depth == 0 or chance.random() < 0.15:
            return chance.choice(NUMBERS if chance.random() < 0.8 else ["0", "1", "-7", "0.5", "2e0"])
        one, other = number(depth - 1), number(depth - 1)
        return chance.choice([
            f"abs({one})", f"(- {one})", f"floor({one})", f"ceil({one})", f"({one} + {other})", f"({one} - {other})",
            f"({one} * {other})", f"({one} % {other})", f"({one} / {other})", f"({one})::DECIMAL(38,0)",
            f"({one})::BIGINT", f"({one})::DECIMAL(38,18)", f"({one})::DOUBLE", f"COALESCE({one}, {other})",
            f"NULLIF({one}, {other})", f"CASE WHEN {one} < {number(depth - 1)} THEN {other} ELSE {one} END",
        ])  # fmt: skip

    signs = ("=", "<", "<=", "<>")
    return [f"0 + {number(3)}" if at % 4 else f"{number(3)} {chance.choice(signs)} {number(2)}" for at in range(many)]


# ---- what an expression means -----------------------------------------------------------------------------

Meant = tuple[str, object]  # a kind, and a Fraction, a float, a text, a truth or None
DOUBLE = r"[ ]*[+-]?([0-9]{1,40}([.][0-9]{0,40})?|[.][0-9]{1,40})([eE][+-]?0?[0-9]{1,2})?[ ]*"


class UnknownError(Exception):
    """Left to the engines, which must agree: doubles in nestings are held to a range that is not written here."""


def kept(value: object, sql_type: str) -> Meant:
    """A value of a column."""
    kind = {"F": "double", "V": "text"}.get(sql_type[0], "double" if sql_type == "DOUBLE" else "exact")
    if value is None:
        return kind, None
    if sql_type == "FLOAT":
        return kind, float(np.float32(str(value)))
    return kind, {"double": float, "text": str, "exact": Fraction}[kind](str(value))


def meant(node: Node, row: Mapping[str, Meant], *, raw: bool = False) -> Meant:
    """The value of an expression for a row; `raw` in comparisons, where doubles have no range."""
    if isinstance(node, Constant):
        value = node.value
        kind = {bool: "boolean", float: "double", str: "text", type(None): "null"}.get(type(value), "exact")
        return kind, Fraction(value) if kind == "exact" else value
    if isinstance(node, Name):
        kind, value = row[node.name]
        outside = kind == "double" and value and not 1e-100 <= abs(value) <= 1e100
        return kind, None if outside and not raw else value
    return _OPERATIONS[node.operator](node, row)


def _parts(node: Operation, row: Mapping[str, Meant], *, raw: bool = False) -> tuple[str, list]:
    """The parts as values of one kind."""
    found = [meant(part, row, raw=raw) for part in node.operands]
    return _alike(found)


def _alike(found: Sequence[Meant]) -> tuple[str, list]:
    kinds = {kind for kind, _ in found} - {"null"}
    if kinds == {"exact", "double"}:
        return "double", [None if value is None else float(value) for _, value in found]
    return min(kinds), [value for _, value in found]


def _comparison(node: Operation, row: Mapping[str, Meant]) -> Meant:
    _, values = _parts(node, row, raw=True)
    return "boolean", _compared(node.operator, *values)


def _compared(sign: str, left: object, right: object) -> bool | None:
    if left is None or right is None:
        return (left is None) != (right is None) if sign == "IS DISTINCT FROM" else None
    a, b = ((value != value, 0 if value != value else value) for value in (left, right))  # NaN is above all others
    orders = {"=": a == b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    return orders.get(sign, a != b)


def _any(values: Sequence[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


def _all(values: Sequence[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def _among(node: Operation, row: Mapping[str, Meant]) -> Meant:
    _, (first, *others) = _parts(node, row, raw=True)
    return "boolean", _any([_compared("=", first, other) for other in others])


def _between(node: Operation, row: Mapping[str, Meant]) -> Meant:
    _, (value, low, high) = _parts(node, row, raw=True)
    return "boolean", _all([_compared(">=", value, low), _compared("<=", value, high)])


def _missing(node: Operation, row: Mapping[str, Meant]) -> Meant:
    return "boolean", meant(node.operands[0], row, raw=True)[1] is None


def _case(node: Operation, row: Mapping[str, Meant]) -> Meant:
    kind, results = _alike([meant(part, row) for part in (*node.operands[1::2], node.operands[-1])])
    for condition, result in zip(node.operands[:-1:2], results, strict=False):
        if meant(condition, row)[1]:
            return kind, result
    return kind, results[-1]


def _coalesce(node: Operation, row: Mapping[str, Meant]) -> Meant:
    kind, values = _parts(node, row)
    return kind, next((value for value in values if value is not None), None)


def _arithmetic(node: Operation, row: Mapping[str, Meant]) -> Meant:
    kind, (left, right) = _parts(node, row)
    kind = "double" if node.operator == "/" else kind
    if kind == "double":
        for part in node.operands:
            if not isinstance(part, Name) and meant(part, row)[0] == "double" and not _is_read(part):
                raise UnknownError
        left, right = (None if value is None else float(value) for value in (left, right))
    if left is None or right is None or (node.operator in "/%" and right == 0):
        return kind, None
    if node.operator == "%":
        return kind, (abs(left) % abs(right)) * (-1 if left < 0 else 1)
    return kind, {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "/": left.__truediv__}[node.operator](right)


def _is_read(node: Node) -> bool:
    """Is it a constant, or an exact column as a double?"""
    return isinstance(node, Operation) and node.operator == "CAST" and isinstance(node.operands[0], Name)


def _magnitude(node: Operation, row: Mapping[str, Meant]) -> Meant:
    kind, value = meant(node.operands[0], row)
    return kind, None if value is None else abs(value)


def _whole(node: Operation, row: Mapping[str, Meant]) -> Meant:
    kind, value = meant(node.operands[0], row, raw=True)
    if value is None or (kind == "double" and not -1e15 <= value <= 1e15):
        return "exact", None
    return "exact", Fraction(Fraction(value).__floor__() if node.operator == "FLOOR" else Fraction(value).__ceil__())


def _cast(node: Operation, row: Mapping[str, Meant]) -> Meant:
    (kind, value), to = meant(node.operands[0], row), str(node.options[0])
    if value is None:
        return to, None
    if to == "exact":
        return to, _fitting(kind, value, *map(int, node.options[1:]))
    if (kind, to) == ("text", "double"):
        return to, float(value) if re.fullmatch(DOUBLE, value) else None
    return to, {"double": float, "text": str}[to](value)


def _fitting(kind: str, value: object, least: int, most: int, scale: int) -> Fraction | None:
    if kind == "text":
        whole, _, part = str(value).strip(" ").lstrip("+-").partition(".")
        most_read = 18 if least < -most else len(str(most)) - scale
        if len(whole) > (most_read or 1) or len(part) > scale or (not most_read and whole != "0"):
            return None
        value = Fraction(str(value))
    return value if least <= value * 10**scale <= most else None


_OPERATIONS: Mapping[str, Callable[[Operation, Mapping[str, Meant]], Meant]] = {
    **dict.fromkeys((*EQUALS, *ORDERS), _comparison), "IN": _among, "BETWEEN": _between,
    "IS NULL": _missing, "CASE": _case, "COALESCE": _coalesce, **dict.fromkeys("+-*/%", _arithmetic),
    "ABS": _magnitude, "FLOOR": _whole, "CEIL": _whole, "CAST": _cast,
}  # fmt: skip
