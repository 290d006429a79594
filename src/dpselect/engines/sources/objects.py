"""Objects: values that stand in a column without a declared type (Python lists, object columns), each read alone.

Every value is written as one text in which equal values are equal and others differ, and which tells what it was:

- numbers are equal where what is written is equal: 1, 1.0 and Decimal("1.00") are one number, so are 0.1 and
  Decimal("0.1"). They come back as int where they are whole, as float where one is written like that, else as Decimal;
- truth values, text, bytes, dates, moments (with a zone: in UTC) and times come back as they are, and none of them
  equals a value of another kind: "1" is text, True is no number. A UUID is its text;
- anything else is missing: None, NaN, text that is no Unicode (half of a surrogate pair), text and bytes of more than
  `MAX_VALUE_BYTES` bytes, numbers of 1,000 digits and more, lists, other objects, and what fails while it is looked at.

Text stands as it is, so that reading a column of text costs little. All else begins with a mark, a letter for its kind
and then the plain text of the value, which a filter sees. Of a number the letter says how many digits stand before its
point, so that texts sort as numbers do (negative ones by their digits).
"""

from __future__ import annotations

import datetime
import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpselect.engines.values import (
    BYTES,
    DATE,
    INFINITY,
    MAX_NUMBER_LETTERS,
    MAX_VALUE_BYTES,
    MIDDLE_NUMBER_MARK,
    MINUS_INFINITY,
    MOMENT,
    TEXT,
    TIME,
    TRUTH,
    TYPE_MARK,
    ZONED,
)

if TYPE_CHECKING:
    import numpy.typing as npt

_VALUES_PER_PIECE = 1 << 14
_INTEGER_LIMIT = 10 ** (MAX_NUMBER_LETTERS - 1)
_MAX_SURELY_SHORT_LETTERS = (
    MAX_VALUE_BYTES // 4
)  # letters that take no more bytes than `MAX_VALUE_BYTES`, whatever they are
EncodedTexts: TypeAlias = "npt.NDArray[np.object_]"
"""Python texts, None where nothing can be read: what DuckDB reads as VARCHAR."""


def encode_values(values: Iterable[object]) -> EncodedTexts:
    """Return each value as its one text, None where it is missing. The text depends on that value alone."""
    return _encode_by_pieces(values, TYPE_MARK, _encode_piece)


def encode_texts(values: Iterable[object]) -> EncodedTexts:
    """Values of a column that is declared as text: None for what is none, or no Unicode."""
    return _encode_by_pieces(
        values, "", lambda piece: [_text_if_readable(v) if isinstance(v, str) else None for v in piece]
    )


def decode_value(text: str) -> object:
    """Return the value that was encoded."""
    if not text.startswith(TYPE_MARK):
        return text
    return _DECODERS.get(text[1], _decode_number)(text[2:])


def _encode_piece(piece: Sequence[Any]) -> list[str | None]:
    if (
        set(map(type, piece)) == {int} and min(piece) >= 0 and max(piece) < _INTEGER_LIMIT
    ):  # the same, a few times faster
        return [_MARK_OF_DIGITS[len(digits)] + digits for digits in map(str, piece)]
    return [_ENCODERS.get(type(value), _encode_derived)(value) for value in piece]


def _encode_by_pieces(
    values: Iterable[object], mark: str, encode_piece: Callable[[Sequence[Any]], list[str | None]]
) -> EncodedTexts:
    """Encode values in pieces; those of nothing but plain text are taken as they are, many times faster."""
    encoded: list[Any] = []
    for piece in _pieces(values):
        try:
            encoded.extend(piece if _is_plain_text(piece, mark) else encode_piece(piece))
        except MemoryError:
            raise
        except Exception:  # code that an object brings along: Python asks it for its class, say
            encoded.extend(_encode_alone(value, encode_piece) for value in piece)
    array = np.empty(len(encoded), dtype=object)
    array[:] = encoded
    return array


