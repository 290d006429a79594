"""Inspection: what the owner of data should know before anybody asks. Everything is read, and nothing is private."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from dpselect._ground.dataclass import dataclass
from dpselect._ground.keys import printable
from dpselect.engines.address import Address, SourceKind
from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sources.csv_form import USUAL_CSV, CsvForm
from dpselect.engines.sources.files import Files, find_files
from dpselect.engines.sources.scans.declarations import Types
from dpselect.engines.sources.scans.folders import folders_above
from dpselect.engines.sources.scans.lines import JsonScan
from dpselect.engines.sources.scans.parquet import LACKS_COLUMN
from dpselect.engines.sources.scans.scan import Scan
from dpselect.engines.sources.tables import is_read_by_pyarrow
from dpselect.errors import DataError, DpselectError, ParameterError
from dpselect.inspection.columns import Columns, IntendedUse
from dpselect.inspection.files import file_findings
from dpselect.inspection.parts import format_error, hidden_key_findings, key_findings, open_parts
from dpselect.inspection.rows import row_findings

if TYPE_CHECKING:
    from dpselect.engines import Engine

__all__ = ["Inspection", "IntendedUse", "inspect", "missing_as_declared"]

WARNING = "NOT PRIVATE: this reads every row, and its output is for the owner of the data only"


@dataclass(frozen=True)
class Inspection:
    """The findings, one sentence each; as text it begins with the warning that it is not private."""

    findings: tuple[str, ...]

    def __post_init__(self) -> None:
        """Escape what no terminal should act on: a row of JSON lines chooses its keys, and an owner pastes a line."""
        object.__setattr__(self, "findings", tuple(map(printable, self.findings)))

    def __str__(self) -> str:
        return "\n".join([WARNING, *self.findings])


def inspect(
    source: object,
    open_engine: Callable[[Types], Engine] | None = None,
    *,
    table: str | None = None,
    csv: CsvForm = USUAL_CSV,
    intended_use: IntendedUse | None = None,
    options: Mapping[str, object] | None = None,
) -> Inspection:
    """Return the findings on a source: on its files and columns, and on its rows, where `open_engine` is given.

    `options` are those that the command to paste has beside the types.
    """
    address = Address.parse(source, table, csv=csv).at_home()
    if address.is_elsewhere:
        hint = "query it in its own SQL"
        raise ParameterError("source", "be files, a frame, or a table of DuckDB", "a database", hint)
    files = _files(address)
    if open_engine is None and (files is None or files.kind == "duckdb"):
        raise ParameterError("user", "be given with item for a source that is not a file", "nothing")
    intended_use = IntendedUse() if intended_use is None else intended_use
    findings = [] if files is None else [*_of_files(files, csv)]
    with closing(Workspace()) as workspace:
        parts = [*open_parts(workspace, address, files)]
        columns = Columns(workspace, parts, intended_use)
        findings += columns.findings()
        findings += _folder_findings(files, columns.names)
        _refuse_unknown(intended_use, columns.names)
        try:
            findings += _key_findings(workspace, open_scan(workspace, address), intended_use)
        except DpselectError as error:
            return Inspection((*findings, f"FAILS: every question is refused: {format_error(error)}"))
    fails, of_rows = (
        (False, []) if open_engine is None else _row_findings(open_engine, intended_use.types, columns.proposed)
    )
    command_options = {"newlines_in_values": csv.newlines_in_values or None, **(options or {})}
    source = address.source if set(csv.unusual_options) <= {"newlines_in_values"} else None  # no command says the rest
    types = {
        name: declared
        for name, declared in columns.proposed.items()
        if name.isprintable() or name in intended_use.types
    }
    command = [] if fails else _command_lines(source, address.table, types, command_options)
    return Inspection((*findings, *of_rows, *command))


def missing_as_declared(source: object, types: Types, *, table: str | None = None) -> list[str]:
    """Return the number of missing values of each declared column, one sentence each; not private."""
    address = Address.parse(source, table).at_home()
    with closing(Workspace()) as workspace:
        parts = [*open_parts(workspace, address, _files(address))]
        return [*Columns(workspace, parts, IntendedUse(types=types)).declared()]


def _files(address: Address) -> Files | None:
    """Return the files of a source; none where it is something else, or its files alone are not its rows."""
    source = address.source
    is_path = address.kind is SourceKind.PATHS and "://" not in str(source)
    files = find_files(source) if is_path and not is_read_by_pyarrow(source) else None
    return None if files is None or files.kind == "delta" else files


def _of_files(files: Files, csv: CsvForm) -> Iterator[str]:
    if csv.newlines_in_values and files.kind in ("csv", "tsv"):
        yield "lines are not checked one by one, because newlines_in_values allows records of several lines"
    elif files.kind == "prepared":
        from dpselect.inspection.prepared import prepared_findings

        yield from prepared_findings(files.paths[0])
    elif files.kind != "duckdb":
        yield from file_findings(files, csv)


def _folder_findings(files: Files | None, names: tuple[str, ...]) -> Iterator[str]:
    folder_by_column = {} if files is None else folders_above(files)
    for name, folder in folder_by_column.items():
        if name not in names:
            yield f"column {name}: none, for only folders below the given one are columns; give {folder!r} to have it"


def _key_findings(workspace: Workspace, scan: Scan, intended_use: IntendedUse) -> Iterator[str]:
    keys = [column for column in intended_use.columns if column not in scan.folders]
    if keys and isinstance(scan, JsonScan):
        yield from key_findings(workspace, scan, keys)
    if isinstance(scan, JsonScan) and scan.folders:
        yield from hidden_key_findings(workspace, scan)


def _refuse_unknown(intended_use: IntendedUse, names: tuple[str, ...]) -> None:
    """Refuse to declare a column that is not there."""
    unknown = next((name for name in intended_use.types if names and name not in names), None)
    if unknown is not None:
        raise ParameterError("types", "name columns of the source", repr(unknown))


def _row_findings(open_engine: Callable[[Types], Engine], declared: Types, proposed: Types) -> tuple[bool, list[str]]:
    """Return whether a question is refused even under the proposed types, and the findings on rows.

    What the schema refuses is explained; what a caller said that no type makes right is raised.
    """
    findings: list[str] = []
    for types in [declared] if proposed == declared else [declared, proposed]:
        try:
            with open_engine(types) as engine:
                findings += ["under the types that are proposed:"] if findings else []
                findings += row_findings(engine.owners_rows()) if isinstance(engine, DuckDBEngine) else ()
            return False, findings
        except DpselectError as error:
            if types == proposed and not _is_of_schema(error):
                raise
            findings.append(f"FAILS: a question with these columns is refused: {format_error(error)}")
    return True, [*dict.fromkeys(findings)]


def _is_of_schema(error: DpselectError) -> bool:
    """Return whether an error is about the files and their types, which are explained here."""
    if isinstance(error, ParameterError):
        return error.parameter in ("source", "types") or error.came.endswith(LACKS_COLUMN)
    return isinstance(error, DataError)


# ---- the command to paste -----------------------------------------------------------------------------------


def _command_lines(source: object, table: str | None, types: Types, options: Mapping[str, object]) -> Iterator[str]:
    """Yield the whole command that asks a question under the proposed types; in Python the declaration of them."""
    sources = source if isinstance(source, (list, tuple)) else [source]
    paths = [os.fsdecode(element) for element in sources if isinstance(element, (str, os.PathLike))]
    if not paths:
        if types:
            yield f"to declare it: types={ {name: element.text for name, element in types.items()}!r}"
        return
    words = ["dpselect", "union" if "text" in options else "top", *paths]
    for name, value in {"user": "...", "item": "...", "table": table, **options}.items():
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value is not None:
            words += [f"--{name.replace('_', '-')}", _between_commas(value)]
    for name, declared in types.items():
        words += ["--type", f"{name}={declared.text}"]
    yield "to ask, here for the most common items (the same --type go with any other question):"
    yield " ".join(map(_shell_word, [*words, "--epsilon", "1"]))


def _between_commas(value: object) -> str:
    """Return several names as one option takes them."""
    if not isinstance(value, (list, tuple)):
        return str(value)
    return ",".join('"' + name.replace('"', '""') + '"' if re.search('[",\n]', name) else name for name in value)


def _shell_word(word: str) -> str:
    """Return a word as a shell reads it; a text with quotes inside is between double ones, where possible."""
    if "'" in word and not re.search(r'["$`\\!]', word):
        return f'"{word}"'
    return shlex.quote(word)
