"""The DuckDB engine: the SQL engine over whatever DuckDB can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpselect.engines.duckdb.database import DuckDBDatabase, OwnersRows
from dpselect.engines.duckdb.library import load_package
from dpselect.engines.sql.questions_by_group import Engine

if TYPE_CHECKING:
    from dpselect.engines.address import Address


class DuckDBEngine(Engine):
    """Engine for distinct users per item of files, a frame, an object or a table of DuckDB."""

    _database: DuckDBDatabase

    def __init__(self, address: Address, **arguments: Any) -> None:
        super().__init__(DuckDBDatabase, address, **arguments)

    def owners_rows(self) -> OwnersRows:
        """Return the rows for the inspection of their owner. Nothing of it is private."""
        return self._database.owners_rows(self._rows)


def load_duckdb() -> None:
    """Load all of DuckDB that any source needs; this module has loaded the engine."""
    load_package()
