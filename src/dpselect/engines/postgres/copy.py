"""Whole numbers from PostgreSQL as they lie in memory: COPY's binary format, in which every row is as long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpselect.errors import DataError

if TYPE_CHECKING:
    import psycopg

# https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format": a head of 19 bytes, then each row as how many
# fields it has and each field as its length and its bytes, all of it big-endian; -1 fields are the end.
_HEAD, _END = 19, 2


def whole_numbers(connection: psycopg.Connection, sql: str, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """The rows of a query without values beside it, whose columns are all int8 and never null."""
    received, statement = bytearray(), f"COPY ({sql.replace('%%', '%')}) TO STDOUT (FORMAT binary)"
    with (
        connection.cursor() as cursor,
        cursor.copy(statement.encode()) as rows,
    ):
        for part in rows:
            received += part
    fields = [(f"{kind}{at}", dtype) for at in range(len(names)) for kind, dtype in (("l", ">i4"), ("v", ">i8"))]
    row = np.dtype([("fields", ">i2"), *fields])
    number, rest = divmod(len(received) - _HEAD - _END, row.itemsize)
    table = np.frombuffer(received, row, max(0, number), _HEAD)
    if rest or any((table[f"l{at}"] != 8).any() for at in range(len(names))):
        raise DataError("the server sent numbers that cannot be read")
    return {name: table[f"v{at}"].astype(np.int64) for at, name in enumerate(names)}
