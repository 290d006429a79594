"""Files as scans: which of DuckDB's readers, or of ours, reads which kind, and how each is told to look at one row.

Whether a row can be read, and as what, must not depend on another row, and no row may fail a question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from dpselect.engines.duckdb.scans import Scan, SqlScan
from dpselect.engines.duckdb.types import short_form
from dpselect.engines.duckdb.workspace import Workspace, literal, quoted
from dpselect.engines.sources.csv_form import CsvForm
from dpselect.engines.sources.files import Files
from dpselect.engines.sources.scans.folders import FILE, Folders, folders_of
from dpselect.engines.sources.scans.parquet import parquet_scan, paths_of
from dpselect.errors import DataError, SourceError

if TYPE_CHECKING:
    from dpselect.engines.sources.scans.declarations import Types
    from dpselect.engines.sources.text_lines import Header


@dataclass(frozen=True)
class QuotedCsvScan(SqlScan):
    """A scan of CSV files whose quoted values may contain line breaks."""

    inside: Folders

    def hint(self, column: str) -> str:
        """Return a hint about a column that does not exist."""
        from dpselect.engines.duckdb.lines import header_hint

        return header_hint(self.names, self.inside, column)


def open_file_scan(workspace: Workspace, files: Files, declared_types: Types, *, csv: CsvForm) -> Scan:
    """Return the scan of files of one kind; their headers and schemas are read, and no row."""
    if files.kind not in ("csv", "tsv", "json"):
        return parquet_scan(workspace, files, declared_types)
    from dpselect.engines.duckdb.lines import CsvScan, JsonScan

    inside = folders_of(files)
    if files.kind in ("csv", "tsv"):
        headers = _read_headers(files, csv)
        names = next(iter(headers.values())).names
        if csv.newlines_in_values:
            all_columns = (*names, *inside.names)
            sql = partial(_quoted_csv_rows, headers, inside)
            return QuotedCsvScan(all_columns, sql, inside, folders=inside.names, typed=False, fixed=True)
        headers_by_path = tuple(headers.items())
        return CsvScan((*names, *inside.names), headers_by_path, inside, folders=inside.names, typed=False, fixed=True)
    return JsonScan((), files.paths, inside, frozenset(declared_types), folders=inside.names, typed=False, fixed=True)


def _read_headers(files: Files, form: CsvForm) -> dict[str, Header]:
    """Read the headers of all files that are not empty; they must name the same columns, in any order."""
    from dpselect.engines.sources.text_lines import read_header

    headers = {
        path: file_header for path in files.paths if (file_header := read_header(path, files.kind, form)) is not None
    }
    if not headers:
        raise DataError(f"{files.paths[0]} is empty", "the first line of a CSV file must name its columns")
    first_path, *other_paths = headers
    for path in other_paths:
        if set(headers[path].names) != set(headers[first_path].names):
            raise SourceError(
                "source", "be files with the same columns", _describe_difference(first_path, path, headers)
            )
    return headers


def _describe_difference(first_path: str, second_path: str, headers: Mapping[str, Header]) -> str:
    """Describe a column that only one of two files has, by its position: without a header its name would be data."""
    names = set(headers[first_path].names), set(headers[second_path].names)
    has, lacks = (first_path, second_path) if names[0] - names[1] else (second_path, first_path)
    missing = min((names[0] - names[1]) or (names[1] - names[0]), key=headers[has].names.index)
    position = headers[has].names.index(missing) + 1
    return f"{lacks}, which does not have column {position} of {has}"


def _quoted_csv_rows(headers: Mapping[str, Header], inside: Folders, columns: Sequence[str]) -> str:
    """Compile rows whose quoted values may contain line breaks; the owner of the files declares that all quotes match.

    One thread reads, so that the start of a record is never guessed from the middle of a file.
    """
    paths_by_form: dict[tuple[Header, int], list[str]] = {}
    for path, header in headers.items():
        inside.refuse_both(columns, header.names, path)
        paths_by_form.setdefault((header, inside.begins[path] if inside.names else 0), []).append(path)
    parts = [_quoted_part(paths, header, begin, inside, columns) for (header, begin), paths in paths_by_form.items()]
    return f"({' UNION ALL '.join(parts)})"


def _quoted_part(paths: Sequence[str], header: Header, begin: int, inside: Folders, columns: Sequence[str]) -> str:
    texts = ", ".join(f"c{index}: 'VARCHAR'" for index in range(len(header.names)))  # names may differ only in case
    options = (
        f"header = false, skip = {header.lines}, auto_detect = false, columns = {{{texts}}}, "
        f"delim = {literal(header.delimiter)}, quote = '\"', escape = '\"', allow_quoted_nulls = false, "
        f"compression = 'auto', ignore_errors = true, strict_mode = false, parallel = false, filename = '{FILE}'"
    )
    source_columns = {name: f"c{index}" for index, name in enumerate(header.names)}
    value_forms = (
        inside.text(column, FILE, begin) if column in inside.names else short_form(source_columns[column], "VARCHAR")
        for column in columns
    )
    values = ", ".join(f"{form} AS {quoted(column)}" for form, column in zip(value_forms, columns, strict=True))
    return f"SELECT {values} FROM read_csv({paths_of(paths)}, {options})"
