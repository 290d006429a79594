"""Text files: what the columns are called, and blocks of whole lines. No line decides anything about any other.

A line ends at a line feed, whatever stands before it. A line that is not UTF-8, or has with its line feed more bytes
than `MAX_VALUE_BYTES`, is left out alone; the blocks of a file put together are its other lines, wherever reading
happened to stop between them.

The first line of a CSV file is its schema, which is public: it decides what is read. Nothing else of the file does.
JSON lines have no schema: a record holds the columns that are asked for, or lacks them.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import BinaryIO

from dpselect._ground.dataclass import dataclass
from dpselect.engines.filters.column_names import make_unique
from dpselect.engines.sources.csv_form import UTF_8, CsvForm
from dpselect.engines.values import MAX_VALUE_BYTES
from dpselect.errors import DataError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs write at the start of a file of UTF-8."""
_BLOCK = 1 << 17  # what is made of larger ones is new pages of memory each time, which take longer than reading


def open_file(path: str) -> BinaryIO:
    """Open a file as bytes, unpacked if it is a .gz."""
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def first_line(path: str, skip: int = 0) -> bytes | None:
    """Return the first line after those that are skipped, without its end, or as much as a line may have; or None."""
    with open_file(path) as file:
        for _ in range(skip):
            while (skipped := file.readline(MAX_VALUE_BYTES)) and not skipped.endswith(b"\n"):
                pass
        line = file.readline(MAX_VALUE_BYTES)
    line = line if skip else line.removeprefix(BYTE_ORDER_MARK)
    return line.removesuffix(b"\n").removesuffix(b"\r") if line else None


def blocks(
    path: str, *, header: int, size: int = _BLOCK, longest: int = MAX_VALUE_BYTES, encoding: str = UTF_8
) -> Iterator[bytes]:
    """Yield the lines of a file after so many first ones, in UTF-8, each with a line feed and no carriage return."""
    for lines in _whole_lines(path, header, size, longest):
        block = lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines
        block = block if encoding == UTF_8 else _in_utf8(block, encoding)
        block = block if _readable(block) and len(block) <= longest else _read_on(block, longest)
        if block:
            yield block


def _in_utf8(block: bytes, encoding: str) -> bytes:
    """Return the lines of another encoding; one with bytes that it does not have is left out alone."""
    try:
        return block.decode(encoding).encode()
    except UnicodeDecodeError:
        lines = block.split(b"\n")[:-1]
        return b"".join(_in_utf8(line, encoding) + b"\n" for line in lines if _readable(line, encoding))


def _whole_lines(path: str, header: int, size: int, longest: int) -> Iterator[bytes]:
    """Yield blocks that end where lines do. No more than a line that is too long is ever held."""
    with open_file(path) as file:
        start = file.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
        buffer, skipping = b"", header
        for piece in chain([start], iter(partial(file.read, size), b"")):
            chunk = piece
            while skipping and chunk:
                _, line_feed, chunk = chunk.partition(b"\n")
                skipping -= bool(line_feed)
            cut = chunk.rfind(b"\n") + 1
            if cut:
                yield b"".join((buffer, memoryview(chunk)[:cut]))
                buffer = b""
            buffer += chunk[cut:]
            if len(buffer) > longest:
                buffer, skipping = b"", 1
        if buffer:
            yield buffer + b"\n"


def _readable(block: bytes, encoding: str = UTF_8) -> bool:
    if block.isascii():
        return True
    try:
        block.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _read_on(block: bytes, longest: int) -> bytes:
    """Return the lines that can be read."""
    lines = block.split(b"\n")[:-1]
    return b"".join(line + b"\n" for line in lines if len(line) < longest and _readable(line))


UNREADABLE = (OSError, EOFError, zlib.error)
"""What Python raises where a file, or what is packed in it, cannot be read."""


@dataclass(frozen=True)
class Header:
    """The header of a CSV file: its delimiter, names of columns, and how many lines precede rows."""

    delimiter: str
    names: tuple[str, ...]
    lines: int = 1
    encoding: str = UTF_8


def read_header(path: str, kind: str, form: CsvForm) -> Header | None:
    """Read the header of a file, None where it has no bytes."""
    line: bytes | None = None
    usual = "\t" if kind == "tsv" else ","
    names: list[str] = []
    try:
        line = first_line(path, form.skip)
        if line is None:
            return None
        if form.columns is not None:
            return Header(form.delimiter or usual, form.columns, form.skip, form.encoding)
        text = line.decode(form.encoding)
        several = ",;\t|" if form.delimiter is None and kind != "tsv" else form.delimiter or usual
        delimiter = max(several, key=lambda mark: len(_fields(text, mark)))
        names = _fields(text, delimiter)
        if (
            text.strip()
            and names
            and not re.fullmatch("sep=.", text, re.IGNORECASE)
            and len(line) <= MAX_VALUE_BYTES
            and not _duplicate_position(names)
        ):
            return Header(delimiter, tuple(make_unique(names)), form.skip + 1, form.encoding)
    except (*UNREADABLE, UnicodeError):
        pass
    if (position := _duplicate_position(names)) is not None:  # in a file without a header the names would be data
        hint = "name the columns: dps.CSV(path, columns=[...], skip=1)"
        raise DataError(f"the header of {path} names column {position} as another column too", hint)
    hint = "its first line must name its columns, in UTF-8 and on one line; lines end with a line feed"
    if line is not None and re.fullmatch(rb"sep=.", line, re.IGNORECASE):
        hint = f"its first line, {line.decode(errors='replace')}, is Excel's and names none: tail -n +2 FILE > rows.csv"
    raise DataError(f"{path} has no header that can be read", hint)


def _duplicate_position(names: list[str]) -> int | None:
    """Return the position, from 1, of the first column whose name another one before it has."""
    return next((index + 1 for index, name in enumerate(names) if name and name in names[:index]), None)


def _fields(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line, none where it is not well formed."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []
