"""The fields of CSV lines, found in whole blocks: each line is taken apart as if it stood alone.

A line is well formed if Python's csv module reads it, alone and strictly, as one record: a field that starts with a
quote ends with one, and a quote inside of it is doubled. A carriage return is a character like others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpselect.engines.sources.arrow_texts import AFTER_TEXT, BEFORE_TEXT, Integers, Texts, texts_at

if TYPE_CHECKING:
    import numpy.typing as npt

Bytes: TypeAlias = "npt.NDArray[np.uint8]"
_LINE_FEED, _QUOTE = np.frombuffer(b'\n"', np.uint8)


def split_fields(line: bytes, delimiter: str, width: int | None = None) -> list[bytes]:
    """Return the fields of one line as they are written; none where it is not well formed, or has not so many."""
    mark = delimiter.encode()
    if not line.startswith(b'"') and mark + b'"' not in line:  # no field starts with a quote
        fields = line.split(mark)
        return fields if width in (None, len(fields)) else []
    whole_line, each_field = _patterns(mark, width)
    return each_field.findall(mark + line) if whole_line.fullmatch(line) else []


@cache
def _patterns(mark: bytes, width: int | None) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return the patterns of a whole line, and of a field after its delimiter."""
    escaped = re.escape(mark)
    field = rb'(?:"(?:[^"]++|"")*+"|(?!")[^' + escaped + rb"]*+)"
    times = b"*+" if width is None else b"{%d}+" % (width - 1)
    return re.compile(field + rb"(?:" + escaped + field + rb")" + times), re.compile(escaped + rb"(" + field + rb")")


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
        marks, is_odd, unusual = _pair_quotes(data, np.flatnonzero(is_cut), delimiter)
        if unusual:
            return cut_fields(_rewritten(text, unusual, delimiter, width), delimiter, width, indices)
        text, cuts, quotes = _outside_quotes(text, marks, is_odd)
        data = np.frombuffer(text, np.uint8)
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
    missing = lengths == 0
    is_quoted = quotes[before + 1] > quotes[before]
    starts += is_quoted
    lengths -= 2 * is_quoted
    return texts_at(text, starts, lengths, missing)


def _pair_quotes(
    data: Bytes, marks: Integers, delimiter: str
) -> tuple[Integers, npt.NDArray[np.bool_], list[tuple[int, int]]]:
    """Return the marks that are no letters, which are inside of quotes or start them, and bounds of unusual lines.

    `marks` are all delimiters, quotes and line feeds. In a line none of whose fields starts with a quote, quotes are
    letters. Of the quotes of another usual line each first one stands after a cut or after a quote, each second one
    before one, and their number is even: then the fields that have quotes are those that start with one.
    """
    marks = _without_letters(data, marks, delimiter)
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
    return marks, is_odd, list(bounds)


def _outside_quotes(text: bytes, marks: Integers, is_odd: npt.NDArray[np.bool_]) -> tuple[bytes, Integers, Integers]:
    """Return the text with one for two quotes inside of quotes, its cuts, and the number of quotes before each cut."""
    data = np.frombuffer(text, np.uint8)
    is_quote = data[marks] == _QUOTE
    is_doubled = is_quote & ~is_odd & (data[marks + is_quote] == _QUOTE)
    if is_doubled.any():
        is_kept = np.ones(len(data), bool)
        is_kept[marks[is_doubled]] = False
        text = data[is_kept].tobytes()
    is_cut = ~is_quote & ~is_odd
    return text, (marks - np.cumsum(is_doubled))[is_cut], np.cumsum(is_quote)[is_cut]


def _without_letters(data: Bytes, marks: Integers, delimiter: str) -> Integers:
    """Return the marks but for the quotes in lines none of whose fields starts with one."""
    kinds, previous = data[marks], data[marks - 1]
    is_quote, ends = kinds == _QUOTE, np.flatnonzero(kinds == _LINE_FEED)
    starts_field = is_quote & ((previous == _LINE_FEED) | (previous == ord(delimiter)))
    has_quoted = np.diff(np.cumsum(starts_field)[ends]) > 0
    is_mark = ~is_quote
    is_mark[1:] |= np.repeat(has_quoted, np.diff(ends))
    kept: Integers = marks[is_mark]
    return kept


def _rewritten(text: bytes, unusual: Sequence[tuple[int, int]], delimiter: str, width: int) -> bytes:
    """Return a block whose unusual lines have quotes around each field with a quote, or are left out if no record.

    A long line of many fields would take several times as long as one of letters if it were cut once more.
    """
    parts, rest = [], len(BEFORE_TEXT)
    for start, end in unusual:
        fields = split_fields(text[start : end - 1], delimiter, width)
        parts += [text[rest:start], delimiter.encode().join(map(_quoted, fields)), b"\n" if fields else b""]
        rest = end
    return b"".join([*parts, text[rest : -len(AFTER_TEXT)]])


def _quoted(field: bytes) -> bytes:
    if b'"' not in field or field.startswith(b'"'):
        return field
    return b'"' + field.replace(b'"', b'""') + b'"'
