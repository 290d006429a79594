"""Archive: a release as text, and the same release back from it, with the types that its items had."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpselect import forms
from dpselect.engines.domain import UNSEEN
from dpselect.forms import Json
from dpselect.privacy import Neighbors
from dpselect.release import Item, Release, Statement

FORM = 1

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


def archived(release: Release) -> str:
    """The release as one line of text."""
    statement = release.privacy
    return json.dumps(
        {
            "form": FORM,
            "items": [[_written(i.item), i.rank, i.count] for i in release.items],
            "complete": release.complete,
            "secure": release.secure,
            "epsilon": str(statement.epsilon),
            "delta": str(statement.delta),
            "neighbors": str(statement.neighbors),
            "mechanism": statement.mechanism,
            "parameters": {name: _parameter(value) for name, value in statement.parameters.items()},
            "bound": statement.bound,
            "sentences": list(statement.sentences),
            "unit": statement.unit,
        },
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    )


def restored(text: str) -> Release:
    """The release that `archived` wrote."""
    found = json.loads(text)
    statement = Statement(
        epsilon=Fraction(found["epsilon"]),
        delta=Fraction(found["delta"]),
        neighbors=Neighbors(found["neighbors"]),
        mechanism=found["mechanism"],
        parameters={name: _read(value) for name, value in found["parameters"].items()},
        bound=found["bound"],
        sentences=tuple(found["sentences"]),
        unit=found["unit"],
    )
    items = tuple(Item(_read(item), rank, count) for item, rank, count in found["items"])
    return Release(items=items, complete=found["complete"], privacy=statement, secure=found["secure"])


def _written(value: object) -> Json:
    """A value as JSON; what JSON has no type for as [kind, text]. What nobody knows comes back as its text."""
    if value is not UNSEEN:
        value = forms.scalar(value)
    for kind, (sort, write, _) in _KINDS.items():
        if isinstance(value, sort):
            return [kind, write(value)]
    return value if value is None or isinstance(value, (bool, int, str)) else forms.text(value)


def _parameter(value: object) -> Json:
    """A parameter may be several values, or several with names."""
    if isinstance(value, Mapping):
        return ["mapping", [[name, _written(one)] for name, one in value.items()]]
    return ["tuple", [_written(one) for one in value]] if isinstance(value, tuple) else _written(value)


def _pair(value: Json) -> tuple[str, object]:
    name, one = value if isinstance(value, list) else ("", None)
    return str(name), _read(one)


def _read(value: Json) -> object:
    if isinstance(value, list):
        kind, text = value
        if kind == "mapping" and isinstance(text, list):
            return dict(_pair(one) for one in text)
        if isinstance(text, list):
            return tuple(_read(one) for one in text)
        return _KINDS[str(kind)][2](str(text))
    return value
