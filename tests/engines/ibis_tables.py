"""Tables of Ibis on connections of their own, and over the databases that count for it."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from ibis.backends import BaseBackend
    from ibis.expr.types import Table

_numbers = itertools.count(1)
# Text stands in MariaDB under a collation that takes letters of either case, and spaces at the end, for the same.
TYPES = {
    "sqlite": {"string": "TEXT", "int64": "INTEGER", "int32": "INTEGER", "double": "REAL"},
    "mariadb": {
        "string": "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "int64": "BIGINT", "int32": "INT",
        "date32[day]": "DATE", "double": "DOUBLE",
    },
}  # fmt: skip


def table_of(backend: BaseBackend, name: str) -> Table:
    """A table of a connection. Ibis 12 asks DuckDB 2 for its columns by a name that DuckDB warns about."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "fetch_arrow_table", DeprecationWarning)
        return backend.table(name)


def in_duckdb(rows: pa.Table, name: str = "t") -> Table:
    """The rows as a table in DuckDB. Ibis 12 writes its own create_table in a way that DuckDB 2 does not read."""
    import ibis

    backend = ibis.duckdb.connect()
    backend.con.register("arrow", rows)
    backend.con.execute(f"CREATE TABLE {name} AS FROM arrow").fetchall()
    backend.con.unregister("arrow")
    return table_of(backend, name)


def in_datafusion(rows: pa.Table, name: str = "t") -> Table:
    """The rows as a table in DataFusion, in two parts."""
    import ibis

    backend = ibis.datafusion.connect()
    half = (len(rows) + 1) // 2
    parts = [part.combine_chunks().to_batches() for part in (rows.slice(0, half), rows.slice(half)) if len(part)]
    backend.con.register_record_batches(name, parts or [[pa.RecordBatch.from_pylist([], rows.schema)]])
    return backend.table(name)


def in_sqlite(rows: pa.Table, name: str = "t") -> Table:
    """The columns of rows that SQLite has a type for, as a table in it."""
    import ibis

    backend = ibis.sqlite.connect()
    _fill(backend.con, name, *_kept(rows, TYPES["sqlite"]), '"', "?")
    return backend.table(name)


def in_mariadb(socket: str, rows: pa.Table, name: str = "t") -> Table:
    """The columns of rows that MariaDB has a type for, as a table of a new database."""
    kept, types = _kept(rows, TYPES["mariadb"])
    for place, field in enumerate(kept.schema):
        if field.type == pa.float64():  # it has no NaN and no infinities
            finite = pc.if_else(pc.is_finite(kept[field.name]), kept[field.name], None)
            kept = kept.set_column(place, field.name, finite)
    backend = mariadb(socket)
    _fill(backend.con, name, kept, types, "`", "%s")
    return backend.table(name)


def mariadb(socket: str) -> BaseBackend:
    """A connection of Ibis to a new database of a server."""
    import ibis

    from tests.mariadb import connected

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unable to set session timezone", UserWarning)
        return ibis.mysql.from_connection(connected(socket, f"rows{next(_numbers)}"))


def _kept(rows: pa.Table, types: dict[str, str]) -> tuple[pa.Table, list[str]]:
    """The columns of these types, and what each is called in the database."""

    def named(data_type: pa.DataType) -> str | None:
        if pa.types.is_decimal(data_type) and "date32[day]" in types:
            return f"DECIMAL({data_type.precision},{data_type.scale})"
        return types.get(str(data_type))

    kept = [field for field in rows.schema if named(field.type) is not None]
    return rows.select([field.name for field in kept]), [str(named(field.type)) for field in kept]


def _fill(connection: Any, name: str, rows: pa.Table, types: Sequence[str], quote: str, mark: str) -> None:
    columns = ", ".join(f"{quote}{one}{quote} {sort}" for one, sort in zip(rows.column_names, types, strict=True))
    cursor = connection.cursor()
    cursor.execute(f"CREATE TABLE {name} ({columns})")
    values = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    insert(cursor, name, values, mark)
    cursor.close()
    connection.commit()


def insert(cursor: Any, name: str, values: Iterable[Sequence[object]], mark: str) -> None:
    """Insert rows into a table."""
    values = list(values)
    if values:
        cursor.executemany(f"INSERT INTO {name} VALUES ({', '.join([mark] * len(values[0]))})", values)


IN_BACKEND: dict[str, Callable[[pa.Table], Table]] = {"datafusion": in_datafusion, "sqlite": in_sqlite}
"""What holds rows in this process; MariaDB needs a server."""
