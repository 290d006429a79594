"""Files as scans: which of DuckDB's readers, or of ours, reads which kind, and how each is told to look at one row.

Whether a row can be read, and as what, must not depend on another row, and no row may fail a question.
"""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dpselect.engines.duckdb.scans import Scan, SqlScan, described
from dpselect.engines.duckdb.types import short_form
from dpselect.engines.duckdb.workspace import Workspace, literal, quoted
from dpselect.engines.filters.column_names import lower_ascii, refuse_twins_of_source
from dpselect.engines.sources.encrypted_parquet import encrypted_columns
from dpselect.engines.sources.files import Files, unlike_parquet
from dpselect.errors import DataError, SourceError

if TYPE_CHECKING:
    from dpselect.engines.sources.text_lines import Header


def file_scan(workspace: Workspace, files: Files, *, newlines_in_values: bool) -> Scan:
    """The scan of files of one kind; their headers and schemas are read, and no row."""
    if files.kind not in ("csv", "tsv", "json"):
        return _parquet(workspace, files)
    from dpselect.engines.duckdb.lines import CsvScan, JsonScan

    if files.kind in ("csv", "tsv"):
        headers = _headers(files)
        if newlines_in_values:
            names = next(iter(headers.values())).names
            return SqlScan(names, lambda columns: _quoted_csv(headers, columns), untyped=True, fixed=True)
        return CsvScan(next(iter(headers.values())).names, tuple(headers.items()), untyped=True, fixed=True)
    return JsonScan((), files.paths, untyped=True, fixed=True)


def parquet_rows(paths: Sequence[str], *, text: str = "replace", more: str = "", folders: bool | None = None) -> str:
    """What stands after FROM for Parquet files. Text that is not UTF-8 has a ? in place of what cannot be read.

    A NaN is greater than every number: the statistics of a part of the file do not count it, and would skip it unless a
    larger number of another row stands there. What names of folders say (`country=DE/`) is text: its type must not hang
    on what all of them say. `folders` says whether they say something, where the files do not show it.
    """
    how = f"union_by_name = {len(paths) > 1}, utf8_validation = '{text}', can_have_nan = true"
    how += ", hive_types_autocast = false"
    how += "" if folders is None else f", hive_partitioning = {folders}"
    return f"read_parquet({_paths(paths)}, {how}{more})"


def _parquet(workspace: Workspace, files: Files) -> Scan:
    rows = parquet_rows(files.paths, folders=None if files.parts is None else bool(files.parts))
    if not files.paths:  # of a table, which has no row now
        rows = "(SELECT 1 LIMIT 0)"
    encrypted = _encrypted(files.paths)
    types: dict[str, str] = {}
    with contextlib.suppress(DataError):
        types = described(workspace, f"SELECT * FROM {rows}") if files.paths else {}
    if not types and files.paths:
        raise DataError(
            f"{unlike_parquet(files.paths)} cannot be read as parquet",
            "it may be damaged, incomplete or another kind of file",
        )
    _refuse_renamed(workspace, types, files)
    forms = _forms(types, files)

    def selected(columns: Sequence[str]) -> str:
        for column in columns:
            if column in encrypted:
                hint = f"column {column!r} has a key: {_DECRYPT}"
                raise SourceError("source", "be Parquet files that are not encrypted", encrypted[column], hint)
            if types.get(column) == "JSON":  # the reader looks at every value, and fails for one
                hint = "write the file again with that column as text"
                raise DataError(f"column {column!r} is JSON in Parquet, where one bad value stops all reading", hint)
        return f"(SELECT {', '.join(f'{forms[c]} AS {quoted(c)}' for c in columns)} FROM {rows})"

    return SqlScan(tuple(forms), selected, fixed=True)


def _refuse_renamed(workspace: Workspace, types: Mapping[str, str], files: Files) -> None:
    """Refuse files of which DuckDB renames columns, because they differ from others only in letter case.

    It adds _1 to the second of them, so no footer is read where no column looks like that.
    """
    known = {lower_ascii(name) for name in types}
    parts = (name.rpartition("_") for name in types)
    if any(lower_ascii(name) in known and number.isdecimal() for name, _, number in parts):
        for path in files.paths:
            hint = "rename one of them, or write the file again without it"
            refuse_twins_of_source(_top_names(workspace, path), f" in {path}", hint)


