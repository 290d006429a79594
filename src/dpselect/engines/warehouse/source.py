"""Warehouse: a database that is asked through a function of the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from dpselect.errors import DataError, ParameterError, came
from dpselect.parameters import near, one_of

if TYPE_CHECKING:
    from dpselect.engines.sql.port import Row
    from dpselect.engines.warehouse.flavour import Flavour
    from dpselect.parameters import Progress

Run = Callable[[str], Iterable[Sequence[object]]]


class Warehouse:
    """A source for `Dataset`: BigQuery, Snowflake, Trino or ClickHouse, over a connection that the caller opens.

    `run` takes one SQL query and gives back all of its rows, for example `lambda sql: cursor.execute(sql).fetchall()`.
    Every query is one SELECT. `dialect` is "bigquery", "snowflake", "trino" or "clickhouse", and `types` says of each
    column that may be asked for what it holds: "text", "integer", "number" (a float), "decimal", "boolean", "date" or
    "timestamp". A `name` says which warehouse it is in the text of a question, so that a ledger knows it again.

    What these dialects get is checked as text and was not run on their servers (docs/warehouses.md).
    """

    def __init__(self, run: Run, *, dialect: str, types: Mapping[str, str], name: str | None = None) -> None:
        from dpselect.engines.warehouse.dialects import FLAVOURS

        if not callable(run):
            raise ParameterError("run", "be a function from one SQL query to its rows", type(run).__name__)
        dialect = one_of("dialect", dialect, FLAVOURS)
        if name is not None and not _is_text(name):
            raise ParameterError("name", "be a text that says which warehouse it is", came(name))
        self.flavour: Flavour = FLAVOURS[dialect]
        self.types: dict[str, str] = _types(dialect, types)
        self.name: str | None = name
        self._run = run
        self._known: set[str] = set()  # checks that passed

    def __repr__(self) -> str:
        given = self.flavour.dialect.name if self.name is None else f"{self.flavour.dialect.name} {self.name}"
        return f"Warehouse({given})"

    def rows(self, sql: str, progress: Progress | None = None) -> list[Row]:
        """All rows of one query. What went wrong is never shown nor kept as a context: it could quote rows."""
        if progress is not None:
            progress(None)
        failed = ""
        found: list[Any] = []
        try:
            found = list(self._run(sql))
        except Exception as error:
            failed = type(error).__name__
        if failed:
            hint = "what it said is not shown, it could quote rows; see its own list of failed queries"
            raise DataError(f"the warehouse did not answer ({failed})", hint)
        if any(isinstance(row, (str, Mapping)) for row in found[:1]):
            raise ParameterError("run", "give rows as tuples in the order of the columns", type(found[0]).__name__)
        return [tuple(row) for row in found]

    def check(self, sql: str) -> None:
        """Ask a query without rows once: names and types that do not fit show before any row is read."""
        if sql not in self._known:
            self.rows(sql)
            self._known.add(sql)


def _types(dialect: str, types: Mapping[str, str]) -> dict[str, str]:
    from dpselect.engines.warehouse.dialects import FLAVOURS

    flavour = FLAVOURS[dialect]
    if not _is_mapping(types):
        raise ParameterError("types", "say for each column what it holds", came(types), 'types={"user_id": "text"}')
    for column, kind in types.items():
        if not _is_text(column):
            raise ParameterError("types", "have names of columns", came(column))
        if kind not in flavour.kinds:
            hint = near(str(kind), tuple(flavour.kinds))
            raise ParameterError("types", f"have one of {', '.join(flavour.kinds)} for {column!r}", came(kind), hint)
        if column in flavour.hidden:
            hint = f"rename it in a view; {dialect} would take it for a name of ours"
            raise ParameterError("types", f"have no column called {column!r}", came(column), hint)
    return dict(types)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value)


def is_warehouse(source: object) -> TypeGuard[Warehouse]:
    """Is it one of ours?"""
    return isinstance(source, Warehouse)
