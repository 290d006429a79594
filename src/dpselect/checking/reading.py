"""A release from a file that anybody may have written: of a bounded size, read as JSON without surprises."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect._ground import json_text
from dpselect.errors import DataError, ParameterError, came

if TYPE_CHECKING:
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release

MOST_BYTES = 2**26
NO_RELEASE = "the file holds no release, or a damaged one"
HINT = "Release.to_json and --format json make it"


def read(where: Release | str | os.PathLike[str]) -> tuple[Release, dict[str, Json]]:
    """The release, and the JSON of it: in a file numbers for people may be others than those for programs."""
    from dpselect.release.release import Release

    try:
        text = where.to_json() if isinstance(where, Release) else _text(where)
        found = json_text.parse_json(text)
    except (ParameterError, DataError):
        raise
    except ValueError:
        raise DataError(NO_RELEASE, HINT) from None
    if not isinstance(found, dict):  # a text that is no object would be taken for a path
        raise DataError(NO_RELEASE, HINT)
    try:
        release = Release.from_json(text)
        release.to_dict()
    except (ParameterError, ArithmeticError, ValueError, TypeError, RecursionError):
        raise DataError(NO_RELEASE, HINT) from None
    return release, found


def _text(where: str | os.PathLike[str]) -> str:
    if not isinstance(where, (str, os.PathLike)):
        raise ParameterError(
            "release", "be a Release, or the path of a file", came(where), "to_json(path) writes a release to one"
        )
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
