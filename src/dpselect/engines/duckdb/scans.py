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
from dpselect.engines.sources.scans.columns import ColumnType
from dpselect.errors import SourceError

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.sources.scans.declarations import Types

Select = Callable[[str], str]
"""From the name of what is read to the SELECT that narrows and filters it."""


@dataclass(frozen=True)
class Counting:
    """Numbers of distinct users of all items, of all rows or of those for which a condition holds.

    `form` is the SQL of an item over its columns, `where` that of the condition over the columns that it names. Of
    `most` items those with the most users are enough, and all that have as many as the last of these.
    """

    user: tuple[str, ...]
    item: tuple[str, ...]
    form: str
    where: str | None
    filtered: tuple[str, ...]
    periods: Periods | None
    most: int | None

    @property
    def of_all_rows(self) -> bool:
        """Does every row count?"""
        return self.where is None and self.periods is None


@dataclass(frozen=True)
class Scan(ABC):
    """A source whose schema is known and whose rows were not looked at."""

    names: tuple[str, ...]
    """The columns; none where they cannot be known, and then every name is taken."""

    _: KW_ONLY
    fixed: bool = False  # do the files of the source alone decide what it says? A view may read anything else
    typed: bool = True  # does the source declare types? Text files do not
    folders: tuple[str, ...] = ()  # columns that names of folders hold, as text
    declared: Types = field(default_factory=dict)  # by the owner of the source
    user_code: str | None = None  # a column of whole numbers that tells users apart, beside those that it has names for
    state: str | None = None  # what names the state of the rows, where the source has a name for each
    row_bound: RowBound | None = None  # how many rows of a user were kept, where they were prepared so

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        return suggest_column(column, self.names)

    def schema(self, workspace: Workspace, columns: Sequence[str]) -> dict[str, ColumnType]:
        """Return some columns with their types and who declared them; no row is read."""
        types = self.types(workspace, columns)
        found = {}
        for name in columns:
            given = self.declared.get(name)
            nobody = not self.typed or name in self.folders
            by: Literal["owner", "source", "nobody"] = "owner" if given else "nobody" if nobody else "source"
            found[name] = ColumnType(name, types[name], by, given)
        return found

    @property
    def given(self) -> Types:
        """The declarations of the caller, without those that the source keeps itself."""
        return self.declared

    def check_unchanged(self) -> None:  # noqa: B027 - most have one schema as long as they are open
        """Refuse a source whose schema may have changed since it was read."""

    @abstractmethod
    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """The SQL types of some columns."""

    @abstractmethod
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> AbstractContextManager[str]:
        """What stands after FROM for one query over the selected rows."""

    def refuse(  # noqa: B027 - most answer for every column that they have
        self,
        user: tuple[str, ...] | None,
        others: Sequence[tuple[str, str]],
        filtered: Sequence[str],
        periods: Periods | None,
    ) -> None:
        """Refuse, before anything is paid, what the source cannot answer: columns by what they are asked as."""

    def each(self) -> Self:
        """The same source, whose rows are there as often as they are; without it, one for those that say the same."""
        return self

    def counts(self, workspace: Workspace, asked: Counting) -> AbstractContextManager[str | None]:  # noqa: ARG002
        """The items i and their numbers n of distinct users, as a query, where the source counts better."""
        return nullcontext()

    def coded(self, asked: Counting) -> tuple[str, str] | None:  # noqa: ARG002
        """Users u and codes i of what they have, and the number and the item i of each code, as queries."""
        return None


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


def missing_column(parameter: str, column: str, scan: Scan) -> SourceError:
    """The error for a column that is not there."""
    return SourceError(parameter, "be a column of the source", repr(column), scan.hint(column))


def described(workspace: Workspace, select: str) -> dict[str, str]:
    """The columns of a SELECT and their types; nothing runs."""
    return {str(row[0]): str(row[1]) for row in workspace.fetch(f"DESCRIBE {select}")}


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(quoted(column) for column in columns)
