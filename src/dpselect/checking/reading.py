"""Read an untrusted release file: at most `MAX_BYTES`, strict JSON, and a valid release."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dpselect._ground import json_text
from dpselect.errors import DataError, ParameterError, came

if TYPE_CHECKING:
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release

MAX_BYTES = 2**26
_NO_RELEASE = "the file holds no release, or a damaged one"
_NO_RELEASE_HINT = "Release.to_json and --format json make it"


def read_release(source: Release | str | os.PathLike[str]) -> tuple[Release, dict[str, Json]]:
    """Return the release and its JSON document, which a caller must compare too.

    A file may show people other numbers than the ones that programs parse, so the parsed release alone is not enough.

    Raises: DataError if the source holds no release, ParameterError if it is neither a release nor a path.
    """
    from dpselect.release.release import Release

    try:
        text = source.to_json() if isinstance(source, Release) else _read_text(source)
        document = json_text.parse_json(text)
    except (ParameterError, DataError):
        raise
    except ValueError:
        raise DataError(_NO_RELEASE, _NO_RELEASE_HINT) from None
    if not isinstance(document, dict):  # `from_json` would take a text that is no object for a path
        raise DataError(_NO_RELEASE, _NO_RELEASE_HINT)
    try:
        release = Release.from_json(text)
        release.to_dict()
    except (ParameterError, ArithmeticError, ValueError, TypeError, RecursionError):
        raise DataError(_NO_RELEASE, _NO_RELEASE_HINT) from None
    return release, document


def _read_text(source: str | os.PathLike[str]) -> str:
    if not isinstance(source, (str, os.PathLike)):
        raise ParameterError(
            "release", "be a Release, or the path of a file", came(source), "to_json(path) writes a release to one"
        )
    path = Path(source)
    try:
        if not path.is_file():
            raise DataError("there is no such file" if not path.exists() else "the release must be a file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise DataError(
                f"a release that is checked must have at most {MAX_BYTES >> 20} MiB, and this file has more"
            )
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(_NO_RELEASE, _NO_RELEASE_HINT) from None
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        raise DataError(f"the release cannot be read: {getattr(error, 'strerror', None) or 'no path'}") from None
