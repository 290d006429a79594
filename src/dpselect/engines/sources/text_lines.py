"""Text files: what the columns are called, and blocks of whole lines. No line decides anything about any other.

A line ends at a line feed, whatever stands before it. A line that is not UTF-8, or has with its
line feed more bytes than `LONGEST`, is left out alone; the blocks of a file put together are its other lines, wherever
reading happened to stop between them.

The first line of a CSV file is its schema, which is public: it decides what is read. Nothing else of the file does.
JSON lines have no schema: a record holds the columns that are asked for, or lacks them.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from dpselect.engines.values import LONGEST
from dpselect.errors import DataError

MARK = b"\xef\xbb\xbf"
"""What some programs write at the start of a file of UTF-8."""
_BLOCK = 1 << 18  # larger ones are new pages of memory each time, which take longer than reading


def opened(path: str) -> BinaryIO:
    """A file as bytes, unpacked if it is a .gz."""
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def first_line(path: str) -> bytes | None:
    """The first line without its end, or as much of it as a line may have; None where there are no bytes."""
    with opened(path) as file:
        line = file.readline(LONGEST).removeprefix(MARK)
    return line.removesuffix(b"\n").removesuffix(b"\r") if line else None


def blocks(path: str, *, header: bool, size: int = _BLOCK, longest: int = LONGEST) -> Iterator[bytes]:
    """The lines of a file after its header, each with a line feed and no carriage return before it."""
    for lines in _whole(path, header, size, longest):
        block = lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines
        block = block if _readable(block) and len(block) <= longest else _read_on(block, longest)
        if block:
            yield block


def _whole(path: str, header: bool, size: int, longest: int) -> Iterator[bytes]:
    """Blocks that end where lines do. No more than a line that is too long is ever held."""
    with opened(path) as file:
        rest = file.read(len(MARK)).removeprefix(MARK)
        skipping = header
        while more := file.read(size):
            rest += more
            if skipping:
                _, found, rest = rest.partition(b"\n")
                skipping = not found
            cut = rest.rfind(b"\n") + 1
            yield rest[:cut]
            rest = rest[cut:]
            if len(rest) > longest:
                rest, skipping = b"", True
        if skipping:
            rest = rest.partition(b"\n")[2]
        if rest:
            yield rest if rest.endswith(b"\n") else rest + b"\n"


def _readable(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read_on(block: bytes, longest: int) -> bytes:
    """The lines that can be read."""
    lines = block.split(b"\n")[:-1]
    return b"".join(line + b"\n" for line in lines if len(line) < longest and _readable(line))


UNREADABLE = (OSError, EOFError, zlib.error)
"""What Python raises where a file, or what is packed in it, cannot be read."""


@dataclass(frozen=True)
class Header:
    """How the fields of a CSV file are separated and what its columns are called."""

    delimiter: str
    names: tuple[str, ...]


def header(path: str, kind: str) -> Header | None:
    """The header of a file, None where it has no bytes."""
    line: bytes | None = None
    try:
        line = first_line(path)
        if line is None:
            return None
        text = line.decode()
        delimiter = "\t" if kind == "tsv" else max(",;\t|", key=lambda mark: len(_fields(text, mark)))
        names = _fields(text, delimiter)
        if text.strip() and names and not re.fullmatch("sep=.", text, re.IGNORECASE) and len(line) <= LONGEST:
            return Header(delimiter, tuple(unique(names)))
    except (*UNREADABLE, UnicodeError):
        pass
    hint = "its first line must name its columns, in UTF-8 and on one line; lines end with a line feed"
    if line is not None and re.fullmatch(rb"sep=.", line, re.IGNORECASE):
        hint = f"its first line, {line.decode(errors='replace')}, is Excel's and names none: tail -n +2 FILE > rows.csv"
    raise DataError(f"{path} has no header that can be read", hint)


def _fields(line: str, delimiter: str) -> list[str]:
    """The fields of a line, none where it is not well formed."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def unique(names: Iterable[str]) -> list[str]:
    """Return the names, each once: the second `a` becomes `a_1`. Letter case makes another name."""
    taken: set[str] = set()
    found = []
    for position, name in enumerate(names):
        base = name or f"column{position}"
        ways = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(1)))
        fresh = next(way for way in ways if way not in taken)
        taken.add(fresh)
        found.append(fresh)
    return found
