"""The SQL that PostgreSQL spells differently, and the canonical form in which each value is counted.

A statement takes values, so % is doubled everywhere. Equal values must have the same form, and must be the
ones that DuckDB counts as equal. So text loses its collation and char(n) its padding, negative zero its sign, a numeric
its trailing zeros, an enum its order. A type that is not here is refused: two forms of one value would make two users
of one.
"""

from __future__ import annotations

import struct

from dpselect.engines.sources.refused_types import refused_type
from dpselect.engines.sql.keys import integer_texts, number_text, parse_decimals
from dpselect.engines.sql.port import MOMENT_LABELS, Dialect, SortedText, SqlType
from dpselect.engines.values import MAX_NUMBER_LETTERS, MAX_VALUE_BYTES, NUMBER_PATTERN


def quoted(name: str) -> str:
    """Return an SQL identifier."""
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'


def literal(text: str) -> str:
    """Return an SQL string; a workspace sets standard_conforming_strings, so a backslash is an ordinary character."""
    return "'" + text.replace("'", "''").replace("%", "%%") + "'"


def _hash_with_key(key: str, user: str, item: str) -> str:
    """Compile a hash of bytes that are unambiguous: the key, the length of the user in four bytes, the user, the item.

    User and item are in their canonical form, whose text is injective.
    """
    u, i = (f"convert_to(({name})::text, 'UTF8')" for name in (user, item))
    return f"sha256({key} || int4send(length({u})) || {u} || {i})"


# ---- values as texts that sort as they do, where keys have several columns

_TEXT = "({})::text"
_HEX, _HEX_COMPLEMENTS = "0123456789abcdef", "fedcba9876543210"
_COMPLEMENT = str.maketrans(_HEX_COMPLEMENTS, _HEX)
# The bits of floats above 0 sort as the floats do; those below 0 are complemented.
_BITS = "encode(float8send({}), 'hex')"
_COMPLEMENTED_BITS = f"translate({_BITS}, '{_HEX}', '{_HEX_COMPLEMENTS}')"
_FLOAT = f"CASE WHEN {{}} < 0 THEN concat('0', {_COMPLEMENTED_BITS}) ELSE concat('1', {_BITS}) END"
_WIDTH = 6  # a numeric has at most 131072 digits before its point
# An infinity is a text of its own as well: it may be one of several columns of a user, who is never named.
_NUMERIC = number_text(_TEXT, f"split_part({_TEXT}, '.', 1)", _WIDTH, text=_TEXT)
_decimal = parse_decimals(_WIDTH)


def sorted_text(sql_type: SqlType) -> SortedText:
    """Return the sorted texts of a type; `to_label` reads those of dates and times already."""
    if (
        sql_type.canonical_type == "numeric" and sql_type.duckdb_type is None
    ):  # without a scale, so that 1.5 may also be 1.50
        return SortedText(_NUMERIC.replace("{}", "trim_scale({})"), _decimal)
    return _SORTED_TEXTS.get(sql_type.canonical_type) or SortedText(_TEXT, sql_type.to_label)


def _parse_float(text: str) -> float:
    bits = text[1:] if text.startswith("1") else text[1:].translate(_COMPLEMENT)
    return float(struct.unpack(">d", bytes.fromhex(bits))[0])


_INTEGER = integer_texts(2, text=_TEXT)
_SORTED_TEXTS: dict[str, SortedText] = {
    "text": SortedText("{}", str),
    **dict.fromkeys(("int2", "int4", "int8"), _INTEGER),
    "float8": SortedText(_FLOAT, _parse_float),
    "numeric": SortedText(_NUMERIC, _decimal),
    "bool": SortedText(_TEXT, lambda text: text == "true"),
    "bytea": SortedText("encode({}, 'hex')", bytes.fromhex),
}


POSTGRES = Dialect(
    name="postgres",
    quote=quoted,
    literal=literal,
    text='({})::text COLLATE "C"',
    keyed_hash=_hash_with_key,
    exact_sum="sum(CAST({} AS NUMERIC))",
    split_query='SELECT t.u AS u{more}, unnest(string_to_array(i, {separator})) COLLATE "C" AS i FROM {rows}',
    sorted_text=sorted_text,
    binary='({}) COLLATE "C"',
    underflow_fails=True,
)


