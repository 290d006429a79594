"""Cells: where in a block of lines the wanted fields stand. Each line is cut by itself.

A line is well formed if Python's csv module reads it, alone and strictly, as one record of as many fields as the header
has: a field that starts with a quote ends with one, and a quote inside of it is doubled. Any other line is left out. A
carriage return is a character like others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
_LINE_FEED, _QUOTE = 10, 34


@dataclass(frozen=True)
class Cells:
    """One column of a block: value i is block[starts[i]:ends[i]], without the quotes around it."""

    starts: Int64
    ends: Int64
    missing: Mask
    """Nothing stands there, not even quotes."""


def cut(block: bytes, delimiter: str | None, width: int, wanted: Sequence[int]) -> tuple[bytes, list[Cells]]:
    """The wanted fields of all lines that have `width` of them, and the bytes that their places speak of.

    Every line ends with a line feed. Without a delimiter the whole line is one field, whatever stands in it.
    """
    if delimiter is None:
        data = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(data == _LINE_FEED)
        return block, [_cells(data, _starts(ends), ends, quotes=False) for _ in wanted]
    quotes = b'"' in block
    if quotes:
        block = _mended(block, delimiter)
    data = np.frombuffer(block, np.uint8)
    marks, last = _marks(data, delimiter, quotes)
    starts = _starts(marks[last])
    fits = np.diff(last, prepend=-1) == width
    if not fits.all():
        starts, last = starts[fits], last[fits]
    columns = []
    for place in wanted:
        first = last - (width - 1 - place)  # the mark at which the field ends
        columns.append(_cells(data, starts if place == 0 else marks[first - 1] + 1, marks[first], quotes))
    return _undoubled(block, columns) if quotes and b'""' in block else (block, columns)


def _marks(data: Bytes, delimiter: str, quotes: bool) -> tuple[Int64, Int64]:
    """Where fields end, and which of these places are the last of their lines."""
    if not quotes:
        marks = np.flatnonzero((data == ord(delimiter)) | (data == _LINE_FEED))
        return marks, np.flatnonzero(data[marks] == _LINE_FEED)
    marks = np.flatnonzero((data == ord(delimiter)) | (data == _LINE_FEED) | (data == _QUOTE))
    kinds = data[marks]
    quote = kinds == _QUOTE
    # How many quotes were before; that it may run over is no matter, only whether it is odd.
    outside = ((quote.view(np.uint8).cumsum(dtype=np.uint8) & 1) == 0) & ~quote
    return marks[outside], np.flatnonzero(kinds[outside] == _LINE_FEED)


def _starts(ends: Int64) -> Int64:
    """Where lines start, from where they end."""
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1] + 1
    return starts


def _cells(data: Bytes, starts: Int64, ends: Int64, quotes: bool) -> Cells:
    if not quotes:
        return Cells(starts, ends, starts == ends)
    around = data[starts] == _QUOTE  # an empty field starts with what ends it
    return Cells(starts + around, ends - around, starts == ends)


def _undoubled(block: bytes, columns: Sequence[Cells]) -> tuple[bytes, list[Cells]]:
    """The same values without the second of two quotes that stand for one."""
    data = np.frombuffer(block, np.uint8)
    opening = np.flatnonzero(data == _QUOTE)[::2]  # every line has an even number of them
    doubled = opening[data[opening - 1] == _QUOTE]
    moved = [
        Cells(
            one.starts - np.searchsorted(doubled, one.starts),
            one.ends - np.searchsorted(doubled, one.ends),
            one.missing,
        )
        for one in columns
    ]
    return np.delete(data, doubled).tobytes(), moved


def _mended(block: bytes, delimiter: str) -> bytes:
    """The block without the lines that are not well formed, and with quotes only where fields begin and end."""
    data = np.frombuffer(block, np.uint8)
    ends, marks = np.flatnonzero(data == _LINE_FEED), np.flatnonzero(data == _QUOTE)
    before = np.searchsorted(marks, ends)  # quotes up to the end of each line
    number = np.diff(before, prepend=0)
    order = np.arange(len(marks)) - np.repeat(before - number, number)
    # The first, third, ... quote of a line opens: before it is the field's start, or the quote that it doubles.
    beside = data[np.where(order % 2 == 0, marks - 1, marks + 1)]  # before the first byte is the last, a line feed
    stands = (beside == ord(delimiter)) | (beside == _LINE_FEED) | (beside == _QUOTE)
    odd = np.repeat(np.arange(len(ends)), number)[~stands]
    wrong = np.unique(np.concatenate([odd, np.flatnonzero(number % 2)]))
    if not len(wrong):
        return block
    parts: list[bytes] = []
    at = 0
    for line in wrong.tolist():
        start, end = (0 if line == 0 else int(ends[line - 1]) + 1), int(ends[line])
        parts += [block[at:start], _alone(block[start:end], delimiter)]
        at = end + 1
    return b"".join([*parts, block[at:]])


def fields(line: bytes, delimiter: str) -> list[bytes]:
    """The fields of one line as they are written; none where it is not well formed."""
    mark = re.escape(delimiter.encode())
    field = rb'(?:"(?:[^"]++|"")*+"|(?!")[^' + mark + rb"]*+)"
    if not re.fullmatch(field + rb"(?:" + mark + field + rb")*+", line):
        return []
    return re.findall(mark + rb"(" + field + rb")", delimiter.encode() + line)


def _alone(line: bytes, delimiter: str) -> bytes:
    """A line that has a quote inside a field, with that field in quotes; nothing where it is not well formed."""
    found = fields(line, delimiter)
    quoted = (b'"' + one.replace(b'"', b'""') + b'"' if b'"' in one and one[:1] != b'"' else one for one in found)
    return delimiter.encode().join(quoted) + b"\n" if found else b""
