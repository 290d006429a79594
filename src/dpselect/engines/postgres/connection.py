"""Workspace: one connection and one read-only snapshot of a PostgreSQL database. Nothing is ever created there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpselect._ground.parameters import Progress
from dpselect.engines.postgres.address import parse_address, public_address
from dpselect.engines.sql.port import Columns, Row
from dpselect.engines.waiting import run_interruptible
from dpselect.errors import DataError

if TYPE_CHECKING:
    import numpy.typing as npt
    import psycopg


T = TypeVar("T")
Values = Mapping[str, object]

# A silent network is noticed within about a minute. The address overrides these.
_CONNECTION = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "application_name": "dpselect",
}
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# The schemas of the user's path. Only this statement runs while schemas of others may answer for a name, so
# it uses no name that is resolved by the path.
_SCHEMA_PATH = "SELECT pg_catalog.current_schemas(true)"
# From then on every function, operator, type and collation is the server's own: a user who may create objects in a
# schema on the user's path (before PostgreSQL 15 everybody, in the one named public) could otherwise plant a count().
# Without its name here the schema of temporary tables would come first (decision 0013).
# Values are written and read in one way, whatever the server's settings. All rows of a cursor are read in the end.
# Groups are made by sorting: the server cannot guess how many a column in its canonical form has, and a hash table that
# it guessed too small may take many times as long (decision 0003).
_SETTINGS = (
    "SET LOCAL search_path = pg_catalog, pg_temp",
    "SET LOCAL client_encoding = 'UTF8'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL standard_conforming_strings = on",
    "SET LOCAL cursor_tuple_fraction = 1",
    "SET LOCAL jit = off",
    "SET LOCAL enable_hashagg = off",
)
_INT8 = 20  # the type of 64-bit integers, https://www.postgresql.org/docs/current/catalog-pg-type.html

# By the SQLSTATE, or by its first two characters: https://www.postgresql.org/docs/current/errcodes-appendix.html
_CONNECTION_LOST = (
    "the connection to the server was lost",
    "ask again; if it happens again, ask the administrator of the server",
)
_MESSAGES: dict[str, tuple[str, str]] = {
    "08": _CONNECTION_LOST,
    "57P": _CONNECTION_LOST,
    "25P": _CONNECTION_LOST,
    "42501": ("this user may not read the table", "ask its owner for GRANT SELECT on it and USAGE on its schema"),
    "57014": ("the server stopped the query", "its statement_timeout may be too short for this table"),
    "40": ("the server stopped the query in favour of other work", "ask again, or ask the primary server"),
    "53": ("the server ran out of memory, disk or connections", "ask the administrator of the server"),
    "55P": ("the table is locked by others", "ask again later"),
}
_UNKNOWN_ERROR = ("the table could not be read", "the server's message is not shown because it could quote rows")


class PostgresWorkspace:
    """A private connection. Data beyond the server's memory spill there, and are deleted with the cursor."""

    def __init__(self, address: str) -> None:
        self.public_address: str = public_address(address)
        self._connection = _connect(address, self.public_address)
        try:
            self.fetch(_BEGIN)
            # The schemas where the user looks for a table.
            self.path: tuple[str, ...] = tuple(map(str, self.fetch(_SCHEMA_PATH)[0][0]))
            for setting in _SETTINGS:
                self.fetch(setting)
            if self.fetch("SELECT current_setting('server_encoding')") != [("UTF8",)]:
                # Text that cannot be turned into UTF-8 would fail by what stands in a row.
                hint = "copy the table into a database that was made with ENCODING 'UTF8'"
                raise DataError(f"{self.public_address} does not store its text as UTF8", hint)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the transaction and the session, and with them whatever the server kept for it."""
        self._connection.close()

    def fetch(self, sql: str, values: Values | None = None, *, progress: Progress | None = None) -> list[Row]:
        """Return all rows of one statement; values are sent separately as %(name)s, so no log of it has them."""
        return self.guarded(lambda: self._rows(sql, values or {}), progress=progress)

    def columns(self, sql: str, names: Sequence[str], values: Values, *, progress: Progress | None = None) -> Columns:
        """Return all rows of one statement, column by column."""
        return self.guarded(lambda: self._columns(sql, names, values), progress=progress)

    def attempt(self, sql: str, values: Values) -> list[Row]:
        """Return the rows of a statement that may fail; the snapshot survives a failure."""
        self.fetch("SAVEPOINT attempt")
        try:
            return self.fetch(sql, values)
        finally:
            self.fetch("ROLLBACK TO attempt")

    def _rows(self, sql: str, values: Values) -> list[Row]:
        cursor = self._connection.execute(sql.encode(), values, prepare=False)
        return cursor.fetchall() if cursor.description else []

    def _columns(self, sql: str, names: Sequence[str], values: Values) -> Columns:
        empty_result = self._connection.execute(f"SELECT * FROM ({sql}) AS q LIMIT 0".encode(), values, prepare=False)
        types = [column.type_code for column in empty_result.description or ()]
        if set(types) == {_INT8} and "%(" not in sql:
            return fetch_integers(self._connection, sql, names)
        rows = self._rows(sql, values)
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        dtypes = [np.int64 if code == _INT8 else object for code in types]
        return {name: np.array(list(column), dtype) for name, column, dtype in zip(names, columns, dtypes, strict=True)}

    def guarded(self, work: Callable[[], T], *, progress: Progress | None = None) -> T:
        """Return the result of `work`, or raise a DataError of fixed text: a server's message can quote a row."""

        def report_progress() -> None:
            if progress is not None:
                progress(None)

        return run_interruptible(
            work, report_progress=report_progress, interrupt=self._cancel, fixed_error=self._fixed_error
        )

    def _cancel(self) -> None:
        import psycopg

        with suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=5)

    def _fixed_error(self, error: BaseException) -> DataError:
        """Return an error whose text was written before any data were read."""
        import psycopg

        state = error.sqlstate if isinstance(error, psycopg.Error) else None
        if state is None:
            state = "08000" if self._connection.closed else ""
        message, hint = _MESSAGES.get(state) or _MESSAGES.get(state[:3]) or _MESSAGES.get(state[:2]) or _UNKNOWN_ERROR
        return DataError(f"{self.public_address}: {message}", hint)


