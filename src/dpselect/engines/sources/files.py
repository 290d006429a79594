"""Files: which files a path, a folder, a glob or a list of them means, and what kind they are."""

from __future__ import annotations

import glob
import itertools
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import suggest
from dpselect.engines.sources.tables import (
    is_delta,
    is_delta_table,
    is_read_by_pyarrow,
    is_table_folder,
    redact_address,
)
from dpselect.errors import SourceError, UnknownSourceError, missing_source_error

KIND_OF_EXTENSION = {
    ".parquet": "parquet", ".parq": "parquet", ".pq": "parquet",
    ".csv": "csv", ".csv.gz": "csv", ".tsv": "tsv", ".tsv.gz": "tsv",
    ".jsonl": "json", ".ndjson": "json", ".jsonl.gz": "json", ".ndjson.gz": "json",
    ".duckdb": "duckdb", ".db": "duckdb", ".ddb": "duckdb", ".prepared": "prepared",
}  # fmt: skip
# What makes a file of another kind one that is read. Types are declared in the file, or there are texts alone.
_CONVERSION_HINTS = {
    ".zst": "unpack it: zstd -d '{name}'",
    ".bz2": "unpack it: bunzip2 -k '{name}'",
    ".xz": "unpack it: xz -dk '{name}'",
    ".zip": "unpack it: unzip '{name}'",
    ".avro": "write it as Parquet: polars.read_avro('{name}').write_parquet('rows.parquet')",
    ".orc": "write it as Parquet: pyarrow.parquet.write_table(pyarrow.orc.read_table('{name}'), 'rows.parquet')",
    **dict.fromkeys(
        (".feather", ".arrow", ".ipc"),
        "write it as Parquet: pyarrow.parquet.write_table(pyarrow.feather.read_table('{name}'), 'rows.parquet')",
    ),
    ".xlsx": "write its texts, which types= declares: "
             "pandas.read_excel('{name}', dtype=str).to_parquet('rows.parquet'); pip install pandas openpyxl pyarrow",
}  # fmt: skip
_KNOWN_KINDS = "Parquet, CSV, TSV, JSON lines (these three also .gz), prepared data or a DuckDB database"
# One array of records is one text, which any of them can spoil for all; and what a file holds must not decide its kind.
UNCLEAR_EXTENSIONS = (".json", ".json.gz")
_WILDCARDS = frozenset("*?[")
PREPARED_EXTENSION = ".prepared"
_KINDS_OF_ONE_FILE = {
    "duckdb": "DuckDB database",
    "prepared": "file of prepared data",
}  # kinds of which no folder is searched


@dataclass(frozen=True)
class Files:
    """Files of one kind, in an order that depends on their names only.

    `declared` are the columns of a table and their types, of which some files may lack some, and there may be no file;
    `parts` those that names of folders hold (`day=2026-10-01/`). Of files that are no table both are None: nobody says.
    """

    kind: str
    paths: tuple[str, ...]
    declared: tuple[tuple[str, str], ...] | None = None
    partition_columns: tuple[str, ...] | None = None
    roots: tuple[str | None, ...] = ()
    """Of each path the start below which names of folders are columns; None for a file that was named itself."""
    log: tuple[str, ...] = ()
    """The files that say which rows of the others there are, where these alone do not."""
    delta: Any = None
    """The DeltaTable, where its files alone are not its rows: of the kind "delta"."""


def find_files(source: object) -> Files:
    """Return the files that `source` names; a file that is not there is an error, for file names are public."""
    if is_delta_table(source):
        return _files_of_delta_table(source)
    sources = source if isinstance(source, (list, tuple)) else [source]
    if not sources:
        raise missing_source_error("source", "name at least one file", "an empty list")
    if len(sources) == 1 and isinstance(sources[0], (str, os.PathLike)):
        folder = os.path.expanduser(os.fsdecode(sources[0]))
        if is_delta(folder):
            return _files_of_delta_table(folder)
    try:
        paths_and_roots = [(path, _folders_root(element)) for element in sources for path in _expand_element(element)]
    except UnknownSourceError as error:
        if len(sources) > 1 and any(isinstance(element, (str, os.PathLike)) for element in sources):
            raise SourceError(error.parameter, error.must, error.came, error.hint) from None  # paths are no package's
        raise
    kinds = sorted({kind_of(path) for path, _ in paths_and_roots})
    if len(kinds) > 1:
        raise SourceError("source", "name files of one kind", " and ".join(kinds))
    if kinds[0] in _KINDS_OF_ONE_FILE and len(paths_and_roots) > 1:
        raise SourceError("source", f"name one {_KINDS_OF_ONE_FILE[kinds[0]]}", f"{len(paths_and_roots)} of them")
    root_by_path = dict(_distinct_files(paths_and_roots))
    return Files(kinds[0], tuple(root_by_path), roots=tuple(root_by_path.values()))


