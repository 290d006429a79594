"""Scans: the ways in which rows reach DuckDB. A scan knows its schema and has not looked at a row.

A column that its owner declares is read as the declared type: each value alone, whatever the source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import KW_ONLY, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import suggest_column
from dpselect._ground.row_bound import RowBound
from dpselect.engines.duckdb.types import OBJECT
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.errors import SourceError, came

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.sources.scans.declarations import Types


@dataclass(frozen=True)
class RequestedColumns:
    """The columns that a question names, by their parameters; no `user` where it is no question of users."""

    user: tuple[str, ...] | None
    columns: Sequence[tuple[str, str]]  # each beside its parameter; those of the user, too
    filtered: Sequence[str] = ()
    periods: Periods | None = None

    @property
    def all_columns(self) -> list[tuple[str, str]]:
        """Every column with the parameter that names it."""
        return [*self.columns, *(("where", name) for name in self.filtered)]


@dataclass(frozen=True)
class CountRequest:
    """A request for numbers of distinct users of all items, over all rows or those for which a condition holds.

    `form` is the SQL of an item over its columns, `where` that of the condition over the columns that it names. The
    `max_items` items with the most users are enough, with all that tie with the last of these.
    """

    user: tuple[str, ...]
    item: tuple[str, ...]
    form: str
    where: str | None
    filter_columns: tuple[str, ...]
    periods: Periods | None
    max_items: int | None

    @property
    def of_all_rows(self) -> bool:
        """Does every row count?"""
        return self.where is None and self.periods is None

    @property
    def columns(self) -> set[str]:
        """All columns that are read."""
        time_columns = [] if self.periods is None else [self.periods.column]
        return {*self.user, *self.item, *self.filter_columns, *time_columns}


@dataclass(frozen=True)
class Scan(ABC):
    """A source whose schema is known and whose rows have not been read."""

    counts_users: ClassVar[bool] = False
    """Can it count the users of its items by itself, better than DuckDB can?"""
    names: tuple[str, ...]
    """The columns; empty if they cannot be known, and then every name is accepted."""

    _: KW_ONLY
    fixed: bool = False  # do the files of the source alone decide its rows? A view may read anything else
    folders: tuple[str, ...] = ()  # columns of folders' names, as text
    declared: Types = field(default_factory=dict)  # by the caller
    kept_types: Types = field(default_factory=dict)  # declared when the rows were prepared, and part of them
    user_code: str | None = None  # an extra integer column that identifies users
    state: str | None = None  # the name of the state of the rows, if each state has one
    row_bound: RowBound | None = None  # the bound on rows of a user with which the data were prepared, if any

    def with_types(self, types: Types) -> Self:
        """Return the source under what its owner declares. Names are those of the source, exactly."""
        for name, declared_type in types.items():
            if self.names and name not in self.names:
                raise SourceError("types", "name columns of the source", came(name), self.hint(name))
            kept_type = self.kept_types.get(name)
            if kept_type is not None and kept_type.text != declared_type.text:
                requirement = f"be {kept_type.text} for {name!r}, as these data declare it"
                raise SourceError("types", requirement, declared_type.text)
        return replace(self, declared={name: types[name] for name in types if name not in self.kept_types})

    def hint(self, column: str) -> str:
        """Return a hint about a column that does not exist."""
        return suggest_column(column, self.names)

    def check_unchanged(self) -> None:  # noqa: B027 - most have one schema as long as they are open
        """Refuse a source whose schema may have changed since it was read."""

    def refuse(self, requested: RequestedColumns) -> None:  # noqa: B027 - most answer for every column that they have
        """Refuse, before anything is paid, columns that the source cannot answer for in their roles."""

    def check(self, requested: RequestedColumns) -> None:
        """Refuse columns that are not there, or that the source cannot answer for."""
        self.refuse(requested)
        for parameter, name in requested.columns:
            if self.names and name not in self.names:
                raise SourceError(parameter, "be a column of the source", repr(name), self.hint(name))

    def with_duplicates(self) -> Self:
        """Return the source with equal rows as often as they occur; without it, equal rows may be read once."""
        return self

    def types(self, workspace: Workspace, columns: Sequence[str]) -> dict[str, str]:
        """Return the SQL types of some columns; no row is read. A declared type must be one that values can have."""
        types = dict(self.source_types(workspace, columns))
        for name in columns:
            if name in self.declared:
                self._declared_form(name, types[name])
                types[name] = self.declared[name].type
        return types

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:
        """Yield the SQL after FROM for one query over some columns, and the code of users if there is one."""
        with self.source_rows(workspace, columns) as source:
            if self.declared.keys().isdisjoint(columns):
                yield source
                return
            source_types = self.source_types(workspace, columns)
            forms = [f"{self._declared_form(name, source_types[name])} AS {quoted(name)}" for name in columns]
            forms += [] if self.user_code is None else [quoted(self.user_code)]
            yield f"(SELECT {', '.join(forms)} FROM {source})"

    def _declared_form(self, name: str, source_type: str) -> str:
        """Return the SQL of a value of a column as the type that is declared, if any is."""
        declared = self.declared.get(name)
        if declared is None or declared.type == source_type:
            return quoted(name)
        if source_type == OBJECT:
            requirement = f"be left out for {name!r}, each of whose values has a type of its own"
            hint = "give that column a type in the frame, or write the frame as CSV with all values as text"
            raise SourceError("types", requirement, declared.text, hint)
        from dpselect.engines.sources.scans.reading import read_value

        return read_value(quoted(name), source_type, declared, name)

    @abstractmethod
    def source_types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """Return the SQL types that some columns have in the source."""

    @abstractmethod
    def source_rows(self, workspace: Workspace, columns: Sequence[str]) -> AbstractContextManager[str]:
        """Return a context of the SQL after FROM for one query over some columns, in the types of the source."""

    def counts(self, workspace: Workspace, request: CountRequest) -> AbstractContextManager[str | None]:  # noqa: ARG002
        """Return a context of a query of items i and their numbers n of distinct users, None for what DuckDB counts."""
        return nullcontext()

    def read_codes(self, request: CountRequest) -> tuple[str, str] | None:  # noqa: ARG002
        """Return queries of users u and codes i of their items, and of the number and the item i of each code."""
        return None


def describe_columns(workspace: Workspace, select: str) -> dict[str, str]:
    """Return the columns of a SELECT and their types; nothing runs."""
    return {str(row[0]): str(row[1]) for row in workspace.fetch(f"DESCRIBE {select}")}
