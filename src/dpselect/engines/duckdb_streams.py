"""Streams: any object that gives its rows as Arrow data, each time it is asked. No package is needed to read it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpselect.engines.duckdb_scans import Scan, Select
from dpselect.engines.duckdb_workspace import Workspace
from dpselect.errors import DataError, ParameterError

_ANEW = "every question reads the rows anew"


@dataclass(frozen=True)
class StreamScan(Scan):
    """An object with `__arrow_c_stream__`. Its schema stands before the rows, and nothing is read for it."""

    source: Any
    known: Mapping[str, str]

    @classmethod
    def of(cls, workspace: Workspace, source: Any) -> StreamScan:
        """The scan of an object that can be read more than once."""
        if hasattr(source, "read_all") or hasattr(source, "__next__"):  # a reader, as PyArrow and others have it
            hint = f"{_ANEW}; give reader.read_all()"
            raise ParameterError("source", "give its rows more than once", f"a {type(source).__name__}", hint)

        def look() -> dict[str, str]:
            with workspace.registered(_stream(source)) as name:
                return {str(row[0]): str(row[1]) for row in workspace.rows(f"DESCRIBE FROM {name}")}

        types = workspace.guarded(look)
        return cls(tuple(types), source, types)

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """The SQL types of some columns."""
        return {column: self.known[column] for column in columns}

    @contextlib.contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:  # noqa: ARG002
        """What stands after FROM for one query over the selected rows."""
        with workspace.registered(_stream(self.source)) as name:
            yield f"({select(name)})"


def _stream(source: Any) -> object:
    """A new stream of all rows, of which none is read yet."""
    with contextlib.suppress(Exception):  # whatever it is: its text may quote rows
        return source.__arrow_c_stream__()
    raise DataError("the source gives no stream of Arrow data", f"{_ANEW}, so it must give them more than once")
