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
    """CSV files whose values may run over lines inside of quotes."""

    inside: Folders

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        from dpselect.engines.duckdb.lines import header_hint

        return header_hint(self.names, self.inside, column)


def file_scan(workspace: Workspace, files: Files, given: Types, *, csv: CsvForm) -> Scan:
    """The scan of files of one kind; their headers and schemas are read, and no row."""
    if files.kind not in ("csv", "tsv", "json"):
        return parquet_scan(workspace, files, given)
    from dpselect.engines.duckdb.lines import CsvScan, JsonScan

    inside = folders_of(files)
    if files.kind in ("csv", "tsv"):
        headers = _headers(files, csv)
        names = next(iter(headers.values())).names
        if csv.newlines_in_values:
            every = (*names, *inside.names)
            sql = partial(_quoted_csv, headers, inside)
            return QuotedCsvScan(every, sql, inside, folders=inside.names, typed=False, fixed=True)
        own = tuple(headers.items())
        return CsvScan((*names, *inside.names), own, inside, folders=inside.names, typed=False, fixed=True)
    return JsonScan((), files.paths, inside, frozenset(given), folders=inside.names, typed=False, fixed=True)


def _headers(files: Files, form: CsvForm) -> dict[str, Header]:
    """The headers of all files that are not empty; they name the same columns, in any order."""
    from dpselect.engines.sources.text_lines import header

    found = {path: first for path in files.paths if (first := header(path, files.kind, form)) is not None}
    if not found:
        raise DataError(f"{files.paths[0]} is empty", "the first line of a CSV file must name its columns")
    one, *others = found
    for other in others:
        if set(found[other].names) != set(found[one].names):
            raise SourceError("source", "be files with the same columns", _difference(one, other, found))
    return found


def _difference(one: str, other: str, headers: Mapping[str, Header]) -> str:
    """Which column only one of two files has, by its place: in a file without a header its name would be data."""
    names = set(headers[one].names), set(headers[other].names)
    has, lacks = (one, other) if names[0] - names[1] else (other, one)
    missing = min((names[0] - names[1]) or (names[1] - names[0]), key=headers[has].names.index)
    place = headers[has].names.index(missing) + 1
    return f"{lacks}, which does not have column {place} of {has}"


def _quoted_csv(headers: Mapping[str, Header], inside: Folders, columns: Sequence[str]) -> str:
    """Values may run over lines inside of quotes: the owner of the files says that all quotes in them match.

    One thread reads, so that where a record begins is never guessed from the middle of a file.
    """
    same: dict[tuple[Header, int], list[str]] = {}
    for path, first in headers.items():
        inside.refuse_both(columns, first.names, path)
        same.setdefault((first, inside.begins[path] if inside.names else 0), []).append(path)
    parts = [_quoted_part(paths, first, begin, inside, columns) for (first, begin), paths in same.items()]
    return f"({' UNION ALL '.join(parts)})"


def _quoted_part(paths: Sequence[str], first: Header, begin: int, inside: Folders, columns: Sequence[str]) -> str:
    texts = ", ".join(f"c{place}: 'VARCHAR'" for place in range(len(first.names)))  # names may differ only in case
    form = (
        f"header = false, skip = {first.lines}, auto_detect = false, columns = {{{texts}}}, "
        f"delim = {literal(first.delimiter)}, quote = '\"', escape = '\"', allow_quoted_nulls = false, "
        f"compression = 'auto', ignore_errors = true, strict_mode = false, parallel = false, filename = '{FILE}'"
    )
    places = {name: f"c{place}" for place, name in enumerate(first.names)}
    forms = (
        inside.text(one, FILE, begin) if one in inside.names else short_form(places[one], "VARCHAR") for one in columns
    )
    values = ", ".join(f"{form} AS {quoted(one)}" for form, one in zip(forms, columns, strict=True))
    return f"SELECT {values} FROM read_csv({paths_of(paths)}, {form})"
