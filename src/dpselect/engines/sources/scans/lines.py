"""Text files as scans: every line is read by itself, whatever stands in it, and all columns are text.

Whether a row can be read, and as what, must not depend on another row, and no row may fail a question.

Of CSV files, the fields that a question uses reach DuckDB; lines of JSON reach it whole, and SQL takes each apart. It
moves a filter below what it filters, and would take a line apart once more for each condition; not below a function
that may say something else each time, as it thinks of the number of a connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import suggest_column
from dpselect.engines.duckdb.types import length_limited_form
from dpselect.engines.duckdb.workspace import Row, Workspace, literal, quoted
from dpselect.engines.sources.arrow_texts import CONTIGUOUS, VIEWS, Texts, lines_of, repeated, streamed
from dpselect.engines.sources.csv_fields import cut_fields
from dpselect.engines.sources.csv_form import CsvForm
from dpselect.engines.sources.files import Files
from dpselect.engines.sources.scans.folders import PATH_COLUMN, Folders, read_folders
from dpselect.engines.sources.scans.parquet import path_list_sql
from dpselect.engines.sources.scans.reading import ONCE
from dpselect.engines.sources.scans.scan import RequestedColumns, Scan
from dpselect.engines.sources.text_lines import Header, blocks, read_header
from dpselect.errors import DataError, SourceError

_NO_NUMBER = literal("(?i)-?(nan|inf(inity)?)")
"""What Python and JavaScript write, and C prints, in place of a number; DuckDB reads it in any letters."""
_LONGEST_NO_NUMBER = len("-infinity")


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
        folders = {path: self.folder_columns.values(path) for path in self.headers}
        batches = self._batches(columns, folders)
        with streamed(batches, [VIEWS] * len(columns)) as stream, workspace.registered(stream) as name:
            values = ", ".join(f"c{index} AS {quoted(column)}" for index, column in enumerate(columns))
            yield f"(SELECT {values} FROM {name})"

    def _batches(
        self, columns: Sequence[str], folders: Mapping[str, Mapping[str, str | None]]
    ) -> Iterator[Sequence[Texts]]:
        """Yield some columns of the lines that have as many fields as their header."""
        for path, header in self.headers.items():
            values = folders[path]
            indices = [header.names.index(name) for name in columns if name not in values]
            for block in blocks(path, header=header.lines, encoding=header.encoding):
                length, fields = cut_fields(block, header.delimiter, len(header.names), indices)
                next_field = iter(fields)
                yield [repeated(values[name], length) if name in values else next(next_field) for name in columns]


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
        folders = [name for name in columns if name in self.folders]
        keys = [name for name in columns if name not in folders]
        with self._lines(workspace, folders) as lines:
            carried = {name: f"c{index + 1}" for index, name in enumerate(folders)}
            forms = (
                carried.get(name) or _without_no_numbers(f"v[{keys.index(name) + 1}]", "c0", name) for name in columns
            )
            values = ", ".join(f"{form} AS {quoted(name)}" for form, name in zip(forms, columns, strict=True))
            yield f"(SELECT {values} FROM {json_values(lines, 'c0', keys, ['c0', *carried.values()])})"

    @contextmanager
    def _lines(self, workspace: Workspace, folders: Sequence[str]) -> Iterator[str]:
        """Yield a name for the lines c0, and the columns of folders' names c1, c2, ..., which can be read once."""
        formats = [CONTIGUOUS, *([VIEWS] * len(folders))]
        values = {path: [self.folder_columns.values(path)[name] for name in folders] for path in self.paths}
        with streamed(_json_batches(values), formats) as stream, workspace.registered(stream) as name:
            yield name

    def key_counts(self, workspace: Workspace, limit: int) -> list[Row]:
        """Return the keys of most lines, with their numbers of lines. It is for the owner of the data."""
        with self._lines(workspace, ()) as lines:
            keys = f"SELECT unnest(CASE WHEN {_is_object('c0')} THEN TRY(json_keys(c0)) END) AS key FROM {lines}"
            return workspace.fetch(
                f"SELECT key, count(*) FROM ({keys}) GROUP BY key ORDER BY count(*) DESC, key LIMIT {limit}"
            )


def _json_batches(folders: Mapping[str, Sequence[str | None]]) -> Iterator[Sequence[Texts]]:
    """Yield the lines of each file, and beside each the values of the columns of folders' names."""
    for path, values in folders.items():
        for block in blocks(path, header=0):
            lines = lines_of(block)
            yield [lines, *(repeated(value, lines.length) for value in values)]


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


def json_values(lines: str, line: str, keys: Sequence[str], carried: Iterable[str] = ()) -> str:
    """Compile the values of some keys of each line to one list v, which is null if a line is no object.

    A list has its indices for keys. And where one line cannot be read, DuckDB reads some thousand lines once more, each
    by itself: a blank line, which any file may have, is not tried.
    """
    pointers = ", ".join(map(_pointer, keys))
    values = f"CASE WHEN {_is_object(line)} THEN TRY(json_extract_string({line}, [{pointers}])) END"
    return f"(SELECT {', '.join([f'{values} AS v', *carried])} FROM {lines})"


def _without_no_numbers(value: str, line: str, key: str) -> str:
    """Compile a value of a line, null where programs wrote a number that JSON does not have; "NaN" in quotes is a text.

    A missing number is NaN in Python, which writes it so: the rows of all whose id is missing would be one person's.
    A pattern costs more than to read the value, so what is long or starts with a digit is not compared with it.
    """
    may_match = f"strlen({value}) <= {_LONGEST_NO_NUMBER} AND {value} NOT BETWEEN '0' AND ':'"
    is_word = f"{ONCE} AND {may_match} AND regexp_full_match({value}, {_NO_NUMBER})"
    is_number = f"TRY(json_type({line}, {_pointer(key)})) = 'DOUBLE'"
    return f"CASE WHEN {is_word} THEN CASE WHEN {is_number} THEN NULL ELSE {value} END ELSE {value} END"


def _pointer(key: str) -> str:
    return literal("/" + key.replace("~", "~0").replace("/", "~1"))


def _is_object(line: str) -> str:
    """Compile the condition that a line is an object, if it can be read."""
    # A comparison is quicker than a look at the start, and DuckDB may work out both sides of OR.
    starts_with_brace = f"{line} >= '{{' AND {line} < '|'"
    after_blanks = f"starts_with(ltrim({line}, ' ' || chr(9) || chr(13)), '{{')"
    return f"CASE WHEN {starts_with_brace} THEN true ELSE {after_blanks} END"


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
