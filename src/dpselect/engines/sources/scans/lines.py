"""Text files as scans: every line is read by itself, whatever stands in it, and all columns are text.

Whether a row can be read, and as what, must not depend on another row, and no row may fail a question.

Lines reach DuckDB as one column of text, and SQL takes each apart. DuckDB moves a filter below
what it filters, and would take a line apart once more for each condition; not below a function that may say something
else each time, as it thinks of the number of a connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from dpselect._ground.parameters import suggest_column
from dpselect.engines.duckdb.types import length_limited_form
from dpselect.engines.duckdb.workspace import Row, Workspace, literal, quoted
from dpselect.engines.sources.arrow_lines import streamed
from dpselect.engines.sources.csv_form import CsvForm
from dpselect.engines.sources.files import Files
from dpselect.engines.sources.scans.folders import PATH_COLUMN, Folders, read_folders
from dpselect.engines.sources.scans.parquet import path_list_sql
from dpselect.engines.sources.scans.reading import ONCE
from dpselect.engines.sources.scans.scan import RequestedColumns, Scan
from dpselect.engines.sources.text_lines import Header, blocks, read_header
from dpselect.errors import DataError, SourceError

_LINE_FEED = r"\n"
_IS_OBJECT = "(starts_with(line, '{') OR starts_with(ltrim(line, ' ' || chr(9) || chr(13)), '{'))"
"""The SQL condition that a line is an object. A list would have its indices for columns."""

_NO_NUMBERS = "('NaN', 'Infinity', '-Infinity', 'nan', '-nan', 'inf', '-inf')"
"""As Python and JavaScript write them, and as C prints them."""


def open_lines(files: Files, csv: CsvForm) -> CsvScan | JsonScan:
    """Return the scan of text files; the headers of CSV and TSV files are read, and no row."""
    folder_columns = read_folders(files)
    if files.kind == "json":
        return JsonScan((), files.paths, folder_columns, folders=folder_columns.names, fixed=True)
    headers = _read_headers(files, csv)
    names = next(iter(headers.values())).names
    return CsvScan(
        (*names, *folder_columns.names),
        headers,
        folder_columns,
        csv.newlines_in_values,
        folders=folder_columns.names,
        fixed=True,
    )


@dataclass(frozen=True)
class CsvScan(Scan):
    """A scan of CSV and TSV files by their headers.

    One line is one record, so no quote continues in the next one, unless the owner declares that all quotes match.
    """

    headers: Mapping[str, Header]
    folder_columns: Folders
    newlines_in_values: bool

    def hint(self, column: str) -> str:
        """Return a hint about a column that does not exist."""
        if self.names[0].lower().startswith("sep="):
            return "dps.CSV(files, skip=1) skips the line sep= that some programs write above the header"
        blank = next((name for name in self.names if name != column and name.strip() == column.strip()), None)
        if blank is not None:
            return f"did you mean {blank!r}, with its blanks?"
        hint = self.folder_columns.hint(column) or suggest_column(column, self.names)
        # A file without a header has data where the names should be, so its first line is not shown.
        is_public = hint.startswith(("did you mean", "names of"))
        no_name = "the first line of a CSV file must name the columns; in Python, dps.CSV(files, skip=1) skips a title"
        return hint if is_public else no_name

    def source_types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the SQL types of some columns."""
        path, header = next(iter(self.headers.items()))
        self.folder_columns.refuse_both(columns, header.names, path)
        return dict.fromkeys(columns, "VARCHAR")

    @contextmanager
    def source_rows(self, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:
        """Yield the SQL after FROM for one query over some columns."""
        if self.newlines_in_values:
            yield _quoted_rows(self.headers, self.folder_columns, columns)
            return
        with ExitStack() as stack:
            file_rows = []
            for header in dict.fromkeys(self.headers.values()):
                paths = [path for path, file_header in self.headers.items() if file_header == header]
                lines = stack.enter_context(_lines(workspace, paths, header))
                file_rows.append(csv_rows(lines, header, columns, _folder_columns(self.folder_columns, paths)))
            yield f"({' UNION ALL '.join(file_rows)})"


@dataclass(frozen=True)
class JsonScan(Scan):
    """A scan of files of JSON lines. Any name is a column: the value of that key as text, or null."""

    paths: tuple[str, ...]
    folder_columns: Folders

    def hint(self, column: str) -> str:
        """Return a hint about a column that does not exist."""
        return self.folder_columns.hint(column) or super().hint(column)

    def refuse(self, requested: RequestedColumns) -> None:
        """Refuse a column whose name is a folder above the files, because hardly any record would have such a key.

        Only reading would tell whether a record has the key; an owner who declares the column says so.
        """
        for parameter, column in requested.all_columns:
            folder_hint = None if column in self.declared else self.folder_columns.hint(column)
            if folder_hint is not None:
                declaration_hint = (
                    f"; if it is a key of the lines, say so: types={{{column!r}: 'VARCHAR'}}, --type {column}=VARCHAR"
                )
                raise SourceError(parameter, "be a column of the source", repr(column), folder_hint + declaration_hint)

    def source_types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the SQL types of some columns."""
        return dict.fromkeys(columns, "VARCHAR")

    @contextmanager
    def source_rows(self, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:
        """Yield the SQL after FROM for one query over some columns."""
        with _lines(workspace, self.paths, None) as lines:
            folders = _folder_columns(self.folder_columns, self.paths)
            keys = [name for name in columns if name not in folders]
            forms = (folders.get(name) or _without_no_numbers(f"v[{keys.index(name) + 1}]", name) for name in columns)
            values = ", ".join(f"{form} AS {quoted(name)}" for form, name in zip(forms, columns, strict=True))
            yield f"(SELECT {values} FROM {json_values(lines, keys)})"

    def key_counts(self, workspace: Workspace, limit: int) -> list[Row]:
        """Return the keys of most lines, with their numbers of lines. It is for the owner of the data."""
        with _lines(workspace, self.paths, None) as lines:
            keys = f"SELECT unnest(CASE WHEN {_IS_OBJECT} THEN TRY(json_keys(line)) END) AS key FROM {lines}"
            return workspace.fetch(
                f"SELECT key, count(*) FROM ({keys}) GROUP BY key ORDER BY count(*) DESC, key LIMIT {limit}"
            )


def _read_headers(files: Files, form: CsvForm) -> dict[str, Header]:
    """Read the headers of all files that are not empty; they must name the same columns, in any order."""
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


def _folder_columns(folder_columns: Folders, paths: Sequence[str]) -> dict[str, str]:
    """Return the SQL of the columns of folders' names, from the index of a line's file among these."""
    rows = [folder_columns.values(path) for path in paths] if folder_columns.names else []
    columns = zip(folder_columns.names, zip(*rows, strict=True), strict=False)
    return {
        name: f"(CAST([{', '.join(map(_literal_or_null, values))}] AS VARCHAR[]))[file_index + 1]"
        for name, values in columns
    }


def _literal_or_null(value: str | None) -> str:
    return "NULL" if value is None else literal(value)


def csv_rows(lines: str, header: Header, columns: Sequence[str], folders: Mapping[str, str]) -> str:
    """Compile some columns of the lines that are well formed and have as many fields as the header.

    `folders` has the SQL of the columns of folders' names.

    A line is well formed if Python's csv module reads it, alone and strictly, as one record: a field that starts with a
    quote ends with one, and a quote inside of it is doubled. A carriage return is a character like others.

    A line is split at its delimiters, except those between quotes, which were replaced by line feeds. If that makes no
    fields, because a quote is inside of a field without quotes around it, each field is matched.
    """
    mark, width = literal(header.delimiter), len(header.names)
    quoted_field, plain_rest = '"(?:[^"]|"")*"', f"[^{header.delimiter}]*"
    split_field = f'(?:"(?:[^"{header.delimiter}]|"")*"|[^"{header.delimiter}{_LINE_FEED}]*)'
    any_field = f'(?:{quoted_field}|(?:[^"{header.delimiter}]{plain_rest})?)'
    one_field = f"[{header.delimiter}]({quoted_field}|{plain_rest})"
    restored_line = f"replace(line, chr(10), {mark})"

    def record(line: str, field: str) -> str:
        return f"regexp_full_match({line}, {literal(f'{field}(?:[{header.delimiter}]{field})*')})"

    fields = (
        f"CASE WHEN {ONCE} AND (NOT contains(line, '\"') OR {record('line', split_field)}) "
        f"THEN string_split(line, {mark}) "
        f"WHEN {record(restored_line, any_field)} "
        f"THEN regexp_extract_all({mark} || {restored_line}, {literal(one_field)}, 1) END"
    )

    def value(name: str) -> str:
        if name in folders:
            return f"{folders[name]} AS {quoted(name)}"
        field = f"f[{header.names.index(name) + 1}]"
        unquoted = f"replace(replace(substr({field}, 2, length({field}) - 2), '\"\"', '\"'), chr(10), {mark})"
        is_quoted = f"{ONCE} AND {field} >= '\"' AND {field} < '#'"  # quicker than a look at the start
        return f"CASE WHEN {is_quoted} THEN {unquoted} ELSE nullif({field}, '') END AS {quoted(name)}"

    values = ", ".join(map(value, columns))
    return f"(SELECT {values} FROM (SELECT {fields} AS f, file_index FROM {lines}) WHERE len(f) = {width})"


def json_values(lines: str, columns: Sequence[str]) -> str:
    """Compile the values of some columns to one list v, which is null if a line is no object."""
    keys = ", ".join(map(_pointer, columns))
    values = f"CASE WHEN {ONCE} AND {_IS_OBJECT} THEN TRY(json_extract_string(line, [{keys}])) END"
    return f"(SELECT {values} AS v, line, file_index FROM {lines})"


def _without_no_numbers(value: str, key: str) -> str:
    """Compile a value of a line, null where programs wrote a number that JSON does not have; "NaN" in quotes is a text.

    A missing number is NaN in Python, which writes it so: the rows of all whose id is missing would be one person's.
    """
    is_number = f"json_type(line, {_pointer(key)}) = 'DOUBLE'"
    return f"CASE WHEN {value} IN {_NO_NUMBERS} THEN CASE WHEN {is_number} THEN NULL ELSE {value} END ELSE {value} END"


def _pointer(key: str) -> str:
    return literal("/" + key.replace("~", "~0").replace("/", "~1"))


@contextmanager
def _lines(workspace: Workspace, paths: Sequence[str], header: Header | None) -> Iterator[str]:
    """Yield a name for the lines of some files after their header, which can be read once."""
    options = {"header": 0} if header is None else {"header": header.lines, "encoding": header.encoding}
    blocks_of_files = ((index, block) for index, path in enumerate(paths) for block in blocks(path, **options))
    with (
        streamed(blocks_of_files, None if header is None else header.delimiter) as stream,
        workspace.registered(stream) as name,
    ):
        yield name


def _quoted_rows(headers: Mapping[str, Header], folder_columns: Folders, columns: Sequence[str]) -> str:
    """Compile rows whose quoted values may contain line breaks; the owner of the files declares that all quotes match.

    One thread reads, so that the start of a record is never guessed from the middle of a file.
    """
    paths_by_form: dict[tuple[Header, int], list[str]] = {}
    for path, header in headers.items():
        folder_columns.refuse_both(columns, header.names, path)
        paths_by_form.setdefault(
            (header, folder_columns.prefix_lengths[path] if folder_columns.names else 0), []
        ).append(path)
    parts = [
        _quoted_part(paths, header, begin, folder_columns, columns) for (header, begin), paths in paths_by_form.items()
    ]
    return f"({' UNION ALL '.join(parts)})"


def _quoted_part(
    paths: Sequence[str], header: Header, begin: int, folder_columns: Folders, columns: Sequence[str]
) -> str:
    texts = ", ".join(f"c{index}: 'VARCHAR'" for index in range(len(header.names)))  # names may differ only in case
    options = (
        f"header = false, skip = {header.lines}, auto_detect = false, columns = {{{texts}}}, "
        f"delim = {literal(header.delimiter)}, quote = '\"', escape = '\"', allow_quoted_nulls = false, "
        f"compression = 'auto', ignore_errors = true, strict_mode = false, parallel = false, filename = '{PATH_COLUMN}'"
    )
    source_columns = {name: f"c{index}" for index, name in enumerate(header.names)}
    value_forms = (
        folder_columns.text_sql(column, PATH_COLUMN, begin)
        if column in folder_columns.names
        else length_limited_form(source_columns[column], "VARCHAR")
        for column in columns
    )
    values = ", ".join(f"{form} AS {quoted(column)}" for form, column in zip(value_forms, columns, strict=True))
    return f"SELECT {values} FROM read_csv({path_list_sql(paths)}, {options})"