def _top_names(workspace: Workspace, path: str) -> list[str]:
    """Return the columns of a Parquet file by its footer, without the fields inside of them."""
    rows = workspace.fetch(f"SELECT name, num_children FROM parquet_schema({literal(glob.escape(path))})")
    columns, fields_ahead = list[str](), 0
    for name, children in rows[1:]:  # the first is the file itself; fields stand behind what they are in
        if fields_ahead == 0:
            columns.append(str(name))
        fields_ahead += (children or 0) - (fields_ahead > 0)
    return columns


_DECRYPT = "read the file with its keys, as PyArrow does, and give the table"


def _encrypted(paths: Sequence[str]) -> Mapping[str, str]:
    """The encrypted columns, and for each a file in which it is; a file of which nothing can be read is refused."""
    found: dict[str, str] = {}
    for path in paths:
        columns = encrypted_columns(path)
        if columns is None:
            raise SourceError("source", "be Parquet files that are not encrypted", path, _DECRYPT)
        found |= dict.fromkeys(columns, path)
    return found


def _forms(types: Mapping[str, str], files: Files) -> dict[str, str]:
    """The SQL of every column. Statistics of texts are of their bytes, and would skip some: none are known of `left`.

    A column of a table that none of its files has is there, and missing in every row: which files there are hangs on
    rows. So does of which types their files are: what a table declares holds for all. What a folder's name says may be
    no value of its type, such as a day of the year 10000: that is missing too.
    """
    nothing = "nullif(left({}, 0), '')".format
    forms = {
        name: short_form(quoted(name), sort, nothing(quoted(name)) if sort == "VARCHAR" else "NULL")
        for name, sort in types.items()
    }
    known = {name.lower(): name for name in types}
    for name, sort in files.declared or ():
        there = known.get(name.lower())
        if there is None and files.paths and name in (files.parts or ()):
            raise SourceError("source", "be a table whose folders are named by its parts", f"no {name}=... among them")
        if there is None:
            forms[name] = f"CAST(NULL AS {sort})"
        elif name in (files.parts or ()):  # of which Delta's protocol says that '' is null
            forms[there] = f"TRY_CAST(nullif({forms[there]}, '') AS {sort})"
        elif types[there] != sort and not sort.startswith(("INTEGER[", "MAP", "STRUCT")):
            forms[there] = f"TRY_CAST({forms[there]} AS {sort})"
    return forms


def _paths(paths: Sequence[str]) -> str:
    # A path is one file: its brackets and stars are its own.
    return f"[{', '.join(literal(glob.escape(path)) for path in paths)}]"


def _headers(files: Files) -> dict[str, Header]:
    """The headers of all files that are not empty; they name the same columns, in any order."""
    from dpselect.engines.sources.text_lines import header

    found = {path: first for path in files.paths if (first := header(path, files.kind)) is not None}
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


def _quoted_csv(headers: Mapping[str, Header], columns: Sequence[str]) -> str:
    """Values may run over lines inside of quotes: the owner of the files says that all quotes in them match.

    One thread reads, so that where a record begins is never guessed from the middle of a file.
    """
    same: dict[Header, list[str]] = {}
    for path, first in headers.items():
        same.setdefault(first, []).append(path)
    return f"({' UNION ALL '.join(_quoted_part(same[first], first, columns) for first in same)})"


def _quoted_part(paths: Sequence[str], first: Header, columns: Sequence[str]) -> str:
    texts = ", ".join(f"c{place}: 'VARCHAR'" for place in range(len(first.names)))  # names may differ only in case
    form = (
        f"header = true, auto_detect = false, columns = {{{texts}}}, delim = {literal(first.delimiter)}, "
        "quote = '\"', escape = '\"', allow_quoted_nulls = false, compression = 'auto', "
        "ignore_errors = true, strict_mode = false, parallel = false"
    )
    places = {column: f"c{first.names.index(column)}" for column in columns}
    values = ", ".join(f"{short_form(place, 'VARCHAR')} AS {quoted(column)}" for column, place in places.items())
    return f"SELECT {values} FROM read_csv({_paths(paths)}, {form})"
