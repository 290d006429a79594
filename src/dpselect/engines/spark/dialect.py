"""How Spark SQL writes what databases write differently, and the one form in which each value is counted.

Nothing here hangs on how a session is set up. The bound orders a user's items by xxhash64, which takes its columns one
after the other, each seeded with the hash of those before: 64 secret bits decide the order in the end, every step is a
bijection of them that mixes all bits, and a test looks at how often each item of a user is kept. A hash has no state: a
task that runs again keeps the same items.

Values that compare as equal must look equal too, and must be the ones that DuckDB counts as equal. So text loses its
collation and char(n) its padding, negative zero its sign; a moment is counted as its time in UTC, whatever the time
zone of a session, and bytes as their hexadecimal digits, which are text everywhere. Text that is not UTF-8 gets U+FFFD
where it is broken, so that it is the same here and there. Any other type is refused.
"""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING

from dpselect.engines.sources.refused_types import refused_type
from dpselect.engines.spark.sorted import sorted_text
from dpselect.engines.sql.port import Dialect, SqlType, parse_or_keep
from dpselect.engines.values import LETTERS, LONGEST, NUMBER

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField


_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;|+*/=<>()@#%&!?~^-]*")


def quoted(name: str) -> str:
    """An identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text. How a quote or a backslash is written depends on the session, and ${...} stands for its variables."""
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"CAST(X'{text.encode().hex()}' AS STRING)"


def secret(key: bytes) -> str:
    """A key as bytes, the first argument of the hash. Spark compiles a number anew, but not another row of bytes."""
    return f"X'{key.hex()}'"


def _parts() -> str:
    """Spark cuts at a regular expression; quoted in its way, a text means itself."""
    begin, end, again = (f"CAST(X'{part.encode().hex()}' AS STRING)" for part in ("\\Q", "\\E", "\\E\\\\E\\Q"))
    pattern = f"concat({begin}, replace({{separator}}, {end}, {again}), {end})"
    return f"SELECT t.u AS u{{more}}, explode(split(i, {pattern})) AS i FROM {{rows}}"


# Without (?!.) a pattern's $ would also match before a line's end.
MATCHES = "{text} RLIKE '(?s)(?:{pattern})(?!.)'"
WHOLE = "DECIMAL(38,0)"
"""Spark's whole numbers of any size that a sum can have."""

SPARK = Dialect(
    name="spark",
    quote=quoted,
    literal=literal,
    text="CAST({} AS STRING)",
    bound_order=lambda key, user, item: f"xxhash64({key}, {user}, {item})",
    exact_sum=f"sum(CAST({{}} AS {WHOLE}))",
    user_hint="/*+ REPARTITION(u) */",  # distinct pairs and the bound then take one shuffle, and kept pairs none
    reread_order="SORT BY u",  # once: to sort the pairs of every user by their hash is then half the work, each time
    big_integer=WHOLE,
    double="DOUBLE",
    floor_division="(({}) div ({}))",
    split_query=_parts(),
    sorted_text=sorted_text,
    low_characters="\x01\x00",
)


_BINARY = "UTF8_BINARY"  # the collation of text that declares none
_TEXT = f"make_valid_utf8(CAST({{}} AS STRING) COLLATE {_BINARY})"
_NUMBER = f"{MATCHES.format(text='{}', pattern=f'^{NUMBER}$')} AND length({{}}) < {LETTERS}"
_WRITTEN = f"CASE WHEN {_NUMBER} THEN try_cast({{}} AS DOUBLE) END"
_INTEGERS = {"byte": "TINYINT", "short": "SMALLINT", "integer": "INTEGER", "long": "BIGINT"}
_FLOATS = {"float": "FLOAT", "double": "DOUBLE"}
# Python has the years 1 to 9999, and so have items on every engine.
_YEARS = {
    "date": "{} BETWEEN DATE'0001-01-01' AND DATE'9999-12-31'",
    "timestamp_ntz": "{} BETWEEN TIMESTAMP_NTZ'0001-01-01 00:00:00' AND TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    "timestamp": "{} BETWEEN TIMESTAMP_LTZ'0001-01-01 00:00:00Z' AND TIMESTAMP_LTZ'9999-12-31 23:59:59.999999Z'",
}
IN_UTC = "timestampadd(MICROSECOND, unix_micros({}), TIMESTAMP_NTZ'1970-01-01 00:00:00')"