def _connect(address: str, visible_address: str) -> psycopg.Connection:
    import psycopg
    from psycopg.conninfo import make_conninfo

    parameters = parse_address(address)
    try:
        return psycopg.connect(
            make_conninfo(address, **{name: value for name, value in _CONNECTION.items() if name not in parameters}),
            autocommit=True,  # the one transaction is begun by hand
        )
    except psycopg.Error:
        pass
    hint = "check host, database, user and password (PGPASSWORD or ~/.pgpass), and that the server is running"
    raise DataError(f"no connection to {visible_address}", hint)


# https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format": a head of 19 bytes, then each row as how many
# fields it has and each field as its length and its bytes, all of it big-endian; -1 fields are the end.
_HEADER_BYTES, _TRAILER_BYTES = 19, 2


def fetch_integers(connection: psycopg.Connection, sql: str, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Return the rows of a query without parameters, whose columns are all int8 and never null."""
    received, statement = bytearray(), f"COPY ({sql.replace('%%', '%')}) TO STDOUT (FORMAT binary)"
    with (
        connection.cursor() as cursor,
        cursor.copy(statement.encode()) as rows,
    ):
        for chunk in rows:
            received += chunk
    fields = [(f"{kind}{index}", dtype) for index in range(len(names)) for kind, dtype in (("l", ">i4"), ("v", ">i8"))]
    row = np.dtype([("fields", ">i2"), *fields])
    row_count, remainder = divmod(len(received) - _HEADER_BYTES - _TRAILER_BYTES, row.itemsize)
    table = np.frombuffer(received, row, max(0, row_count), _HEADER_BYTES)
    if remainder or any((table[f"l{index}"] != 8).any() for index in range(len(names))):
        raise DataError("the server sent numbers that cannot be read")
    return {name: table[f"v{index}"].astype(np.int64) for index, name in enumerate(names)}
