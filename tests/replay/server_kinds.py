"""Tables of servers: PostgreSQL, and Spark as a frame and as files of its own reading."""

from __future__ import annotations

import atexit
import itertools
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from tests.replay.frame_kinds import arrow_table
from tests.replay.kinds import Kind, kind
from tests.replay.sorts import Rows

if TYPE_CHECKING:
    import pytest
    from ibis.backends.postgres import Backend
    from pyspark.sql import SparkSession

_names = itertools.count()


class Servers:
    """What runs while the tests do: the tests' fixtures put it here, for makers are plain functions."""

    postgres: str = ""
    mariadb: str = ""
    spark: SparkSession

    @classmethod
    def run(cls, kind: Kind, request: pytest.FixtureRequest) -> None:
        """See to it that what a kind needs runs."""
        if kind.needs == "postgres":
            cls.postgres = request.getfixturevalue("postgres_server").format(name="postgres")
        elif kind.needs == "mariadb":
            cls.mariadb = request.getfixturevalue("mariadb_server")
        elif kind.needs == "spark":
            cls.spark = request.getfixturevalue("spark")


_POSTGRES = {
    "text": "text", "whole": "int8", "real": "float8", "decimal": "numeric", "truth": "bool", "bytes": "bytea",
    "day": "date", "time": "time", "moment us": "timestamp", "moment in a zone": "timestamptz",
}  # fmt: skip
# Moments come as whole numbers since 1970, and become what they mean in the server itself.
_FROM_NUMBERS = {
    "day": "date '1970-01-01' + {}::int4",
    "time": "time '00:00' + {} * interval '1 microsecond'",
    "moment us": "timestamp '1970-01-01' + ({0} / 86400000000) * interval '1 day' "
    "+ ({0} % 86400000000) * interval '1 microsecond'",
    "moment in a zone": "timestamptz '1970-01-01 00:00+00' + ({0} / 86400000000) * interval '24 hours' "
    "+ ({0} % 86400000000) * interval '1 microsecond'",
}


_NOT_IN_POSTGRES = "nul, surrogate, invalid, far beyond, beyond the day"


@kind("PostgreSQL", tuple(_POSTGRES), cannot=_NOT_IN_POSTGRES, needs="postgres")
def _postgres(rows: Rows, folder: Path) -> tuple[str, str]:  # noqa: ARG001
    import psycopg

    schema = f"replay{next(_names)}"
    sorts = [column.sort for column in rows.values()]
    raw = ", ".join(f"c{n} {'int8' if sort in _FROM_NUMBERS else _POSTGRES[sort]}" for n, sort in enumerate(sorts))
    meant = ", ".join(
        f'{_FROM_NUMBERS.get(sort, "{}").format(f"c{n}")} AS "{name}"'
        for n, (name, sort) in enumerate(zip(rows, sorts, strict=True))
    )
    with psycopg.connect(Servers.postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        connection.execute(f"CREATE TABLE {schema}.raw ({raw})".encode())
        with connection.cursor().copy(f"COPY {schema}.raw FROM STDIN".encode()) as copy:
            for cells in zip(*(column.values for column in rows.values()), strict=True):
                copy.write_row(cells)
        connection.execute(f"CREATE TABLE {schema}.events AS SELECT {meant} FROM {schema}.raw".encode())
    return Servers.postgres, f"{schema}.events"


@kind("Ibis over PostgreSQL", tuple(_POSTGRES), cannot=_NOT_IN_POSTGRES, needs="postgres", like="PostgreSQL")
def _ibis(rows: Rows, folder: Path) -> object:
    _, table = _postgres(rows, folder)
    schema, name = table.split(".")
    return _by_ibis(Servers.postgres).table(name, database=schema)


@cache
def _by_ibis(address: str) -> Backend:
    import ibis
    import psycopg

    connection = psycopg.connect(address, autocommit=True)
    atexit.register(connection.close)
    return ibis.postgres.from_connection(connection)


_IN_SPARK = ("text", "whole", "real", "decimal", "truth", "bytes", "day", "moment in a zone")
_NOT_IN_SPARK = "surrogate, invalid, special decimal, beyond, far beyond, beyond the day"


@kind("spark frame", _IN_SPARK, cannot=_NOT_IN_SPARK, needs="spark")
def _spark(rows: Rows, folder: Path) -> object:
    return Servers.spark.read.parquet(_parquet(rows, folder))


@kind(
    "spark table of Parquet",
    _IN_SPARK,
    cannot="surrogate, special decimal, far beyond, beyond the day",
    needs="spark",
    like="spark frame",
)
def _spark_table(rows: Rows, folder: Path) -> object:
    return Servers.spark, _parquet(rows, folder)


def _parquet(rows: Rows, folder: Path) -> str:
    path = folder / "rows.parquet"
    pq.write_table(arrow_table(rows), path)
    return str(path)
