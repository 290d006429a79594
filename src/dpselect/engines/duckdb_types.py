"""Types: which columns can be users and items, and the one form in which each value is counted and named.

Values that compare as equal must look equal too. Otherwise the label of a group would be whichever of its forms
came first, which depends on the rows. So text loses its collation, negative zero its sign, an ENUM its order.
"""

from __future__ import annotations

import datetime
import re

from dpselect.engines.duckdb_workspace import quoted
from dpselect.engines.sql_port import SqlType
from dpselect.engines.written import LETTERS, NUMBER
from dpselect.errors import DataError

INTEGERS = frozenset(
    {
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
        "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
    }
)  # fmt: skip
FLOATS = frozenset({"FLOAT", "DOUBLE"})
TEXTS = frozenset({"VARCHAR", "JSON"})
ZONED = "TIMESTAMP WITH TIME ZONE"
# Counted as they are: equal values of these types have one form only, and Python has a type for it.
_PLAIN = INTEGERS | {"BOOLEAN", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "BLOB"}
# Counted as text, because Python has no type that holds every value of these.
_NAMES = frozenset({"ENUM"})
_NOTHING = frozenset({'"NULL"', "NULL"})  # a column of nulls only, as polars and PyArrow have it
_AS_TEXT = _NAMES | _NOTHING | {"UUID", "BIT", "BIGNUM", "TIMESTAMP_NS", "TIME_NS"}


def kind(sql_type: str) -> str:
    """The name of a type without its parameters; the members of an ENUM are data, so nothing else may be shown."""
    if sql_type.endswith("]"):
        return "LIST"
    return re.sub(r"\(.*", "", sql_type, flags=re.DOTALL).strip()


def is_text(sql_type: str) -> bool:
    """Is an item of this type a text as it is counted, and meant as one?"""
    return kind(sql_type) in TEXTS | _NAMES | _NOTHING


def item_form(expression: str, sql_type: str) -> str:
    """The SQL of an item in its one form."""
    name = kind(sql_type)
    if name in TEXTS:
        return f'({expression})::VARCHAR COLLATE "C"'
    if name in _AS_TEXT:
        return f'CAST({expression} AS VARCHAR) COLLATE "C"'
    if name in FLOATS:
        # -0.0 + 0.0 is 0.0.
        return f"{expression} + 0.0::{name}"
    if name == ZONED:
        return f"({expression}) AT TIME ZONE 'UTC'"
    if name in _PLAIN or name == "DECIMAL":
        return expression
    hint = "cast it to text or to a number in the source, for example in a view or a data frame"
    raise DataError(f"a column of type {name} cannot name items", hint)


def number_form(expression: str, sql_type: str) -> str:
    """The SQL of a value in its one form, a DOUBLE; null for text that is no number."""
    name = kind(sql_type)
    if is_text(sql_type):
        written = f"regexp_full_match({expression}, '{NUMBER}') AND length({expression}) < {LETTERS}"
        return f"CASE WHEN {written} THEN TRY_CAST({expression} AS DOUBLE) END"
    if name in INTEGERS | FLOATS or name == "DECIMAL":
        return f"CAST({expression} AS DOUBLE)"
    hint = "cast it to a number in the source, for example in a view or a data frame"
    raise DataError(f"a column of type {name} holds no numbers", hint)


def user_form(expression: str, sql_type: str) -> str:
    """The SQL of a user; anything that DuckDB can group will do, for a user is never named."""
    name = kind(sql_type)
    if name in TEXTS or name == "ENUM":
        return item_form(expression, sql_type)
    return expression


def present(expression: str, sql_type: str) -> str:
    """The SQL condition that a user or an item is there; NaN is null, as it is for pandas."""
    name = kind(sql_type)
    missing = f" AND {expression} <> 'NaN'::{name}" if name in FLOATS else ""
    return f"{expression} IS NOT NULL{missing}"


def filter_type(sql_type: str) -> SqlType:
    """A column as the filter compares it; a type that it does not know has IS NULL alone."""
    name = kind(sql_type)
    if is_text(sql_type):
        return SqlType(name, "text", '({})::VARCHAR COLLATE "C"', "VARCHAR", "VARCHAR")
    if name in INTEGERS and name != "UHUGEINT":
        return SqlType(name, "integer", "{}", name, name)
    if name in FLOATS:
        return SqlType(name, "number", "{}" if name == "DOUBLE" else "CAST({} AS DOUBLE)", "DOUBLE", name)
    if name == "DECIMAL":
        return SqlType(sql_type, "number", "{}", sql_type, sql_type)
    if name in ("BOOLEAN", "DATE", "TIMESTAMP"):
        return SqlType(name, name.lower(), "{}", name, name)
    if name in ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        return SqlType(name, "timestamp", "TRY_CAST({} AS TIMESTAMP)", "TIMESTAMP", "TIMESTAMP")
    if name == ZONED:
        return SqlType(name, "timestamp", "(({}) AT TIME ZONE 'UTC')", "TIMESTAMP", ZONED)
    return SqlType(name, "other", "{}", name, None)


def filter_form(column: str, sql_type: str) -> str:
    """A column as the filter sees it: an ENUM as text, whose members no message can then quote."""
    name = quoted(column)
    return f"CAST({name} AS VARCHAR) AS {name}" if kind(sql_type) == "ENUM" else name


def label(value: object, sql_type: str) -> object:
    """A counted item as a plain Python value."""
    if kind(sql_type) == ZONED and isinstance(value, datetime.datetime):
        return value.replace(tzinfo=datetime.UTC)
    return value
