"""Marks of values in a column without a declared type: what `objects.written` puts before all that is no text."""

from __future__ import annotations

from dpselect.engines.number_text import LETTERS

MARK = "\x01"
TEXT, TRUTH, BYTES, DATE, MOMENT, ZONED, TIME = "sbxdmzt"
MIDDLE = 0xEC00  # of the letters of numbers, which nothing else has: a private area of Unicode
INFINITY = f"{MARK}{chr(MIDDLE + LETTERS)}Infinity"
LESS_INFINITY = f"{MARK}{chr(MIDDLE - LETTERS)}-Infinity"
