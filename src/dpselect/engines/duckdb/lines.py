"""Text files as scans: every line is read by itself, whatever stands in it, and all columns are text.

Lines reach DuckDB as one column of text, and SQL takes each apart. DuckDB moves a filter below
what it filters, and would take a line apart once more for each condition; not below a function that may say something
else each time, as it thinks of the number of a connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpselect._ground.parameters import suggest_column
from dpselect.engines.duckdb.scans import Scan, Select
from dpselect.engines.duckdb.workspace import Row, Workspace, literal, quoted
from dpselect.engines.sources.arrow_lines import streamed
from dpselect.engines.sources.scans.folders import Folders
from dpselect.engines.sources.scans.reading import ONCE
from dpselect.engines.sources.text_lines import Header, blocks
from dpselect.errors import SourceError

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods

_LINE_FEED = r"\n"
_RECORD = "(starts_with(line, '{') OR starts_with(ltrim(line, ' ' || chr(9) || chr(13)), '{'))"
"""Is a line an object? A list would have its places for columns."""


@dataclass(frozen=True)
class CsvScan(Scan):
    """CSV and TSV files with their headers: one line is one record, so no quote reaches into the next one."""

    files: tuple[tuple[str, Header], ...]
    inside: Folders

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        return header_hint(self.names, self.inside, column)

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """The SQL types of some columns."""
        path, header = self.files[0]
        self.inside.refuse_both(columns, header.names, path)
        return dict.fromkeys(columns, "VARCHAR")

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """What stands after FROM for one query over the selected rows."""
        with ExitStack() as read:
            parts = []
            for header in dict.fromkeys(header for _, header in self.files):
                paths = [path for path, first in self.files if first == header]
                lines = read.enter_context(_lines(workspace, paths, header))
                parts.append(csv_rows(lines, header, columns, _of_folders(self.inside, paths)))
            yield f"({select('(' + ' UNION ALL '.join(parts) + ')')})"


@dataclass(frozen=True)
class JsonScan(Scan):
    """Files of JSON lines. Any name is a column: what a record has under it, as text, or nothing."""

    paths: tuple[str, ...]
    inside: Folders
    keys: frozenset[str] = frozenset()
    """The columns that the owner declares."""

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        return self.inside.hint(column) or super().hint(column)

    def refuse(
        self,
        user: tuple[str, ...] | None,
        others: Sequence[tuple[str, str]],
        filtered: Sequence[str],
        periods: Periods | None,
    ) -> None:
        """Refuse a column that a folder above the files spells, for it would be a key that hardly any record has.

        Whether one has it only reading tells; who declares the column says that they do.
        """
        super().refuse(user, others, filtered, periods)
        for parameter, column in (*others, *(("where", one) for one in filtered)):
            above = None if column in self.keys else self.inside.hint(column)
            if above is not None:
                or_key = (
                    f"; if it is a key of the lines, say so: types={{{column!r}: 'VARCHAR'}}, --type {column}=VARCHAR"
                )
                raise SourceError(parameter, "be a column of the source", repr(column), above + or_key)

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """The SQL types of some columns."""
        return dict.fromkeys(columns, "VARCHAR")

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """What stands after FROM for one query over the selected rows."""
        with _lines(workspace, self.paths, None) as lines:
            folders = _of_folders(self.inside, self.paths)
            keys = [name for name in columns if name not in folders]
            forms = (folders.get(name) or f"v[{keys.index(name) + 1}]" for name in columns)
            values = ", ".join(f"{form} AS {quoted(name)}" for form, name in zip(forms, columns, strict=True))
            yield f"({select(f'(SELECT {values} FROM {json_values(lines, keys)})')})"

    def key_counts(self, workspace: Workspace, limit: int) -> list[Row]:
        """Return the keys that most lines have, and how often they are there. It is for the owner of the data."""
        with _lines(workspace, self.paths, None) as lines:
            keys = f"SELECT unnest(CASE WHEN {_RECORD} THEN TRY(json_keys(line)) END) AS key FROM {lines}"
            return workspace.fetch(
                f"SELECT key, count(*) FROM ({keys}) GROUP BY key ORDER BY count(*) DESC, key LIMIT {limit}"
            )


def header_hint(names: Sequence[str], inside: Folders, column: str) -> str:
    """What may be said about a column that no header of CSV files names."""
    if names[0].lower().startswith("sep="):
        return "dps.CSV(files, skip=1) skips the line sep= that some programs write above the header"
    blank = next((name for name in names if name != column and name.strip() == column.strip()), None)
    if blank is not None:
        return f"did you mean {blank!r}, with its blanks?"
    hint = inside.hint(column) or suggest_column(column, names)
    # A file without a header has data where the names should be, so what is there is not shown.
    is_public = hint.startswith(("did you mean", "names of"))
    no_name = "the first line of a CSV file must name the columns; in Python, dps.CSV(files, skip=1) skips a title"
    return hint if is_public else no_name


def _of_folders(inside: Folders, paths: Sequence[str]) -> dict[str, str]:
    """The SQL of the columns that names of folders hold, from the place of a line's file among these."""
    rows = [inside.values(path) for path in paths] if inside.names else []
    columns = zip(inside.names, zip(*rows, strict=True), strict=False)
    return {name: f"(CAST([{', '.join(map(_text, values))}] AS VARCHAR[]))[place + 1]" for name, values in columns}


