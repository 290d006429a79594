"""`duckdb`: the compiled module of DuckDB, which is all that files need, without the package of Python around it.

The package has relations and expressions, which only a caller's objects are, and what reads Arrow objects. It takes
twice as long to load as the module, and longer than a small question. So it is loaded when a source that needs it is
opened: before a price is paid, and in no question's window. Of other versions than those whose module was tested by
itself the name is the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.processes import unsignalled

__all__ = ["duckdb", "load_package"]

TESTED = ("2.0.0", "2.0.1")  # the versions of the engine whose module is used by itself

if TYPE_CHECKING:
    import duckdb
else:
    with unsignalled():
        try:
            import _duckdb as duckdb

            if duckdb.__version__ not in TESTED:
                raise ImportError(duckdb.__version__)
        except (ImportError, AttributeError):
            import duckdb


def load_package() -> None:
    """Load the package, by which the module learns to read Arrow objects and its connections get their relations.

    Another module of its name, a file beside the program, is an ImportError.
    """
    with unsignalled():
        from duckdb import DuckDBPyRelation  # noqa: F401
