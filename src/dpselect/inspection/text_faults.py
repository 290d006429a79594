"""Faults of text files: which lines are left out, and why. For the owner of the files: line numbers are data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from dpselect.engines.sources.csv_fields import split_fields
from dpselect.engines.sources.csv_form import UTF_8
from dpselect.engines.sources.text_lines import BYTE_ORDER_MARK, Header, open_file
from dpselect.engines.values import MAX_VALUE_BYTES

Fault = str | None
TOO_LONG = f"longer than {MAX_VALUE_BYTES >> 20} MiB"
NOT_UTF8 = "not UTF-8"
BLANK_LINE = "blank"
NO_RECORD = "not one JSON object"
# Escapes of whole characters; of two that are halves the first and then the second.
_WHOLE_ESCAPES = re.compile(r"(?:[^\\]++|\\[^u]|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u(?![dD][89a-fA-F]))*+", re.DOTALL)
NOT_WELL_FORMED = "with a quote that has no other, or with text after a quote"


def find_faults(
    path: str, judge: Callable[[str], Fault], *, header: int, encoding: str = UTF_8
) -> Iterator[tuple[int, Fault]]:
    """Yield the number of each line of a file, from 1, and what is wrong with it."""
    number = 0
    with open_file(path) as file:
        while line := file.readline(len(BYTE_ORDER_MARK) + MAX_VALUE_BYTES + 1):
            number += 1
            piece = line
            while not piece.endswith(b"\n") and (piece := file.readline(MAX_VALUE_BYTES)):
                pass
            if number > header:
                text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
                yield number, _fault(text.removesuffix(b"\n").removesuffix(b"\r"), judge, encoding)


def _fault(line: bytes, judge: Callable[[str], Fault], encoding: str) -> Fault:
    if len(line) >= MAX_VALUE_BYTES:
        return TOO_LONG
    try:
        text = line.decode(encoding)
    except UnicodeDecodeError:
        return NOT_UTF8 if encoding == UTF_8 else f"not in {encoding}"
    return TOO_LONG if encoding != UTF_8 and len(text.encode()) >= MAX_VALUE_BYTES else judge(text)


def csv_judge(header: Header) -> Callable[[str], Fault]:
    """Return a function that finds what keeps one line from being a record of these columns."""

    def judge(line: str) -> Fault:
        if not line and len(header.names) > 1:
            return BLANK_LINE
        line_fields = split_fields(line.encode(), header.delimiter)
        if not line_fields:
            return NOT_WELL_FORMED
        expected_number = len(header.names)
        return (
            None
            if len(line_fields) == expected_number
            else f"of {len(line_fields)} fields where the header has {expected_number}"
        )

    return judge


def json_judge(reads: Callable[[str], bool]) -> Callable[[str], Fault]:
    """Return a function that finds what keeps a line from being a record; `reads` decides if Python's reader fails."""

    def judge(line: str) -> Fault:
        try:
            record = json.loads(line)
            line.encode()
            if isinstance(record, dict) and _WHOLE_ESCAPES.fullmatch(line):
                return None
        except (ValueError, RecursionError):
            pass
        return None if reads(line) else NO_RECORD

    return judge