_CAST = "cast it to text or to a number in a view, and name the view as the table"
_HINTS = {
    "interval": "write its seconds as a number in a view: extract(epoch FROM ...)",
    "money": "cast it in a view: ...::numeric",
    "citext": "read what it compares in a view: lower(...::text)",
}
_TEXTS = frozenset({"text", "varchar", "bpchar", "name", "json", "jsonb"})
_LONG = {*_TEXTS - {"name"}, "long bpchar", "bytea"}
_NUMBERS = {"int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT"}
_FLOATS = {"float4": "FLOAT", "float8": "DOUBLE"}
_NOT_NAN = "{} IS NOT NULL AND {} <> 'NaN'"
# The difference of two infinities is NaN; a server before 14 has no infinite numeric to compare with.
_FINITE = "{} IS NOT NULL AND {} - {} <> 'NaN'"
# Python has the years 1 to 9999 and the hours 0 to 23, so items have these on every engine.
_NAMEABLE = {
    "date": "{} BETWEEN '0001-01-01' AND '9999-12-31'",
    "time": "{} < '24:00'",
    "timestamp": "{} BETWEEN '0001-01-01' AND '9999-12-31 23:59:59.999999'",
    "timestamptz": "{} BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'",
}
_TIMES = {"date": "DATE", "time": "TIME", "timestamp": "TIMESTAMP"}

# What a float cannot hold becomes 0 (the least float is 5e-324), or a number beyond every grid: the server refuses to
# cast it, and whether a question fails may not hang on a row.
_DOUBLE = "round(least(greatest(({})::numeric, '-1e305'), '1e305'), 323)::float8"
# A number is of ASCII letters, so octets are letters.
_READ = f"CASE WHEN octet_length({{}}) < {MAX_NUMBER_LETTERS} AND {{}} ~ '^{NUMBER_PATTERN}$' THEN {_DOUBLE} END"


def short_column(name: str, sql_type: SqlType) -> str:
    """Compile a column by its own name, null if a value is longer than allowed.

    The server knows the length of a text and of bytes where they are stored, and so reads none that is too long. It
    estimates that most rows satisfy CASE and IS NOT NULL; of a comparison with a length it expects a third.
    """
    value = quoted(name)
    if sql_type.name not in _LONG:
        return value
    text = f"{value}::text" if sql_type.name in ("json", "jsonb") else value
    return f"CASE WHEN octet_length({text}) <= {MAX_VALUE_BYTES} THEN {value} END AS {value}"


def pg_type(column: str, name: str, kind: str, modifier: int) -> SqlType:
    """Return the type of a column by the type's name, its kind ('b' base, 'e' enum) and its modifier (-1 without)."""
    text = '({})::text COLLATE "C"'
    if kind == "e":
        # An enum has an owner, who may define how a cast reads it; nobody can define its own text.
        enum_text = '(CASE WHEN {} IS NOT NULL THEN concat({}) END) COLLATE "C"'
        return SqlType(name, "text", enum_text, "text", "VARCHAR", number_form=_READ)
    if name in _TEXTS:
        if name == "bpchar" and not 4 < modifier <= 1028:  # 4,096 bytes at most, of which each cast reads all
            name = "long bpchar"
        return SqlType(name, "text", text, "text", "VARCHAR", number_form=_READ)
    if name == "uuid":
        return SqlType(name, "other", text, "text", "UUID")
    if name in _NUMBERS:
        return SqlType(name, "integer", "{}", name, _NUMBERS[name], number_form="({})::float8")
    if name in _FLOATS:
        # -0.0 + 0.0 is 0.0, and a float4 has the same value as float8.
        form = "(({})::float8 + '0'::float8)"
        return SqlType(name, "number", form, "float8", _FLOATS[name], _NOT_NAN, _FINITE, number_form="{}")
    if name == "numeric":
        return _numeric(modifier)
    if name in _TIMES:
        nameable = _NAMEABLE[name]
        return SqlType(
            name,
            name,
            "{}",
            name,
            _TIMES[name],
            nameable_condition=nameable,
            label_form="i::text",
            to_label=MOMENT_LABELS[name],
        )
    if name == "timestamptz":
        form = "(({}) AT TIME ZONE 'UTC')"
        zoned = "TIMESTAMP WITH TIME ZONE"
        nameable = _NAMEABLE[name]
        return SqlType(
            name,
            "other",
            form,
            "timestamp",
            zoned,
            nameable_condition=nameable,
            label_form="i::text",
            to_label=MOMENT_LABELS[name],
        )
    if name == "bool":
        return SqlType(name, "boolean", "{}", name, "BOOLEAN")
    if name == "bytea":
        return SqlType(name, "bytes", "{}", name, "BLOB")
    raise refused_type(column, name, _HINTS.get(name.rpartition(".")[2], _CAST))


def _numeric(modifier: int) -> SqlType:
    """Return the type of numbers. Those of one scale have one form; without a scale, zeros are trimmed."""
    digits, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
    if modifier >= 4 and digits <= 38 and scale <= digits:
        exact = f"DECIMAL({digits},{scale})"
        return SqlType("numeric", "number", "{}", "numeric", exact, _NOT_NAN, number_form=_DOUBLE)
    return SqlType("numeric", "number", "trim_scale({})", "numeric", None, _NOT_NAN, _FINITE, number_form=_DOUBLE)
