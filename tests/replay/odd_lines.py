"""Awkward lines of text files: one user's record as a writer should not have written it. Bytes, line end included."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from tests.replay.odd_values import HUGE, LONG


@dataclass(frozen=True)
class OddLine:
    """A line, and as how many users it may be read: one, unless it has several line ends."""

    name: str
    line: bytes
    users: int = 1


_LONG = LONG.encode()
_CSV: dict[str, bytes] = {
    "a blank line": b"\n",
    "a line of spaces": b"   \n",
    "delimiters only": b",,\n",
    "an open quote": b'mallory,"x\n',
    "an open quote at the start": b'"mallory,b,yes\n',
    "an open quote at the end": b'mallory,b,"\n',
    "a quote within a field": b'mallory,a"b,yes\n',
    "a quote after a field": b'mallory,"b"c,yes\n',
    "two quotes and a letter": b'mallory,""b,yes\n',
    "three quotes": b'mallory,""",yes\n',
    "an escaped quote": b'mallory,"b\\",yes\n',
    "only a quote": b'"\n',
    "a quote that would end another's": b'x",y\n',
    "a backslash at the end": b"mallory,b\\\n",
    "too few fields": b"mallory,b\n",
    "one field": b"mallory\n",
    "too many fields": b"mallory,b,yes,more,and more\n",
    "the header again": b"user,item,other\n",
    "a remark": b"#mallory,b,yes\n",
    "invalid UTF-8": b"mallory,\xff\xfe,yes\n",
    "invalid UTF-8 in the user": b"mall\xc3,b,yes\n",
    "invalid UTF-8 in quotes": b'mallory,"\xff",yes\n',
    "UTF-16": "mallory,b,yes".encode("utf-16-le") + b"\n",
    "NUL": b"mallory,b\0c,yes\n",
    "NUL only": b"\0\n",
    "a byte order mark": b"\xef\xbb\xbfmallory,b,yes\n",
    "a million letters": b"mallory," + _LONG + b",yes\n",
    "a million quotes": b"mallory," + b'"' * 1_000_001 + b",yes\n",
    "a million delimiters": b"mallory" + b"," * 1_000_000 + b"\n",
    "other delimiters": b"mallory;b;yes\n",
    "controls": b"mallory,\x01\x1a\x1b,yes\n",
    "line separators": "mallory,a\u2028b\x0b\x0c\x85c,yes\n".encode(),
    "a Windows line end": b"mallory,b,yes\r\n",
}
_CSV_SEVERAL = {
    "a line end in quotes": b'mallory,"a\nb",yes\n',
    "a Mac line end in a field": b"mallory,a\rb,yes\n",
    "a Mac line end in quotes": b'mallory,"a\rb",yes\n',
}


def _record(item: object, **more: object) -> bytes:
    return json.dumps({"user": "mallory", "item": item, "other": "yes", **more}).encode()


_JSON: dict[str, bytes] = {
    "an empty record": b"{}",
    "another key": _record("b", surprise=1),
    "keys in other case": b'{"USER": "mallory", "Item": "b", "OTHER": "yes"}',
    "the same key twice": b'{"user": "mallory", "item": "b", "item": "zz", "other": "yes"}',
    "the same key in other case": b'{"user": "mallory", "User": "m2", "item": "b", "other": "yes"}',
    "a missing key": b'{"user": "mallory"}',
    "half an emoji": _record("\ud83d"),
    "half an emoji in the user": b'{"user": "\\udfff", "item": "b", "other": "yes"}',
    "half an emoji in a key": b'{"user": "mallory", "\\ud83d": 1, "item": "b", "other": "yes"}',
    "half an emoji elsewhere": _record("b", surprise="\ud83d"),
    "NUL": _record("a\0b"),
    "NUL in a key": b'{"user": "mallory", "a\\u0000": 1, "item": "b", "other": "yes"}',
    "invalid UTF-8": b'{"user": "mallory", "item": "\xff\xfe", "other": "yes"}',
    "invalid UTF-8 elsewhere": b'{"user": "mallory", "item": "b", "x": "\xff", "other": "yes"}',
    "a nested list": _record([[["b"]]]),
    "a nested mapping": _record({"item": "b"}),
    "NaN": b'{"user": "mallory", "item": NaN, "other": "yes"}',
    "1e999": b'{"user": "mallory", "item": 1e999, "other": "yes"}',
    "a number of 31 digits": _record(10**30),
    "a real number": _record(2.5),
    "a truth value": _record(True),
    "a null": _record(None),
    "a million letters": _record(LONG),
    "null": b"null",
    "a number": b"5",
    "a text": b'"mallory"',
    "an array": b'[{"user": "mallory", "item": "b", "other": "yes"}]',
    "an array of numbers": b"[1, 2]",
    "deep in arrays": b'{"user": "mallory", "item": ' + b"[" * 5_000 + b"]" * 5_000 + b', "other": "yes"}',
    "deep in mappings": b'{"user": "mallory", "item": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}",
    "a blank line": b"",
    "a line of spaces": b"   ",
    "a cut record": b'{"user": "mallory", "item": "b',
    "an open brace": b"{",
    "a closing brace": b"}",
    "an open bracket": b"[",
    "a closing bracket": b"]",
    "an open quote": b'"',
    "no JSON": b"mallory,b,yes",
    "a comma behind": _record("b") + b",",
    "a byte order mark": b"\xef\xbb\xbf" + _record("b"),
    "a bare NUL": b"\0",
    "controls": b'{"user": "mallory", "item": "a\x01\tb", "other": "yes"}',
    "single quotes": b"{'user': 'mallory', 'item': 'b'}",
    "two records": _record("b") + b" " + _record("c"),
    "deep without an end": b"[" * 100_000,
}

LINES: dict[str, tuple[OddLine, ...]] = {
    "csv": (
        *(OddLine(name, line) for name, line in _CSV.items()),
        *(OddLine(name, line, users=2) for name, line in _CSV_SEVERAL.items()),
    ),
    "json": tuple(OddLine(name, line + b"\n") for name, line in _JSON.items()),
}

HUGE_LINES: dict[str, Callable[[], OddLine]] = {  # by the kind of file, and made where it is used: it takes a while
    "CSV": lambda: OddLine("fifty million letters", b"mallory," + b"x" * HUGE + b",yes\n"),
    "JSON lines": lambda: OddLine("fifty million letters", b'{"user": "mallory", "item": "' + b"x" * HUGE + b'"}\n'),
}
