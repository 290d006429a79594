"""Comparisons: a condition as the SQL of one dialect, in which every engine keeps the rows that DuckDB keeps.

A column is compared in its one form: text by its characters, -0.0 as 0.0, a moment with a zone in UTC. A constant is
written in the type that DuckDB would give it beside the column. NaN equals itself and is greater than any number, on
DuckDB, PostgreSQL and Spark alike.
"""

from __future__ import annotations

import datetime
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

from dpselect.engines.duckdb_row_rules import refuse
from dpselect.engines.sql_conditions import (
    Among,
    Between,
    Compared,
    Condition,
    Fits,
    Joined,
    Missing,
    Named,
    Not,
    Truth,
)
from dpselect.engines.sql_constants import VIEW, Value, day, moment
from dpselect.engines.sql_port import Dialect, SqlType

_WHOLE = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 19}  # digits that DuckDB gives them beside a decimal
_MOST = 38  # digits of a decimal; with more DuckDB drops the rows that do not fit
_EXACT = 2**24  # whole numbers up to this one are exact in a FLOAT
_SCALE = 10  # powers of ten up to this one are exact in a FLOAT
_KINDS = {"text": "a text", "boolean": "TRUE or FALSE", "date": "a date", "timestamp": "a date or a moment"}


@dataclass(frozen=True)
class Writer:
    """Writes conditions over columns whose names in the table and types are known."""

    columns: Mapping[str, tuple[str, SqlType]]
    dialect: Dialect

    def sql(self, node: Condition) -> str:
        """One condition; what stands below it is in parentheses."""
        if isinstance(node, Named):
            if self._type(node).kind != "boolean":
                refuse(f"a value of type {self._type(node).name}", "compare it with something, for example = 'yes'")
            return (
                f"{self._form(node)} = TRUE"  # Spark takes `FROM t WHERE (b)` for a table named WHERE with a column b
            )
        if isinstance(node, Truth):
            return _truth(node.value)
        if isinstance(node, Missing):
            return f"{self._quoted(node)} IS NULL"
        if isinstance(node, Not):
            return f"NOT ({self.sql(node.part)})"
        if isinstance(node, Joined):
            return f" {node.word} ".join(f"({self.sql(part)})" for part in node.parts)
        return self._comparison(node)

    def _comparison(self, node: Compared | Among | Between | Fits) -> str:
        if isinstance(node, Fits):
            if self._type(node.column).kind != "text":
                self._misfit(node.column, "LIKE", "a text")
            return f"{self._form(node.column)} LIKE {self.dialect.literal(node.pattern)}"
        if isinstance(node, Compared):
            if isinstance(node.other, Named):
                left, right = self._pair(node.column, node.other)
                return f"{left} {node.sign} {right}"
            return f"{self._form(node.column)} {node.sign} {self._values(node.column, (node.other,))[0]}"
        column = self._form(node.column)
        if isinstance(node, Among):
            return f"{column} IN ({', '.join(self._values(node.column, node.values))})"
        low, high = self._values(node.column, (node.low, node.high))
        return f"{column} BETWEEN {low} AND {high}"

    def _type(self, column: Named) -> SqlType:
        return self.columns[column.name][1]

    def _quoted(self, node: Missing) -> str:
        return self.dialect.quote(self.columns[node.column.name][0])

    def _form(self, column: Named) -> str:
        name, sql_type = self.columns[column.name]
        return f"({sql_type.form.replace('{}', self.dialect.quote(name))})"

    def _pair(self, left: Named, right: Named) -> tuple[str, str]:
        """Two columns of one kind; numbers in the type in which DuckDB compares them."""
        one, other = self._type(left), self._type(right)
        forms = [self._form(left), self._form(right)]
        if _numeric(one) and _numeric(other):
            floats = [_float(one), _float(other)]
            if floats == ["", ""]:
                self._fits([_digits(one), _digits(other)], right)
            elif not all(floats):
                whole = one if floats[1] else other
                if "FLOAT" in floats or whole.kind != "integer":
                    self._misfit(left, f"{right.name!r}, a column of {other.name}", "numbers of one kind")
                forms = [self._double(form) if not sort else form for form, sort in zip(forms, floats, strict=True)]
        elif _kind(one) != _kind(other) or _kind(one) not in _KINDS or _zoned(one) != _zoned(other):
            self._misfit(left, f"{right.name!r}, a column of {other.name}", "a column of the same kind")
        return forms[0], forms[1]

    def _values(self, column: Named, values: Sequence[Value]) -> list[str]:
        """Constants as they stand beside a column."""
        sql_type = self._type(column)
        if not _numeric(sql_type):
            return [self._value(column, value) for value in values]
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
                self._misfit(column, _shown(value), "a number")
        numbers = [value for value in values if isinstance(value, int | float | Decimal)]
        if sort := _float(sql_type):
            return [self._double(self.dialect.literal(repr(self._rounded(column, one, sort)))) for one in numbers]
        for one in numbers:
            if isinstance(one, float):
                self._misfit(column, f"{one!r}, a float", "a whole number or a decimal one without an exponent")
        exact = [one for one in numbers if not isinstance(one, float)]
        if any(isinstance(one, Decimal) for one in exact) or sql_type.kind == "number":
            self._fits([_digits(sql_type), *map(_digits_of, exact)], column)
        return [format(one, "f") if isinstance(one, Decimal) else str(one) for one in exact]

    def _value(self, column: Named, value: Value) -> str:
        sql_type = self._type(column)
        kind = _kind(sql_type)
        if kind == "text" and isinstance(value, str):
            return self.dialect.literal(value)
        if kind == "boolean" and isinstance(value, bool):
            return _truth(value)
        if kind == "date" and isinstance(value, str | datetime.date) and not isinstance(value, datetime.datetime):
            found = day(value) if isinstance(value, str) else value
            return f"CAST({self.dialect.literal(found.isoformat())} AS {sql_type.counted})"
        if kind == "timestamp" and isinstance(value, str | datetime.date):
            found = moment(value if isinstance(value, str) else value.isoformat())
            return f"CAST({self.dialect.literal(found.isoformat(' '))} AS {sql_type.counted})"
        return self._misfit(column, _shown(value), _KINDS.get(kind, "IS NULL or IS NOT NULL only"))

    def _double(self, sql: str) -> str:
        return f"CAST({sql} AS {self.dialect.double})"

    def _rounded(self, column: Named, number: float | Decimal, sort: str) -> float:
        """The double that a constant is beside a column of floats; DuckDB rounds it to a FLOAT beside one of these."""
        if sort == "DOUBLE":
            return float(number) + 0.0
        exponent = number.as_tuple().exponent if isinstance(number, Decimal) else 0
        scale = -exponent if isinstance(exponent, int) else 0
        if isinstance(number, float) or scale > _SCALE or abs(number) * 10**scale > _EXACT:
            self._misfit(column, f"{number}", "a number of up to 7 digits without an exponent")
        return float(struct.unpack("f", struct.pack("f", float(number)))[0]) + 0.0

    def _fits(self, digits: Sequence[tuple[int, int] | None], column: Named) -> None:
        """Refuse exact numbers that have no common decimal type in DuckDB."""
        known = [one for one in digits if one is not None]
        if any(scale for _, scale in known) and max(w for w, _ in known) + max(s for _, s in known) > _MOST:
            self._misfit(column, "one of so many digits", f"numbers that fit {_MOST} digits together")

    def _misfit(self, column: Named, came: str, must: str) -> NoReturn:
        refuse(
            f"{came} beside {column.name!r}, a column of {self._type(column).name}",
            f"there may stand {must}; or {VIEW}",
        )


