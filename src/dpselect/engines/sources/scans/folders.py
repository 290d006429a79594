"""Columns that names of folders hold (`country=DE/`): only below the folder or the glob that a caller gave.

A name of a folder is public, as the name of a file is. Its value is text until somebody declares the column.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote_to_bytes

from dpselect._ground.dataclass import dataclass
from dpselect.engines.duckdb.workspace import literal
from dpselect.engines.sources.files import Files
from dpselect.errors import SourceError

PATH_COLUMN = "dpselect_file"
"""What the path of a row's file is called where names of folders are read."""
MISSING_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Folders:
    """The columns, and for each file how many characters of its path stand before the names that count."""

    names: tuple[str, ...]
    prefix_lengths: Mapping[str, int]
    paths: tuple[str, ...]

    def hint(self, column: str) -> str | None:
        """Return a hint about a column that only folders above the given files have."""
        folder = None if column in self.names else _folder_above(column, self.paths)
        if folder is None:
            return None
        return f"names of folders are columns only below a folder or glob that is given: give {folder!r} to have it"

    def refuse_both(self, columns: Iterable[str], file_columns: Iterable[str], path: str) -> None:
        """Refuse a column that is used and that a file has too, in any letter case."""
        lower_names = {name.lower() for name in file_columns}
        shared_name = next((name for name in columns if name in self.names and name.lower() in lower_names), None)
        if shared_name is not None:
            raise SourceError("source", f"have {shared_name!r} in its files or in names of folders", f"both, as {path}")

    def values(self, path: str) -> dict[str, str | None]:
        """Return the texts of the columns for one file; None where it is missing."""
        texts = {
            name: unquote_to_bytes(value).decode() for name, value in _folder_columns(path, self.prefix_lengths[path])
        }
        return {name: None if texts[name] in ("", MISSING_VALUE) else texts[name] for name in self.names}

    def text_sql(self, name: str, file: str, begin: int) -> str:
        """Return the SQL of the text of a column, from the SQL of a file's path."""
        pattern = literal(f"(?:^|{re.escape(os.sep)}){re.escape(name)}=([^{re.escape(os.sep)}]*){re.escape(os.sep)}")
        value = f"url_decode(regexp_extract(substr({file}, {begin + 1}), {pattern}, 1))"
        return f"nullif(nullif({value}, ''), '{MISSING_VALUE}')"


def read_folders(files: Files) -> Folders:
    """Return the columns of the folders; refuse those that are not the same above every file."""
    begins = {
        path: len(path) if root is None else len(root) for path, root in zip(files.paths, files.roots, strict=True)
    }
    names: tuple[str, ...] | None = None
    first = ""
    for path, begin in begins.items():
        pairs = _folder_columns(path, begin)
        path_names = tuple(name for name, _ in pairs)
        if any(not _is_utf8(value) for _, value in pairs):
            raise SourceError("source", "have folders whose % codes are UTF-8", repr(path))
        if len({name.lower() for name in path_names}) < len(path_names):
            raise SourceError("source", "have folders that name each column once", repr(path))
        if names is None:
            names, first = path_names, path
        elif sorted(path_names) != sorted(names):
            came = f"{path!r} ({_format_names(path_names)}) and {first!r} ({_format_names(names)})"
            raise SourceError("source", "have the same columns in the folders of every file", came)
    return Folders(names or (), begins, tuple(begins))


def folders_above(files: Files) -> dict[str, str]:
    """Return the columns that only folders above the given ones spell, each with the folder to give to have it."""
    if files.declared is not None:  # the log of a table says which folders are columns
        return {}
    ends = [len(path) if root is None else len(root) for path, root in zip(files.paths, files.roots, strict=True)]
    below = {name for path, end in zip(files.paths, ends, strict=True) for name, _ in _folder_columns(path, end)}
    every = dict.fromkeys(name for path in files.paths for name, _ in _folder_columns(os.path.abspath(path), 0))
    return {name: folder for name in every if name not in below and (folder := _folder_above(name, files.paths))}


def _folder_above(column: str, paths: Iterable[str]) -> str | None:
    """Return the folder whose folders spell this column, above one of the files; written as the path of the file is."""
    mark = f"{os.sep}{column}="
    for path in paths:
        parent, separator, _ = os.path.abspath(path).rpartition(mark)
        if separator:
            folder = parent or os.sep
            return folder if os.path.isabs(path) else os.path.relpath(folder)
    return None


def _folder_columns(path: str, begin: int) -> list[tuple[str, str]]:
    """Return the names and values of the folders after so many characters of a path."""
    if "=" not in path[begin:]:
        return []
    parts = path[begin:].split(os.sep)[:-1]
    return [(name, value) for name, mark, value in (part.partition("=") for part in parts) if mark and name]


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _is_utf8(text: str) -> bool:
    try:
        unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        return False
    return True
