"""Tables of Ibis that another database counts: DataFusion, SQLite and MariaDB."""

from __future__ import annotations

from pathlib import Path

from tests.engines.ibis_tables import in_datafusion, in_mariadb, in_sqlite
from tests.replay.frame_kinds import arrow_table
from tests.replay.kinds import kind
from tests.replay.server_kinds import Servers
from tests.replay.sorts import Rows

_CANNOT = "surrogate, invalid, special decimal, far beyond"


@kind(
    "Ibis over DataFusion",
    ("text", "whole", "real", "decimal", "truth", "day"),
    cannot="surrogate, invalid, special decimal",
    needs="datafusion",
)
def _datafusion(rows: Rows, folder: Path) -> object:  # noqa: ARG001
    return in_datafusion(arrow_table(rows))


@kind("Ibis over SQLite", ("text", "whole", "real"), cannot=_CANNOT, needs="regex")
def _sqlite(rows: Rows, folder: Path) -> object:  # noqa: ARG001
    return in_sqlite(arrow_table(rows))


@kind("Ibis over MariaDB", ("text", "whole", "decimal", "day"), cannot=f"{_CANNOT}, beyond", needs="mariadb")
def _mariadb(rows: Rows, folder: Path) -> object:  # noqa: ARG001
    return in_mariadb(Servers.mariadb, arrow_table(rows))
