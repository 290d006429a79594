"""Tables of Ibis on connections of their own."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from ibis.backends import BaseBackend
    from ibis.expr.types import Table


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
