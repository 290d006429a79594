"""State: all that one state of prepared data consists of, as one file of JSON that tells when a byte of it changed.

A small file in the folder names the state that counts. It is replaced at once, when all of a new state is on the disk:
whoever reads sees the old state or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpselect.engines.prepared.rules import Rules
from dpselect.engines.sources.files import PREPARED
from dpselect.errors import DataError, DpselectError, OutputError, came

FORM = 2  # of the folder: what another version wrote in another form is not read
CODES = {"users": "u", "items": "i", "kept": "c"}  # the columns of numbers that say what stands in a row
DICTIONARIES = ("users", "items", "kept", "sets", "totals", "sums")  # what there is in files of its own
AGAIN = "prepare the source again"
NAME = re.compile(r"[\w-]+\.parquet")  # of a part, which does not lead out of the folder
TYPE = re.compile(r"[A-Z][A-Z0-9_ ]*(?:\([0-9]+,[0-9]+\))?")  # of a column, as it stands in SQL
Json = Any
_LONGEST = 2**16  # bytes of the file that names a state
PARTS = "_parts"  # readers of data files pass over what begins so


@dataclass(frozen=True)
class Part:
    """A file of the folder by its name, its size, and a digest of its bytes."""

    name: str
    size: int
    digest: str


@dataclass(frozen=True)
class Segment:
    """The rows of some periods, and how many users have each item there. No period is in two segments.

    A period is the day on which it begins; rows that are in none have "". Without periods there is one segment.
    `size` is the number of its rows, which are in one file or several, as the cells are.
    """

    periods: tuple[str, ...]
    size: int
    rows: tuple[Part, ...]
    cells: tuple[Part, ...]


@dataclass(frozen=True)
class PreparedState:
    """One state: its own name, what it was made from and how, and its files.

    Each dictionary is in one file or several, each made when data were added: users, items, combinations of kept
    columns, and sets of these. `totals` are cells over all periods, where there are periods; `sums` are numbers of
    users of each item.
    """

    name: str
    made: str
    version: str
    sources: tuple[Json, ...]
    rules: Rules
    users: tuple[Part, ...]
    items: tuple[Part, ...]
    kept: tuple[Part, ...]
    sets: tuple[Part, ...]
    totals: tuple[Part, ...]
    sums: tuple[Part, ...]
    segments: tuple[Segment, ...]

    @property
    def parts(self) -> list[Part]:
        """All files."""
        found: list[Part] = [part for name in DICTIONARIES for part in getattr(self, name)]
        return found + [part for segment in self.segments for part in (*segment.rows, *segment.cells)]

    def text(self) -> str:
        """As it is written."""
        body = json.dumps(asdict(self), sort_keys=True, indent=1)
        return json.dumps({"form": FORM, "digest": _digest(body), "body": body}) + "\n"


def read(text: bytes, shown: str) -> PreparedState:
    """A state from what was written. What is damaged, or of another form, is refused."""
    found = _object(text)
    if found is not None and found.get("form") != FORM:
        raise other_form(found.get("form"), shown)
    body = None if found is None else found.get("body")
    if found is None or not isinstance(body, str) or _digest(body) != found.get("digest"):
        raise damaged(shown)
    try:
        return _state(json.loads(body))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise damaged(shown) from None


def other_form(form: object, shown: str) -> DataError:
    """The error where another version wrote in another form."""
    return DataError(f"{shown} was prepared by another version of dpselect (form {came(form)})", AGAIN)


def damaged(shown: str) -> DataError:
    """The error where bytes are not those that were written."""
    return DataError(f"the prepared data in {shown} are damaged", f"{AGAIN}, or take a copy")


def _state(body: Json) -> PreparedState:
    lists: dict[str, Json] = {name: tuple(map(_part, body[name])) for name in DICTIONARIES}
    segments = tuple(
        Segment(tuple(one["periods"]), one["size"], tuple(map(_part, one["rows"])), tuple(map(_part, one["cells"])))
        for one in body["segments"]
    )
    rules: dict[str, Json] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in body["rules"].items()
    }
    if not all(map(TYPE.fullmatch, rules["types"].values())):
        raise ValueError
    plain: dict[str, Json] = {name: body[name] for name in ("name", "made", "version")}
    return PreparedState(**plain, sources=tuple(body["sources"]), rules=Rules(**rules), **lists, segments=segments)


def _part(found: Mapping[str, Json]) -> Part:
    part = Part(**found)
    if not NAME.fullmatch(part.name):
        raise ValueError
    return part


def _object(text: bytes) -> dict[str, Json] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def pointed(folder: str, shown: str) -> str:
    """The name of the state that counts."""
    try:
        with open(os.path.join(folder, PREPARED), "rb") as file:
            found = json.loads(file.read(_LONGEST))
        form, name = found["form"], str(found["state"])
    except OSError as error:
        raise DataError(f"{shown} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        form, name = FORM, ""
    if form != FORM:
        raise other_form(form, shown)
    if not re.fullmatch("[0-9a-f]{32}", name):
        raise damaged(shown)
    return name


def state_file(folder: str, name: str) -> str:
    """Where a state is written."""
    return os.path.join(folder, PARTS, f"state-{name}.json")


def refuse_others(folder: str, shown: str, *, own: bool = False) -> None:
    """Refuse a folder in which somebody else may put other data in the place of these."""
    if os.name != "posix":
        return
    for path in (Path(folder), Path(folder, PARTS)):
        try:
            found = path.stat()
        except OSError:
            continue
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            error: type[DpselectError] = OutputError if own else DataError
            raise error(f"other users of this machine may write to {shown}", f"chmod -R go-w {shlex.quote(folder)}")
        if own and found.st_uid != os.geteuid():
            raise OutputError(f"{shown} belongs to another user", "name a folder of your own")
