"""A release from a file that anybody may have written: of a bounded size, read as JSON without surprises."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect.checking.finding import Finding, fails
from dpselect.errors import DataError, ParameterError, came

if TYPE_CHECKING:
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release

MOST_BYTES = 2**26
NO_RELEASE = "the file holds no release, or a damaged one"
HINT = "Release.to_json and --format json make it"
SHOWN = 60  # characters of a place in a file


def read(where: str | os.PathLike[str]) -> tuple[Release, tuple[Finding, ...]]:
    """The release, and whether its numbers for people are those for programs."""
    from dpselect.release.release import Release

    text = _text(where)
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_never)
    except (ValueError, RecursionError):
        raise DataError(NO_RELEASE, HINT) from None
    if not isinstance(found, dict):  # a text that is no object would be taken for a path
        raise DataError(NO_RELEASE, HINT)
    try:
        release = Release.from_json(text)
        told = release.to_dict()
    except (ParameterError, ArithmeticError, ValueError, TypeError, RecursionError):
        raise DataError(NO_RELEASE, HINT) from None
    places = [place for key, one in told.items() if key != "exact" for place in _other(found.get(key), one, key)]
    if not places:
        return release, ()
    more = f" and {len(places) - 1:,} more places" if len(places) > 1 else ""
    return release, (fails(f"the file says one thing at {places[0]!r:.{SHOWN}}{more}, and another under exact"),)


def _text(where: str | os.PathLike[str]) -> str:
    if not isinstance(where, (str, os.PathLike)):
        raise ParameterError("release", "be the path of a file", came(where), "to_json(path) writes a release to one")
    path = Path(where)
    try:
        if not path.is_file():
            raise DataError("there is no such file" if not path.exists() else "the release must be a file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise DataError(
                f"a release that is checked must have at most {MOST_BYTES >> 20} MiB, and this file has more"
            )
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(NO_RELEASE, HINT) from None
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        raise DataError(f"the release cannot be read: {getattr(error, 'strerror', None) or 'no path'}") from None


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """An object whose names come once: which of two would count differs from reader to reader."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice")
    return found


def _never(_: str) -> None:
    raise ValueError("no number of JSON")


def _other(found: Json, told: Json, place: str) -> Iterator[str]:
    """Where the file says something else than its exact part."""
    if isinstance(told, dict) and isinstance(found, dict):
        for key, one in told.items():
            yield from _other(found.get(key), one, f"{place}.{key}")
    elif isinstance(told, list) and isinstance(found, list) and len(told) == len(found):
        for at, (here, one) in enumerate(zip(found, told, strict=True)):
            yield from _other(here, one, f"{place}[{at}]")
    elif found != told or isinstance(found, bool) is not isinstance(told, bool):
        yield place
