"""Values as JSON, and back with the types they had."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpselect import forms
from dpselect.engines.domain import UNSEEN
from dpselect.forms import Json

# What JSON has no type for: how each is written, and read back.
_KINDS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], object]]] = {
    "fraction": (Fraction, str, Fraction),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "float": (float, float.hex, float.fromhex),
    "unseen": (type(UNSEEN), str, lambda _: UNSEEN),
}


def kind_of(value: object) -> str | None:
    """The kind of a value that its own JSON form does not tell; None where that form is read back as it was."""
    if isinstance(value, float) and math.isfinite(value):
        return None
    return next((kind for kind, (sort, _, _) in _KINDS.items() if isinstance(value, sort)), None)


def of_kind(kind: str | None, form: Json) -> object:
    """The value of that kind whose JSON form (`forms.plain`) this is. Floats: those that JSON does not have."""
    if kind is None:
        return form
    return float(str(form)) if kind == "float" else _KINDS[kind][2](str(form))


def written(value: object) -> Json:
    """A value as JSON; what JSON has no type for as [kind, text]. What nobody knows comes back as its text.

    It may also be several values, or several with names.
    """
    if isinstance(value, Mapping):
        return ["mapping", [[name, _one(one)] for name, one in value.items()]]
    return ["tuple", [_one(one) for one in value]] if isinstance(value, tuple) else _one(value)


def label(value: object) -> Json:
    """An item as JSON: like `written`, but a tuple is one strange value, not several."""
    return _one(value)


def read(value: Json) -> object:
    """What `written` wrote."""
    if isinstance(value, list):
        kind, text = value
        if kind == "mapping" and isinstance(text, list):
            return dict(_pair(one) for one in text)
        if isinstance(text, list):
            return tuple(read(one) for one in text)
        return _KINDS[str(kind)][2](str(text))
    return value


def names(value: Json) -> dict[str, object]:
    """What `written` wrote of values with names."""
    found = read(value)
    return found if isinstance(found, dict) else {}


def _one(value: object) -> Json:
    if value is not UNSEEN:
        value = forms.scalar(value)
    for kind, (sort, write, _) in _KINDS.items():
        if isinstance(value, sort):
            return [kind, write(value)]
    return value if value is None or isinstance(value, (bool, int, str)) else forms.text(value)


def _pair(value: Json) -> tuple[str, object]:
    name, one = value if isinstance(value, list) else ("", None)
    return str(name), read(one)
