"""Sources for the tests of engines: a schema of PostgreSQL, the same rows in every engine."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pyarrow as pa
import pytest

from tests.engines.every_engine import MAKERS, Held, Hold
from tests.judge.every import judge

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


@pytest.fixture(scope="session")
def hold_in(request: pytest.FixtureRequest) -> Callable[[str], Hold]:
    """Puts rows into the source of the engine of this name. The same table is put there once."""
    known: dict[tuple[str, int], tuple[pa.Table, Held]] = {}

    def of(kind: str) -> Hold:
        def put(rows: pa.Table) -> Held:
            if (kind, id(rows)) not in known:
                known[kind, id(rows)] = rows, Held(kind, *MAKERS[kind](request, rows))
            return known[kind, id(rows)][1]

        return put

    return of


@pytest.fixture(params=["duckdb", "postgres"])
def hold(request: pytest.FixtureRequest, hold_in: Callable[[str], Hold]) -> Hold:
    """The same test runs for each engine; on Spark and Ibis some do, which their own files name."""
    return hold_in(request.param)


@pytest.fixture
def elsewhere(hold_in: Callable[[str], Hold]) -> Hold:
    """Another engine than DuckDB, which judges it."""
    return hold_in("postgres")


@pytest.fixture(scope="module", autouse=True)
def own_duckdb(one_duckdb: None) -> None:
    """All share one, but for modules that say otherwise: how a workspace begins and ends is tested with its own."""
