"""The databases that count for Ibis, in which the tests of tests/engines that are imported here hold their rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engines.conftest import hold_in, judge, new_database, own_duckdb
from tests.engines.every_engine import Hold

BACKENDS = ("datafusion", "sqlite", "mariadb")

__all__ = ["hold_in", "judge", "new_database", "own_duckdb"]


@pytest.fixture(params=BACKENDS)
def hold(request: pytest.FixtureRequest, hold_in: Callable[[str], Hold]) -> Hold:
    """The same test runs over each backend."""
    return hold_in(request.param)


@pytest.fixture
def elsewhere(hold: Hold) -> Hold:
    """Another engine than DuckDB, which judges it."""
    return hold
