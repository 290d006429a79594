"""Iceberg tables in a folder of this machine: which file describes the table, and where the files of its rows lie.

A description (`00003-....metadata.json`) lists the ones before it. Its catalog made each of these the table, one after
the other: whoever writes the next description gets the last from there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect.engines.sources.tables import (
    ICEBERG_SUFFIX,
    SQLITE_SIDE_FILES,
    find_descriptions,
    is_iceberg_description,
    is_remote,
    path_of,
)
from dpselect.errors import DataError, SourceError

_WHICH = "name the one that its catalog has, table.metadata_location, as the source"
_READABLE_FORMATS = {"PARQUET", "PUFFIN"}
"""Formats of files of rows, deletes and vectors of which no row can stop the reading of the others."""
_REWRITE = "rewrite the table, as Spark does by CALL system.rewrite_data_files(...), or pass Spark's frame of it"


@dataclass(frozen=True)
class _Description:
    path: str
    table: str
    earlier: tuple[str, ...]

    def is_excluded_by(self, other: _Description) -> bool:
        """Return whether another description of the table lists a commit that this one, were it the last, would list.

        A list may have lost its oldest entries, so commits before its first tell nothing.
        """
        first = _number(self.earlier[0]) if self.earlier else -1
        commits = set(other.earlier) - set(self.earlier)
        return self.table == other.table and any(_number(commit) >= first for commit in commits)


def metadata_of(path: str) -> list[str]:
    """Return the descriptions that may be the table's state: the one that is named, or the newest of a folder.

    Those that no other lists and no commit excludes; whether a catalog has taken the last one no folder tells.
    """
    if is_iceberg_description(path):
        return [path]
    descriptions = find_descriptions(path)
    if hinted := _hinted(path, descriptions):
        return [hinted]
    heads: list[_Description] = []
    for file in sorted(descriptions, key=_number, reverse=True):
        if not any(os.path.basename(file) in head.earlier for head in heads):
            status = os.stat(file)
            heads.append(_read(file, status.st_mtime_ns, status.st_size))
    last = [head for head in heads if not any(map(head.is_excluded_by, heads))]
    return sorted(head.path for head in last or heads)


def state_files(source: str | os.PathLike[str]) -> list[str]:
    """Return the files whose last write tells which state of a table this is, SQLite's too; none at an address."""
    path = path_of(source)
    if is_remote(source):
        return []
    logs = (os.path.realpath(path) + end for end in SQLITE_SIDE_FILES)  # where SQLite has them, whatever links to it
    return metadata_of(path) or [path, *(log for log in logs if os.path.exists(log) and os.path.getsize(log))]


def folder_of(path: str) -> str:
    """Return the folder of the table that a path names."""
    return (
        os.path.dirname(os.path.dirname(os.path.abspath(path)))
        if is_iceberg_description(path)
        else os.path.abspath(path)
    )


def open_table(path: str) -> tuple[Any, list[str]]:
    """Return the table of pyiceberg and the files of its rows: where they lie in its folder now, if it was moved."""
    from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
    from pyiceberg.table import StaticTable

    newest = metadata_of(path)
    if len(newest) > 1:
        names = " and ".join(map(os.path.basename, newest))
        raise SourceError("source", "have one newest file of metadata", names, _WHICH)
    table = StaticTable.from_metadata(newest[0])
    locate = _locator(folder_of(path), table.location())

    class InFolder(PyArrowFileIO):
        def new_input(self, location: str) -> PyArrowFile:
            return super().new_input(locate(location))

    table.io = InFolder(table.io.properties)
    tasks = plan_files(table.scan())
    files = {locate(file.file_path) for task in tasks for file in (task.file, *task.delete_files)}
    for file in sorted(files):
        if "://" not in file and not os.path.isfile(file):
            raise SourceError(
                "source", "be an Iceberg table all of whose files are there", f"no file {file}", "copy it whole"
            )
    return table, sorted({locate(task.file.file_path) for task in tasks})


def plan_files(scan: Any) -> list[Any]:
    """Return the tasks of a scan, one for each file of rows.

    Refuse deletes that pyiceberg does not apply, Avro, which it does not read, and ORC: PyArrow reads its moments in
    nanoseconds, and fails for all where one is after the year 2262.
    """
    tasks, error_name, has_equality_deletes = [], "", False
    try:
        tasks = list(scan.plan_files())
    except Exception as error:  # whatever it is: its text may quote an address or a row, so it is no cause
        error_name = type(error).__name__
        has_equality_deletes = "equality deletes" in str(error)
    if not error_name:
        formats = {file.file_format.name for task in tasks for file in (task.file, *task.delete_files)}
        if unread := sorted(formats - _READABLE_FORMATS):
            hint = "rewrite it with 'write.format.default' = 'parquet', or pass Spark's frame of it"
            raise SourceError("source", "be an Iceberg table of Parquet files", f"one with files of {unread[0]}", hint)
        return tasks
    if has_equality_deletes:
        raise SourceError("source", "be an Iceberg table without equality deletes", "one that has some", _REWRITE)
    raise DataError(f"the files of the Iceberg table cannot be listed ({error_name})", "check that they may be read")


def _locator(folder: str, location: str) -> Callable[[str], str]:
    """Return the path of a file: what the description puts below the location of its table is in the folder."""
    declared = local_path(location).rstrip("/")
    moved = os.path.realpath(declared) != os.path.realpath(folder)

    def locate(file: str) -> str:
        if (path := local_path(file)).startswith(f"{declared}/"):
            return folder + path[len(declared) :]
        if moved and not path.startswith(f"{folder}/"):
            hint = f"the table was at {declared}: read it there, or write it anew here"
            raise SourceError("source", "be an Iceberg table with all files in its folder, once moved", path, hint)
        return path

    return locate


def local_path(location: str) -> str:
    """Return a location without the scheme of local files, which writers spell file:///, file:/ or not at all."""
    return re.sub("^file:(//[^/]*)?(?=/)", "", location)


def _number(path: str) -> int:
    number = re.match(r"v?(\d+)[-.]", os.path.basename(path))
    return int(number[1]) if number else -1


@lru_cache(maxsize=64)
def _read(path: str, modified_ns: int, size: int) -> _Description:  # noqa: ARG001 - they tell whether it is the same file
    """Return what a description says of others; one that cannot be read lists none, and is of no other's table."""
    import gzip
    import json

    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, EOFError):
        with gzip.open(path) if path.lower().endswith(f".gz{ICEBERG_SUFFIX}") else open(path, "rb") as file:
            content = json.load(file)
        earlier = tuple(os.path.basename(entry["metadata-file"]) for entry in content.get("metadata-log", []))
        return _Description(path, content.get("table-uuid") or content["location"], earlier)
    return _Description(path, path, ())


def _hinted(folder: str, descriptions: Sequence[str]) -> str | None:
    """Return the description that `version-hint.text` names. Of numbers the last counts: it may lag behind its file."""
    metadata = os.path.join(folder, "metadata")
    with suppress(OSError, UnicodeError), open(os.path.join(metadata, "version-hint.text"), encoding="utf-8") as text:
        hint = text.read(1_000).strip()
        if not hint.isdecimal():
            name = hint if hint.endswith(ICEBERG_SUFFIX) else hint + ICEBERG_SUFFIX
            return next((file for file in descriptions if os.path.basename(file) == name), None)
        numbered = {_number(file): file for file in descriptions if os.path.basename(file).startswith("v")}
        last = int(hint)
        while last + 1 in numbered:
            last += 1
        return numbered.get(last)
    return None
