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

INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
RATIONAL = re.compile(r"-?[0-9]+(/[0-9]+)?")


def rational(text: str) -> Fraction:
    """A fraction as it was written; never a power of ten, which would take long to make."""
    if not RATIONAL.fullmatch(text):
        raise ValueError("no fraction")
    return Fraction(text)


def integer(text: str) -> int:
    """Return an integer in decimal digits."""
    if not INTEGER.fullmatch(text):
        raise ValueError("no integer")
    return int(text)


# What JSON has no type for: how each is written, and read back.
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
    """A value as JSON; what JSON has no type for as [kind, text]. What nobody knows comes back as its text.

    It may also be several values, or several with names.
    """
    if isinstance(value, Mapping):
        return ["mapping", [[name, _one(one)] for name, one in value.items()]]
    return ["tuple", [_one(one) for one in value]] if isinstance(value, tuple) else _one(value)


def label_to_json(value: object) -> Json:
    """An item as JSON: like `written`, but of names with values only the text."""
    return ["tuple", [_one(one) for one in value]] if isinstance(value, tuple) else _one(value)


def plain_is_exact(value: object) -> bool:
    """Is the value what its plain form in JSON (`forms.plain`) is read back as?"""
    if formatting.is_unsafe(value):
        return False
    return isinstance(value, (bool, int, str)) or value is None or (isinstance(value, float) and math.isfinite(value))


def value_from_json(value: Json) -> object:
    """What `written` wrote."""
    if isinstance(value, list):
        kind, text = value
        if kind == "int":
            return integer(str(text))
        if kind == "mapping" and isinstance(text, list):
            return dict(_pair(one) for one in text)
        if isinstance(text, list):
            return tuple(value_from_json(one) for one in text)
        return _KINDS[str(kind)][2](str(text))
    return value


def mapping_to_json(values: Mapping[str, object]) -> dict[str, Json]:
    """Values with names, as an object of JSON."""
    return {name: value_to_json(value) for name, value in values.items()}


def mapping_from_json(values: Mapping[str, Json]) -> dict[str, object]:
    """What `named` wrote."""
    return {name: value_from_json(value) for name, value in values.items()}


def _one(value: object) -> Json:
    if value is not UNSEEN:
        value = formatting.scalar(value)
    if formatting.is_unsafe(value):
        return ["int", str(value)]
    for kind, (sort, write, _) in _KINDS.items():
        if isinstance(value, sort):
            return [kind, write(value)]
    return value if value is None or isinstance(value, (bool, int, str)) else formatting.text(value)


def _pair(value: Json) -> tuple[str, object]:
    name, one = value if isinstance(value, list) else ("", None)
    return str(name), value_from_json(one)
