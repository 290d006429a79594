"""Operations on numbers at the ends of their types, and a thousand nestings: tests/engines tries some of each."""

from __future__ import annotations

from tests.engines.filter_ends import expressions, nestings
from tests.engines.test_filter_ends import on_duckdb, on_postgres, wrong

__all__ = ["on_duckdb", "on_postgres"]

MANY = [*expressions(), *nestings(1000)]


def test_duckdb_and_postgres_have_every_value_that_is_meant(on_duckdb, on_postgres):
    assert wrong(on_duckdb, MANY) == []
    assert wrong(on_postgres, MANY, on_duckdb) == []
