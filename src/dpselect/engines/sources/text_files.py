"""Text files: what the columns of a CSV file are called, from its first line only.

The first line of a CSV file is its schema, which is public: it decides what is read. Nothing else of the file does.
JSON lines have no schema: a record holds the columns that are asked for, or lacks them.
"""

from __future__ import annotations

import csv
import itertools
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from dpselect.engines.sources.text_lines import first_line
from dpselect.errors import DataError

_LONGEST = 1 << 20  # bytes of a header
UNREADABLE = (OSError, EOFError, zlib.error)
"""What Python raises where a file, or what is packed in it, cannot be read."""


@dataclass(frozen=True)
class Header:
    """How the fields of a CSV file are separated and what its columns are called."""

    delimiter: str
    names: tuple[str, ...]


def header(path: str, kind: str) -> Header | None:
    """The header of a file, None where it has no bytes."""
    try:
        line = first_line(path)
        if line is None:
            return None
        text = line.decode()
        delimiter = "\t" if kind == "tsv" else max(",;\t|", key=lambda mark: len(_fields(text, mark)))
        names = _fields(text, delimiter)
        if text.strip() and names and len(line) <= _LONGEST:
            return Header(delimiter, tuple(unique(names)))
    except (*UNREADABLE, UnicodeError):
        pass
    hint = "its first line must name its columns, in UTF-8 and in one line; lines end with a line feed"
    raise DataError(f"{path} has no header that can be read", hint)


def _fields(line: str, delimiter: str) -> list[str]:
    """The fields of a line, none where it is not well formed."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def unique(names: Iterable[str]) -> list[str]:
    """The names, told apart as DuckDB does, which does not see letter case: the second `a` becomes `a_1`."""
    taken: set[str] = set()
    found = []
    for position, name in enumerate(names):
        base = name or f"column{position}"
        ways = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(1)))
        fresh = next(way for way in ways if way.lower() not in taken)
        taken.add(fresh.lower())
        found.append(fresh)
    return found
