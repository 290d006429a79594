"""The SQL that Spark spells differently, and the one form in which each value is counted.

Nothing here depends on a session's settings. The bound orders a user's items by xxhash64, which takes its columns one
after the other, each seeded with the hash of those before: 64 secret bits decide the order in the end, every step is a
bijection of them that mixes all bits, and a test counts how often each item of a user is kept. A hash has no state: a
task that runs again keeps the same items.

Equal values must have the same form, and must be the ones that DuckDB counts as equal. So text loses its
collation and char(n) its padding, negative zero its sign; a moment is counted as its time in UTC, whatever the time
zone of a session, and bytes as their hexadecimal digits, which are text everywhere. Text that is not UTF-8 gets U+FFFD
where it is broken, so that it is the same here and there. Any other type is refused.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from dpselect.engines.sources.refused_types import refused_type
from dpselect.engines.sql.keys import decimal_notation, integer_texts, number_text
from dpselect.engines.sql.port import MOMENT_LABELS, Dialect, SortedText, SqlType
from dpselect.engines.values import MAX_NUMBER_LETTERS, MAX_VALUE_BYTES, NUMBER_PATTERN

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField


_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;|+*/=<>()@#%&!?~^-]*")


def quoted(name: str) -> str:
    """Return an SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Return an SQL string. Escapes of quotes and backslashes depend on the session, and ${...} is a variable of it."""
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"CAST(X'{text.encode().hex()}' AS STRING)"


def secret(key: bytes) -> str:
    """Return a key as bytes, the first argument of the hash. Spark compiles anew for each number, not for bytes."""
    return f"X'{key.hex()}'"


def _compile_split() -> str:
    """Compile the query that splits texts, at a regular expression in which the separator is quoted."""
    quote_begin, quote_end, quoted_end = (
        f"CAST(X'{mark.encode().hex()}' AS STRING)" for mark in ("\\Q", "\\E", "\\E\\\\E\\Q")
    )
    pattern = f"concat({quote_begin}, replace({{separator}}, {quote_end}, {quoted_end}), {quote_end})"
    return f"SELECT t.u AS u{{more}}, explode(split(i, {pattern})) AS i FROM {{rows}}"


# Without (?!.) a pattern's $ would also match before a line's end.
MATCHES = "{text} RLIKE '(?s)(?:{pattern})(?!.)'"
BIG_INTEGER = "DECIMAL(38,0)"
"""Spark's type of integers of any size that a sum can have."""

# ---- values as texts that sort as they do, where keys have several columns

_AS_TEXT = "CAST({} AS STRING)"
_WIDTH = 2
_INTEGER = integer_texts(_WIDTH, text=_AS_TEXT)
_MAX_SCALE = 30  # with one digit more before the point, the sum stays exact


def sorted_text(sql_type: SqlType) -> SortedText | None:
    """Return the sorted texts of a type, or None; `label` reads those of dates, times and bytes already."""
    if sql_type.canonical_type == "DOUBLE":
        return SortedText(_FLOAT, _parse_float)
    if sql_type.canonical_type.startswith("DECIMAL"):
        return _sorted_decimal(sql_type.canonical_type)
    if sql_type.kind == "integer":
        return _INTEGER
    if sql_type.kind == "boolean":
        return SortedText(_AS_TEXT, lambda text: text == "true")
    return SortedText(_AS_TEXT, sql_type.to_label)


# ---- floats: exponent and mantissa as Java writes them in hexadecimal, 0x1.8p1 ------------------------------

