"""Long texts in Parquet files: refused from the files' metadata when a source is opened, before anything is paid.

A value lies in one page, which DuckDB unpacks whole and copies several times. Proper writers end a page after 1 to 100
MiB, so a page that is far longer holds a text that is. Footers tell how long the pages of a column are together; only
where that is much are their own headers read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from dpselect.engines.duckdb.workspace import Workspace, literal
from dpselect.engines.memory import VARIABLE, available
from dpselect.errors import DataError

PART = 28  # a page longer than this part of the memory was seen to stop a question, or preparing
LEAST = 2**27  # bytes of a page that are never too many: DuckDB's own writer ends one after 100 MiB
_STRUCT = 12


def refuse_long(workspace: Workspace, files: str, columns: Sequence[str]) -> None:
    """Refuse files (as SQL) whose pages of one of these columns do not fit into the memory."""
    most = max((available() or 0) // PART, LEAST)
    names = ", ".join(literal(column.lower()) for column in columns)
    long = workspace.fetch(
        "SELECT file_name, split_part(path_in_schema, ', ', 1) AS name, total_compressed_size, "
        f"least(nullif(dictionary_page_offset, 0), data_page_offset) FROM parquet_metadata({files}) "
        f"WHERE type = 'BYTE_ARRAY' AND total_uncompressed_size > {most} AND lower(name) IN ({names})"
    )
    for path, column, size, start in long:
        if any(page > most for page in _pages(str(path), start, start + size)):
            hint = (
                "write the file again without that text or, if it has none, with shorter pages, as DuckDB's COPY does; "
                f"{VARIABLE} says how much memory may be used"
            )
            raise DataError(f"column {column!r} of {path} has a text too long for this machine's memory", hint)


def _pages(path: str, start: int, stop: int) -> Iterator[int]:
    """How long each page of a column is when it is unpacked, as far as their headers can be read."""
    with contextlib.suppress(OSError, ValueError, IndexError, RecursionError), open(path, "rb") as file:
        while start < stop:
            file.seek(start)
            header = _numbers(file)
            yield header.get(2, 0)  # parquet.thrift: PageHeader.uncompressed_page_size
            start = file.tell() + max(header.get(3, 0), 0)  # PageHeader.compressed_page_size


def _numbers(file: BinaryIO) -> dict[int, int]:
    """The whole numbers of a struct in Thrift's compact protocol, by their places; what else it has is passed over."""
    found: dict[int, int] = {}
    place = 0
    while byte := file.read(1)[0]:
        place = place + (byte >> 4) if byte >> 4 else _whole(file)
        sort = byte & 15
        if sort in (4, 5, 6):
            found[place] = _whole(file)
        elif sort == _STRUCT:
            _numbers(file)
        elif sort in (3, 7, 8):
            file.seek({3: 1, 7: 8}.get(sort) or _bits(file), 1)
        elif sort not in (1, 2):
            raise ValueError
    return found


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
