"""Text files: what the columns of a CSV or JSON lines file are called, from its first lines only.

The first line of a CSV file is its schema, and so are the keys of the first records of a JSON file. Schemas are
public here: they decide what is read and they may be shown.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from dpselect.errors import DataError

_LONGEST = 1 << 20  # characters of a header
_SAMPLE = 100  # records of a JSON file whose keys are taken for its columns
_BETWEEN = re.compile(r"[\s\[,]*")


@dataclass(frozen=True)
class Header:
    """How the fields of a CSV file are separated and what its columns are called."""

    delimiter: str
    names: tuple[str, ...]


def header(path: str, kind: str) -> Header | None:
    """The header of a file, None where it has no bytes. Nothing else of the file decides how it is read."""
    try:
        with _opened(path) as file:
            start = file.read(_LONGEST)
        if not start.strip():
            return None
        line = re.split(r"[\r\n]", start, maxsplit=1)[0]
        delimiter = "\t" if kind == "tsv" else max(",;\t|", key=lambda mark: len(_fields(line, mark)))
        return Header(delimiter, tuple(unique(_fields(start, delimiter))))
    except (OSError, EOFError, csv.Error, UnicodeError):
        pass
    raise DataError(f"{path} has no header that can be read", "its first line must name its columns, in UTF-8")


def _fields(text: str, delimiter: str) -> list[str]:
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


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


def json_keys(paths: Sequence[str]) -> tuple[str, ...]:
    """The keys of the first records of the first file that has any, none where all files are empty."""
    for path in paths:
        try:
            with _opened(path) as file:
                keys: list[str] = _keys(file)
        except (OSError, EOFError):
            keys = []
        if keys:
            return tuple(keys)
    return ()


def _keys(file: IO[str]) -> list[str]:
    """One record a line, or one array of records; what is not a record has no keys."""
    records = itertools.islice(_records(file.read(_LONGEST)), _SAMPLE)
    return list(dict.fromkeys(key for record in records if isinstance(record, dict) for key in record))


def _records(text: str) -> Iterator[object]:
    """The values that stand in the text, a broken line left out."""
    decoder = json.JSONDecoder()
    at = 0
    while (start := _BETWEEN.match(text, at)) and start.end() < len(text):
        try:
            record, at = decoder.raw_decode(text, start.end())
            yield record
        except (ValueError, RecursionError):
            at = text.find("\n", start.end()) + 1 or len(text)


def is_array(path: str) -> bool:
    """Is this JSON file one array of records, rather than one record a line?"""
    try:
        with _opened(path) as file:
            return file.read(_LONGEST).lstrip().startswith("[")
    except (OSError, EOFError):
        return False


def _opened(path: str) -> IO[str]:
    """A file as text; what is not UTF-8 is replaced, rows of that kind are skipped later."""
    if path.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="replace", newline="")
    return open(path, encoding="utf-8-sig", errors="replace", newline="")
