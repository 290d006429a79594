"""PostgreSQL's values as texts that sort as they do, where keys have several columns."""

from __future__ import annotations

import struct

from dpselect.engines.sql.port import SqlType
from dpselect.engines.sql.sorted_texts import SortedText, integer_texts, number_text, parse_decimals

_TEXT = "({})::text"
_HEX, _TURNED = "0123456789abcdef", "fedcba9876543210"
_TURN = str.maketrans(_TURNED, _HEX)
# The bits of floats above 0 are in their order; those below 0 are turned round.
_BITS = "encode(float8send({}), 'hex')"
_FLOAT = f"CASE WHEN {{}} < 0 THEN concat('0', translate({_BITS}, '{_HEX}', '{_TURNED}')) ELSE concat('1', {_BITS}) END"
_WIDTH = 6  # a numeric has at most 131072 digits before its point
# An infinity is a text of its own as well: it may be one of several columns of a user, who is never named.
_NUMERIC = number_text(_TEXT, f"split_part({_TEXT}, '.', 1)", _WIDTH, text=_TEXT)
_decimal = parse_decimals(_WIDTH)


def sorted_text(one: SqlType) -> SortedText:
    """The texts of a type; `label` reads those of dates and times already."""
    if one.form_type == "numeric" and one.duckdb is None:  # of no scale, so that 1.5 may come as 1.50 from elsewhere
        return SortedText(_NUMERIC.replace("{}", "trim_scale({})"), _decimal)
    return _OWN.get(one.form_type) or SortedText(_TEXT, one.label)


def _float(text: str) -> float:
    bits = text[1:] if text.startswith("1") else text[1:].translate(_TURN)
    return float(struct.unpack(">d", bytes.fromhex(bits))[0])


_WHOLE = integer_texts(2, text=_TEXT)
_OWN: dict[str, SortedText] = {
    "text": SortedText("{}", str),
    **dict.fromkeys(("int2", "int4", "int8"), _WHOLE),
    "float8": SortedText(_FLOAT, _float),
    "numeric": SortedText(_NUMERIC, _decimal),
    "bool": SortedText(_TEXT, lambda text: text == "true"),
    "bytea": SortedText("encode({}, 'hex')", bytes.fromhex),
}