def _encode_alone(value: object, encode_piece: Callable[[Sequence[Any]], list[str | None]]) -> str | None:
    """Encode one value; one whose own code fails is missing."""
    try:
        return encode_piece((value,))[0]
    except MemoryError:
        raise
    except Exception:
        return None


def _pieces(values: Iterable[object]) -> Iterable[tuple[object, ...]]:
    iterator = iter(values)
    while piece := tuple(itertools.islice(iterator, _VALUES_PER_PIECE)):
        yield piece


def _is_plain_text(piece: Sequence[Any], mark: str) -> bool:
    if set(map(type, piece)) != {str} or max(map(len, piece)) > _MAX_SURELY_SHORT_LETTERS:
        return False
    joined_text = "".join(piece)
    return _utf8_length(joined_text) is not None and not (mark and mark in joined_text)


def _text_if_readable(text: str) -> str | None:
    """Return the text itself, as a plain str, if it can be written in UTF-8 and is not too long."""
    plain = str.__str__(text)
    size = None if len(plain) > MAX_VALUE_BYTES else _utf8_length(plain)
    return plain if size is not None and size <= MAX_VALUE_BYTES else None


def _utf8_length(plain: str) -> int | None:
    """Return the length of a text in UTF-8, None where it is no Unicode."""
    try:
        return len(plain) if plain.isascii() else len(plain.encode())
    except UnicodeEncodeError:
        return None


def _encode_text(value: str) -> str | None:
    plain = _text_if_readable(value)
    return f"{TYPE_MARK}{TEXT}{plain}" if plain is not None and plain.startswith(TYPE_MARK) else plain


def _encode_truth(value: object) -> str:
    return f"{TYPE_MARK}{TRUTH}true" if value else f"{TYPE_MARK}{TRUTH}false"


def _encode_integer(value: int) -> str | None:
    return _mark_number(int.__repr__(value)) if -_INTEGER_LIMIT < value < _INTEGER_LIMIT else None


def _encode_float(value: float) -> str | None:
    if value - value == 0.0:
        plain = float.__repr__(value)
        return _mark_number(_without_exponent(Decimal(plain)) if "e" in plain else plain.removesuffix(".0"))
    return None if value != value else INFINITY if value > 0 else MINUS_INFINITY  # noqa: PLR0124 - NaN


def _encode_decimal(value: Decimal) -> str | None:
    value = Decimal(value)
    if not value.is_finite():
        return None if value.is_nan() else INFINITY if value > 0 else MINUS_INFINITY
    digits, exponent = value.as_tuple()[1:]
    short = (
        len(digits) < MAX_NUMBER_LETTERS
        and abs(value.adjusted()) < MAX_NUMBER_LETTERS
        and abs(int(exponent)) < MAX_NUMBER_LETTERS
    )
    return _mark_number(_without_exponent(value)) if short else None


def _without_exponent(value: Decimal) -> str:
    plain = format(value, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _mark_number(plain: str) -> str:
    """Return a number in decimal notation, without zeros that say nothing."""
    size = len(plain) if "." not in plain else plain.index(".")
    if plain[0] != "-":
        return f"{TYPE_MARK}{chr(MIDDLE_NUMBER_MARK + size)}{plain}"
    return f"{TYPE_MARK}{chr(MIDDLE_NUMBER_MARK - size + 1)}{plain}" if plain != "-0" else _MARKED_ZERO


def _encode_bytes(value: bytes) -> str | None:
    return f"{TYPE_MARK}{BYTES}{value.hex()}" if len(value) <= MAX_VALUE_BYTES else None


def _encode_moment(value: datetime.datetime) -> str | None:
    """Return a moment to the microsecond; NaT of pandas, which is such a value, has no year."""
    try:
        parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
        if value.tzinfo is None:
            return f"{TYPE_MARK}{MOMENT}{datetime.datetime(*parts).isoformat(' ')}"
        zoned = datetime.datetime(*parts, tzinfo=value.tzinfo, fold=value.fold)
        return f"{TYPE_MARK}{ZONED}{zoned.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(' ')}"
    except Exception:  # a zone may be anybody's code, and beyond the years 1 to 9999 there is nothing
        return None


def _encode_date(value: datetime.date) -> str:
    return f"{TYPE_MARK}{DATE}{value.isoformat()}"


def _encode_time(value: datetime.time) -> str | None:
    return f"{TYPE_MARK}{TIME}{value.isoformat()}" if value.tzinfo is None else None


def _encode_missing(_value: object) -> None:
    return None


def _encode_numpy(value: np.generic[Any]) -> str | None:
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            return None
        if not 1 <= int(value.astype("M8[Y]").astype(np.int64)) + 1970 <= datetime.MAXYEAR:
            return None
        days = np.datetime_data(value.dtype)[0] in ("D", "W", "M", "Y")
        return _encode_date(value.astype("M8[D]").item()) if days else _encode_moment(value.astype("M8[us]").item())
    if isinstance(value, np.timedelta64):  # some units would be whole numbers
        return None
    if isinstance(value, np.longdouble):
        return _encode_float(float(value))
    plain = value.item()
    return None if isinstance(plain, np.generic) else _ENCODERS.get(type(plain), _encode_missing)(plain)


def _encode_derived(value: object) -> str | None:
    """Return a value whose class is derived from one that is known, or one that is missing."""
    if isinstance(value, np.generic) and not isinstance(value, (str, bytes, float)):
        return _encode_numpy(value)
    base = next((base_class for base_class in _ENCODERS_OF_BASES if isinstance(value, base_class)), None)
    if base is not None:
        return _ENCODERS_OF_BASES[base](value)
    uuid = sys.modules.get("uuid")  # it can draw random numbers, so it is not imported
    return uuid.UUID.__str__(value) if uuid is not None and type(value) is uuid.UUID else None


def _decode_number(plain: str) -> object:
    if plain.lstrip("-").isdigit():
        return int(plain)
    rounded = float(plain)
    return (
        rounded
        if _encode_float(rounded) in (_encode_decimal(Decimal(plain)), INFINITY, MINUS_INFINITY)
        else Decimal(plain)
    )


_MARK_OF_DIGITS = [f"{TYPE_MARK}{chr(MIDDLE_NUMBER_MARK + size)}" for size in range(MAX_NUMBER_LETTERS + 1)]
_MARKED_ZERO = _mark_number("0")
_ENCODERS: dict[type, Callable[[Any], str | None]] = {
    str: _encode_text,
    bool: _encode_truth,
    int: _encode_integer,
    float: _encode_float,
    type(None): _encode_missing,
    Decimal: _encode_decimal,
    bytes: _encode_bytes,
    datetime.datetime: _encode_moment,
    datetime.date: _encode_date,
    datetime.time: _encode_time,
}
_ENCODERS_OF_BASES: dict[type, Callable[[Any], str | None]] = {
    str: _encode_text,
    int: lambda value: _encode_integer(int.__index__(value)),
    float: lambda value: _encode_float(float.__float__(value)),
    Decimal: _encode_decimal,
    bytes: lambda value: _encode_bytes(bytes(memoryview(value)[: MAX_VALUE_BYTES + 1])),
    datetime.datetime: _encode_moment,
    datetime.date: lambda value: _encode_date(datetime.date(value.year, value.month, value.day)),
}
_DECODERS: dict[str, Callable[[str], object]] = {
    TEXT: str,
    TRUTH: lambda plain: plain == "true",
    BYTES: bytes.fromhex,
    DATE: datetime.date.fromisoformat,
    MOMENT: datetime.datetime.fromisoformat,
    ZONED: lambda plain: datetime.datetime.fromisoformat(plain).replace(tzinfo=datetime.UTC),
    TIME: datetime.time.fromisoformat,
}
