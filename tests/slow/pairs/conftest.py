"""Where the rows of all pairs lie, as the quick tests have it."""

from tests.pairs.conftest import asking, new_database

__all__ = ["asking", "new_database"]