_HEX, _HEX_COMPLEMENTS = "0123456789abcdef", "fedcba9876543210"
_COMPLEMENT = str.maketrans(_HEX_COMPLEMENTS, _HEX)
_EXPONENT_OFFSET = 5000  # added to an exponent, which is between -1022 and 1023
_HEX_FLOAT = "format_string('%a', abs({}))"
_EXPONENT = f"CAST(CAST(substring_index({_HEX_FLOAT}, 'p', -1) AS INT) + {_EXPONENT_OFFSET} AS STRING)"
_MANTISSA = f"rpad(substr(substring_index({_HEX_FLOAT}, 'p', 1), 3), 15, '0')"  # a digit, a point, 13 digits at most
_SIZE = (
    f"CASE WHEN {{}} = 0.0D THEN '0' WHEN abs({{}}) = CAST('Infinity' AS DOUBLE) THEN '9' "
    f"ELSE concat({_EXPONENT}, {_MANTISSA}) END"
)
_COMPLEMENTED_SIZE = f"translate({_SIZE}, '{_HEX}', '{_HEX_COMPLEMENTS}')"
_FLOAT = f"CASE WHEN {{}} < 0.0D THEN concat('0', {_COMPLEMENTED_SIZE}) ELSE concat('1', {_SIZE}) END"


def _parse_float(text: str) -> float:
    sign, size = (1.0, text[1:]) if text.startswith("1") else (-1.0, text[1:].translate(_COMPLEMENT))
    if size in ("0", "9"):
        return 0.0 if size == "0" else sign * float("inf")
    return sign * float.fromhex(f"0x{size[4:]}p{int(size[:4]) - _EXPONENT_OFFSET}")


# ---- decimals: the integer below, and the rest, with as many digits as the type's scale ---------------------


def _sorted_decimal(form_type: str) -> SortedText | None:
    scale = int(form_type.rstrip(")").rpartition(",")[2])
    if scale == 0:
        return SortedText(_INTEGER.text_sql, lambda text: Decimal(decimal_notation(text, _WIDTH)))
    if scale > _MAX_SCALE:
        return None
    floor = "CAST(floor({}) AS STRING)"
    # From 1 up to 2, so that it is never written with an exponent.
    fraction = "substr(CAST(pmod({}, 1) + 1 AS STRING), 2)"
    integer_text = number_text(floor, floor, _WIDTH, text=_AS_TEXT)

    def label(text: str) -> Decimal:
        start, _, digits = text.rpartition(".")
        return Decimal(decimal_notation(start, _WIDTH)) + Decimal(f"0.{digits}")

    return SortedText(f"concat({integer_text}, {fraction})", label)


SPARK = Dialect(
    name="spark",
    quote=quoted,
    literal=literal,
    text="CAST({} AS STRING)",
    keyed_hash=lambda key, user, item: f"xxhash64({key}, {user}, {item})",
    exact_sum=f"sum(CAST({{}} AS {BIG_INTEGER}))",
    user_hint="/*+ REPARTITION(u) */",  # distinct pairs and the bound then take one shuffle, and kept pairs none
    reread_order="SORT BY u",  # once: to sort the pairs of every user by their hash is then half the work, each time
    big_integer=BIG_INTEGER,
    double="DOUBLE",
    floor_division="(({}) div ({}))",
    split_query=_compile_split(),
    sorted_text=sorted_text,
    low_characters="\x01\x00",
)


_BINARY = "UTF8_BINARY"  # the collation of text that declares none
_TEXT = f"make_valid_utf8(CAST({{}} AS STRING) COLLATE {_BINARY})"
_NUMBER = f"{MATCHES.format(text='{}', pattern=f'^{NUMBER_PATTERN}$')} AND length({{}}) < {MAX_NUMBER_LETTERS}"
_NUMBER_OF_TEXT = f"CASE WHEN {_NUMBER} THEN try_cast({{}} AS DOUBLE) END"
_INTEGERS = {"byte": "TINYINT", "short": "SMALLINT", "integer": "INTEGER", "long": "BIGINT"}
_FLOATS = {"float": "FLOAT", "double": "DOUBLE"}
# Python has the years 1 to 9999, so items have these on every engine.
_NAMEABLE = {
    "date": "{} BETWEEN DATE'0001-01-01' AND DATE'9999-12-31'",
    "timestamp_ntz": "{} BETWEEN TIMESTAMP_NTZ'0001-01-01 00:00:00' AND TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    "timestamp": "{} BETWEEN TIMESTAMP_LTZ'0001-01-01 00:00:00Z' AND TIMESTAMP_LTZ'9999-12-31 23:59:59.999999Z'",
}
IN_UTC = "timestampadd(MICROSECOND, unix_micros({}), TIMESTAMP_NTZ'1970-01-01 00:00:00')"
# The kind of each type of moments, its one form and the type of that, the type that DuckDB has for it, and its labels.
_MOMENTS = {
    "timestamp_ntz": ("timestamp", "{}", "TIMESTAMP_NTZ", "TIMESTAMP", "timestamp"),
    "timestamp": ("timestamp", IN_UTC, "TIMESTAMP_NTZ", "TIMESTAMP WITH TIME ZONE", "timestamptz"),
    "date": ("date", "{}", "DATE", "DATE", "date"),
    "time": ("time", "CAST({} AS TIME(6))", "TIME(6)", "TIME", "time"),
}


