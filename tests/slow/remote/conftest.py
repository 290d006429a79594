"""A gateway to ask, as the quick tests have it."""

from tests.remote.conftest import gateway, remote

__all__ = ["gateway", "remote"]
