"""A source some of whose columns its owner has declared: each of their values is read as the declared type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from dpselect.engines.duckdb.scans import CountRequest, Scan, Select
from dpselect.engines.duckdb.types import OBJECT
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.sources.scans.declarations import DeclaredType, Types
from dpselect.engines.sources.scans.reading import read_value
from dpselect.errors import SourceError, came

if TYPE_CHECKING:
    from dpselect.engines.sources.scans.columns import RequestedColumns


@dataclass(frozen=True)
class DeclaredScan(Scan):
    """Another scan whose values are read as their owner declares; the other columns are as the source has them."""

    inner: Scan
    declared_types: Types

    @property
    def caller_types(self) -> Types:
        """The declarations of the caller."""
        return self.declared_types

    def hint(self, column: str) -> str:
        """Return a hint about a column that does not exist."""
        return self.inner.hint(column)

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """Return the declared types; the source's own types must be readable as these."""
        column_types = dict(self.inner.types(workspace, columns))
        for name in columns:
            if name in self.declared_types:
                self._read(name, column_types[name])
                column_types[name] = self.declared_types[name].type
        return column_types

    def _read(self, name: str, source_type: str) -> str:
        if source_type == OBJECT:
            requirement = f"be left out for {name!r}, each of whose values has a type of its own"
            hint = "give that column a type in the frame, or write the frame as CSV with all values as text"
            raise SourceError("types", requirement, self.declared_types[name].text, hint)
        return read_value(quoted(name), source_type, self.declared_types[name], name)

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """Yield the SQL after FROM for one query over the selected rows."""
        source_types = self.inner.types(workspace, columns)
        forms = ", ".join(
            f"{self._read(name, source_types[name])} AS {quoted(name)}" if name in self.declared_types else quoted(name)
            for name in columns
        )
        user_code_column = "" if self.user_code is None else f", {quoted(self.user_code)}"

        def declared(source: str) -> str:
            return select(f"(SELECT {forms}{user_code_column} FROM {source})")

        with self.inner.rows(workspace, columns, declared) as sql:
            yield sql

    def refuse(self, requested: RequestedColumns) -> None:
        """Refuse what the source cannot answer, and other users than those to whom it gave numbers."""
        self.inner.refuse(requested)
        if self.user_code is not None and (
            name := next((column for column in requested.user or () if column in self.declared_types), None)
        ):
            hint = "prepare the source again with types="
            raise SourceError("types", "be left out for the user of prepared data", came(name), hint)

    def check_unchanged(self) -> None:
        """Refuse files that were written again after their schema was read."""
        self.inner.check_unchanged()

    def with_duplicates(self) -> Self:
        """Return the source with equal rows as often as they occur."""
        return replace(self, inner=self.inner.with_duplicates())

    def counts(self, workspace: Workspace, request: CountRequest) -> AbstractContextManager[str | None]:
        """Return a context of what the source counted before, where it counted the values that are declared."""
        return nullcontext() if self._is_read(request) else self.inner.counts(workspace, request)

    def read_codes(self, request: CountRequest) -> tuple[str, str] | None:
        """Return what the source coded before, where it coded the values that are declared."""
        return None if self._is_read(request) else self.inner.read_codes(request)

    def _is_read(self, request: CountRequest) -> bool:
        columns = {
            *request.user,
            *request.item,
            *request.filter_columns,
            *([request.periods.column] if request.periods else []),
        }
        return not columns.isdisjoint(self.declared_types)


def with_types(scan: Scan, types: Types) -> Scan:
    """Return a source under what its owner declares. Names are those of the source, exactly."""
    new_types: dict[str, DeclaredType] = {}
    for name, declared_type in types.items():
        if scan.names and name not in scan.names:
            raise SourceError("types", "name columns of the source", came(name), scan.hint(name))
        own_type = scan.declared.get(name)
        if own_type is not None and own_type.text != declared_type.text:
            raise SourceError("types", f"be {own_type.text} for {name!r}, as these data declare it", declared_type.text)
        new_types |= {name: declared_type} if own_type is None else {}
    if not new_types:
        return scan
    declared = {**scan.declared, **new_types}
    copied = ("typed", "fixed", "user_code", "state", "row_bound")
    copied_fields: dict[str, Any] = {name: getattr(scan, name) for name in copied}
    return DeclaredScan(scan.names, scan, new_types, **copied_fields, folders=scan.folders, declared=declared)
