"""Frames as scans: some columns of a frame in this process, under names of our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from dpselect.engines.duckdb.scans import Counting, Scan, Select
from dpselect.engines.duckdb.types import OBJECT, sound_form
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.sources.frames import Frame
from dpselect.engines.sources.refused_types import GENERAL
from dpselect.errors import DataError


@dataclass(frozen=True)
class FrameScan(Scan):
    """A frame in this process. Only the columns that are asked for are handed over, under names of our own."""

    frame: Frame
    known: dict[str, str] = field(default_factory=dict)
    """The types of columns that were asked for: the schema is looked at once, before any row."""

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """The SQL types of some columns."""
        empty = workspace.guarded(lambda: self.frame.narrow(self._places(columns), True))

        def look() -> list[Row]:
            with workspace.registered(empty.rows) as name:
                return workspace.rows(f"DESCRIBE FROM {name}")

        found: dict[str, str] = {}
        with suppress(DataError):
            found = {str(row[0]): str(row[1]) for row in workspace.guarded(look)}
        if not found:
            raise DataError("a column of this frame is of a type that cannot be read", GENERAL)
        for place, column in enumerate(columns):
            self.known[column] = OBJECT if f"c{place}" in empty.loose else found[f"c{place}"]
        return {column: self.known[column] for column in columns}

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """What stands after FROM for one query over the selected rows."""
        forms = ", ".join(
            f"{sound_form(f'c{place}', self.known[column])} AS {quoted(column)}" for place, column in enumerate(columns)
        )
        with workspace.registered(self.frame.narrow(self._places(columns), False).rows) as name:
            yield f"({select(f'(SELECT {forms} FROM {name})')})"

    @contextmanager
    def counts(self, workspace: Workspace, asked: Counting) -> Iterator[str | None]:
        """Polars counts its own rows, all of them."""
        found = None
        if asked.of_all_rows and len(asked.user) == len(asked.item) == 1:
            user, item = self._places([*asked.user, *asked.item])
            found = self.frame.counts(user, item, asked.most)
        if found is None:
            yield None
            return
        with workspace.registered(found.__arrow_c_stream__()) as name:
            yield f"SELECT {asked.form} AS i, n FROM (SELECT i AS {quoted(asked.item[0])}, n FROM {name})"

    def _places(self, columns: Sequence[str]) -> list[int]:
        return [self.names.index(column) for column in columns]
