"""Files as SQL. Text files are read as text: a type guessed from the rows would depend on them.

A row that does not fit its file's form is skipped, it never fails the query: whether it fails would tell about
that row. A CSV file is read by one thread, so that where a row begins is never guessed from the middle of the
file. It must be well formed as any CSV writer makes it: in a file whose quotes do not match, one row can run into
the next, and then it is not one user's row any more.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence

from dpselect.engines.duckdb_workspace import literal, quoted
from dpselect.engines.files import Files
from dpselect.engines.text_files import Header, header, is_array, json_keys
from dpselect.errors import DataError

Sql = Callable[[Sequence[str]], str]


def file_scan_sql(files: Files) -> tuple[tuple[str, ...] | None, Sql]:
    """The columns, None where DuckDB must say, and what stands after FROM when some of them are wanted."""
    if files.kind == "json":
        return json_keys(files.paths), _json(files.paths)
    if files.kind in ("csv", "tsv"):
        return _csv(files)
    return None, lambda _columns: f"read_parquet({_paths(files.paths)}, union_by_name = {len(files.paths) > 1})"


def _paths(paths: Sequence[str]) -> str:
    # A path is one file: its brackets and stars are its own.
    return f"[{', '.join(literal(glob.escape(path)) for path in paths)}]"


def _json(paths: Sequence[str]) -> Sql:
    arrays = [path for path in paths if is_array(path)]
    lines = [path for path in paths if path not in arrays]
    forms = ((lines, "format = 'newline_delimited', ignore_errors = true"), (arrays, "format = 'array'"))

    def sql(columns: Sequence[str]) -> str:
        texts = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in columns)
        parts = [f"FROM read_json({_paths(some)}, columns = {{{texts}}}, {form})" for some, form in forms if some]
        return f"({' UNION ALL '.join(parts)})"

    return sql


def _csv(files: Files) -> tuple[tuple[str, ...], Sql]:
    """Files of different headers are read each by its own and put together by name."""
    same: dict[Header, list[str]] = {}
    for path in files.paths:
        first = header(path, files.kind)
        if first is not None:
            same.setdefault(first, []).append(path)
    if not same:
        raise DataError(f"{files.paths[0]} is empty", "the first line of a CSV file must name its columns")
    names = tuple(dict.fromkeys(name for first in same for name in first.names))
    return names, lambda columns: f"({' UNION ALL '.join(_csv_part(same, first, columns) for first in same)})"


def _csv_part(same: dict[Header, list[str]], first: Header, columns: Sequence[str]) -> str:
    wanted = ", ".join(quoted(c) if c in first.names else f"NULL::VARCHAR AS {quoted(c)}" for c in columns)
    texts = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in first.names)
    form = (
        f"header = true, auto_detect = false, columns = {{{texts}}}, delim = {literal(first.delimiter)}, "
        "quote = '\"', escape = '\"', allow_quoted_nulls = false, compression = 'auto', "
        "ignore_errors = true, strict_mode = false, parallel = false"
    )
    return f"SELECT {wanted} FROM read_csv({_paths(same[first])}, {form})"
