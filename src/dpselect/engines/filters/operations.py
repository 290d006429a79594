"""Operations: what each is, on values of which kinds, and why it has a value or null for every row.

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
from dpselect.engines.filters.cost import EQUALS, HASHED, LISTED, ORDERS, POWERS
from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Constant, Name, Node, Operation, refuse
from dpselect.engines.filters.values import Value, alike, as_exact, as_moment, to_double

_WHOLE = 10**15  # whole numbers up to this one are exact in a double, with a half beside them
_WIDE = 19  # digits of a decimal that DuckDB holds in 128 bits; a product of two shorter ones must fit in 64


@dataclass(frozen=True)
class Writer:
    """Writes a tree over columns of known types, for one engine."""

    columns: Mapping[str, Value]
    spelling: Spelling

    def condition(self, node: Node) -> str:
        """What stands after WHERE."""
        return self._truth(self.value(node))

    def value(self, node: Node) -> Value:
        """An expression with all that is known of it."""
        if isinstance(node, Name):
            return self.columns[node.name]
        if isinstance(node, Constant):
            return values.constant(node.value, self.spelling)
        return _OPERATIONS[node.sort](self, node, [self.value(part) for part in node.parts])

    def _truth(self, value: Value) -> str:
        if value.kind not in ("boolean", "null"):
            refuse(f"{value.shown} as a condition", "compare it with something, for example = 'yes'")
        return "NULL" if value.kind == "null" else value.sql

    # ---- conditions ---------------------------------------------------------------------------------------

    def _logic(self, node: Operation, parts: Sequence[Value]) -> Value:
        return _boolean(f" {node.sort} ".join(self._truth(part) for part in parts))

    def _negation(self, _: Operation, parts: Sequence[Value]) -> Value:
        return _boolean(f"NOT {self._truth(parts[0])}")

    def _missing(self, _: Operation, parts: Sequence[Value]) -> Value:
        return _boolean(f"{_in_parentheses(parts[0].sql)} IS NULL")

    def _comparison(self, node: Operation, parts: Sequence[Value]) -> Value:
        left, right = alike(parts, self.spelling, ordered=node.sort in ORDERS)
        return _boolean(f"{left} {node.sort} {right}")

    def _among(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Only constants stand in a list: for one column among them DuckDB compares with each by itself."""
        first, *others = alike(parts, self.spelling)
        listed: dict[bool, list[str]] = {True: [], False: []}
        for part, sql in zip(node.parts[1:], others, strict=True):
            listed[isinstance(part, Constant)].append(sql)
        form = "({})"
        if len(listed[True]) > LISTED:
            form = self.spelling.listed
            if values.is_small(parts[0]):  # PostgreSQL looks up numbers of one size alone
                first = f"CAST({first} AS {self.spelling.integer})"
        texts = {part.constant for part in parts[1:] if isinstance(part.constant, str)}
        is_column = parts[0].kind == "text" and bool(parts[0].safe)
        looked_up = self._no_longer(first, texts) if is_column and len(texts) >= HASHED else first
        tests = [f"{looked_up} IN {form.replace('{}', ', '.join(listed[True]))}"] if listed[True] else []
        return _boolean(" OR ".join([*tests, *(f"{first} = {sql}" for sql in listed[False])]))

    def _no_longer(self, sql: str, texts: Set[str]) -> str:
        """A text; for one that is longer than all of these, and need not be read, one that is none of them."""
        other = next(str(one) for one in count() if str(one) not in texts)
        most = max(len(text.encode()) for text in texts)
        length = self.spelling.function("BYTES", sql)
        return self.spelling.binary(f"CASE WHEN {length} > {most} THEN {self.spelling.literal(other)} ELSE {sql} END")

    def _between(self, _: Operation, parts: Sequence[Value]) -> Value:
        value, low, high = alike(parts, self.spelling, ordered=True)
        return _boolean(f"{value} BETWEEN {low} AND {high}")

    def _like(self, node: Operation, parts: Sequence[Value]) -> Value:
        pattern = node.fixed[0]
        assert isinstance(pattern, Pattern)
        return _boolean(self.spelling.fits(_text(parts[0], node.sort).used, pattern))

    # ---- choices ------------------------------------------------------------------------------------------

    def _case(self, _: Operation, parts: Sequence[Value]) -> Value:
        conditions = [self._truth(part) for part in parts[:-1:2]]
        common, results = self._common([*parts[1::2], parts[-1]])
        whens = (f"WHEN {one} THEN {result}" for one, result in zip(conditions, results, strict=False))
        return replace(common, sql=f"CASE {' '.join(whens)} ELSE {results[-1]} END")

    def _coalesce(self, _: Operation, parts: Sequence[Value]) -> Value:
        common, results = self._common(parts)
        return replace(common, sql=f"COALESCE({', '.join(results)})")

    def _common(self, parts: Sequence[Value]) -> tuple[Value, list[str]]:
        """What values of one kind have in common, and each in their common type."""
        known = [part for part in parts if part.kind != "null"]
        kinds = {part.kind for part in known}
        if kinds in ({"text", "date"}, {"text", "timestamp"}):
            kinds -= {"text"}
            known = [
                cast(part, tuple(kinds), self.spelling) if isinstance(part.constant, str) else part for part in known
            ]
            kinds = {part.kind for part in known}
        if kinds <= {"exact", "double"} and "double" in kinds:
            known = [to_double(part, self.spelling) for part in known]
        elif kinds == {"exact"}:
            known = self._exact(known)
        elif kinds == {"date", "timestamp"}:
            known = [as_moment(part, self.spelling) for part in known]
        elif len(kinds) > 1:
            values.misfit(known)
        if "other" in kinds:
            refuse(f"{known[0].shown} here", "only IS NULL may follow it")
        written = iter([part.used for part in known])
        low, high = min((p.low for p in known), default=0), max((p.high for p in known), default=0)
        common = (
            replace(known[0], shown="a value", safe="", constant=None, type_name="", low=low, high=high)
            if known
            else parts[0]
        )
        return common, ["NULL" if part.kind == "null" else next(written) for part in parts]

    def _exact(self, parts: Sequence[Value]) -> list[Value]:
        """Exact numbers in a type that holds them all."""
        scale = max(part.scale for part in parts)
        most = max(_scaled(part, scale) for part in parts)
        sqls = [as_exact(part, most, scale, self.spelling) for part in parts]
        return [replace(part, sql=sql, safe="", most=most, scale=scale) for part, sql in zip(parts, sqls, strict=True)]

    # ---- numbers ------------------------------------------------------------------------------------------

    def _sum(self, node: Operation, parts: Sequence[Value]) -> Value:
        """The bounds of the two add up."""
        if not _numbers(parts, node.sort):
            return self._of_doubles(node.sort, parts, lambda a, b: (min(a.low, b.low) - 17, max(a.high, b.high) + 1))
        scale = max(part.scale for part in parts)
        most = sum(_scaled(part, scale) for part in parts)
        left, right = (as_exact(part, most, scale, self.spelling) for part in parts)
        return self._held(f"({left} {node.sort} {right})", most, scale)

    def _product(self, node: Operation, parts: Sequence[Value]) -> Value:
        """The bounds of the two are multiplied."""
        if not _numbers(parts, node.sort):
            return self._of_doubles("*", parts, lambda a, b: (a.low + b.low - 1, a.high + b.high + 1))
        left, right = parts
        # The type holds both as well: where one is always 0, the bound of the product says nothing of the other.
        most, scale = max(1, _scaled(left, left.scale)) * max(1, _scaled(right, right.scale)), left.scale + right.scale
        sizes = [values.digits(part.most or 0, part.scale) for part in parts]
        if values.exact_type(most, scale, self.spelling) == self.spelling.integer:
            sqls = [f"CAST({part.used} AS {self.spelling.integer})" for part in parts]
        else:
            if scale > values.ROUNDED:  # 0.01 has two digits in its type
                values.exact_type(10 ** (sum(sizes) - 1) - 1, scale, self.spelling)
            if max(sizes) < _WIDE <= values.digits(most, scale):
                sizes[0] = _WIDE
            types = [self.spelling.decimal(size, part.scale) for size, part in zip(sizes, parts, strict=True)]
            sqls = [f"CAST({part.used} AS {name})" for part, name in zip(parts, types, strict=True)]
        return self._held(f"({' * '.join(sqls)})", most, scale)

    def _held(self, sql: str, most: int, scale: int) -> Value:
        """A result in the type of its bound: an engine's own may be wider, and be rounded beside another number."""
        name = values.exact_type(most, scale, self.spelling)
        return Value(
            "exact", f"CAST({sql} AS {name})" if name != self.spelling.integer else sql, most=most, scale=scale
        )

    def _quotient(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Of doubles; null where the divisor is 0."""
        _numbers(parts, node.sort)
        return self._of_doubles("/", parts, lambda a, b: (a.low - b.high - 1, a.high - b.low + 1))

    def _of_doubles(
        self, sign: str, parts: Sequence[Value], bounds: Callable[[Value, Value], tuple[int, int]]
    ) -> Value:
        """Both as doubles, in a range in which no engine overflows."""
        left, right = (self._ready(to_double(part, self.spelling)) for part in parts)
        if not all(-POWERS < power < POWERS for power in bounds(left, right)):
            left, right = (self._narrowed(part) for part in (left, right))
        low, high = bounds(left, right)
        sql = f"({left.sql} {sign} {right.sql})"
        if sign == "/" and not right.constant:
            sql = f"CASE WHEN {right.sql} <> 0 THEN {sql} END"
        return Value("double", _in_parentheses(sql), low=low, high=high)

    def _ready(self, value: Value) -> Value:
        return replace(value, sql=value.used, safe="")

    def _narrowed(self, value: Value) -> Value:
        if value.low >= -values.RANGE and value.high <= values.RANGE:
            return value
        sql = _in_parentheses(self.spelling.in_range(value.sql))
        return replace(value, sql=sql, constant=None, low=-values.RANGE, high=values.RANGE)

    def _rest(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Of whole numbers, with the sign of the first; null where the second is 0."""
        if not _numbers(parts, node.sort) or any(part.scale for part in parts):
            refuse("% of numbers that are not whole", "floor(x) is whole")
        bounds = [_scaled(part, 0) for part in parts]
        left, right = (as_exact(part, max(bounds), 0, self.spelling) for part in parts)
        sql = self.spelling.function("%", left, right)
        if not parts[1].constant:
            sql = f"CASE WHEN {right} <> 0 THEN {sql} END"
        sql = f"CAST({sql} AS {values.exact_type(min(bounds), 0, self.spelling)})"
        return Value("exact", sql, most=min(bounds))

    def _magnitude(self, node: Operation, parts: Sequence[Value]) -> Value:
        """The number without its sign."""
        part = parts[0]
        if _numbers(parts, node.sort):
            most = _scaled(part, part.scale)
            sql = as_exact(part, most, part.scale, self.spelling)
            return self._held(self.spelling.function("ABS", sql), most, part.scale)
        return Value("double", self.spelling.function("ABS", part.used), low=part.low, high=part.high)

    def _whole(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Rounded down, or up, to a whole number; null where it is too large for a double to have halves."""
        part = parts[0]
        if _numbers(parts, node.sort):
            most = _scaled(part, part.scale) // 10**part.scale + 1
            if not part.scale:
                return part
            sql = self.spelling.function(node.sort, part.used)
            return Value("exact", f"CAST({sql} AS {values.exact_type(most, 0, self.spelling)})", most=most)
        least, most = (values.constant(bound, self.spelling).sql for bound in (-float(_WHOLE), float(_WHOLE)))
        rounded = f"CAST({self.spelling.function(node.sort, part.sql)} AS {self.spelling.integer})"
        sql = f"CASE WHEN {part.sql} BETWEEN {least} AND {most} THEN {rounded} END"
        return Value("exact", sql, most=_WHOLE)

    # ---- texts --------------------------------------------------------------------------------------------

    def _text(self, node: Operation, parts: Sequence[Value]) -> Value:
        """A text from a text."""
        sql = self.spelling.function(node.sort, _text(parts[0], node.sort).used, *map(str, node.fixed))
        return Value("text", sql)

    def _joined(self, node: Operation, parts: Sequence[Value]) -> Value:
        """Two texts in a row."""
        return Value("text", self.spelling.function("||", *(_text(part, node.sort).used for part in parts)))

    def _length(self, node: Operation, parts: Sequence[Value]) -> Value:
        """The number of its code points."""
        return Value("exact", self.spelling.function("LENGTH", _text(parts[0], node.sort).used), most=2**31)

    # ---- dates --------------------------------------------------------------------------------------------

    def _part(self, node: Operation, parts: Sequence[Value]) -> Value:
        """A part of a date or a moment as a whole number."""
        name, value = str(node.fixed[0]), _day(parts[0], str(node.fixed[0]))
        if name in ("HOUR", "MINUTE", "SECOND"):
            value = as_moment(value, self.spelling)
        return Value("exact", self.spelling.function(name, value.used), most=9999)

    def _truncated(self, node: Operation, parts: Sequence[Value]) -> Value:
        """The first day of the year, month or week, or the day itself."""
        value = cast(_day(parts[0], "date_trunc"), ("date",), self.spelling)
        unit = str(node.fixed[0])
        return value if unit == "DAY" else Value("date", self.spelling.function(f"TRUNC {unit}", value.used))

    def _cast(self, node: Operation, parts: Sequence[Value]) -> Value:
        """A value as another type."""
        return cast(parts[0], node.fixed, self.spelling)


_OPERATIONS: Mapping[str, Callable[[Writer, Operation, Sequence[Value]], Value]] = {
    "AND": Writer._logic, "OR": Writer._logic, "NOT": Writer._negation, "IS NULL": Writer._missing,
    **dict.fromkeys((*EQUALS, *ORDERS), Writer._comparison),
    "IN": Writer._among, "BETWEEN": Writer._between, "LIKE": Writer._like,
    "CASE": Writer._case, "COALESCE": Writer._coalesce,
    "+": Writer._sum, "-": Writer._sum, "*": Writer._product, "/": Writer._quotient, "%": Writer._rest,
    "ABS": Writer._magnitude, "FLOOR": Writer._whole, "CEIL": Writer._whole,
    **dict.fromkeys(("LOWER", "UPPER", "TRIM", "LTRIM", "RTRIM", "LEFT", "RIGHT", "SUBSTRING"), Writer._text),
    "||": Writer._joined, "LENGTH": Writer._length,
    "PART": Writer._part, "TRUNC": Writer._truncated, "CAST": Writer._cast,
}  # fmt: skip


def _boolean(sql: str) -> Value:
    return Value("boolean", f"({sql})", "a condition")


def _in_parentheses(sql: str) -> str:
    return sql if sql.startswith("(") else f"({sql})"


def _scaled(value: Value, scale: int) -> int:
    """The bound of an exact number with so many digits after the point."""
    if value.most is None:
        values.too_long(value)
    return int(value.most * Fraction(10) ** (scale - value.scale))


def _numbers(parts: Sequence[Value], sign: str) -> bool:
    """Are they all exact? Refuses what is no number."""
    for part in parts:
        if part.kind not in ("exact", "double"):
            hint = "a text becomes one by CAST(x AS INTEGER) or CAST(x AS DOUBLE)"
            refuse(f"{part.shown} where {sign.lower()} takes numbers", hint)
    return all(part.kind == "exact" for part in parts)


def _text(value: Value, name: str) -> Value:
    if value.kind != "text":
        refuse(f"{value.shown} where {name.lower()} takes a text", "a whole number becomes one by CAST(x AS TEXT)")
    return value


def _day(value: Value, name: str) -> Value:
    if value.kind not in ("date", "timestamp"):
        hint = "a text becomes one by CAST(x AS DATE) or CAST(x AS TIMESTAMP)"
        refuse(f"{value.shown} where {name.lower()} takes a date", hint)
    return value
