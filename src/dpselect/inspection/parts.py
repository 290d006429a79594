"""Files as inspection reads them: each is opened by itself, and those that declare the same are read together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dpselect._ground.dataclass import dataclass
from dpselect.engines.address import Address
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import base_type
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.sources.csv_form import USUAL_CSV, UTF_8, CsvForm
from dpselect.engines.sources.files import Files
from dpselect.engines.sources.scans.lines import JsonScan
from dpselect.engines.sources.scans.scan import Scan
from dpselect.engines.sources.text_lines import read_header
from dpselect.errors import DpselectError
from dpselect.inspection.text_faults import NOT_UTF8, TOO_LONG, csv_judge, find_faults, json_judge

KEYS = 20  # of JSON lines that are listed


@dataclass(frozen=True)
class Part:
    """Files with the same schema, by their paths, or a source without files."""

    scan: Scan
    paths: tuple[str, ...] = ()
    kind: str = ""
    by_line: bool = False  # is one line of a file one record?
    csv: CsvForm = USUAL_CSV
    single_files: tuple[Part, ...] = ()
    """Each of several files as a part of its own."""

    @property
    def path(self) -> str:
        """The path of the first file."""
        return self.paths[0] if self.paths else ""

    def count(self, workspace: Workspace, columns: Sequence[str], counts_sql: str, rows: Callable[[str], str]) -> Row:
        """Return the numbers that `counts_sql` computes over some columns; `rows` compiles the rows from what is read.

        Texts of categories are read as texts.
        """
        types = self.scan.types(workspace, columns)
        forms = ", ".join(
            f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if base_type(types[name]) == "ENUM" else quoted(name)
            for name in columns
        )
        with self.scan.rows(workspace, columns) as source:
            return workspace.fetch(f"SELECT {counts_sql} FROM {rows(f'(SELECT {forms} FROM {source})')}")[0]

    def locate_row(self, row: int) -> str:
        """Return the position of the row of this number in the one file, from 1, in the terms of its source."""
        if not self.by_line:
            return f"row {row:,}"
        file_header = None if self.kind == "json" else read_header(self.path, self.kind, self.csv)
        judge = json_judge(lambda _line: True) if file_header is None else csv_judge(file_header)
        header_lines, encoding = (0, UTF_8) if file_header is None else (file_header.lines, file_header.encoding)
        for number, fault in find_faults(self.path, judge, header=header_lines, encoding=encoding):
            row -= fault not in (NOT_UTF8, TOO_LONG) if file_header is None else fault is None
            if not row:
                return f"line {number:,}"
        return "a line"


def open_parts(workspace: Workspace, address: Address, files: Files | None) -> Iterator[Part]:
    """Yield the files of a source grouped by schema, or the whole of another source.

    A file that cannot be opened has a finding of its own.
    """
    if files is None or files.kind in ("duckdb", "prepared"):
        yield Part(open_scan(workspace, address))
        return
    csv = address.csv
    from dpselect.engines.duckdb.sources import open_files

    roots = dict(zip(files.paths, files.roots, strict=True))

    def opened(paths: tuple[str, ...]) -> Part:
        selected_files = replace(files, paths=paths, roots=tuple(roots[path] for path in paths))
        scan = open_files(workspace, selected_files, csv)
        return Part(scan, paths, files.kind, files.kind != "parquet" and not csv.newlines_in_values, csv)

    parts_by_schema: dict[tuple[object, ...], list[Part]] = {}
    for path in files.paths:
        with contextlib.suppress(DpselectError, OSError, EOFError):
            part = opened((path,))
            parts_by_schema.setdefault(_describe_schema(workspace, part), []).append(part)
    for parts in parts_by_schema.values():
        if len(parts) == 1:
            yield from parts
            continue
        try:
            yield replace(opened(tuple(part.path for part in parts)), single_files=tuple(parts))
        except DpselectError:  # such as names of folders that differ
            yield from parts


def _describe_schema(workspace: Workspace, part: Part) -> tuple[object, ...]:
    """Return what a file declares: its columns, and for each its type, or its path if the type is refused."""
    schema: list[object] = [part.scan.folders]
    for name in part.scan.names:
        try:
            schema.append((name, part.scan.types(workspace, [name])[name]))
        except DpselectError:
            schema.append((name, part.path))
    return tuple(schema)


def key_findings(workspace: Workspace, scan: Scan, keys: Sequence[str]) -> Iterator[str]:
    """Yield the number of lines that have each requested JSON key, and the keys that exist if one is in no line."""
    counts_sql = ", ".join(f"count({quoted(key)})" for key in keys)
    with scan.rows(workspace, keys) as source:
        ((lines, *numbers),) = workspace.fetch(f"SELECT count(*), {counts_sql} FROM {source}")
    for key, number in zip(keys, numbers, strict=True):
        if number:
            yield f"key {key!r}: a value in {number:,} of {lines:,} lines"
        else:
            yield f"NO LINE has a value under the key {key!r}: questions that use it are charged for empty answers"
    if not all(numbers) and isinstance(scan, JsonScan):
        listed_keys = ", ".join(f"{str(key)[:80]!r} ({times:,})" for key, times in scan.key_counts(workspace, KEYS))
        yield f"keys that lines have: {listed_keys or 'none'}; keys inside of others (a.b) are not read"


def hidden_key_findings(workspace: Workspace, scan: JsonScan) -> Iterator[str]:
    """Yield the number of lines in which a key has the name of a folder, which is read in its place."""
    without_folders = replace(scan, folder_columns=replace(scan.folder_columns, names=()), folders=())
    counts_sql = ", ".join(f"count({quoted(key)})" for key in scan.folders)
    with without_folders.rows(workspace, scan.folders) as source:
        ((lines, *numbers),) = workspace.fetch(f"SELECT count(*), {counts_sql} FROM {source}")
    for key, number in zip(scan.folders, numbers, strict=True):
        if number:
            yield f"key {key!r} has a value in {number:,} of {lines:,} lines, which the names of folders replace"


def format_error(error: DpselectError) -> str:
    """Format an error and its hint on one line."""
    return str(error).replace("\nhint: ", "; ")
