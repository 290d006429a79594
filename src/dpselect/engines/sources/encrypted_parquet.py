"""Encrypted Parquet: which columns of a file nobody can read without a key. Its footer alone is looked at.

An encrypted footer ends with other letters. The plain footer of a file with encrypted columns is signed, so that 28
bytes follow it which are as good as random. So of all other files next to none is looked at more closely.
https://github.com/apache/parquet-format/blob/master/Encryption.md
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from typing import Any

_PLAIN, _ENCRYPTED = b"PAR1", b"PARE"
_LENGTH = 8  # bytes at the end of a file: the length of the footer, and what the file is
_SIGNATURE = 28
_ZEROS = 5  # so many of 28 random bytes are 0 with a chance of 9e-8
# Fields of the footer: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
_ROW_GROUPS, _COLUMNS, _META_DATA, _PATH, _CRYPTO = 4, 1, 3, 3, 8


def encrypted_columns(path: str) -> Collection[str] | None:
    """Return the names of the encrypted columns of a file; None if even its footer is encrypted."""
    with (
        contextlib.suppress(OSError, ValueError, IndexError, RecursionError, TypeError, KeyError),
        open(path, "rb") as file,
    ):
        file.seek(-(1 + _SIGNATURE + _LENGTH), os.SEEK_END)
        end = file.read()
        if end.endswith(_ENCRYPTED):
            return None
        if not end.endswith(_PLAIN) or not _may_be_signed(end[: 1 + _SIGNATURE]):
            return ()
        length = int.from_bytes(end[1 + _SIGNATURE :][:4], "little")
        file.seek(-(_LENGTH + length), os.SEEK_END)
        return set(_encrypted(_Compact(file.read(length)).struct()))
    return ()  # what is no Parquet file is told elsewhere


def _may_be_signed(end: bytes) -> bool:
    """Return whether a footer that ends with these bytes can be signed. The byte 0 ends its struct."""
    return end[-1] != 0 or (end[0] == 0 and end[1:].count(0) < _ZEROS)


def _encrypted(footer: dict[int, Any]) -> Iterator[str]:
    for group in footer[_ROW_GROUPS]:
        for chunk in group[_COLUMNS]:
            if _CRYPTO in chunk:
                yield chunk[_META_DATA][_PATH][0].decode()


class _Compact:
    """Thrift's compact protocol: a struct as its fields by number, without types or names."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self) -> dict[int, Any]:
        """Read the fields up to the byte 0 that ends them."""
        fields: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._integer()
            fields[field] = self._value(head & 15, field_of_struct=True)
        return fields

    def _value(self, kind: int, *, field_of_struct: bool = False) -> Any:
        if kind in (1, 2):  # of a field the kind itself says which
            return kind == 1 if field_of_struct else self._byte() == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (7, 8):
            return self._bytes(8 if kind == 7 else self._number())
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._number()
            return [self._value(head & 15) for _ in range(size)]
        if kind == 12:
            return self.struct()
        raise ValueError(kind)  # a footer has no maps

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, length: int) -> bytes:
        self._at += length
        return self._data[self._at - length : self._at]

    def _number(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value, shift = value | (byte & 0x7F) << shift, shift + 7
        return value | byte << shift

    def _integer(self) -> int:
        number = self._number()
        return number >> 1 ^ -(number & 1)
