"""Text files as scans: every line is read by itself, whatever stands in it, and all columns are text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dpselect.engines.duckdb.scans import Scan, Select
from dpselect.engines.duckdb.workspace import Workspace, literal, quoted
from dpselect.engines.sources.arrow_texts import Batch, TextStream
from dpselect.engines.sources.text_cells import cut
from dpselect.engines.sources.text_lines import Header, blocks
from dpselect.errors import SourceError


@dataclass(frozen=True)
class CsvScan(Scan):
    """CSV and TSV files with their headers: one line is one record, so no quote reaches into the next one."""

    files: tuple[tuple[str, Header], ...]

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        hint = super().hint(column)
        # A file without a header has data where the names should be, so what is there is not shown.
        return hint if hint.startswith("did you mean") else "the first line of a CSV file must name the columns"

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """The SQL types of some columns."""
        return dict.fromkeys(columns, "VARCHAR")

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """What stands after FROM for one query over the selected rows."""
        values = ", ".join(f"c{place}[1] AS {quoted(name)}" for place, name in enumerate(columns))
        with _registered(workspace, TextStream(len(columns), lambda: self._batches(columns))) as name:
            yield f"({select(f'(SELECT {values} FROM {name})')})"

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for path, header in self.files:
            places = [header.names.index(column) for column in columns]
            for block in blocks(path, header=True):
                yield cut(block, header.delimiter, len(header.names), places)


@dataclass(frozen=True)
class JsonScan(Scan):
    """Files of JSON lines. Any name is a column: what a record has under it, as text, or nothing."""

    paths: tuple[str, ...]

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """The SQL types of some columns."""
        if len({column.lower() for column in columns}) < len(columns):
            raise SourceError("where", "write a column as user and item do", "names that differ by letter case")
        return dict.fromkeys(columns, "VARCHAR")

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """What stands after FROM for one query over the selected rows."""
        with _registered(workspace, TextStream(1, self._batches)) as name:
            yield f"({select(json_rows(name, columns))})"

    def _batches(self) -> Iterator[Batch]:
        for path in self.paths:
            for block in blocks(path, header=False):
                yield cut(block, None, 1, [0])


def json_rows(lines: str, columns: Sequence[str]) -> str:
    """The values of some columns in lines of JSON."""
    values = ", ".join(f"v[{place}] AS {quoted(name)}" for place, name in enumerate(columns, 1))
    return f"(SELECT {values} FROM {json_values(lines, columns)})"


def json_values(lines: str, columns: Sequence[str]) -> str:
    """The same as one list v, which is missing where a line is no object."""
    keys = ", ".join(literal("/" + column.replace("~", "~0").replace("/", "~1")) for column in columns)
    # A list would have its places for columns.
    record = "(starts_with(c0[1], '{') OR starts_with(ltrim(c0[1], ' ' || chr(9) || chr(13)), '{'))"
    found = f"CASE WHEN {record} THEN TRY(json_extract_string(c0[1], [{keys}])) END"
    return f"(SELECT {found} AS v FROM {lines})"


@contextmanager
def _registered(workspace: Workspace, stream: TextStream) -> Iterator[str]:
    try:
        with workspace.registered(stream.__arrow_c_stream__()) as name:
            yield name
    finally:
        stream.close()
