"""`duckdb`: the compiled module of DuckDB, which is all that files need, without the package of Python around it.

The package has relations and expressions, which only a caller's objects are, and what reads Arrow objects. It takes
twice as long to load as the module, and longer than a small question. Of a version that was not tested by itself the
module stands for nothing: there the name is the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.processes import unsignalled

__all__ = ["duckdb", "load_package"]

TESTED = "2.0."  # the start of the versions whose module is used by itself

if TYPE_CHECKING:
    import duckdb
else:
    with unsignalled():
        try:
            import _duckdb as duckdb

            if not duckdb.__version__.startswith(TESTED):
                raise ImportError(duckdb.__version__)
        except ImportError:
            import duckdb


def load_package() -> None:
    """Load the package, by which the module learns to read Arrow objects and its connections get their relations."""
    with unsignalled():
        import duckdb  # noqa: F401