def short_column(name: str, sql_type: SqlType) -> str:
    """Compile a column by its own name, null if a value is longer than allowed."""
    value = quoted(name)
    if sql_type.kind not in ("text", "bytes") or sql_type.name == "void":
        return value
    return f"CASE WHEN octet_length({value}) <= {MAX_VALUE_BYTES} THEN {value} END AS {value}"


def spark_type(field: StructField) -> SqlType:
    """Return the type of a column."""
    sort, name = field.dataType.typeName(), field.dataType.simpleString().partition(" ")[0]
    if sort in ("string", "char", "varchar", "void"):
        _refuse_collation(field)
        # A frame has a table's char(n) as text, and its declaration as metadata.
        declared = str(field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", sort))
        form = f"rtrim({_TEXT})" if declared.startswith("char") else _TEXT
        return SqlType(name, "text", form, "STRING", "VARCHAR", number_form=_NUMBER_OF_TEXT)
    if sort in _INTEGERS:
        return SqlType(name, "integer", "{}", name.upper(), _INTEGERS[sort], number_form="CAST({} AS DOUBLE)")
    if sort in _FLOATS:
        # -0.0 + 0.0 is 0.0, and a float has the same value as a double. Nor is a sum pushed into the reading of files,
        # which skips groups of rows by their ends: those do not count NaN, which is above all numbers here.
        form, present = "(CAST({} AS DOUBLE) + 0.0D)", "{} IS NOT NULL AND NOT isnan({})"
        finite = f"{present} AND abs({{}}) <> CAST('Infinity' AS DOUBLE)"
        return SqlType(name, "number", form, "DOUBLE", _FLOATS[sort], present, finite, number_form="{}")
    if sort == "decimal":
        return SqlType(name, "number", "{}", name.upper(), name.upper(), number_form="CAST({} AS DOUBLE)")
    if sort == "boolean":
        return SqlType(name, "boolean", "{}", "BOOLEAN", "BOOLEAN")
    if sort == "binary":
        return SqlType(name, "bytes", "hex({})", "STRING", "BLOB", to_label=lambda value: bytes.fromhex(str(value)))
    return _moment_type(field.name, sort, name, field.dataType)


def _refuse_collation(field: StructField) -> None:
    """Refuse text that Spark does not compare by its characters: users that are one there would be two elsewhere."""
    collation = getattr(field.dataType, "collation", _BINARY)
    if collation != _BINARY:
        name = quoted(field.name)
        hint = f'read what it compares: frame.withColumn("{field.name}", expr("lower({name} COLLATE {_BINARY})"))'
        raise refused_type(field.name, f"text with the collation {collation}", hint)


def _moment_type(column: str, sort: str, name: str, data_type: DataType) -> SqlType:
    """Return the type of dates and times, fetched as text and parsed by `label`, whatever a driver's time zone."""
    sort = "time" if data_type.__class__.__name__ == "TimeType" else sort
    if sort not in _MOMENTS:
        raise refused_type(column, sort, "cast it to text or to a number, in a view or with DataFrame.withColumn")
    kind, form, form_type, duckdb, label = _MOMENTS[sort]
    text, nameable = "CAST(i AS STRING)", _NAMEABLE.get(sort)
    return SqlType(
        name, kind, form, form_type, duckdb, nameable_condition=nameable, label_form=text, to_label=MOMENT_LABELS[label]
    )
