"""Sources for the slow tests of engines: those of tests/engines."""

from tests.engines.conftest import elsewhere, hold, hold_in, judge, new_database, own_duckdb

__all__ = ["elsewhere", "hold", "hold_in", "judge", "new_database", "own_duckdb"]
