"""Objects of other packages: a table of Ibis is what its own engine takes.

So no driver stands between us and a row for which it may fail.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from dpselect.errors import DataError, ParameterError, SourceError, came, missing_source_error

T = TypeVar("T")
Home = tuple[object, str | None]
"""A source and, where it has several, the name of the table that is meant."""
_ARROW = "pass the result of its to_pyarrow(), which fails before anybody asks if a row cannot be read"


_TO_ARROW = {
    ("pyarrow.dataset", "Dataset"): "to_table",  # of which one of Lance is a kind
    ("pyarrow.dataset", "Scanner"): "to_table",
}


def in_memory(source: object) -> str | None:
    """Return the hint for an object that would read files by types of its own, some of them from rows."""
    for (package, name), method in _TO_ARROW.items():
        module = sys.modules.get(package)
        if module is not None and isinstance(source, getattr(module, name)):
            columns = 'columns=["user", "item"]' if name == "Dataset" else ""
            return f"pass the Arrow table that its {method}({columns}) makes"
    return None


def home_of(source: Any, table: str | None) -> Home:
    """Return where the rows of an Ibis table are, as its own engine takes them.

    Over DuckDB and polars an expression stays one. Over PostgreSQL only a table or view is read: Ibis would fetch the
    rows of an expression as Python's values, and one date that Python does not have would make the question fail.
    """
    source = _table_of(source, table)
    backend = _backend(source)
    if backend.name == "polars":
        return _guarded(lambda: backend.compile(source)), None
    if backend.name == "duckdb":
        return _guarded(lambda: _in_duckdb(source, backend))
    if backend.name == "sqlite":
        _refuse_types_of_rows(source, backend)
    if backend.name != "postgres":
        if source.op().find((_operations().Limit, _operations().Sample)):
            must = "be an expression without a limit or a sample, by which rows would choose each other"
            raise SourceError("source", must, "one that has some", "leave it out")
        return source, None
    operation = source.op()
    if not isinstance(operation, _operations().DatabaseTable):
        hint = f"pass the view that create_view makes of it, or {_ARROW}"
        raise SourceError("source", "be a table or view, where Ibis is over PostgreSQL", "an expression", hint)
    from dpselect.engines.postgres.address import address_and_table

    return _guarded(lambda: address_and_table(backend.con, operation.namespace.database, operation.name))


def ledger_name(source: Any, table: str | None = None) -> list[str]:
    """Return the name of a table in a ledger: its engine, and a digest of its SQL, in which no row is.

    Over polars, where there is no SQL, all are called the same, as frames of polars are.
    """
    source = _table_of(source, table)
    backend = _backend(source)
    if backend.name == "postgres":
        from dpselect.engines.postgres import address

        home, table = home_of(source, None)
        return ["ibis", address.identity(str(home)), str(table)]
    if backend.name == "polars":
        return ["ibis", backend.name]
    sql = _guarded(lambda: str(backend.compile(source)))
    return ["ibis", backend.name, hashlib.sha256(sql.encode()).hexdigest()]


def _in_duckdb(source: Any, backend: Any) -> Home:
    """Return a table of the connection by its name, where that can mean only one; else the query, as a relation."""
    operation = source.op()
    if isinstance(operation, _operations().DatabaseTable):
        namespace = operation.namespace
        names = [name for name in (namespace.catalog, namespace.database, operation.name) if name is not None]
        if not any(mark in name for name in names for mark in '."'):
            return backend.con, ".".join(names)
    source.limit(0).to_pyarrow()  # no row: but with it Ibis hands the expression's own tables and functions over
    return backend.con.sql(backend.compile(source)), None


def _table_of(source: Any, name: str | None) -> Any:
    """Return a table, of that name if the source is a connection of Ibis; only its schema is read."""
    if hasattr(source, "get_backend"):
        if name is not None:
            raise SourceError("table", "be left out for a table of Ibis", came(name))
        return source
    if name is None:
        raise SourceError("table", "name a table of the connection", "nothing", 'dps.Table(connection, "events")')
    if source.name == "sqlite":
        _refuse_untyped(source, None, name)
    with suppress(Exception):  # whatever it is: a backend may quote what it likes
        return source.table(name)
    raise missing_source_error("table", "be a table or view of the connection", repr(name))


def _refuse_types_of_rows(source: Any, backend: Any) -> None:
    """Refuse an expression over SQLite that has columns of no declared type: Ibis takes it from the first row."""
    operations = _operations()
    if source.op().find((operations.SQLQueryResult, operations.SQLStringView)):
        hint = "pass the tables, or expressions of them; Ibis may take types of its columns from the first row"
        raise SourceError("source", "be made without SQL, where Ibis is over SQLite", "a text of SQL", hint)
    for table in source.op().find(operations.DatabaseTable):
        _refuse_untyped(backend, table.namespace.database, table.name)


def _refuse_untyped(backend: Any, database: str | None, table: str) -> None:
    """Refuse a table of SQLite with columns of no declared type, as a view has where it computes them."""
    one = "SELECT name, type FROM pragma_table_info"
    statement = f"{one}(?1) UNION {one}(?1, ?2)"  # Ibis asks for the first, which may be of another database
    columns = _guarded(lambda: backend.con.execute(statement, (table, database or "main")).fetchall())
    for column, declared in columns:
        if not declared:
            hint = (
                'Ibis would take it from the first row; dps.Table("app.sqlite", "events") reads such a column as text'
            )
            must = "be a table whose columns all declare a type, where Ibis is over SQLite"
            raise SourceError("source", must, f"column {column!r} of {table!r} without one", hint)


def _backend(source: Any) -> Any:
    """Return the one connection that an expression is about."""
    try:
        return source.get_backend()
    except Exception:  # whatever it is: Ibis may quote the expression, whose values are whose they are
        pass
    hint = "an unbound table has no rows; tables of two connections cannot be combined"
    raise SourceError("source", "be an Ibis table of one connection", "one that is not", hint)


def _guarded(work: Callable[[], T]) -> T:
    """Return the result of `work`, or raise an error of fixed text: an engine's messages may quote rows."""
    try:
        return work()
    except (ParameterError, DataError):
        raise
    except Exception:
        pass
    raise DataError(
        "the Ibis table cannot be read through its connection",
        "check that it is open and that Ibis can run the table there",
    )


def _operations() -> Any:
    return sys.modules["ibis.expr.operations"]
