"""One PostgreSQL table as the SQL engine's database: a snapshot in which nothing is created.

A result that is asked for again is thus asked again, in the same snapshot; an order that is read row by row is a
cursor. Keys, domains and released items travel beside the statement, where the list of running statements has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpselect._ground.parameters import Progress
from dpselect.engines.address import Address
from dpselect.engines.duckdb.elsewhere import DatabaseElsewhere, misfit
from dpselect.engines.postgres.connection import PostgresWorkspace
from dpselect.engines.postgres.dialect import POSTGRES
from dpselect.engines.postgres.tables import read_columns
from dpselect.engines.sql.database import ReadRequest
from dpselect.engines.sql.port import Columns, Int64, Row, SqlType
from dpselect.errors import DataError

if TYPE_CHECKING:
    from dpselect.engines.filters.spelling import Spelling


class PostgresDatabase(DatabaseElsewhere):
    """A table or view of a database. Opening it reads the catalogue, never a row."""

    dialect = POSTGRES

    def __init__(self, address: Address, request: ReadRequest) -> None:
        self._workspace = PostgresWorkspace(address.source)
        self._values: dict[str, object] = {}
        self._cursors: dict[tuple[str, str], str] = {}
        try:
            source_and_types = read_columns(self._workspace, address.table, request)
            self.source: str = source_and_types[0]
            self.types: Mapping[str, SqlType] = source_and_types[1]
        except BaseException:
            self._workspace.close()
            raise

    @property
    def spelling(self) -> Spelling:
        """The way in which filters and periods are written."""
        from dpselect.engines.postgres.spelling import POSTGRES_SPELLING

        return POSTGRES_SPELLING

    def rows(self, sql: str, *, progress: Progress | None = None) -> list[Row]:
        """Return all rows of one query."""
        return self._workspace.fetch(sql, self._values, progress=progress)

    def columns(self, sql: str, names: Sequence[str], *, progress: Progress | None = None) -> Columns:
        """Return all rows of one large query by column; columns of integers alone are fetched in binary form."""
        return self._workspace.columns(sql, names, self._values, progress=progress)

    def keep(self, sql: str, *, progress: Progress | None = None) -> str:  # noqa: ARG002 - nothing runs yet
        """Return the query itself: in the snapshot it has the same result each time."""
        return f"({sql})" if not sql.startswith("(") else sql

    def drop(self, table: str) -> None:
        """Do nothing: nothing was kept."""

    def put(self, columns: Mapping[str, Int64 | Sequence[str]]) -> str:
        """Return a small table of integers and texts, which are sent with every statement that reads it."""
        fields = []
        for name, values in columns.items():
            parameter = f"put_{len(self._values)}"
            self._values[parameter] = [x.item() if isinstance(x, np.integer) else x for x in values]
            has_texts = len(values) > 0 and isinstance(values[0], str)
            fields.append(
                (name, f"%({parameter})s::{'text' if has_texts else 'int8'}[]", ' COLLATE "C"' if has_texts else "")
            )
        arrays = ", ".join(array for _, array, _ in fields)
        names = ", ".join(name for name, _, _ in fields)
        selected = ", ".join(f"{name}{collation} AS {name}" for name, _, collation in fields)
        return f"(SELECT {selected} FROM unnest({arrays}) AS x ({names}))"

    def put_tuples(self, values: Sequence[tuple[object, ...]], types: Sequence[SqlType]) -> str:
        """Store a public list of tuples with their indices, if the server can hold them."""
        parameters = [f"domain_{len(self._values)}_{index}" for index in range(len(types))]
        values_by_parameter = {name: [value[index] for value in values] for index, name in enumerate(parameters)}
        arrays = ", ".join(
            f"%({name})s::{sql_type.canonical_type}[]" for name, sql_type in zip(parameters, types, strict=True)
        )
        forms = [
            f'x{index} COLLATE "C"' if sql_type.canonical_type == "text" else f"x{index}"
            for index, sql_type in enumerate(types)
        ]
        selected = ", ".join(f"{form} AS k{index}" for index, form in enumerate(forms))
        names = ", ".join(f"x{index}" for index in range(len(types)))
        sql = f"(SELECT {selected}, place - 1 AS place FROM unnest({arrays}) WITH ORDINALITY AS x ({names}, place))"
        try:
            fits = bool(self._workspace.attempt(f"SELECT count(*) FROM {sql} AS d", values_by_parameter))
        except DataError:
            fits = False
        if not fits:
            raise misfit(types)
        self._values |= values_by_parameter
        return sql

    def secret_key_sql(self, key: bytes) -> str:
        """Return a key as a parameter of the statement."""
        parameter = next((name for name, value in self._values.items() if value is key), f"key_{len(self._values)}")
        self._values[parameter] = key
        return f"%({parameter})s::bytea"

    def names_at(self, sql: str, order: str, indices: Int64) -> list[Any]:
        """Return the names at some indices, fetched from a cursor that opens with the first question."""
        cursor = self._cursors.get((sql, order))
        if cursor is None:
            cursor = f"names_{len(self._cursors)}"
            self.rows(f"DECLARE {cursor} SCROLL CURSOR WITHOUT HOLD FOR SELECT name FROM ({sql}) AS q ORDER BY {order}")
            self._cursors[sql, order] = cursor
        return [row[0] for index in indices for row in self.rows(f"FETCH ABSOLUTE {index + 1} FROM {cursor}")]

    def close(self) -> None:
        """End the snapshot and the connection."""
        super().close()
        self._workspace.close()
