"""Values: how long one may be, which text is a number, on every engine, and the marks of values without a type.

A number is in plain decimal notation. Left to itself each engine also reads what others do not: inf, 1_000, +-5, 1d,
0x10, a tab. A mark stands before all that is no text (`sources/objects.py: encode_values`).
"""

from __future__ import annotations

MAX_VALUE_BYTES = 1 << 20
"""Bytes of the longest text or bytes value, in UTF-8, in every column that is read: a longer one is missing.

Nobody's value may fill the memory that everybody's question needs. A line of a text file is no longer, either.
"""

NUMBER_PATTERN = "[ ]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?[ ]*"
"""A regular expression for the whole text, without a backslash; RE2, Java and PostgreSQL read it alike."""
MAX_NUMBER_LETTERS = 1000
"""A number has fewer letters: what is longer is no number anywhere, and no engine need read it."""

TYPE_MARK = "\x01"
TEXT, TRUTH, BYTES, DATE, MOMENT, ZONED, TIME = "sbxdmzt"
MIDDLE_NUMBER_MARK = 0xEC00  # of the letters of numbers, which nothing else has: a private area of Unicode
INFINITY = f"{TYPE_MARK}{chr(MIDDLE_NUMBER_MARK + MAX_NUMBER_LETTERS)}Infinity"
MINUS_INFINITY = f"{TYPE_MARK}{chr(MIDDLE_NUMBER_MARK - MAX_NUMBER_LETTERS)}-Infinity"

CAST_HINT = "cast it to text or to a number in the source"
"""What makes a column that is read of most types that are not."""


def sql_cast_hint(type_name: str) -> str:
    """Return how to make a column that is read of one of a type that is not; `rows` is a frame or a quoted path."""
    name = type_name.lower()
    if "list" in name or name == "array":
        remedy = "make a row of each element", "unnest(COLUMN) AS element"
    elif name == "interval" or name.startswith(("duration", "timedelta", "month_day_nano")):
        remedy = "make it a number", "epoch_us(COLUMN) AS microseconds"
    elif name in ("struct", "map"):
        remedy = "make a column of what is inside", "COLUMN['field'] AS field"
    else:
        return CAST_HINT
    return f'{remedy[0]}, in a view or frame: duckdb.sql("SELECT *, {remedy[1]} FROM rows")'
