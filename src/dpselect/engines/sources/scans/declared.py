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
    from dpselect.engines.sources.scans.columns import AskedColumns


@dataclass(frozen=True)
class DeclaredScan(Scan):
    """Another scan whose values are read as their owner declares; the other columns are as the source has them."""

    inner: Scan
    asked: Types

    @property
    def caller_types(self) -> Types:
        """The declarations of the caller."""
        return self.asked

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        return self.inner.hint(column)

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """The declared types; what the source has must be readable as these."""
        held = dict(self.inner.types(workspace, columns))
        for name in columns:
            if name in self.asked:
                self._read(name, held[name])
                held[name] = self.asked[name].type
        return held

    def _read(self, name: str, held: str) -> str:
        if held == OBJECT:
            must = f"be left out for {name!r}, each of whose values has a type of its own"
            hint = "give that column a type in the frame, or write the frame as CSV with all values as text"
            raise SourceError("types", must, self.asked[name].text, hint)
        return read_value(quoted(name), held, self.asked[name], name)

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """What stands after FROM for one query over the selected rows."""
        held = self.inner.types(workspace, columns)
        forms = ", ".join(
            f"{self._read(name, held[name])} AS {quoted(name)}" if name in self.asked else quoted(name)
            for name in columns
        )
        more = "" if self.user_code is None else f", {quoted(self.user_code)}"

        def declared(source: str) -> str:
            return select(f"(SELECT {forms}{more} FROM {source})")

        with self.inner.rows(workspace, columns, declared) as found:
            yield found

    def refuse(self, asked: AskedColumns) -> None:
        """Refuse what the source cannot answer, and other users than those to whom it gave numbers."""
        self.inner.refuse(asked)
        if self.user_code is not None and (name := next((one for one in asked.user or () if one in self.asked), None)):
            hint = "prepare the source again with types="
            raise SourceError("types", "be left out for the user of prepared data", came(name), hint)

    def check_unchanged(self) -> None:
        """Refuse files that were written again after their schema was read."""
        self.inner.check_unchanged()

    def with_duplicates(self) -> Self:
        """The same source, whose rows are there as often as they are."""
        return replace(self, inner=self.inner.with_duplicates())

    def counts(self, workspace: Workspace, asked: CountRequest) -> AbstractContextManager[str | None]:
        """What the source counted before, where it counted the values that are declared."""
        return nullcontext() if self._is_read(asked) else self.inner.counts(workspace, asked)

    def read_codes(self, asked: CountRequest) -> tuple[str, str] | None:
        """What the source coded before, where it coded the values that are declared."""
        return None if self._is_read(asked) else self.inner.read_codes(asked)

    def _is_read(self, asked: CountRequest) -> bool:
        columns = {*asked.user, *asked.item, *asked.filter_columns, *([asked.periods.column] if asked.periods else [])}
        return not columns.isdisjoint(self.asked)


def with_types(scan: Scan, types: Types) -> Scan:
    """Return a source under what its owner declares. Names are those of the source, exactly."""
    new: dict[str, DeclaredType] = {}
    for name, given in types.items():
        if scan.names and name not in scan.names:
            raise SourceError("types", "name columns of the source", came(name), scan.hint(name))
        kept = scan.declared.get(name)
        if kept is not None and kept.text != given.text:
            raise SourceError("types", f"be {kept.text} for {name!r}, as these data declare it", given.text)
        new |= {name: given} if kept is None else {}
    if not new:
        return scan
    declared = {**scan.declared, **new}
    copied = ("typed", "fixed", "user_code", "state", "row_bound")
    more: dict[str, Any] = {name: getattr(scan, name) for name in copied}
    return DeclaredScan(scan.names, scan, new, **more, folders=scan.folders, declared=declared)
