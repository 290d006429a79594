"""Files as inspection reads them: each is opened by itself, and those that declare the same are read together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from dpselect.engines.address import Address
from dpselect.engines.duckdb.lines import JsonScan
from dpselect.engines.duckdb.scans import Scan
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import kind
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.sources.csv_form import USUAL_CSV, UTF_8, CsvForm
from dpselect.engines.sources.files import Files
from dpselect.engines.sources.text_faults import NOT_UTF8, TOO_LONG, csv_judge, faults, json_judge
from dpselect.engines.sources.text_lines import header
from dpselect.errors import DpselectError

KEYS = 20  # of JSON lines, where they are listed


@dataclass(frozen=True)
class Part:
    """Files that declare the same, by their paths, or a source that has no files."""

    scan: Scan
    places: tuple[str, ...] = ()
    kind: str = ""
    by_line: bool = False  # is one line of a file one record?
    csv: CsvForm = USUAL_CSV
    alone: tuple[Part, ...] = ()
    """Each of several files by itself."""

    @property
    def place(self) -> str:
        """The path of the first file."""
        return self.places[0] if self.places else ""

    def count(self, workspace: Workspace, columns: Sequence[str], asked: str, rows: Callable[[str], str]) -> Row:
        """The numbers that are asked of all rows of some columns; `rows` is the SQL of these, from what is read.

        Texts of categories are read as texts.
        """
        types = self.scan.types(workspace, columns)
        forms = ", ".join(
            f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if kind(types[name]) == "ENUM" else quoted(name)
            for name in columns
        )
        with self.scan.rows(workspace, columns, lambda source: f"SELECT {forms} FROM {source}") as source:
            return workspace.fetch(f"SELECT {asked} FROM {rows(source)}")[0]

    def located(self, row: int) -> str:
        """Where the row of this number is in the one file, from 1, in the words of its source."""
        if not self.by_line:
            return f"row {row:,}"
        first = None if self.kind == "json" else header(self.place, self.kind, self.csv)
        judge = json_judge(lambda _line: True) if first is None else csv_judge(first)
        before, encoding = (0, UTF_8) if first is None else (first.lines, first.encoding)
        for number, fault in faults(self.place, judge, header=before, encoding=encoding):
            row -= fault not in (NOT_UTF8, TOO_LONG) if first is None else fault is None
            if not row:
                return f"line {number:,}"
        return "a line"


def parts_of(workspace: Workspace, address: Address, files: Files | None) -> Iterator[Part]:
    """The files of a source by what they declare, or the whole of another source.

    A file that cannot be opened has a finding of its own.
    """
    if files is None or files.kind in ("duckdb", "prepared"):
        yield Part(open_scan(workspace, address))
        return
    csv = address.csv
    from dpselect.engines.duckdb.files import file_scan

    roots = dict(zip(files.paths, files.roots, strict=True))

    def opened(paths: tuple[str, ...]) -> Part:
        some = replace(files, paths=paths, roots=tuple(roots[path] for path in paths))
        scan = file_scan(workspace, some, {}, csv=csv)
        return Part(scan, paths, files.kind, files.kind != "parquet" and not csv.newlines_in_values, csv)

    same: dict[tuple[object, ...], list[Part]] = {}
    for path in files.paths:
        with contextlib.suppress(DpselectError, OSError, EOFError):
            part = opened((path,))
            same.setdefault(_declared(workspace, part), []).append(part)
    for parts in same.values():
        if len(parts) == 1:
            yield from parts
            continue
        try:
            yield replace(opened(tuple(one.place for one in parts)), alone=tuple(parts))
        except DpselectError:  # such as names of folders that differ
            yield from parts


def _declared(workspace: Workspace, part: Part) -> tuple[object, ...]:
    """What a file declares: its columns, and for each its type or why it is refused."""
    found: list[object] = [part.scan.folders]
    for name in part.scan.names:
        try:
            found.append((name, part.scan.types(workspace, [name])[name]))
        except DpselectError:
            found.append((name, part.place))
    return tuple(found)


def key_findings(workspace: Workspace, scan: Scan, keys: Sequence[str]) -> Iterator[str]:
    """Say in how many lines each key is that was asked of JSON lines, and which there are where one is in none."""
    counted = ", ".join(f"count({quoted(key)})" for key in keys)
    with scan.rows(workspace, keys, lambda source: f"SELECT * FROM {source}") as source:
        ((lines, *numbers),) = workspace.fetch(f"SELECT count(*), {counted} FROM {source}")
    for key, number in zip(keys, numbers, strict=True):
        if number:
            yield f"key {key!r}: a value in {number:,} of {lines:,} lines"
        else:
            yield f"NO LINE has a value under the key {key!r}: questions that use it are charged for empty answers"
    if not all(numbers) and isinstance(scan, JsonScan):
        known = ", ".join(f"{str(key)[:80]!r} ({times:,})" for key, times in scan.key_counts(workspace, KEYS))
        yield f"keys that lines have: {known or 'none'}; keys inside of others (a.b) are not read"


def hidden_key_findings(workspace: Workspace, scan: JsonScan) -> Iterator[str]:
    """Say in how many lines a key has the name of a folder, which is read in its place."""
    bare = replace(scan, inside=replace(scan.inside, names=()), folders=())
    counted = ", ".join(f"count({quoted(key)})" for key in scan.folders)
    with bare.rows(workspace, scan.folders, lambda source: f"SELECT count(*), {counted} FROM {source}") as source:
        ((lines, *numbers),) = workspace.fetch(f"FROM {source}")
    for key, number in zip(scan.folders, numbers, strict=True):
        if number:
            yield f"key {key!r} has a value in {number:,} of {lines:,} lines, which the names of folders replace"


def on_one_line(error: DpselectError) -> str:
    """What an error says, and its hint."""
    return str(error).replace("\nhint: ", "; ")