def _distinct_files(paths_and_roots: Sequence[tuple[str, str | None]]) -> Iterable[tuple[str, str | None]]:
    """Return each file once, as it is named first: links and other spellings of a path are the same rows.

    To open what is no file, such as a named pipe, may wait for ever.
    """
    distinct: dict[tuple[int, int], tuple[str, str | None]] = {}
    for path, root in paths_and_roots:
        try:
            status = os.stat(path)
        except OSError:
            raise missing_source_error("source", "be files that exist", repr(path)) from None
        if not stat.S_ISREG(status.st_mode):
            raise SourceError("source", "be files", f"{path!r}, which is none", "on the command line, - reads a pipe")
        distinct.setdefault((status.st_dev, status.st_ino), (path, root))
    return distinct.values()


def refuse_absent(source: object) -> None:
    """Refuse files that are not there; of another source nothing is known before it is opened."""
    if isinstance(source, (str, os.PathLike)) and not is_read_by_pyarrow(source) and "://" not in os.fsdecode(source):
        find_files(source)


def _folders_root(element: object) -> str | None:
    """Return the start of paths below which names of folders are columns: a folder, or a glob before its wildcard.

    None for a file: no folder of it was given.
    """
    path = os.path.expanduser(os.fsdecode(element))  # type: ignore[arg-type] # it was expanded
    if os.path.isdir(path):
        return os.path.join(path, "")
    if os.path.exists(path):
        return None
    plain = list(itertools.takewhile(lambda part: not _WILDCARDS & set(part), path.split(os.sep)))
    return os.sep.join([*plain, ""]) if plain else ""


def prepared_path(source: object) -> str | None:
    """Return the path of a file of prepared data, if a source is one."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = os.path.expanduser(os.fsdecode(source))
    return path if path.lower().endswith(PREPARED_EXTENSION) and os.path.isfile(path) else None


def kind_of(path: str) -> str:
    """Return the kind of a file by its extension."""
    name = os.path.basename(path).lower()
    for extension in sorted(KIND_OF_EXTENSION, key=len, reverse=True):
        if name.endswith(extension):
            return KIND_OF_EXTENSION[extension]
    if name.endswith(UNCLEAR_EXTENSIONS):
        hint = (
            "rename a file of one record a line to .jsonl; write an array as texts, which types= declares: "
            f"duckdb.sql(\"COPY (FROM read_json('{os.path.basename(path)}', "
            "columns={user: 'VARCHAR', item: 'VARCHAR'})) TO 'rows.parquet'\")"
        )
        requirement = "be JSON lines, Parquet or CSV rather than .json"
        raise SourceError("source", requirement, repr(os.path.basename(path)), hint)
    hint_form = _CONVERSION_HINTS.get(os.path.splitext(name)[1], f"known endings: {', '.join(KIND_OF_EXTENSION)}")
    raise SourceError(
        "source", f"be {_KNOWN_KINDS}", repr(os.path.basename(path)), hint_form.format(name=os.path.basename(path))
    )


def unlike_parquet(paths: Sequence[str]) -> str:
    """Return the first file that does not start and end as Parquet does, or how many there are."""
    for path in paths:
        with suppress(OSError), open(path, "rb") as file:
            starts, size = file.read(4), file.seek(0, os.SEEK_END)
            file.seek(max(size - 4, 0))
            if size < 12 or not {starts, file.read(4)} <= {b"PAR1", b"PARE"}:
                return f"{path} ({size:,} bytes)"
    return paths[0] if len(paths) == 1 else f"one of {len(paths)} files"


def _expand_element(element: object) -> list[str]:
    if not isinstance(element, (str, os.PathLike)):
        raise UnknownSourceError("source", "be a list of paths", f"an element of type {type(element).__name__}")
    if is_read_by_pyarrow(element):
        raise SourceError(
            "source", "name a table or an address on its own", f"{redact_address(os.fsdecode(element))!r} among files"
        )
    path = os.path.expanduser(os.fsdecode(element))
    if "://" in path:
        hint = "download it, or pass the Arrow table that pyarrow.parquet.read_table makes of it"
        start = path.partition("://")[0]  # the rest may hold a password
        raise UnknownSourceError(
            "source", "be a file, or at s3://, gs:// or https://", f"an address that starts with {start}://", hint
        )
    if os.path.isdir(path):
        return _list_folder(path)
    if os.path.exists(path):
        return [path]
    if _WILDCARDS & set(path):
        return _match_glob(path)
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise missing_source_error("source", "be a file that exists", repr(path), f"there is no folder {folder!r}")
    hint = suggest(os.path.basename(path), sorted(_visible_names(folder)))
    raise missing_source_error("source", "be a file that exists", repr(path), hint)


def _visible_names(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def _match_glob(pattern: str) -> list[str]:
    paths = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not paths:
        raise missing_source_error(
            "source", "match at least one file", repr(pattern), "** matches folders of any depth"
        )
    for folder in sorted({os.path.dirname(path) for path in paths}):
        _check_in_no_table(folder)
    return paths


def _check_in_no_table(folder: str) -> None:
    """Refuse a folder inside a table: some of the table's files may hold rows that were deleted since."""
    for parent in (path := Path(os.path.abspath(folder)), *path.parents):
        if is_table_folder(str(parent)):
            hint = "some of its files may belong to an older version; name the table, and filter with where"
            raise SourceError("source", "not be inside a Delta or Iceberg table", repr(folder), hint)


