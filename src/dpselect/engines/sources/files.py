"""Files: which files a path, a folder, a glob or a list of them means, and what kind they are."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path

from dpselect._ground.parameters import near
from dpselect.engines.sources.tables import is_delta, is_lake, is_table, needed, place
from dpselect.errors import DataError, SourceError, absent

KINDS = {
    ".parquet": "parquet", ".pq": "parquet",
    ".csv": "csv", ".csv.gz": "csv", ".tsv": "tsv", ".tsv.gz": "tsv",
    ".jsonl": "json", ".ndjson": "json", ".jsonl.gz": "json", ".ndjson.gz": "json",
    ".duckdb": "duckdb", ".db": "duckdb", ".ddb": "duckdb", ".prepared": "prepared",
}  # fmt: skip
_KNOWN = "Parquet, CSV, TSV, JSON lines (these three also .gz), prepared data or a DuckDB database"
# One array of records is one text, which any of them can spoil for all; and what a file holds must not decide its kind.
UNCLEAR = (".json", ".json.gz")
_WILD = frozenset("*?[")
ENDING = ".prepared"
_ALONE = {"duckdb": "DuckDB database", "prepared": "file of prepared data"}  # kinds of which no folder is searched


@dataclass(frozen=True)
class Files:
    """Files of one kind, in an order that depends on their names only.

    `declared` are the columns of a table and their types, of which some files may lack some, and there may be no file;
    `parts` those that names of folders hold (`day=2026-10-01/`). Of files that are no table both are None: nobody says.
    """

    kind: str
    paths: tuple[str, ...]
    declared: tuple[tuple[str, str], ...] | None = None
    parts: tuple[str, ...] | None = None


def find(source: object) -> Files:
    """The files that `source` names; a file that is not there is an error, for file names are public."""
    given = source if isinstance(source, (list, tuple)) else [source]
    if not given:
        raise absent("source", "name at least one file", "an empty list")
    if len(given) == 1 and isinstance(given[0], (str, os.PathLike)):
        folder = os.path.expanduser(os.fsdecode(given[0]))
        if is_delta(folder):
            return _delta(folder)
    found = [path for one in given for path in _expanded(one)]
    kinds = sorted({kind_of(path) for path in found})
    if len(kinds) > 1:
        raise SourceError("source", "name files of one kind", " and ".join(kinds))
    if kinds[0] in _ALONE and len(found) > 1:
        raise SourceError("source", f"name one {_ALONE[kinds[0]]}", f"{len(found)} of them")
    return Files(kinds[0], tuple(found))


def prepared_path(source: object) -> str | None:
    """The path of a file of prepared data, if a source is one."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = os.path.expanduser(os.fsdecode(source))
    return path if path.lower().endswith(ENDING) and os.path.isfile(path) else None


def kind_of(path: str) -> str:
    """What a file is, by its extension."""
    name = os.path.basename(path).lower()
    for extension in sorted(KINDS, key=len, reverse=True):
        if name.endswith(extension):
            return KINDS[extension]
    if name.endswith(UNCLEAR):
        hint = (
            "rename a file of one record a line to .jsonl, and write an array anew: "
            f"duckdb.sql(\"COPY (FROM read_json('{os.path.basename(path)}')) TO 'rows.parquet'\")"
        )
        must = "be JSON lines, Parquet or CSV rather than .json"
        raise SourceError("source", must, repr(os.path.basename(path)), hint)
    raise SourceError("source", f"be {_KNOWN}", repr(os.path.basename(path)), f"known endings: {', '.join(KINDS)}")


def _expanded(one: object) -> list[str]:
    if not isinstance(one, (str, os.PathLike)):
        raise SourceError("source", "be a list of paths", f"an element of type {type(one).__name__}")
    if is_lake(one):
        raise SourceError("source", "name a table or an address on its own", f"{place(os.fsdecode(one))!r} among files")
    path = os.path.expanduser(os.fsdecode(one))
    if "://" in path:
        hint = "read it yourself and pass the data frame, or a DuckDB relation"
        start = path.partition("://")[0]  # the rest may hold a password
        raise SourceError(
            "source", "be a file, or at s3://, gs:// or https://", f"an address that starts with {start}://", hint
        )
    if os.path.isdir(path):
        return _inside(path)
    if os.path.exists(path):
        return [path]
    if _WILD & set(path):
        return _matching(path)
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise absent("source", "be a file that exists", repr(path), f"there is no folder {folder!r}")
    hint = near(os.path.basename(path), sorted(_visible(folder)))
    raise absent("source", "be a file that exists", repr(path), hint)


def _visible(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def _matching(pattern: str) -> list[str]:
    found = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not found:
        raise absent("source", "match at least one file", repr(pattern), "** matches folders of any depth")
    for folder in sorted({os.path.dirname(path) for path in found}):
        _check_in_no_table(folder)
    return found


def _check_in_no_table(folder: str) -> None:
    """Of the files of a table some may hold rows that were deleted since: what lies in one is not read by its place."""
    for at in (path := Path(os.path.abspath(folder)), *path.parents):
        if is_table(str(at)):
            hint = "some of its files may belong to an older version; name the table, and filter with where"
            raise SourceError("source", "not be inside a Delta or Iceberg table", repr(folder), hint)


def _inside(folder: str) -> list[str]:
    """All files of a known kind in a folder and below, hidden ones and databases left out."""
    found: list[str] = []
    _check_in_no_table(os.path.dirname(os.path.abspath(folder)))
    for at, folders, names in os.walk(folder):
        if is_table(at):
            hint = "some of its files may belong to an older version; name the table on its own"
            raise SourceError("source", "hold no Delta or Iceberg table", repr(at), hint)
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        shown = [name for name in names if not name.startswith((".", "_"))]
        found += [os.path.join(at, name) for name in shown if _is_data(name)]
    if not found:
        raise absent("source", f"be a folder that holds {_KNOWN} files", repr(folder))
    return sorted(found)


def _is_data(name: str) -> bool:
    endings = [ending for ending, kind in KINDS.items() if kind not in _ALONE]
    return name.lower().endswith((*endings, *UNCLEAR))


# Of Delta's features those that leave each file as it is: a row is in it, and called as it is there.
_PLAIN = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
_TYPES = {
    "string": "VARCHAR", "byte": "TINYINT", "short": "SMALLINT", "integer": "INTEGER", "long": "BIGINT",
    "float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN", "binary": "BLOB", "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE", "timestamp_ntz": "TIMESTAMP",
    "array": "INTEGER[]", "map": "MAP(INTEGER, INTEGER)", "struct": "STRUCT(x INTEGER)",
}  # fmt: skip


def _delta(folder: str) -> Files:
    """The files that a Delta table has now."""
    if re.search("%[0-9A-Fa-f]{2}", folder):  # which the package takes for another letter, and so another folder
        raise SourceError("source", "be a Delta table whose path has no % before two digits", repr(folder))
    with needed("lake"):
        from deltalake import DeltaTable
    wrong = ""
    try:
        table = DeltaTable(folder)
        features, version = set(table.protocol().reader_features or ()), table.protocol().min_reader_version
        root, uris = table.table_uri.removeprefix("file://"), table.file_uris()  # the root alone is written as in a URI
        fields = {field.name: str(getattr(field.type, "type", "")) for field in table.schema().fields}
        parts = tuple(table.metadata().partition_columns)
    except Exception as error:  # whatever it is: its text may quote statistics of rows, so it is no cause
        wrong = type(error).__name__
    if wrong:
        raise DataError(f"{folder} cannot be read as a Delta table ({wrong})")
    if features - _PLAIN or (version > 1 and not features):
        came = ", ".join(sorted(features - _PLAIN)) or f"version {version} of its readers"
        hint = "rows of its files may be deleted or renamed: rewrite the table, or prepare it from Spark"
        raise SourceError("source", "be a Delta table that needs no reader features", came, hint)
    paths = sorted(os.path.join(os.path.abspath(folder), uri.removeprefix(root)) for uri in uris)
    # A part that is bytes is written as text.
    types = {name: "VARCHAR" if name in parts and sort == "binary" else _sql(sort) for name, sort in fields.items()}
    return Files("parquet", tuple(paths), tuple(types.items()), parts)


def _sql(sort: str) -> str:
    return _TYPES.get(sort, sort.upper() if sort.startswith("decimal(") else "VARCHAR")
