"""Scans: the three ways in which rows reach DuckDB. A scan knows its schema and has not looked at a row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Literal, Self

from dpselect._ground.parameters import suggest_column
from dpselect._ground.row_bound import RowBound
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.sources.scans.columns import ColumnType, RequestedColumns
from dpselect.errors import SourceError

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.sources.scans.declarations import Types

Select = Callable[[str], str]
"""Function from the SQL of what is read to the SELECT that narrows and filters it."""


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


@dataclass(frozen=True)
class Scan(ABC):
    """A source whose schema is known and whose rows have not been read."""

    names: tuple[str, ...]
    """The columns; empty if they cannot be known, and then every name is accepted."""

    _: KW_ONLY
    fixed: bool = False  # do the files of the source alone decide its rows? A view may read anything else
    typed: bool = True  # does the source declare types? Text files do not
    folders: tuple[str, ...] = ()  # columns of folders' names, as text
    declared: Types = field(default_factory=dict)  # by the owner of the source
    user_code: str | None = None  # an extra integer column that identifies users
    state: str | None = None  # the name of the state of the rows, if each state has one
    row_bound: RowBound | None = None  # the bound on rows of a user with which the data were prepared, if any

    def hint(self, column: str) -> str:
        """Return a hint about a column that does not exist."""
        return suggest_column(column, self.names)

    def schema(self, workspace: Workspace, columns: Sequence[str]) -> dict[str, ColumnType]:
        """Return some columns with their types and who declared them; no row is read."""
        types = self.types(workspace, columns)
        columns_by_name = {}
        for name in columns:
            is_undeclared = not self.typed or name in self.folders
            declared_by: Literal["owner", "source", "nobody"] = (
                "owner" if name in self.declared else "nobody" if is_undeclared else "source"
            )
            columns_by_name[name] = ColumnType(name, types[name], declared_by)
        return columns_by_name

    @property
    def caller_types(self) -> Types:
        """The declarations of the caller, without those that the source keeps itself."""
        return self.declared

    def check_unchanged(self) -> None:  # noqa: B027 - most have one schema as long as they are open
        """Refuse a source whose schema may have changed since it was read."""

    @abstractmethod
    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """Return the SQL types of some columns."""

    @abstractmethod
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> AbstractContextManager[str]:
        """Return a context of the SQL after FROM for one query over the selected rows."""

    def refuse(self, requested: RequestedColumns) -> None:  # noqa: B027 - most answer for every column that they have
        """Refuse, before anything is paid, columns that the source cannot answer for in their roles."""

    def with_duplicates(self) -> Self:
        """Return the source with equal rows as often as they occur; without it, equal rows may be read once."""
        return self

    def counts(self, workspace: Workspace, request: CountRequest) -> AbstractContextManager[str | None]:  # noqa: ARG002
        """Return a context of a query of items i and their numbers n of distinct users, if the source counts better."""
        return nullcontext()

    def read_codes(self, request: CountRequest) -> tuple[str, str] | None:  # noqa: ARG002
        """Return queries of users u and codes i of their items, and of the number and the item i of each code."""
        return None


@dataclass(frozen=True)
class SqlScan(Scan):
    """A scan of files, or of a table of an attached database: DuckDB reads only the requested columns."""

    sql: Callable[[Sequence[str]], str]

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """Return the SQL types of some columns."""
        return describe_columns(workspace, f"SELECT {_quoted_list(columns)} FROM {self.sql(columns)}")

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:  # noqa: ARG002
        """Yield the SQL after FROM for one query over the selected rows."""
        yield f"({select(self.sql(columns))})"


def missing_column(parameter: str, column: str, scan: Scan) -> SourceError:
    """Return the error for a column that does not exist."""
    return SourceError(parameter, "be a column of the source", repr(column), scan.hint(column))


def describe_columns(workspace: Workspace, select: str) -> dict[str, str]:
    """Return the columns of a SELECT and their types; nothing runs."""
    return {str(row[0]): str(row[1]) for row in workspace.fetch(f"DESCRIBE {select}")}


def _quoted_list(columns: Sequence[str]) -> str:
    return ", ".join(quoted(column) for column in columns)
