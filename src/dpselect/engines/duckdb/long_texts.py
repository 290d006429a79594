"""Long texts in Parquet files: refused from the files' metadata when a source is opened, before anything is paid.

A value lies in one page, which DuckDB unpacks whole and copies several times. Proper writers end a page after 1 to 100
MiB, so a page that is far longer holds a text that is. Footers tell how long the pages of a column are together; only
where that is much are their own headers read.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from dpselect.engines.memory import VARIABLE, available
from dpselect.errors import DataError

PART = 28  # a page longer than this part of the memory was seen to stop a question, or preparing
LEAST = 2**27  # bytes of a page that are never too many: DuckDB's own writer ends one after 100 MiB
MOST_OF_A_NAME = 2**16
UNREADABLE = (OSError, ValueError, LookupError, TypeError, RecursionError, OverflowError)  # DuckDB looks at it then
_BYTE_ARRAY = 6  # parquet.thrift: Type


def refuse_long(paths: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse files whose pages of one of these columns do not fit into the memory."""
    most = max((available() or 0) // PART, LEAST)
    names = {column.lower() for column in columns}
    for path in paths:
        for column, start, stop in _texts(path, most):
            if column.lower() in names and any(page > most for page in _pages(path, start, stop)):
                hint = (
                    "write the file again without that text or, if it has none, with shorter pages, as DuckDB's COPY "
                    f"does; {VARIABLE} says how much memory may be used"
                )
                raise DataError(f"column {column!r} of {path} has a text too long for this machine's memory", hint)


def _texts(path: str, most: int) -> Iterator[tuple[str, int, int]]:
    """The parts of columns of texts that are longer than this when they are unpacked, and where they are in the file.

    DuckDB's own view of a footer fails as a whole where one of its statistics is a moment that DuckDB cannot convert.
    """
    with contextlib.suppress(*UNREADABLE), open(path, "rb") as file:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-8 - length, os.SEEK_END)
        footer = _struct(io.BytesIO(file.read(length)))
        for part in (chunk[3] for group in footer[4] for chunk in group[1]):  # parquet.thrift: ColumnMetaData
            if part[1] == _BYTE_ARRAY and part[6] > most:
                start = min(part.get(11) or part[9], part[9])
                yield part[3][0].decode(errors="replace"), start, start + part[7]


def _pages(path: str, start: int, stop: int) -> Iterator[int]:
    """How long each page of a column is when it is unpacked, as far as their headers can be read."""
    with contextlib.suppress(*UNREADABLE), open(path, "rb") as file:
        while start < stop:
            file.seek(start)
            header = _struct(file)
            yield int(header.get(2, 0))  # parquet.thrift: PageHeader.uncompressed_page_size
            start = file.tell() + max(header.get(3, 0), 0)  # PageHeader.compressed_page_size


def _struct(file: BinaryIO) -> dict[int, Any]:
    """The fields of a struct in Thrift's compact protocol, by their places."""
    found: dict[int, Any] = {}
    place = 0
    while byte := file.read(1)[0]:
        place = place + (byte >> 4) if byte >> 4 else _whole(file)
        sort = byte & 15
        found[place] = None if sort in (1, 2) else _value(file, sort)
    return found


def _value(file: BinaryIO, sort: int) -> Any:
    """A value, of which the first bytes are enough if it is a text; of real numbers nothing is."""
    if sort in (4, 5, 6):
        return _whole(file)
    if sort == 8:
        length = _bits(file)
        text = file.read(min(length, MOST_OF_A_NAME))
        file.seek(length - len(text), os.SEEK_CUR)
        return text
    if sort == 9:
        byte = file.read(1)[0]
        return [_value(file, byte & 15) for _ in range(byte >> 4 if byte >> 4 < 15 else _bits(file))]
    if sort == 12:
        return _struct(file)
    if sort not in (1, 2, 3, 7):
        raise ValueError
    return file.read(8 if sort == 7 else 1)[0]


def _whole(file: BinaryIO) -> int:
    """A number, whose last bit is its sign."""
    bits = _bits(file)
    return bits >> 1 ^ -(bits & 1)


def _bits(file: BinaryIO) -> int:
    """Seven bits of each byte, the lowest first, until one has no eighth."""
    value = shift = 0
    while (byte := file.read(1)[0]) > 127:
        value |= (byte & 127) << shift
        shift += 7
    return value | byte << shift
