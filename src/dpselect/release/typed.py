"""Values as JSON, and back with the types they had."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpselect._ground.domain import UNSEEN
from dpselect.release import formatting
from dpselect.release.formatting import Json

_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_RATIONAL = re.compile(r"-?[0-9]+(/[0-9]+)?")


def rational(text: str) -> Fraction:
    """Parse a fraction as it was written; never a power of ten, which would take long to make."""
    if not _RATIONAL.fullmatch(text):
        raise ValueError("no fraction")
    return Fraction(text)


def integer(text: str) -> int:
    """Parse an integer in decimal digits."""
    if not _INTEGER.fullmatch(text):
        raise ValueError("no integer")
    return int(text)


# Types that JSON does not have: how each is written, and read back.
_KINDS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], object]]] = {
    "fraction": (Fraction, str, rational),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "float": (float, float.hex, float.fromhex),
    "unseen": (type(UNSEEN), str, lambda _: UNSEEN),
}


def value_to_json(value: object) -> Json:
    """Return a value, several values, or several with names as JSON: what JSON has no type for as [kind, text].

    A value of a type that is not known comes back as its text.
    """
    if isinstance(value, Mapping):
        return ["mapping", [[name, _scalar_to_json(element)] for name, element in value.items()]]
    return (
        ["tuple", [_scalar_to_json(element) for element in value]]
        if isinstance(value, tuple)
        else _scalar_to_json(value)
    )


def label_to_json(value: object) -> Json:
    """Return an item as JSON, like `value_to_json`, but of names with values only the text."""
    return (
        ["tuple", [_scalar_to_json(element) for element in value]]
        if isinstance(value, tuple)
        else _scalar_to_json(value)
    )


def plain_is_exact(value: object) -> bool:
    """Return whether the plain form in JSON (`formatting.plain`) is read back as this value."""
    if formatting.is_unsafe(value):
        return False
    return isinstance(value, (bool, int, str)) or value is None or (isinstance(value, float) and math.isfinite(value))


def value_from_json(value: Json) -> object:
    """Return what `value_to_json` wrote."""
    if isinstance(value, list):
        kind, text = value
        if kind == "int":
            return integer(str(text))
        if kind == "mapping" and isinstance(text, list):
            return dict(_pair_from_json(element) for element in text)
        if isinstance(text, list):
            return tuple(value_from_json(element) for element in text)
        return _KINDS[str(kind)][2](str(text))
    return value


def mapping_to_json(values: Mapping[str, object]) -> dict[str, Json]:
    """Return values with names as an object of JSON."""
    return {name: value_to_json(value) for name, value in values.items()}


def mapping_from_json(values: Mapping[str, Json]) -> dict[str, object]:
    """Return what `mapping_to_json` wrote."""
    return {name: value_from_json(value) for name, value in values.items()}


def _scalar_to_json(value: object) -> Json:
    if value is not UNSEEN:
        value = formatting.scalar(value)
    if formatting.is_unsafe(value):
        return ["int", str(value)]
    for kind, (python_type, write, _) in _KINDS.items():
        if isinstance(value, python_type):
            return [kind, write(value)]
    return value if value is None or isinstance(value, (bool, int, str)) else formatting.text(value)


def _pair_from_json(value: Json) -> tuple[str, object]:
    name, pair_value = value if isinstance(value, list) else ("", None)
    return str(name), value_from_json(pair_value)
