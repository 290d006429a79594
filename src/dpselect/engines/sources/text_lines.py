"""Lines: a text file as blocks of whole lines. What one line holds decides nothing about any other.

A line ends at a line feed, whatever stands before it. A line that is not UTF-8, or is longer than `LONGEST`, is left
out alone; the blocks of a file put together are its other lines, wherever reading happened to stop between them.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import BinaryIO

LONGEST = 1 << 20
"""Bytes of the longest line that is read, its line feed included."""
MARK = b"\xef\xbb\xbf"
"""What some programs write at the start of a file of UTF-8."""
_BLOCK = 1 << 20


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
