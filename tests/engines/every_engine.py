"""Every engine over the same typed rows. DuckDB is one of them, and judges the others where plain Python would be long.

An engine enters the suite with a maker: from an Arrow table to what a Dataset takes as `source` and `table`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from dpselect.engines import Engine
from tests.engines.ibis_tables import in_datafusion, in_duckdb, in_mariadb, in_sqlite
from tests.engines.opened import open_engine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY = bytes(range(16))
Maker = Callable[[pytest.FixtureRequest, pa.Table], tuple[object, str | None]]


@dataclass(frozen=True)
class Held:
    """The rows in one engine's own kind of source."""

    kind: str
    source: object
    table: str | None

    def engine(self, user: str = "user", item: str = "item", **more: object) -> Engine:
        """An engine for one question."""
        plain = {"where": None, "max_items_per_user": None, "split": None, "key": KEY}
        return open_engine(self.source, user=user, item=item, table=self.table, **(plain | more))


Hold = Callable[[pa.Table], Held]
"""Puts rows into one engine."""


def _duckdb(request: pytest.FixtureRequest, rows: pa.Table) -> tuple[object, str | None]:  # noqa: ARG001
    return rows, None


# Text stands there under a collation in whose order, and by whose equality of case, nothing may go.
_TYPES = {
    "string": 'text COLLATE "en-x-icu"', "int64": "int8", "int32": "int4", "double": "float8", "float": "float4",
    "bool": "bool", "date32[day]": "date", "timestamp[us]": "timestamp", "timestamp[us, tz=UTC]": "timestamptz",
    "binary": "bytea",
}  # fmt: skip


def postgres_type(sort: pa.DataType) -> str:
    """What a column of Arrow is in PostgreSQL."""
    return f"numeric({sort.precision}, {sort.scale})" if pa.types.is_decimal(sort) else _TYPES[str(sort)]


def filled(address: str, rows: Iterable[Sequence[object]], columns: str = '"user" text, item text, age int8') -> str:
    """The address of a database of PostgreSQL whose table t now holds the rows."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE t ({columns})".encode())
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    return address


def _postgres(request: pytest.FixtureRequest, rows: pa.Table) -> tuple[object, str | None]:
    pytest.importorskip("psycopg")
    address = request.getfixturevalue("new_database")()
    columns = ", ".join(f'"{field.name}" {postgres_type(field.type)}' for field in rows.schema)
    return filled(address, zip(*(column.to_pylist() for column in rows.columns), strict=True), columns), "t"


def _spark(request: pytest.FixtureRequest, rows: pa.Table) -> tuple[object, str | None]:
    return spark_frame(request.getfixturevalue("spark"), rows), None


def spark_frame(session: SparkSession, rows: pa.Table) -> DataFrame:
    """The rows as a frame of a session."""
    frame = session.createDataFrame(rows)
    for field in rows.schema:
        if field.type == pa.timestamp("us"):  # Spark takes it for a moment in the session's time zone
            frame = frame.withColumn(field.name, frame[field.name].cast("timestamp_ntz"))
    return frame


def _ibis(request: pytest.FixtureRequest, rows: pa.Table) -> tuple[object, str | None]:  # noqa: ARG001
    """An expression, not a table: it is a query on the connection that Ibis has."""
    table = in_duckdb(rows)
    return table.select(*table.columns), None


def _datafusion(request: pytest.FixtureRequest, rows: pa.Table) -> tuple[object, str | None]:  # noqa: ARG001
    return in_datafusion(rows), None


def _sqlite(request: pytest.FixtureRequest, rows: pa.Table) -> tuple[object, str | None]:  # noqa: ARG001
    return in_sqlite(rows), None


def _mariadb(request: pytest.FixtureRequest, rows: pa.Table) -> tuple[object, str | None]:
    return in_mariadb(request.getfixturevalue("mariadb_server"), rows), None


MAKERS: dict[str, Maker] = {
    "duckdb": _duckdb,
    "postgres": _postgres,
    "ibis": _ibis,
    "spark": _spark,
    "datafusion": _datafusion,
    "sqlite": _sqlite,
    "mariadb": _mariadb,
}


def judge(rows: pa.Table) -> Held:
    """The rows in DuckDB, which judges."""
    return Held("duckdb", rows, None)
