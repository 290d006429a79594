"""The tables [people.NAME]: who may sign in, as what, and for which data."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from dpselect.gateway.settings import leaves
from dpselect.gateway.settings.data_sets import AMOUNT
from dpselect.gateway.settings.places import Place, Reader, listed, made
from dpselect.gateway.settings.values import Person, Role

_DIGEST = re.compile(r"sha256:([0-9A-Fa-f]{64})")


def _digest(place: Place) -> str:
    """The digest of a token. What stands in its place may be the token itself, which no message repeats."""
    found = _DIGEST.fullmatch(place.value) if isinstance(place.value, str) else None
    if found is None:
        hint = "dpselect gateway token makes a token, and the line for it"
        raise place.wrong('be "sha256:" and 64 hexadecimal digits', hint, "something else")
    return found[1].lower()


def _together(place: Place, given: dict[str, Any]) -> None:
    given["name"] = unicodedata.normalize("NFC", str(place.steps[-1]))
    seen: set[str] = set()
    for at, one in enumerate(given.get("data") or ()):
        if one in seen:
            place.refuse("must have each data set once", "data", at)
        seen.add(one)


READERS: Mapping[str, Reader] = {
    "role": lambda place: Role(leaves.one_of(Role)(place)),
    "data": listed(leaves.name, "be a list of names of data sets, or be left out for all"),
    "quota": AMOUNT,
    "token": _digest,
    "until": leaves.date,
    "subject": leaves.text,
}
READ: Reader = made(Person, READERS, _together)
