"""Scans: the three ways in which rows reach DuckDB. A scan knows its schema and has not looked at a row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

import duckdb

from dpselect.engines.duckdb.types import OBJECT, kind, sound_form
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.errors import DataError, ParameterError
from dpselect.parameters import near

if TYPE_CHECKING:
    from dpselect.engines.sources.frames import Frame

Select = Callable[[str], str]
"""From the name of what is read to the SELECT that narrows and filters it."""


@dataclass(frozen=True)
class Scan(ABC):
    """A source whose schema is known and whose rows were not looked at."""

    names: tuple[str, ...]
    """The columns; none where they cannot be known, and then every name is taken."""

    _: KW_ONLY
    untyped: bool = False  # are all columns text because the source has no types?
    fixed: bool = False  # do the files of the source alone decide what it says? A view may read anything else

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        return near(column, self.names)

    @abstractmethod
    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """The SQL types of some columns."""

    @abstractmethod
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> AbstractContextManager[str]:
        """What stands after FROM for one query over the selected rows."""

    def counts(
        self,
        workspace: Workspace,  # noqa: ARG002
        columns: Sequence[str],  # noqa: ARG002
        most: int | None,  # noqa: ARG002
    ) -> AbstractContextManager[str | None]:
        """The items i of all rows and their numbers n of distinct users, as a query, where the source counts better.

        The columns are user and item. With `most`, items that cannot be among so many with the most users may be left
        out.
        """
        return nullcontext()


@dataclass(frozen=True)
class SqlScan(Scan):
    """Files, or a table of an attached database: DuckDB reads them by itself, and only what is asked for."""

    sql: Callable[[Sequence[str]], str]

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """The SQL types of some columns."""
        return described(workspace, f"SELECT {_listed(columns)} FROM {self.sql(columns)}")

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:  # noqa: ARG002
        """What stands after FROM for one query over the selected rows."""
        yield f"({select(self.sql(columns))})"


@dataclass(frozen=True)
class FrameScan(Scan):
    """A frame in this process. Only the columns that are asked for are handed over, under names of our own."""

    frame: Frame
    known: dict[str, str] = field(default_factory=dict)
    """The types of columns that were asked for: the schema is looked at once, before any row."""

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """The SQL types of some columns."""
        empty = workspace.guarded(lambda: self.frame.narrow(self._places(columns), empty=True))

        def look() -> list[Row]:
            with workspace.registered(empty.rows) as name:
                return workspace.rows(f"DESCRIBE FROM {name}")

        found: dict[str, str] = {}
        with suppress(DataError):
            found = {str(row[0]): str(row[1]) for row in workspace.guarded(look)}
        if not found:
            from dpselect.engines.sources.array_columns import HINT

            raise DataError("a column of this frame is of a type that cannot be read", HINT)
        for place, column in enumerate(columns):
            self.known[column] = OBJECT if f"c{place}" in empty.loose else found[f"c{place}"]
        return {column: self.known[column] for column in columns}

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """What stands after FROM for one query over the selected rows."""
        forms = ", ".join(
            f"{sound_form(_scanned(place, self.known[column]), self.known[column])} AS {quoted(column)}"
            for place, column in enumerate(columns)
        )
        with workspace.registered(self.frame.narrow(self._places(columns), empty=False).rows) as name:
            yield f"({select(f'(SELECT {forms} FROM {name})')})"

    @contextmanager
    def counts(self, workspace: Workspace, columns: Sequence[str], most: int | None) -> Iterator[str | None]:
        """Polars counts its own rows."""
        from dpselect.engines.sources.polars_frames import Polars

        user, item = self._places(columns)
        found = self.frame.counts(user, item, most) if isinstance(self.frame, Polars) else None
        if found is None:
            yield None
            return
        with workspace.registered(found) as name:
            yield f"FROM {name}"

    def _places(self, columns: Sequence[str]) -> list[int]:
        return [self.names.index(column) for column in columns]


@dataclass(frozen=True, repr=False)
class RelationScan(Scan):
    """A relation on the caller's own connection, which hands on plain columns. All else is done here.

    There the caller's macros may have any name, of operators and built-in functions too, and settings of theirs say
    how things are read, compared and ordered. So nothing is called there, cast or compared, and nothing is left.
    """

    relation: duckdb.DuckDBPyRelation
    known: Mapping[str, str]

    @classmethod
    def of(cls, relation: duckdb.DuckDBPyRelation) -> RelationScan:
        """The scan of a relation whose connection is still open."""
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        return cls(tuple(types), relation, types)

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """The SQL types of some columns."""
        types = {column: self.known[column] for column in columns}
        lost = next((kind(one) for one in types.values() if kind(one) in _LOST), None)
        if lost is not None:
            hint = "cast it to text in the relation, or in a view"
            raise DataError(f"a column of type {lost} does not come out of a connection as it is", hint)
        return types

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """What stands after FROM for one query over the selected rows."""
        narrow = self.relation.select(*map(duckdb.ColumnExpression, columns))
        back = ", ".join(_as_it_was(quoted(column), kind(self.known[column])) for column in columns)
        # The stream is registered, not the relation: it runs once, and its schema comes with it.
        with workspace.registered(narrow.__arrow_c_stream__()) as name:
            yield f"({select(f'(SELECT {back} FROM {name})')})"


# How these travel is up to a setting of the connection (arrow_lossless_conversion). They become again what they were:
# the bits of a large integer come as those of a signed one.
_BACK = {
    "HUGEINT": "CAST({} AS HUGEINT)",
    "UHUGEINT": "CASE WHEN {} < 0 THEN (CAST({} AS HUGEINT) - (-170141183460469231731687303715884105728)::HUGEINT)"
    "::UHUGEINT + 170141183460469231731687303715884105728 ELSE CAST({} AS UHUGEINT) END",
    "UUID": "CAST({} AS UUID)",
}
_LOST = frozenset({"BIT", "TIME WITH TIME ZONE"})  # what these were cannot be told any more


def _as_it_was(column: str, sort: str) -> str:
    return f"{_BACK.get(sort, '{}').replace('{}', column)} AS {column}"


def missing_column(parameter: str, column: str, scan: Scan) -> ParameterError:
    """The error for a column that is not there."""
    return ParameterError(parameter, "be a column of the source", repr(column), scan.hint(column))


def described(workspace: Workspace, select: str) -> dict[str, str]:
    """The columns of a SELECT and their types; nothing runs."""
    return {str(row[0]): str(row[1]) for row in workspace.fetch(f"DESCRIBE {select}")}


def _scanned(place: int, sql_type: str) -> str:
    return f"CAST(c{place} AS VARCHAR)" if sql_type == OBJECT else f"c{place}"


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(quoted(column) for column in columns)
