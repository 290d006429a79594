"""Spark's values as texts that sort as they do, where keys have several columns."""

from __future__ import annotations

from decimal import Decimal

from dpselect.engines.sql.port import SqlType
from dpselect.engines.sql.sorted_texts import SortedText, decimal_notation, integer_texts, number_text

_TEXT = "CAST({} AS STRING)"
_WIDTH = 2
_INTEGER = integer_texts(_WIDTH, text=_TEXT)
_MAX_SCALE = 30  # with one digit more before the point, the sum stays exact


def sorted_text(sql_type: SqlType) -> SortedText | None:
    """Return the sorted texts of a type, or None; `label` reads those of dates, times and bytes already."""
    if sql_type.form_type == "DOUBLE":
        return SortedText(_FLOAT, _parse_float)
    if sql_type.form_type.startswith("DECIMAL"):
        return _sorted_decimal(sql_type.form_type)
    if sql_type.kind == "integer":
        return _INTEGER
    if sql_type.kind == "boolean":
        return SortedText(_TEXT, lambda text: text == "true")
    return SortedText(_TEXT, sql_type.label)


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
        return SortedText(_INTEGER.sql, lambda text: Decimal(decimal_notation(text, _WIDTH)))
    if scale > _MAX_SCALE:
        return None
    floor = "CAST(floor({}) AS STRING)"
    # From 1 up to 2, so that it is never written with an exponent.
    fraction = "substr(CAST(pmod({}, 1) + 1 AS STRING), 2)"
    integer_text = number_text(floor, floor, _WIDTH, text=_TEXT)

    def label(text: str) -> Decimal:
        start, _, digits = text.rpartition(".")
        return Decimal(decimal_notation(start, _WIDTH)) + Decimal(f"0.{digits}")

    return SortedText(f"concat({integer_text}, {fraction})", label)
