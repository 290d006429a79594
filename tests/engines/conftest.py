"""Sources for the tests of engines: a schema of PostgreSQL, the same rows in every engine."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests import spark as local_spark
from tests.engines.every_engine import MAKERS, PARAMETERS, Held
from tests.judge.every import judge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["judge"]  # of every release that is made here

_names = itertools.count(1)


@pytest.fixture(scope="session")
def new_database(postgres_server: str) -> Callable[[], str]:
    """Makes an empty schema; the address of a database in which it alone is seen. A database each would take long."""
    import psycopg

    def make() -> str:
        name, address = f"rows{next(_names)}", postgres_server.format(name="postgres")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{address}&options=-csearch_path%3D{name}"

    return make


@pytest.fixture(scope="module")
def as_spark_comes(spark: SparkSession) -> Iterator[None]:
    """Spark with its own settings, in place of those with which small questions are fast."""
    with local_spark.as_it_comes(spark):
        yield


@pytest.fixture(scope="session")
def _held() -> dict[tuple[str, int], tuple[pa.Table, Held]]:
    return {}


@pytest.fixture(params=PARAMETERS)
def hold(
    request: pytest.FixtureRequest, _held: dict[tuple[str, int], tuple[pa.Table, Held]]
) -> Callable[[pa.Table], Held]:
    """Puts rows into the source of an engine: the same test runs for each. The same table is put there once."""

    def put(rows: pa.Table) -> Held:
        known = (request.param, id(rows))
        if known not in _held:
            _held[known] = rows, Held(request.param, *MAKERS[request.param](request, rows))
        return _held[known][1]

    return put
