"""One PostgreSQL server of our own for the tests of engines, and a new database wherever one is asked for."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator

import pytest

from tests import postgres

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
    """Makes an empty database; its address."""
    import psycopg

    def make() -> str:
        name = f"rows{next(_names)}"
        with psycopg.connect(postgres_server.format(name="postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        return postgres_server.format(name=name)

    return make
