"""Operations: the kinds of values of each, and why it has a value or null for every row.

docs/filters.md has the table. An operation that could fail for a row is written so that the row cannot reach it: a
divisor that is 0, a text that is no number, a date that not every engine has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count

from dpselect.engines.filters import values
from dpselect.engines.filters.casts import cast
from dpselect.engines.filters.cost import EQUALS, HASHED, MAX_LISTED, ORDERS, POWERS
from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Constant, Name, Node, Operation, refuse
from dpselect.engines.filters.values import Value, as_exact, as_moment, compile_comparable, to_double

_MAX_ROUNDED = 10**15  # integers up to this one are exact in a double, with a half added
_WIDE_DIGITS = 19  # digits of a decimal that DuckDB holds in 128 bits; a product of two shorter ones must fit in 64


@dataclass(frozen=True)
class Writer:
    """A compiler of trees over columns of known types, for one engine."""

    columns: Mapping[str, Value]
    spelling: Spelling

    def condition(self, node: Node) -> str:
        """Compile a tree to the SQL after WHERE."""
        return self._truth(self.value(node))

    def value(self, node: Node) -> Value:
        """Compile an expression, with its kind and bounds."""
        if isinstance(node, Name):
            return self.columns[node.name]
        if isinstance(node, Constant):
            return values.constant_value(node.value, self.spelling)
        return _OPERATIONS[node.sort](self, node, [self.value(part) for part in node.parts])

    def _truth(self, value: Value) -> str:
        if value.kind not in ("boolean", "null"):
            refuse(f"{value.description} as a condition", "compare it with something, for example = 'yes'")
        return "NULL" if value.kind == "null" else value.sql

    # ---- conditions ---------------------------------------------------------------------------------------

    def _logic(self, node: Operation, parts: Sequence[Value]) -> Value:
        return _boolean(f" {node.sort} ".join(self._truth(part) for part in parts))

    def _negation(self, _: Operation, parts: Sequence[Value]) -> Value:
        return _boolean(f"NOT {self._truth(parts[0])}")

    def _is_null(self, _: Operation, parts: Sequence[Value]) -> Value:
        return _boolean(f"{_in_parentheses(parts[0].sql)} IS NULL")

    def _comparison(self, node: Operation, parts: Sequence[Value]) -> Value:
        left, right = compile_comparable(parts, self.spelling, ordered=node.sort in ORDERS)
        return _boolean(f"{left} {node.sort} {right}")

    def _in_list(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile IN; only constants are in a list: if a column is among them DuckDB compares with each separately."""
        first, *other_sqls = compile_comparable(parts, self.spelling)
        sqls_by_constness: dict[bool, list[str]] = {True: [], False: []}
        for part, sql in zip(node.parts[1:], other_sqls, strict=True):
            sqls_by_constness[isinstance(part, Constant)].append(sql)
        form = "({})"
        if len(sqls_by_constness[True]) > MAX_LISTED:
            form = self.spelling.long_list
            if values.is_small(parts[0]):  # PostgreSQL looks up only numbers of one size
                first = f"CAST({first} AS {self.spelling.integer})"
        texts = {part.constant for part in parts[1:] if isinstance(part.constant, str)}
        is_column = parts[0].kind == "text" and bool(parts[0].safe)
        looked_up = self._shortened(first, texts) if is_column and len(texts) >= HASHED else first
        tests = (
            [f"{looked_up} IN {form.replace('{}', ', '.join(sqls_by_constness[True]))}"]
            if sqls_by_constness[True]
            else []
        )
        return _boolean(" OR ".join([*tests, *(f"{first} = {sql}" for sql in sqls_by_constness[False])]))

    def _shortened(self, sql: str, texts: Set[str]) -> str:
        """Compile a text, or a different one instead of a text longer than all of these, which need not be read."""
        different_text = next(str(number) for number in count() if str(number) not in texts)
        max_bytes = max(len(text.encode()) for text in texts)
        length = self.spelling.function("BYTES", sql)
        return self.spelling.binary(
            f"CASE WHEN {length} > {max_bytes} THEN {self.spelling.literal(different_text)} ELSE {sql} END"
        )

    def _between(self, _: Operation, parts: Sequence[Value]) -> Value:
        value, low, high = compile_comparable(parts, self.spelling, ordered=True)
        return _boolean(f"{value} BETWEEN {low} AND {high}")

    def _like(self, node: Operation, parts: Sequence[Value]) -> Value:
        pattern = node.fixed[0]
        assert isinstance(pattern, Pattern)
        return _boolean(self.spelling.compile_like(_check_text(parts[0], node.sort).operand, pattern))

    # ---- choices ------------------------------------------------------------------------------------------

    def _case(self, _: Operation, parts: Sequence[Value]) -> Value:
        conditions = [self._truth(part) for part in parts[:-1:2]]
        common, results = self._to_common_kind([*parts[1::2], parts[-1]])
        whens = (f"WHEN {condition} THEN {result}" for condition, result in zip(conditions, results, strict=False))
        return replace(common, sql=f"CASE {' '.join(whens)} ELSE {results[-1]} END")

    def _coalesce(self, _: Operation, parts: Sequence[Value]) -> Value:
        common, results = self._to_common_kind(parts)
        return replace(common, sql=f"COALESCE({', '.join(results)})")

    def _to_common_kind(self, parts: Sequence[Value]) -> tuple[Value, list[str]]:
        """Return the common type of values of one kind, and the SQL of each in it."""
        known_parts = [part for part in parts if part.kind != "null"]
        kinds = {part.kind for part in known_parts}
        if kinds in ({"text", "date"}, {"text", "timestamp"}):
            kinds -= {"text"}
            known_parts = [
                cast(part, tuple(kinds), self.spelling) if isinstance(part.constant, str) else part
                for part in known_parts
            ]
            kinds = {part.kind for part in known_parts}
        if kinds <= {"exact", "double"} and "double" in kinds:
            known_parts = [to_double(part, self.spelling) for part in known_parts]
        elif kinds == {"exact"}:
            known_parts = self._to_common_exact(known_parts)
        elif kinds == {"date", "timestamp"}:
            known_parts = [as_moment(part, self.spelling) for part in known_parts]
        elif len(kinds) > 1:
            values.refuse_misfit(known_parts)
        if "other" in kinds:
            refuse(f"{known_parts[0].description} here", "only IS NULL may follow it")
        operands = iter([part.operand for part in known_parts])
        low, high = (
            min((part.low for part in known_parts), default=0),
            max((part.high for part in known_parts), default=0),
        )
        common = (
            replace(known_parts[0], description="a value", safe="", constant=None, type_name="", low=low, high=high)
            if known_parts
            else parts[0]
        )
        return common, ["NULL" if part.kind == "null" else next(operands) for part in parts]

    def _to_common_exact(self, parts: Sequence[Value]) -> list[Value]:
        """Convert exact numbers to a type that holds them all."""
        scale = max(part.scale for part in parts)
        max_magnitude = max(_scaled_magnitude(part, scale) for part in parts)
        sqls = [as_exact(part, max_magnitude, scale, self.spelling) for part in parts]
        return [
            replace(part, sql=sql, safe="", max_magnitude=max_magnitude, scale=scale)
            for part, sql in zip(parts, sqls, strict=True)
        ]

    # ---- numbers ------------------------------------------------------------------------------------------

    def _sum(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile a sum or difference, whose bounds are added."""
        if not _are_exact(parts, node.sort):
            return self._double_operation(
                node.sort, parts, lambda a, b: (min(a.low, b.low) - 17, max(a.high, b.high) + 1)
            )
        scale = max(part.scale for part in parts)
        max_magnitude = sum(_scaled_magnitude(part, scale) for part in parts)
        left, right = (as_exact(part, max_magnitude, scale, self.spelling) for part in parts)
        return self._exact_result(f"({left} {node.sort} {right})", max_magnitude, scale)

    def _product(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile a product, whose bounds are multiplied."""
        if not _are_exact(parts, node.sort):
            return self._double_operation("*", parts, lambda a, b: (a.low + b.low - 1, a.high + b.high + 1))
        left, right = parts
        # The type holds both factors as well: if one is always 0, the product's bound does not bound the other.
        max_magnitude, scale = (
            max(1, _scaled_magnitude(left, left.scale)) * max(1, _scaled_magnitude(right, right.scale)),
            left.scale + right.scale,
        )
        sizes = [values.decimal_digits(part.max_magnitude or 0, part.scale) for part in parts]
        if values.exact_type(max_magnitude, scale, self.spelling) == self.spelling.integer:
            sqls = [f"CAST({part.operand} AS {self.spelling.integer})" for part in parts]
        else:
            if scale > values.SPARK_EXACT_DIGITS:  # 0.01 has two digits in its type
                values.exact_type(10 ** (sum(sizes) - 1) - 1, scale, self.spelling)
            if max(sizes) < _WIDE_DIGITS <= values.decimal_digits(max_magnitude, scale):
                sizes[0] = _WIDE_DIGITS
            types = [self.spelling.decimal(size, part.scale) for size, part in zip(sizes, parts, strict=True)]
            sqls = [f"CAST({part.operand} AS {name})" for part, name in zip(parts, types, strict=True)]
        return self._exact_result(f"({' * '.join(sqls)})", max_magnitude, scale)

    def _exact_result(self, sql: str, max_magnitude: int, scale: int) -> Value:
        """Cast a result to the type of its bound: an engine's own may be wider, and be rounded with another number."""
        name = values.exact_type(max_magnitude, scale, self.spelling)
        return Value(
            "exact",
            f"CAST({sql} AS {name})" if name != self.spelling.integer else sql,
            max_magnitude=max_magnitude,
            scale=scale,
        )

    def _quotient(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile a quotient of doubles, null if the divisor is 0."""
        _are_exact(parts, node.sort)
        return self._double_operation("/", parts, lambda a, b: (a.low - b.high - 1, a.high - b.low + 1))

    def _double_operation(
        self, sign: str, parts: Sequence[Value], bounds: Callable[[Value, Value], tuple[int, int]]
    ) -> Value:
        """Compile an operation on both values as doubles, in a range in which no engine overflows."""
        left, right = (self._operand(to_double(part, self.spelling)) for part in parts)
        if not all(-POWERS < power < POWERS for power in bounds(left, right)):
            left, right = (self._narrow(part) for part in (left, right))
        low, high = bounds(left, right)
        sql = f"({left.sql} {sign} {right.sql})"
        if sign == "/" and not right.constant:
            sql = f"CASE WHEN {right.sql} <> 0 THEN {sql} END"
        return Value("double", _in_parentheses(sql), low=low, high=high)

    def _operand(self, value: Value) -> Value:
        return replace(value, sql=value.operand, safe="")

    def _narrow(self, value: Value) -> Value:
        if value.low >= -values.MAX_DOUBLE_POWER and value.high <= values.MAX_DOUBLE_POWER:
            return value
        sql = _in_parentheses(self.spelling.in_range(value.sql))
        return replace(value, sql=sql, constant=None, low=-values.MAX_DOUBLE_POWER, high=values.MAX_DOUBLE_POWER)

    def _remainder(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile the remainder of integers, with the sign of the first; null if the second is 0."""
        if not _are_exact(parts, node.sort) or any(part.scale for part in parts):
            refuse("% of numbers that are not whole", "floor(x) is whole")
        bounds = [_scaled_magnitude(part, 0) for part in parts]
        left, right = (as_exact(part, max(bounds), 0, self.spelling) for part in parts)
        sql = self.spelling.function("%", left, right)
        if not parts[1].constant:
            sql = f"CASE WHEN {right} <> 0 THEN {sql} END"
        sql = f"CAST({sql} AS {values.exact_type(min(bounds), 0, self.spelling)})"
        return Value("exact", sql, max_magnitude=min(bounds))

    def _magnitude(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile the number without its sign."""
        part = parts[0]
        if _are_exact(parts, node.sort):
            max_magnitude = _scaled_magnitude(part, part.scale)
            sql = as_exact(part, max_magnitude, part.scale, self.spelling)
            return self._exact_result(self.spelling.function("ABS", sql), max_magnitude, part.scale)
        return Value("double", self.spelling.function("ABS", part.operand), low=part.low, high=part.high)

    def _rounded(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile a number rounded down, or up, to an integer; null if it is too large for a double to have halves."""
        part = parts[0]
        if _are_exact(parts, node.sort):
            maximum = _scaled_magnitude(part, part.scale) // 10**part.scale + 1
            if not part.scale:
                return part
            sql = self.spelling.function(node.sort, part.operand)
            return Value(
                "exact", f"CAST({sql} AS {values.exact_type(maximum, 0, self.spelling)})", max_magnitude=maximum
            )
        minimum, maximum = (
            values.constant_value(bound, self.spelling).sql for bound in (-float(_MAX_ROUNDED), float(_MAX_ROUNDED))
        )
        rounded = f"CAST({self.spelling.function(node.sort, part.sql)} AS {self.spelling.integer})"
        sql = f"CASE WHEN {part.sql} BETWEEN {minimum} AND {maximum} THEN {rounded} END"
        return Value("exact", sql, max_magnitude=_MAX_ROUNDED)

    # ---- texts --------------------------------------------------------------------------------------------

    def _text_function(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile a function from a text to a text."""
        sql = self.spelling.function(node.sort, _check_text(parts[0], node.sort).operand, *map(str, node.fixed))
        return Value("text", sql)

    def _concatenation(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile the concatenation of two texts."""
        return Value("text", self.spelling.function("||", *(_check_text(part, node.sort).operand for part in parts)))

    def _length(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile the number of code points of a text."""
        return Value(
            "exact", self.spelling.function("LENGTH", _check_text(parts[0], node.sort).operand), max_magnitude=2**31
        )

    # ---- dates --------------------------------------------------------------------------------------------

    def _date_part(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile a part of a date or a moment to an integer."""
        name, value = str(node.fixed[0]), _check_day(parts[0], str(node.fixed[0]))
        if name in ("HOUR", "MINUTE", "SECOND"):
            value = as_moment(value, self.spelling)
        return Value("exact", self.spelling.function(name, value.operand), max_magnitude=9999)

    def _truncated(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile the first day of the year, month or week, or the day itself."""
        value = cast(_check_day(parts[0], "date_trunc"), ("date",), self.spelling)
        unit = str(node.fixed[0])
        return value if unit == "DAY" else Value("date", self.spelling.function(f"TRUNC {unit}", value.operand))

    def _cast(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Compile a value to another type."""
        return cast(parts[0], node.fixed, self.spelling)


_OPERATIONS: Mapping[str, Callable[[Writer, Operation, Sequence[Value]], Value]] = {
    "AND": Writer._logic, "OR": Writer._logic, "NOT": Writer._negation, "IS NULL": Writer._is_null,
    **dict.fromkeys((*EQUALS, *ORDERS), Writer._comparison),
    "IN": Writer._in_list, "BETWEEN": Writer._between, "LIKE": Writer._like,
    "CASE": Writer._case, "COALESCE": Writer._coalesce,
    "+": Writer._sum, "-": Writer._sum, "*": Writer._product, "/": Writer._quotient, "%": Writer._remainder,
    "ABS": Writer._magnitude, "FLOOR": Writer._rounded, "CEIL": Writer._rounded,
    **dict.fromkeys(("LOWER", "UPPER", "TRIM", "LTRIM", "RTRIM", "LEFT", "RIGHT", "SUBSTRING"), Writer._text_function),
    "||": Writer._concatenation, "LENGTH": Writer._length,
    "PART": Writer._date_part, "TRUNC": Writer._truncated, "CAST": Writer._cast,
}  # fmt: skip


def _boolean(sql: str) -> Value:
    return Value("boolean", f"({sql})", "a condition")


def _in_parentheses(sql: str) -> str:
    return sql if sql.startswith("(") else f"({sql})"


def _scaled_magnitude(value: Value, scale: int) -> int:
    """Return the bound of an exact number, in units of its last digit at this scale."""
    if value.max_magnitude is None:
        values.refuse_any_size(value)
    return int(value.max_magnitude * Fraction(10) ** (scale - value.scale))


def _are_exact(parts: Sequence[Value], sign: str) -> bool:
    """Return whether all values are exact; refuse those that are no numbers."""
    for part in parts:
        if part.kind not in ("exact", "double"):
            hint = "a text becomes one by CAST(x AS INTEGER) or CAST(x AS DOUBLE)"
            refuse(f"{part.description} where {sign.lower()} takes numbers", hint)
    return all(part.kind == "exact" for part in parts)


def _check_text(value: Value, name: str) -> Value:
    if value.kind != "text":
        refuse(
            f"{value.description} where {name.lower()} takes a text", "a whole number becomes one by CAST(x AS TEXT)"
        )
    return value


def _check_day(value: Value, name: str) -> Value:
    if value.kind not in ("date", "timestamp"):
        hint = "a text becomes one by CAST(x AS DATE) or CAST(x AS TIMESTAMP)"
        refuse(f"{value.description} where {name.lower()} takes a date", hint)
    return value