def _truth(value: bool) -> str:
    return "TRUE" if value else "FALSE"


def _numeric(sql_type: SqlType) -> bool:
    return sql_type.kind in ("integer", "number")


def _float(sql_type: SqlType) -> str:
    """DOUBLE, FLOAT, or nothing for exact numbers."""
    return sql_type.duckdb if sql_type.duckdb in ("DOUBLE", "FLOAT") else ""


def _kind(sql_type: SqlType) -> str:
    """A moment with a zone is one without in its one form, which is in UTC, as DuckDB is when it runs a filter."""
    return "timestamp" if _zoned(sql_type) else sql_type.kind


def _zoned(sql_type: SqlType) -> bool:
    return "ZONE" in (sql_type.duckdb or "")


def _digits(sql_type: SqlType) -> tuple[int, int] | None:
    """The digits before and after the point of an exact number in DuckDB, None where DuckDB has no such type."""
    if sql_type.duckdb is None:
        return None
    if found := re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", sql_type.duckdb):
        return int(found[1]) - int(found[2]), int(found[2])
    return _WHOLE.get(sql_type.duckdb, _MOST + 1), 0


def _digits_of(number: int | Decimal) -> tuple[int, int]:
    whole, _, part = format(Decimal(number).copy_abs(), "f").partition(".")
    return len(whole), len(part)


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return _truth(value)
    return repr(value) if isinstance(value, str) else str(value)