def _text(value: str | None) -> str:
    return "NULL" if value is None else literal(value)


def csv_rows(lines: str, header: Header, columns: Sequence[str], folders: Mapping[str, str]) -> str:
    """The SELECT of some columns of the lines that are well formed and have as many fields as the header.

    `folders` has the SQL of the columns that names of folders hold.

    A line is well formed if Python's csv module reads it, alone and strictly, as one record: a field that starts with a
    quote ends with one, and a quote inside of it is doubled. A carriage return is a character like others.

    A line is split at its delimiters, but for those between quotes, in whose places are line feeds. Where that does not
    make fields, since a quote stands inside of one that has none around it, each field is looked for.
    """
    mark, width = literal(header.delimiter), len(header.names)
    text, other = '"(?:[^"]|"")*"', f"[^{header.delimiter}]*"
    split = f'(?:"(?:[^"{header.delimiter}]|"")*"|[^"{header.delimiter}{_LINE_FEED}]*)'
    found = f'(?:{text}|(?:[^"{header.delimiter}]{other})?)'
    whole = f"replace(line, chr(10), {mark})"

    def record(line: str, field: str) -> str:
        return f"regexp_full_match({line}, {literal(f'{field}(?:[{header.delimiter}]{field})*')})"

    fields = (
        f"CASE WHEN {ONCE} AND (NOT contains(line, '\"') OR {record('line', split)}) THEN string_split(line, {mark}) "
        f"WHEN {record(whole, found)} "
        f"THEN regexp_extract_all({mark} || {whole}, {literal(f'[{header.delimiter}]({text}|{other})')}, 1) END"
    )

    def value(name: str) -> str:
        if name in folders:
            return f"{folders[name]} AS {quoted(name)}"
        one = f"f[{header.names.index(name) + 1}]"
        inside = f"replace(replace(substr({one}, 2, length({one}) - 2), '\"\"', '\"'), chr(10), {mark})"
        starts = f"{ONCE} AND {one} >= '\"' AND {one} < '#'"  # quicker than a look at the start
        return f"CASE WHEN {starts} THEN {inside} ELSE nullif({one}, '') END AS {quoted(name)}"

    values = ", ".join(map(value, columns))
    return f"(SELECT {values} FROM (SELECT {fields} AS f, place FROM {lines}) WHERE len(f) = {width})"


def json_values(lines: str, columns: Sequence[str]) -> str:
    """The values of some columns as one list v, which is missing where a line is no object."""
    keys = ", ".join(literal("/" + column.replace("~", "~0").replace("/", "~1")) for column in columns)
    found = f"CASE WHEN {ONCE} AND {_RECORD} THEN TRY(json_extract_string(line, [{keys}])) END"
    return f"(SELECT {found} AS v, place FROM {lines})"


@contextmanager
def _lines(workspace: Workspace, paths: Sequence[str], header: Header | None) -> Iterator[str]:
    """A name for the lines of some files after their header, which can be read once."""
    how = {"header": 0} if header is None else {"header": header.lines, "encoding": header.encoding}
    read = ((place, block) for place, path in enumerate(paths) for block in blocks(path, **how))
    with streamed(read, None if header is None else header.delimiter) as stream, workspace.registered(stream) as name:
        yield name
