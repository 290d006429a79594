"""One PostgreSQL server and one Spark session of our own for the tests of engines, and empty schemas where asked."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests import postgres
from tests.engines import spark as local_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_names = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A running server; CI on Linux must have one, elsewhere its tests are skipped without."""
    try:
        import psycopg  # noqa: F401 - is it there?

        with postgres.server() as address:
            yield address
    except (ImportError, postgres.NoServerError) as error:
        if os.environ.get("CI") == "true" and sys.platform == "linux":
            raise
        pytest.skip(str(error))


@pytest.fixture
def new_database(postgres_server: str) -> Callable[[], str]:
    """Makes an empty schema; the address of a database in which it alone is seen. A database each would take long."""
    import psycopg

    def make() -> str:
        name, address = f"rows{next(_names)}", postgres_server.format(name="postgres")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{address}&options=-csearch_path%3D{name}"

    return make


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A running session; CI on Linux must have one, elsewhere its tests are skipped without."""
    try:
        with local_spark.session() as session:
            yield session
    except local_spark.NoSparkError as error:
        if os.environ.get("CI") == "true" and sys.platform == "linux":
            raise
        pytest.skip(str(error))