def _list_folder(folder: str) -> list[str]:
    """Return all files of a known kind in a folder and below, hidden ones and databases left out.

    A folder `_day=2026-10-01` is not hidden: Spark writes and reads it. A link to a folder, of which a table may be a
    part, is refused rather than left out.
    """
    paths: list[str] = []
    _check_in_no_table(os.path.dirname(os.path.abspath(folder)))
    for parent, folders, names in os.walk(folder):
        if is_table_folder(parent):
            hint = "some of its files may belong to an older version; name the table on its own"
            raise SourceError("source", "hold no Delta or Iceberg table", repr(parent), hint)
        folders[:] = sorted(name for name in folders if not name.startswith("." if "=" in name else (".", "_")))
        if link := next((path for name in folders if os.path.islink(path := os.path.join(parent, name))), None):
            raise SourceError("source", "hold no link to a folder", repr(link), "give a list of the folders")
        visible_names = [name for name in names if not name.startswith((".", "_"))]
        paths += [os.path.join(parent, name) for name in visible_names if _is_data(name)]
    if not paths:
        raise missing_source_error("source", f"be a folder that holds {_KNOWN_KINDS} files", repr(folder))
    return sorted(paths)


def _is_data(name: str) -> bool:
    endings = [ending for ending, kind in KIND_OF_EXTENSION.items() if kind not in _KINDS_OF_ONE_FILE]
    return name.lower().endswith((*endings, *UNCLEAR_EXTENSIONS))


def _files_of_delta_table(source: Any) -> Files:
    """Return the files that a Delta table has now, or that a DeltaTable has, which may be of an older version."""
    from dpselect.engines.sources.delta_tables import declared_types, open_table

    table, is_of_files = open_table(source)
    if not table.table_uri.startswith("file://"):
        return Files("delta", (), delta=table)
    root = table.table_uri.removeprefix("file://")  # the root alone is written as in a URI
    folder = os.path.join(os.path.abspath(unquote(root)), "")
    paths = tuple(sorted(os.path.join(folder, uri.removeprefix(root)) for uri in table.file_uris()))
    if not is_of_files:
        log = os.path.join(folder, "_delta_log", f"{table.version():020}.json")
        return Files("delta", paths, log=(log,), delta=table)
    parts = tuple(table.metadata().partition_columns)
    return Files("parquet", paths, declared_types(table), parts, (folder,) * len(paths))
