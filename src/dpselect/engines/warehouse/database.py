"""One table of a warehouse as the SQL engine's database. Every query is one SELECT, and nothing is created.

A result that is asked for again is asked again, so the table must not change while one verb runs: there is no snapshot.
Keys, domains and released items stand in the text of the query, where the warehouse's list of queries shows them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpselect.aggregates.user_sets import Int64
from dpselect.engines.duckdb.scans import Counting
from dpselect.engines.sql.port import Columns, Dialect, Needs, Row, SqlType
from dpselect.engines.warehouse.flavour import as_text
from dpselect.engines.warehouse.source import Warehouse
from dpselect.errors import DataError, SourceError
from dpselect.keys import Key, named
from dpselect.parameters import Progress, near

PLACES = 1000  # names that are asked for at once


class WarehouseDatabase:
    """A table or view of a warehouse, whose types the caller has said."""

    reading: None = None

    def __init__(
        self,
        warehouse: Warehouse,
        table: str | None,
        *,
        user: Key,
        item: Key,
        needs: Needs | None,
        by: tuple[str, ...] = (),
    ) -> None:
        self._warehouse, self._kinds = warehouse, warehouse.flavour.kinds
        self.dialect: Dialect = warehouse.flavour.dialect
        self.source: str = self._meant(table)
        self.each: str = self.source
        known = warehouse.types
        for parameter, column in named(user, item, by):
            if column not in known:
                must = "be a column whose type the warehouse was told"
                raise SourceError(parameter, must, repr(column), near(column, tuple(known)))
        types = {column: self._kinds[known[column]].compared for column in (needs(tuple(known)) if needs else ())}
        types |= {column: self._kinds[known[column]].counted for _, column in named(user, item, by)}
        self.types: Mapping[str, SqlType] = types
        self._check()

    def counts(self, asked: Counting) -> str | None:  # noqa: ARG002
        """Nothing is counted before."""
        return None

    def rows(self, sql: str, *, progress: Progress | None = None) -> list[Row]:
        """All rows of one query."""
        return self._warehouse.rows(sql, progress)

    def columns(self, sql: str, names: Sequence[str], *, progress: Progress | None = None) -> Columns:
        """All rows of one query by column."""
        rows = self.rows(sql, progress=progress)
        found = list(zip(*rows, strict=True)) if rows else [() for _ in names]
        return {name: _array(name, values) for name, values in zip(names, found, strict=True)}

    def fetched(self, sql: str, most: int, *, progress: Progress | None = None) -> None:
        """Not here: distinct pairs are found where the rows are."""

    def keep(self, sql: str, *, progress: Progress | None = None) -> str:  # noqa: ARG002 - nothing runs yet
        """The query itself."""
        return f"({sql})" if not sql.startswith("(") else sql

    def drop(self, kept: str) -> None:
        """Nothing was kept."""

    def put(self, columns: Mapping[str, Int64 | Sequence[str]]) -> str:
        """A small table as one text in the query, which no limit on the length of a list can cut."""
        texts = [(name, len(values) > 0 and isinstance(values[0], str)) for name, values in columns.items()]
        rows = zip(*([_plain(value) for value in values] for values in columns.values()), strict=True)
        text = json.dumps(list(rows), ensure_ascii=False, separators=(",", ":"))
        return f"({self._warehouse.flavour.table(self.dialect.literal(text), texts)})"

    def put_items(self, values: Sequence[object], item_type: SqlType) -> str:
        """A public list of items in their one form."""
        listed = self.put({"x": [as_text(value) for value in values]})
        return f"(SELECT DISTINCT {self._read(item_type).replace('{}', 'd.x')} AS i FROM {listed} AS d)"

    def put_tuples(self, values: Sequence[tuple[object, ...]], types: Sequence[SqlType]) -> str:
        """A public list of tuples, each value in its one form."""
        listed = self.put({f"x{at}": [as_text(value[at]) for value in values] for at in range(len(types))})
        picked = ", ".join(f"{self._read(one).replace('{}', f'd.x{at}')} AS k{at}" for at, one in enumerate(types))
        return f"(SELECT {picked} FROM {listed} AS d)"

    def _read(self, item_type: SqlType) -> str:
        """The SQL of a value in its one form from its text."""
        return next(kind.read for kind in self._kinds.values() if kind.counted is item_type)

    def secret(self, key: bytes) -> str:
        """A key as its hexadecimal digits."""
        return self.dialect.literal(key.hex())

    def at(self, sql: str, order: str, places: Int64) -> list[Any]:
        """The names at some places, of a query that is asked again."""
        found: list[Any] = []
        for start in range(0, len(places), PLACES):
            asked = ", ".join(str(int(place)) for place in places[start : start + PLACES])
            placed = f"SELECT name, row_number() OVER (ORDER BY {order}) - 1 AS place FROM ({sql}) AS q"
            rows = self.rows(f"SELECT name FROM ({placed}) AS r WHERE place IN ({asked}) ORDER BY place")
            found += [row[0] for row in rows]
        if len(found) != len(places):
            hint = "ask a copy or a snapshot of the table that nobody writes to"
            raise DataError("the table changed while it was asked", hint)
        return found

    def close(self) -> None:
        """Nothing is kept; the connection is the caller's."""

    def _meant(self, table: str | None) -> str:
        levels = self._warehouse.flavour.levels
        parts = (table or "").split(".")
        if len(parts) > levels or not all(parts):
            must = f"name a table or view, by up to {levels} names with dots between"
            raise SourceError("table", must, "nothing" if table is None else repr(table))
        return ".".join(map(self.dialect.quote, parts))

    def _check(self) -> None:
        """Names and types that do not fit are refused now; no row is read by this."""
        forms = [
            f"{one.form.replace('{}', self.dialect.quote(column))} AS c{at}"
            for at, (column, one) in enumerate(self.types.items())
        ]
        self._warehouse.check(f"SELECT {', '.join(forms)} FROM {self.source} WHERE 1 = 0")


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.integer) else value


def _array(name: str, values: Sequence[Any]) -> Any:
    """Whole numbers as int64, whatever a driver makes of them. Only the texts that are cut here, i, are none."""
    if name == "i":
        return np.array(values, dtype=object)
    numbers = [_whole(value) for value in values]
    if None in numbers:
        raise DataError("the warehouse gave something else where a whole number was asked for")
    return np.array(numbers, dtype=np.int64)


def _whole(value: Any) -> int | None:
    """None for what is no whole number: an error would quote it."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
