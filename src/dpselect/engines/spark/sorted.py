"""Spark's values as texts that sort as they do, where keys have several columns."""

from __future__ import annotations

from decimal import Decimal

from dpselect.engines.sql.port import SqlType
from dpselect.engines.sql.sorted_texts import SortedText, decimal_notation, integer_texts, number_text

_TEXT = "CAST({} AS STRING)"
_WIDTH = 2
_WHOLE = integer_texts(_WIDTH, text=_TEXT)
_MOST_PLACES = 30  # after the point: with one place more before it, what is added up stays exact


def sorted_text(one: SqlType) -> SortedText | None:
    """The texts of a type; `label` reads those of dates, times and bytes already. None where Spark has none."""
    if one.form_type == "DOUBLE":
        return SortedText(_FLOAT, _float)
    if one.form_type.startswith("DECIMAL"):
        return _decimal(one.form_type)
    if one.kind == "integer":
        return _WHOLE
    if one.kind == "boolean":
        return SortedText(_TEXT, lambda text: text == "true")
    return SortedText(_TEXT, one.label)


# ---- floats: exponent and mantissa as Java writes them in hexadecimal, 0x1.8p1 ------------------------------

_HEX, _TURNED = "0123456789abcdef", "fedcba9876543210"
_TURN = str.maketrans(_TURNED, _HEX)
_ABOVE = 5000  # what is added to an exponent, which lies between -1022 and 1023
_WRITTEN = "format_string('%a', abs({}))"
_EXPONENT = f"CAST(CAST(substring_index({_WRITTEN}, 'p', -1) AS INT) + {_ABOVE} AS STRING)"
_MANTISSA = f"rpad(substr(substring_index({_WRITTEN}, 'p', 1), 3), 15, '0')"  # a digit, a point, 13 digits at most
_SIZE = (
    f"CASE WHEN {{}} = 0.0D THEN '0' WHEN abs({{}}) = CAST('Infinity' AS DOUBLE) THEN '9' "
    f"ELSE concat({_EXPONENT}, {_MANTISSA}) END"
)
_FLOAT = (
    f"CASE WHEN {{}} < 0.0D THEN concat('0', translate({_SIZE}, '{_HEX}', '{_TURNED}')) ELSE concat('1', {_SIZE}) END"
)


def _float(text: str) -> float:
    sign, size = (1.0, text[1:]) if text.startswith("1") else (-1.0, text[1:].translate(_TURN))
    if size in ("0", "9"):
        return 0.0 if size == "0" else sign * float("inf")
    return sign * float.fromhex(f"0x{size[4:]}p{int(size[:4]) - _ABOVE}")


# ---- decimals: the whole number below, and what is left, of as many places as the type has ------------------


def _decimal(counted: str) -> SortedText | None:
    places = int(counted.rstrip(")").rpartition(",")[2])
    if places == 0:
        return SortedText(_WHOLE.sql, lambda text: Decimal(decimal_notation(text, _WIDTH)))
    if places > _MOST_PLACES:
        return None
    below = "CAST(floor({}) AS STRING)"
    # From 1 up to 2, so that it is never written with an exponent.
    rest = "substr(CAST(pmod({}, 1) + 1 AS STRING), 2)"
    whole = number_text(below, below, _WIDTH, text=_TEXT)

    def label(text: str) -> Decimal:
        start, _, digits = text.rpartition(".")
        return Decimal(decimal_notation(start, _WIDTH)) + Decimal(f"0.{digits}")

    return SortedText(f"concat({whole}, {rest})", label)
