"""PostgreSQL's values as texts that sort as they do, where keys have several columns."""

from __future__ import annotations

import struct

from dpselect.engines.sql.port import SqlType
from dpselect.engines.sql.sorted_texts import SortedText, integer_texts, number_text, parse_decimals

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
    """Return the sorted texts of a type; `label` reads those of dates and times already."""
    if sql_type.form_type == "numeric" and sql_type.duckdb is None:  # without a scale, so that 1.5 may also be 1.50
        return SortedText(_NUMERIC.replace("{}", "trim_scale({})"), _decimal)
    return _SORTED_TEXTS.get(sql_type.form_type) or SortedText(_TEXT, sql_type.label)


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
