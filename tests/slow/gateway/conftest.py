"""A gateway on a small table, as the quick tests have it."""

from tests.gateway.conftest import served

__all__ = ["served"]
