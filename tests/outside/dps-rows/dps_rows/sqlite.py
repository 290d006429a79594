"""An engine over an open connection of SQLite, which counts by itself. Columns are TEXT or INTEGER."""

import hashlib
import sqlite3

import numpy as np

from dpselect.engines.duckdb.elsewhere import DatabaseElsewhere
from dpselect.engines.sql.port import Dialect, SqlType
from dpselect.errors import SourceError


def open_engine(source, table):
    """Return what opens the database of a question; None for anything but a connection of SQLite."""
    if not isinstance(source, sqlite3.Connection):
        return None
    return lambda request: SqliteDatabase(source, table, request)


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def literal(value):
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def keyed_hash(key, user, item):
    digest = hashlib.blake2b(repr((user, item)).encode(), key=key, digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


DIALECT = Dialect(
    name="sqlite",
    quote=quote,
    literal=literal,
    text="CAST({} AS TEXT)",
    keyed_hash=lambda key, user, item: f"keyed_hash({key}, {user}, {item})",
    split_query="SELECT u{more}, i FROM {rows} WHERE {separator} = ''",  # no texts are split here
    exact_sum="sum({})",
)
# A value of another type than its column's is missing, whatever SQLite lets a row hold.
TYPES = {
    "TEXT": SqlType("TEXT", "text", "{}", "TEXT", "VARCHAR", present_condition="typeof({}) = 'text'"),
    "INTEGER": SqlType(
        "INTEGER", "integer", "{}", "INTEGER", "BIGINT", present_condition="typeof({}) = 'integer'", number_form="{}"
    ),
}


class SqliteDatabase(DatabaseElsewhere):
    """A table of an open connection, in one snapshot."""

    dialect = DIALECT

    def __init__(self, connection, table, request):
        if table is None:
            raise SourceError("table", "be given for a connection of SQLite", "nothing")
        self._connection, self.source = connection, quote(table)
        declared = {row[1]: row[2].upper() for row in connection.execute(f"PRAGMA table_info({self.source})")}
        for parameter, name in request.named_columns:
            if declared.get(name) not in TYPES:
                raise SourceError(parameter, "be a column of TEXT or INTEGER of the table", name)
        self.types = {name: TYPES[declared[name]] for _, name in request.named_columns}
        connection.create_function("keyed_hash", 3, keyed_hash, deterministic=True)
        self._began = not connection.in_transaction
        if self._began:
            connection.execute("BEGIN")

    def rows(self, sql, *, progress=None):  # noqa: ARG002
        return self._connection.execute(sql).fetchall()

    def columns(self, sql, names, *, progress=None):  # noqa: ARG002
        by_column = list(zip(*self.rows(sql), strict=True)) or [()] * len(names)
        return {name: np.array(values) for name, values in zip(names, by_column, strict=True)}

    def keep(self, sql, *, progress=None):  # noqa: ARG002
        return sql if sql.startswith("(") else f"({sql})"

    def drop(self, table):
        pass

    def put(self, columns):
        rows = ", ".join(f"({', '.join(map(literal, row))})" for row in zip(*columns.values(), strict=True))
        names = ", ".join(f"column{number} AS {name}" for number, name in enumerate(columns, 1))
        return f"(SELECT {names} FROM (VALUES {rows}))"

    def put_tuples(self, values, types):
        rows = zip(*values, strict=True) if values else [()] * len(types)
        columns = {f"k{index}": list(column) for index, column in enumerate(rows)}
        return self.put({**columns, "place": list(range(len(values)))})

    def secret_key_sql(self, key):
        return f"x'{key.hex()}'"

    def names_at(self, sql, order, indices):
        names = [row[0] for row in self.rows(f"SELECT name FROM ({sql}) AS q ORDER BY {order}")]
        return [names[index] for index in indices]

    def close(self):
        super().close()
        if self._began and self._connection.in_transaction:
            self._connection.rollback()
