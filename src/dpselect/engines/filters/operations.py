"""Operations: the kinds of values of each, and why it has a value or null for every row.

docs/filters.md has the table. An operation that could fail for a row is written so that the row cannot reach it: a
divisor that is 0, a text that is no number, a date that not every engine has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from fractions import Fraction
from itertools import count

from dpselect._ground.dataclass import dataclass
from dpselect.engines.filters import values
from dpselect.engines.filters.casts import cast
from dpselect.engines.filters.cost import EQUALS, MAX_LISTED, MAX_POWERS, MIN_HASHED, ORDERS
from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Constant, Name, Node, Operation, refuse
from dpselect.engines.filters.values import Value, as_exact, as_moment, compile_comparable, to_double

_MAX_ROUNDED = 10**15  # integers up to this one are exact in a double, with a half added
_WIDE_DIGITS = 19  # digits of a decimal that DuckDB holds in 128 bits; a product of two shorter ones must fit in 64


@dataclass(frozen=True)
class Compiler:
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
        return _OPERATIONS[node.operator](self, node, [self.value(operand) for operand in node.operands])

    def _truth(self, value: Value) -> str:
        if value.kind not in ("boolean", "null"):
            refuse(f"{value.description} as a condition", "compare it with something, for example = 'yes'")
        return "NULL" if value.kind == "null" else value.sql

    # ---- conditions ---------------------------------------------------------------------------------------

    def _logic(self, node: Operation, operands: Sequence[Value]) -> Value:
        return _boolean(f" {node.operator} ".join(self._truth(operand) for operand in operands))

    def _negation(self, _: Operation, operands: Sequence[Value]) -> Value:
        return _boolean(f"NOT {self._truth(operands[0])}")

    def _is_null(self, _: Operation, operands: Sequence[Value]) -> Value:
        return _boolean(f"{_in_parentheses(operands[0].sql)} IS NULL")

    def _comparison(self, node: Operation, operands: Sequence[Value]) -> Value:
        left, right = compile_comparable(operands, self.spelling, ordered=node.operator in ORDERS)
        return _boolean(f"{left} {node.operator} {right}")

    def _in_list(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile IN; only constants are in a list: if a column is among them DuckDB compares with each separately."""
        first, *other_sqls = compile_comparable(operands, self.spelling)
        sqls_by_constness: dict[bool, list[str]] = {True: [], False: []}
        for operand, sql in zip(node.operands[1:], other_sqls, strict=True):
            sqls_by_constness[isinstance(operand, Constant)].append(sql)
        form = "({})"
        if len(sqls_by_constness[True]) > MAX_LISTED:
            form = self.spelling.long_list
            if values.is_small(operands[0]):  # PostgreSQL looks up only numbers of one size
                first = f"CAST({first} AS {self.spelling.integer})"
        texts = {operand.constant for operand in operands[1:] if isinstance(operand.constant, str)}
        is_column = operands[0].kind == "text" and bool(operands[0].safe)
        looked_up = self._shortened(first, texts) if is_column and len(texts) >= MIN_HASHED else first
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

    def _between(self, _: Operation, operands: Sequence[Value]) -> Value:
        value, low, high = compile_comparable(operands, self.spelling, ordered=True)
        return _boolean(f"{value} BETWEEN {low} AND {high}")

    def _like(self, node: Operation, operands: Sequence[Value]) -> Value:
        pattern = node.options[0]
        assert isinstance(pattern, Pattern)
        return _boolean(self.spelling.compile_like(_check_text(operands[0], node.operator).operand_sql, pattern))

    # ---- choices ------------------------------------------------------------------------------------------

    def _case(self, _: Operation, operands: Sequence[Value]) -> Value:
        conditions = [self._truth(operand) for operand in operands[:-1:2]]
        common, results = self._to_common_kind([*operands[1::2], operands[-1]])
        whens = (f"WHEN {condition} THEN {result}" for condition, result in zip(conditions, results, strict=False))
        return replace(common, sql=f"CASE {' '.join(whens)} ELSE {results[-1]} END")

    def _coalesce(self, _: Operation, operands: Sequence[Value]) -> Value:
        common, results = self._to_common_kind(operands)
        return replace(common, sql=f"COALESCE({', '.join(results)})")

    def _to_common_kind(self, operands: Sequence[Value]) -> tuple[Value, list[str]]:
        """Return the common type of values of one kind, and the SQL of each in it."""
        known_operands = [operand for operand in operands if operand.kind != "null"]
        kinds = {operand.kind for operand in known_operands}
        if kinds in ({"text", "date"}, {"text", "timestamp"}):
            kinds -= {"text"}
            known_operands = [
                cast(operand, tuple(kinds), self.spelling) if isinstance(operand.constant, str) else operand
                for operand in known_operands
            ]
            kinds = {operand.kind for operand in known_operands}
        if kinds <= {"exact", "double"} and "double" in kinds:
            known_operands = [to_double(operand, self.spelling) for operand in known_operands]
        elif kinds == {"exact"}:
            known_operands = self._to_common_exact(known_operands)
        elif kinds == {"date", "timestamp"}:
            known_operands = [as_moment(operand, self.spelling) for operand in known_operands]
        elif len(kinds) > 1:
            values.refuse_misfit(known_operands)
        if "other" in kinds:
            refuse(f"{known_operands[0].description} here", "only IS NULL may follow it")
        operand_sqls = iter([operand.operand_sql for operand in known_operands])
        low, high = (
            min((operand.low for operand in known_operands), default=0),
            max((operand.high for operand in known_operands), default=0),
        )
        common = (
            replace(known_operands[0], description="a value", safe="", constant=None, type_name="", low=low, high=high)
            if known_operands
            else operands[0]
        )
        return common, ["NULL" if operand.kind == "null" else next(operand_sqls) for operand in operands]

    def _to_common_exact(self, operands: Sequence[Value]) -> list[Value]:
        """Convert exact numbers to a type that holds them all."""
        scale = max(operand.scale for operand in operands)
        max_magnitude = max(_scaled_magnitude(operand, scale) for operand in operands)
        sqls = [as_exact(operand, max_magnitude, scale, self.spelling) for operand in operands]
        return [
            replace(operand, sql=sql, safe="", max_magnitude=max_magnitude, scale=scale)
            for operand, sql in zip(operands, sqls, strict=True)
        ]

    # ---- numbers ------------------------------------------------------------------------------------------

    def _sum(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile a sum or difference, whose bounds are added."""
        if not _are_exact(operands, node.operator):
            return self._double_operation(
                node.operator, operands, lambda a, b: (min(a.low, b.low) - 17, max(a.high, b.high) + 1)
            )
        scale = max(operand.scale for operand in operands)
        max_magnitude = sum(_scaled_magnitude(operand, scale) for operand in operands)
        left, right = (as_exact(operand, max_magnitude, scale, self.spelling) for operand in operands)
        return self._exact_result(f"({left} {node.operator} {right})", max_magnitude, scale)

    def _product(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile a product, whose bounds are multiplied."""
        if not _are_exact(operands, node.operator):
            return self._double_operation("*", operands, lambda a, b: (a.low + b.low - 1, a.high + b.high + 1))
        left, right = operands
        # The type holds both factors as well: if one is always 0, the product's bound does not bound the other.
        max_magnitude, scale = (
            max(1, _scaled_magnitude(left, left.scale)) * max(1, _scaled_magnitude(right, right.scale)),
            left.scale + right.scale,
        )
        sizes = [values.decimal_digits(operand.max_magnitude or 0, operand.scale) for operand in operands]
        if values.exact_type(max_magnitude, scale, self.spelling) == self.spelling.integer:
            sqls = [f"CAST({operand.operand_sql} AS {self.spelling.integer})" for operand in operands]
        else:
            if scale > values.SPARK_EXACT_DIGITS:  # 0.01 has two digits in its type
                values.exact_type(10 ** (sum(sizes) - 1) - 1, scale, self.spelling)
            if max(sizes) < _WIDE_DIGITS <= values.decimal_digits(max_magnitude, scale):
                sizes[0] = _WIDE_DIGITS
            types = [self.spelling.decimal(size, operand.scale) for size, operand in zip(sizes, operands, strict=True)]
            sqls = [f"CAST({operand.operand_sql} AS {name})" for operand, name in zip(operands, types, strict=True)]
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

    def _quotient(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile a quotient of doubles, null if the divisor is 0."""
        _are_exact(operands, node.operator)
        return self._double_operation("/", operands, lambda a, b: (a.low - b.high - 1, a.high - b.low + 1))

    def _double_operation(
        self, sign: str, operands: Sequence[Value], bounds: Callable[[Value, Value], tuple[int, int]]
    ) -> Value:
        """Compile an operation on both values as doubles, in a range in which no engine overflows."""
        left, right = (self._operand(to_double(operand, self.spelling)) for operand in operands)
        if not all(-MAX_POWERS < power < MAX_POWERS for power in bounds(left, right)):
            left, right = (self._narrow(operand) for operand in (left, right))
        low, high = bounds(left, right)
        sql = f"({left.sql} {sign} {right.sql})"
        if sign == "/" and not right.constant:
            sql = f"CASE WHEN {right.sql} <> 0 THEN {sql} END"
        return Value("double", _in_parentheses(sql), low=low, high=high)

    def _operand(self, value: Value) -> Value:
        return replace(value, sql=value.operand_sql, safe="")

    def _narrow(self, value: Value) -> Value:
        if value.low >= -values.MAX_DOUBLE_POWER and value.high <= values.MAX_DOUBLE_POWER:
            return value
        sql = _in_parentheses(self.spelling.in_range(value.sql))
        return replace(value, sql=sql, constant=None, low=-values.MAX_DOUBLE_POWER, high=values.MAX_DOUBLE_POWER)

    def _remainder(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile the remainder of integers, with the sign of the first; null if the second is 0."""
        if not _are_exact(operands, node.operator) or any(operand.scale for operand in operands):
            refuse("% of numbers that are not whole", "floor(x) is whole")
        bounds = [_scaled_magnitude(operand, 0) for operand in operands]
        left, right = (as_exact(operand, max(bounds), 0, self.spelling) for operand in operands)
        sql = self.spelling.function("%", left, right)
        if not operands[1].constant:
            sql = f"CASE WHEN {right} <> 0 THEN {sql} END"
        sql = f"CAST({sql} AS {values.exact_type(min(bounds), 0, self.spelling)})"
        return Value("exact", sql, max_magnitude=min(bounds))

    def _magnitude(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile the number without its sign."""
        operand = operands[0]
        if _are_exact(operands, node.operator):
            max_magnitude = _scaled_magnitude(operand, operand.scale)
            sql = as_exact(operand, max_magnitude, operand.scale, self.spelling)
            return self._exact_result(self.spelling.function("ABS", sql), max_magnitude, operand.scale)
        return Value("double", self.spelling.function("ABS", operand.operand_sql), low=operand.low, high=operand.high)

    def _rounded(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile a number rounded down, or up, to an integer; null if it is too large for a double to have halves."""
        operand = operands[0]
        if _are_exact(operands, node.operator):
            maximum = _scaled_magnitude(operand, operand.scale) // 10**operand.scale + 1
            if not operand.scale:
                return operand
            sql = self.spelling.function(node.operator, operand.operand_sql)
            return Value(
                "exact", f"CAST({sql} AS {values.exact_type(maximum, 0, self.spelling)})", max_magnitude=maximum
            )
        minimum, maximum = (
            values.constant_value(bound, self.spelling).sql for bound in (-float(_MAX_ROUNDED), float(_MAX_ROUNDED))
        )
        rounded = f"CAST({self.spelling.function(node.operator, operand.sql)} AS {self.spelling.integer})"
        sql = f"CASE WHEN {operand.sql} BETWEEN {minimum} AND {maximum} THEN {rounded} END"
        return Value("exact", sql, max_magnitude=_MAX_ROUNDED)

    # ---- texts --------------------------------------------------------------------------------------------

    def _text_call(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile a function from a text to a text."""
        sql = self.spelling.function(
            node.operator, _check_text(operands[0], node.operator).operand_sql, *map(str, node.options)
        )
        return Value("text", sql)

    def _concatenation(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile the concatenation of two texts."""
        return Value(
            "text",
            self.spelling.function("||", *(_check_text(operand, node.operator).operand_sql for operand in operands)),
        )

    def _length(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile the number of code points of a text."""
        return Value(
            "exact",
            self.spelling.function("LENGTH", _check_text(operands[0], node.operator).operand_sql),
            max_magnitude=2**31,
        )

    # ---- dates --------------------------------------------------------------------------------------------

    def _date_part(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile a part of a date or a moment to an integer."""
        name, value = str(node.options[0]), _check_day(operands[0], str(node.options[0]))
        if name in ("HOUR", "MINUTE", "SECOND"):
            value = as_moment(value, self.spelling)
        return Value("exact", self.spelling.function(name, value.operand_sql), max_magnitude=9999)

    def _truncated(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile the first day of the year, month or week, or the day itself."""
        value = cast(_check_day(operands[0], "date_trunc"), ("date",), self.spelling)
        unit = str(node.options[0])
        return value if unit == "DAY" else Value("date", self.spelling.function(f"TRUNC {unit}", value.operand_sql))

    def _cast(self, node: Operation, operands: Sequence[Value]) -> Value:
        """Compile a value to another type."""
        return cast(operands[0], node.options, self.spelling)


_OPERATIONS: Mapping[str, Callable[[Compiler, Operation, Sequence[Value]], Value]] = {
    "AND": Compiler._logic, "OR": Compiler._logic, "NOT": Compiler._negation, "IS NULL": Compiler._is_null,
    **dict.fromkeys((*EQUALS, *ORDERS), Compiler._comparison),
    "IN": Compiler._in_list, "BETWEEN": Compiler._between, "LIKE": Compiler._like,
    "CASE": Compiler._case, "COALESCE": Compiler._coalesce,
    "+": Compiler._sum, "-": Compiler._sum, "*": Compiler._product, "/": Compiler._quotient, "%": Compiler._remainder,
    "ABS": Compiler._magnitude, "FLOOR": Compiler._rounded, "CEIL": Compiler._rounded,
    **dict.fromkeys(("LOWER", "UPPER", "TRIM", "LTRIM", "RTRIM", "LEFT", "RIGHT", "SUBSTRING"), Compiler._text_call),
    "||": Compiler._concatenation, "LENGTH": Compiler._length,
    "PART": Compiler._date_part, "TRUNC": Compiler._truncated, "CAST": Compiler._cast,
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


def _are_exact(operands: Sequence[Value], sign: str) -> bool:
    """Return whether all values are exact; refuse those that are no numbers."""
    for operand in operands:
        if operand.kind not in ("exact", "double"):
            hint = "a text becomes one by CAST(x AS INTEGER) or CAST(x AS DOUBLE)"
            refuse(f"{operand.description} where {sign.lower()} takes numbers", hint)
    return all(operand.kind == "exact" for operand in operands)


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
