"""Frames as scans: some columns of a frame in this process, under names of our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field

from dpselect._ground.dataclass import dataclass
from dpselect.engines.duckdb.types import OBJECT, validated_form
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.sources.frames import Frame
from dpselect.engines.sources.refused_types import GENERAL
from dpselect.engines.sources.scans.scan import CountRequest, Scan, describe_columns
from dpselect.errors import DataError


@dataclass(frozen=True)
class FrameScan(Scan):
    """A scan of a frame in this process. Only requested columns are read, under names c0, c1, ..."""

    counts_users = True
    frame: Frame
    column_types: dict[str, str] = field(default_factory=dict)
    """The types of requested columns: the schema is read once, before any row."""

    def source_types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """Return the SQL types of some columns."""
        empty = workspace.guarded(lambda: self.frame.select_columns(self._positions(columns), True))

        def describe() -> dict[str, str]:
            with workspace.registered(empty.rows) as name:
                return describe_columns(workspace, f"FROM {name}")

        type_names: dict[str, str] = {}
        with suppress(DataError):
            type_names = workspace.guarded(describe)
        if not type_names:
            raise DataError("a column of this frame is of a type that cannot be read", GENERAL)
        for index, column in enumerate(columns):
            self.column_types[column] = OBJECT if f"c{index}" in empty.untyped else type_names[f"c{index}"]
        return {column: self.column_types[column] for column in columns}

    @contextmanager
    def source_rows(self, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:
        """Yield the SQL after FROM for one query over some columns."""
        forms = ", ".join(
            f"{validated_form(f'c{index}', self.column_types[column])} AS {quoted(column)}"
            for index, column in enumerate(columns)
        )
        with workspace.registered(self.frame.select_columns(self._positions(columns), False).rows) as name:
            yield f"(SELECT {forms} FROM {name})"

    @contextmanager
    def counts(self, workspace: Workspace, request: CountRequest) -> Iterator[str | None]:
        """Yield the counts of users if polars can count all of its own rows."""
        counts = None
        if request.of_all_rows and len(request.user) == len(request.item) == 1:
            user, item = self._positions([*request.user, *request.item])
            counts = self.frame.count_users(user, item, request.max_items)
        if counts is None:
            yield None
            return
        with workspace.registered(counts.__arrow_c_stream__()) as name:
            yield f"SELECT {request.form} AS i, n FROM (SELECT i AS {quoted(request.item[0])}, n FROM {name})"

    def _positions(self, columns: Sequence[str]) -> list[int]:
        return [self.names.index(column) for column in columns]