def short(name: str, sql_type: SqlType) -> str:
    """A column by its own name, null where a value is longer than values may be."""
    value = quoted(name)
    if sql_type.kind not in ("text", "bytes") or sql_type.name == "void":
        return value
    return f"CASE WHEN octet_length({value}) <= {LONGEST} THEN {value} END AS {value}"


def spark_type(field: StructField) -> SqlType:
    """The type of a column."""
    sort, name = field.dataType.typeName(), field.dataType.simpleString().partition(" ")[0]
    if sort in ("string", "char", "varchar", "void"):
        _refuse_collation(field)
        # Of a table's char(n) a frame knows the text only, and beside it how it was declared.
        declared = str(field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", sort))
        form = f"rtrim({_TEXT})" if declared.startswith("char") else _TEXT
        return SqlType(name, "text", form, "STRING", "VARCHAR", number=_WRITTEN)
    if sort in _INTEGERS:
        return SqlType(name, "integer", "{}", name.upper(), _INTEGERS[sort], number="CAST({} AS DOUBLE)")
    if sort in _FLOATS:
        # -0.0 + 0.0 is 0.0, and a float has the same value as a double. Nor is a sum pushed into the reading of files,
        # which skips groups of rows by their ends: those do not count NaN, which is above all numbers here.
        form, here = "(CAST({} AS DOUBLE) + 0.0D)", "{} IS NOT NULL AND NOT isnan({})"
        finite = f"{here} AND abs({{}}) <> CAST('Infinity' AS DOUBLE)"
        return SqlType(name, "number", form, "DOUBLE", _FLOATS[sort], here, finite, number="{}")
    if sort == "decimal":
        return SqlType(name, "number", "{}", name.upper(), name.upper(), number="CAST({} AS DOUBLE)")
    if sort == "boolean":
        return SqlType(name, "boolean", "{}", "BOOLEAN", "BOOLEAN")
    if sort == "binary":
        return SqlType(name, "bytes", "hex({})", "STRING", "BLOB", label=lambda value: bytes.fromhex(str(value)))
    return _moments(field.name, sort, name, field.dataType)


def _refuse_collation(field: StructField) -> None:
    """Refuse text that Spark compares by something else than its characters: users that are one there would be two."""
    collation = getattr(field.dataType, "collation", _BINARY)
    if collation != _BINARY:
        name = quoted(field.name)
        hint = f'read what it compares: frame.withColumn("{field.name}", expr("lower({name} COLLATE {_BINARY})"))'
        raise refused_type(field.name, f"text with the collation {collation}", hint)


def _moments(column: str, sort: str, name: str, of: DataType) -> SqlType:
    """Dates come as text, which `label` reads: a driver's time zone must not matter."""
    text = "CAST(i AS STRING)"
    years = _YEARS.get(sort)
    label = parse_or_keep(datetime.datetime.fromisoformat)
    if sort == "timestamp_ntz":
        return SqlType(
            name, "timestamp", "{}", "TIMESTAMP_NTZ", "TIMESTAMP", nameable=years, label_form=text, label=label
        )
    if sort == "timestamp":
        zoned, label = "TIMESTAMP WITH TIME ZONE", parse_or_keep(_in_utc)
        return SqlType(name, "timestamp", IN_UTC, "TIMESTAMP_NTZ", zoned, nameable=years, label_form=text, label=label)
    if sort == "date":
        label = parse_or_keep(datetime.date.fromisoformat)
        return SqlType(name, "date", "{}", "DATE", "DATE", nameable=years, label_form=text, label=label)
    if sort.startswith("time") and of.__class__.__name__ == "TimeType":
        form, label = "CAST({} AS TIME(6))", parse_or_keep(datetime.time.fromisoformat)
        return SqlType(name, "time", form, "TIME(6)", "TIME", label_form=text, label=label)
    hint = "cast it to text or to a number, in a view or with DataFrame.withColumn"
    raise refused_type(column, sort, hint)


def _in_utc(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
