"""The fields of CSV lines, found in whole blocks: each line is taken apart as if it stood alone.

A line is well formed if Python's csv module reads it, alone and strictly, as one record: a field that starts with a
quote ends with one, and a quote inside of it is doubled. A carriage return is a character like others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpselect.engines.sources.arrow_texts import AFTER_TEXT, BEFORE_TEXT, Integers, Texts, texts_at

_LINE_FEED, _QUOTE = np.frombuffer(b'\n"', np.uint8)


def split_fields(line: bytes, delimiter: str) -> list[bytes]:
    """Return the fields of one line as they are written; none where it is not well formed."""
    mark = re.escape(delimiter.encode())
    field = rb'(?:"(?:[^"]++|"")*+"|(?!")[^' + mark + rb"]*+)"
    if not re.fullmatch(field + rb"(?:" + mark + field + rb")*+", line):
        return []
    return re.findall(mark + rb"(" + field + rb")", delimiter.encode() + line)


def cut_fields(block: bytes, delimiter: str, width: int, indices: Sequence[int]) -> tuple[int, list[Texts]]:
    """Return the number of lines that are well formed and have so many fields, and their fields with these indices.

    A field without a letter and without quotes is missing.
    """
    text = b"".join((BEFORE_TEXT, block, AFTER_TEXT))
    data = np.frombuffer(text, np.uint8, len(text) - len(AFTER_TEXT))
    is_cut = data == _LINE_FEED
    is_cut |= data == ord(delimiter)
    quotes: Integers | None = None
    if b'"' in block:
        is_cut |= data == _QUOTE
        marks = np.flatnonzero(is_cut)
        cuts, quotes, unusual = _outside_quotes(data, marks, delimiter)
        if unusual:
            return cut_fields(_rewritten(text, unusual, delimiter), delimiter, width, indices)
    else:
        cuts = np.flatnonzero(is_cut)
    ends = np.flatnonzero(data[cuts] == _LINE_FEED)  # the first is the one before the block
    first = ends[:-1][np.diff(ends) == width]
    return len(first), [_field(text, cuts, quotes, first + index) for index in indices]


def _field(text: bytes, cuts: Integers, quotes: Integers | None, before: Integers) -> Texts:
    """Return the field between each of these cuts and the next one."""
    starts = cuts[before]
    starts += 1
    lengths = cuts[before + 1]
    lengths -= starts
    if quotes is None:
        return texts_at(text, starts, lengths, lengths == 0)
    number_of_quotes = quotes[before + 1] - quotes[before]
    missing = lengths == 0
    is_quoted = number_of_quotes > 0
    starts += is_quoted
    lengths -= 2 * is_quoted
    doubled = np.flatnonzero(number_of_quotes > 2)
    if len(doubled):
        values = [
            text[start : start + length].replace(b'""', b'"')
            for start, length in zip(starts[doubled].tolist(), lengths[doubled].tolist(), strict=True)
        ]
        lengths[doubled] = list(map(len, values))
        starts[doubled] = len(text) + np.cumsum(lengths[doubled]) - lengths[doubled]
        text = b"".join((text, *values, AFTER_TEXT))
    return texts_at(text, starts, lengths, missing)


def _outside_quotes(
    data: npt.NDArray[np.uint8], marks: Integers, delimiter: str
) -> tuple[Integers, Integers, list[tuple[int, int]]]:
    """Return the cuts outside of quotes, the number of quotes before each, and where unusual lines start and end.

    `marks` are all delimiters, quotes and line feeds. Of the quotes of a usual line each first one stands after a cut
    or after a quote, each second one before one, and their number is even. Then the fields that start with a quote are
    those that have any, and quotes inside of them are doubled.
    """
    kinds = data[marks]
    is_quote, is_end = kinds == _QUOTE, kinds == _LINE_FEED
    quotes, ends = np.cumsum(is_quote), np.flatnonzero(is_end)
    is_odd = np.zeros(len(marks), bool)  # is it inside of quotes, or the quote that starts them?
    is_odd[1:] = (quotes[1:] - np.repeat(quotes[ends[:-1]], np.diff(ends))) & 1
    neighbors = data[marks + np.where(is_odd, -1, 1) * is_quote]
    is_usual = (neighbors == _QUOTE) | (neighbors == _LINE_FEED) | (neighbors == ord(delimiter))
    unusual_marks = np.flatnonzero(np.where(is_quote, ~is_usual, is_end & is_odd))
    lines = np.unique(np.searchsorted(ends, unusual_marks)) if len(unusual_marks) else unusual_marks
    bounds = zip((marks[ends[lines - 1]] + 1).tolist(), (marks[ends[lines]] + 1).tolist(), strict=True)
    is_cut = ~is_quote & (is_end | ~is_odd)
    return marks[is_cut], quotes[is_cut], list(bounds)


def _rewritten(text: bytes, unusual: Sequence[tuple[int, int]], delimiter: str) -> bytes:
    """Return a block whose unusual lines have quotes around each field with a quote, or are left out."""
    parts, rest = [], len(BEFORE_TEXT)
    for start, end in unusual:
        fields = split_fields(text[start : end - 1], delimiter)
        parts += [text[rest:start], delimiter.encode().join(map(_quoted, fields)), b"\n" if fields else b""]
        rest = end
    return b"".join([*parts, text[rest : -len(AFTER_TEXT)]])


def _quoted(field: bytes) -> bytes:
    if b'"' not in field or field.startswith(b'"'):
        return field
    return b'"' + field.replace(b'"', b'""') + b'"'
