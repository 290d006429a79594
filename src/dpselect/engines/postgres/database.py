"""One PostgreSQL table as the SQL engine's database: a snapshot in which nothing is created.

A result that is asked for again is thus asked again, in the same snapshot; an order that is read row by row is a
cursor. Keys, domains and released items travel beside the statement, where the list of running statements has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpselect._ground.parameters import Progress
from dpselect.engines.duckdb.elsewhere import DatabaseElsewhere
from dpselect.engines.postgres.connection import PostgresWorkspace
from dpselect.engines.postgres.dialect import POSTGRES
from dpselect.engines.postgres.tables import columns_of
from dpselect.engines.sql.database import ReadRequest
from dpselect.engines.sql.port import Columns, Int64, Row, SqlType
from dpselect.errors import DataError, ParameterError


class PostgresDatabase(DatabaseElsewhere):
    """A table or view of a database. Opening it reads the catalogue, never a row."""

    dialect = POSTGRES

    def __init__(self, address: str, table: str | None, asked: ReadRequest) -> None:
        self._workspace = PostgresWorkspace(address)
        self._values: dict[str, object] = {}
        self._cursors: dict[tuple[str, str], str] = {}
        try:
            found = columns_of(self._workspace, table, asked)
            self.source: str = found[0]
            self.types: Mapping[str, SqlType] = found[1]
        except BaseException:
            self._workspace.close()
            raise

    def rows(self, sql: str, *, progress: Progress | None = None) -> list[Row]:
        """All rows of one query."""
        return self._workspace.fetch(sql, self._values, progress=progress)

    def columns(self, sql: str, names: Sequence[str], *, progress: Progress | None = None) -> Columns:
        """All rows of one large query by column; those of whole numbers alone come as they lie in memory."""
        return self._workspace.columns(sql, names, self._values, progress=progress)

    def keep(self, sql: str, *, progress: Progress | None = None) -> str:  # noqa: ARG002 - nothing runs yet
        """The query itself: the snapshot answers it in the same way each time."""
        return f"({sql})" if not sql.startswith("(") else sql

    def drop(self, table: str) -> None:
        """Nothing was kept."""

    def put(self, columns: Mapping[str, Int64 | Sequence[str]]) -> str:
        """A small table of whole numbers and texts, which go beside every statement that asks it."""
        fields = []
        for name, values in columns.items():
            here = f"put_{len(self._values)}"
            self._values[here] = [x.item() if isinstance(x, np.integer) else x for x in values]
            texts = len(values) > 0 and isinstance(values[0], str)
            fields.append((name, f"%({here})s::{'text' if texts else 'int8'}[]", ' COLLATE "C"' if texts else ""))
        arrays = ", ".join(array for _, array, _ in fields)
        names = ", ".join(name for name, _, _ in fields)
        picked = ", ".join(f"{name}{collation} AS {name}" for name, _, collation in fields)
        return f"(SELECT {picked} FROM unnest({arrays}) AS x ({names}))"

    def put_tuples(self, values: Sequence[tuple[object, ...]], types: Sequence[SqlType]) -> str:
        """A public list of tuples at their places; the server says whether it can hold them."""
        here = [f"domain_{len(self._values)}_{at}" for at in range(len(types))]
        given = {name: [value[at] for value in values] for at, name in enumerate(here)}
        arrays = ", ".join(f"%({name})s::{one.form_type}[]" for name, one in zip(here, types, strict=True))
        forms = [f'x{at} COLLATE "C"' if one.form_type == "text" else f"x{at}" for at, one in enumerate(types)]
        picked = ", ".join(f"{form} AS k{at}" for at, form in enumerate(forms))
        names = ", ".join(f"x{at}" for at in range(len(types)))
        sql = f"(SELECT {picked}, place - 1 AS place FROM unnest({arrays}) WITH ORDINALITY AS x ({names}, place))"
        try:
            fits = bool(self._workspace.attempt(f"SELECT count(*) FROM {sql} AS d", given))
        except DataError:
            fits = False
        if not fits:
            held = ", ".join(one.name for one in types)
            must = f"hold values that are {held}, like the item column{'s' * (len(types) > 1)}"
            raise ParameterError("domain", must, "some that are not")
        self._values |= given
        return sql

    def secret(self, key: bytes) -> str:
        """A key, which goes beside the statement."""
        here = next((name for name, value in self._values.items() if value is key), f"key_{len(self._values)}")
        self._values[here] = key
        return f"%({here})s::bytea"

    def names_at(self, sql: str, order: str, indices: Int64) -> list[Any]:
        """The names at some places, fetched from a cursor that opens with the first question."""
        cursor = self._cursors.get((sql, order))
        if cursor is None:
            cursor = f"names_{len(self._cursors)}"
            self.rows(f"DECLARE {cursor} SCROLL CURSOR WITHOUT HOLD FOR SELECT name FROM ({sql}) AS q ORDER BY {order}")
            self._cursors[sql, order] = cursor
        return [row[0] for place in indices for row in self.rows(f"FETCH ABSOLUTE {place + 1} FROM {cursor}")]

    def close(self) -> None:
        """End the snapshot and the connection."""
        super().close()
        self._workspace.close()
