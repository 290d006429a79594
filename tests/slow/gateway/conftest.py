"""A gateway on a small table, as the quick tests have it."""

from tests.gateway.conftest import questions_share_a_duckdb, roomy, served

__all__ = ["questions_share_a_duckdb", "roomy", "served"]
