"""Parquet files as one scan: types are those of their footers, which are read in one statement before any row.

Files whose used columns have equal types are read together; each group's values are brought to the common or declared
type, and the groups are joined. So a file's rows read the same whatever other files there are.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from dpselect._ground.dataclass import dataclass
from dpselect.engines.duckdb.types import ZONED, floor_to_microseconds, length_limited_form
from dpselect.engines.duckdb.workspace import Row, Workspace, literal, quoted
from dpselect.engines.filters.column_names import lower_ascii, refuse_twins_of_source
from dpselect.engines.sources.encrypted_parquet import encrypted_columns
from dpselect.engines.sources.files import Files, unlike_parquet
from dpselect.engines.sources.scans.folders import PATH_COLUMN, Folders, read_folders
from dpselect.engines.sources.scans.scan import RequestedColumns, Scan
from dpselect.engines.sources.scans.unions import common_type, refuse_unequal, refuse_unlike_table
from dpselect.errors import DataError, SourceError

if TYPE_CHECKING:
    from dpselect.engines.sources.scans.declarations import DeclaredType

Footer = Mapping[str, str]
"""The columns of a file and their types, as its footer has them."""
LACKS_COLUMN = "does not have"
"""How the refusal of files without the user's columns ends."""
_WIDE_DECIMAL, _INT128 = "DECIMAL of more than 38 digits", "whole numbers of 128 bits"
_HINT_OF_REFUSED_TYPE = {_WIDE_DECIMAL: "write it as text", _INT128: "write it as text or as DECIMAL(38,0)"}
_RENAME_HINT = "rename one of them, or write the file again without it"
_DECRYPT_HINT = "read the file with its keys, as PyArrow does, and give the table"
_ELEMENT = ("name", "num_children", "duckdb_type", "precision", "type", "type_length", "logical_type")
_READ_FOOTERS = f"SELECT file_name, column_id, {', '.join(_ELEMENT)} FROM parquet_schema({{}})"


def path_list_sql(paths: Sequence[str]) -> str:
    """Return the SQL of a list of files; the brackets and stars of a path are its own."""
    return f"[{', '.join(literal(glob.escape(path)) for path in paths)}]"


def parquet_rows(paths: Sequence[str], *, text: str = "replace", more_options: str = "") -> str:
    """Return what stands after FROM for Parquet files of equal types. What is no UTF-8 is read with a ? instead.

    A NaN is greater than every number: the statistics of a part of the file do not count it, and would skip it unless a
    larger number of another row stands there. Names of folders are read by `Folders`.
    """
    options = f"utf8_validation = '{text}', can_have_nan = true, hive_partitioning = false"
    return f"read_parquet({path_list_sql(paths)}, {options}{more_options})"


@dataclass(frozen=True)
class ParquetScan(Scan):
    """Parquet files, each as its own footer has it."""

    footers: tuple[tuple[Footer, tuple[str, ...]], ...]
    stamps: Mapping[str, tuple[int, ...]]
    folder_columns: Folders
    table_types: Mapping[str, str]
    """The types that a table declares for all of its files, whose names match in any letter case."""
    encrypted_columns: Mapping[str, str]
    """The columns that need a key, and for each a file in which it does."""

    def hint(self, column: str) -> str:
        """Return a hint about a column that does not exist."""
        return self.folder_columns.hint(column) or super().hint(column)

    def refuse(self, requested: RequestedColumns) -> None:
        """Refuse files without the user's columns, whose people would be nobody."""
        for name in requested.user or ():
            lacking = next((paths[0] for footer, paths in self.footers if name not in footer), None)
            if name in self.names and lacking is not None and name not in (*self.folders, *self.table_types):
                raise SourceError("user", "be a column of every file", f"{name!r}, which {lacking} {LACKS_COLUMN}")

    def check_unchanged(self) -> None:
        """Refuse files that were written again after their footers were read."""
        for path, stamp in self.stamps.items():
            if _file_stamp(path) != stamp:
                raise DataError(f"{path} has changed while it was opened", "ask again once no program writes to it")

    def source_types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the types of some columns, declared or common; files that disagree about one of them are refused."""
        return {column: self._column_type(column) for column in columns}

    def _column_type(self, column: str) -> str:
        if column in self.encrypted_columns:
            hint = f"column {column!r} has a key: {_DECRYPT_HINT}"
            raise SourceError("source", "be Parquet files that are not encrypted", self.encrypted_columns[column], hint)
        lower_name = lower_ascii(column)
        alike = {name for footer, _ in self.footers for name in footer if lower_ascii(name) == lower_name}
        if column in self.folders and alike and column not in self.table_types:
            path = next(paths[0] for footer, paths in self.footers if alike & footer.keys())
            self.folder_columns.refuse_both([column], alike, path)
        if column not in self.table_types and len(alike) > 1:
            came = " and ".join(map(repr, sorted(alike)))
            raise SourceError("source", f"have one column that is called {column!r} in any letter case", came)
        files_by_type: dict[str, str] = {}
        for footer, paths in self.footers:
            if (name := next(iter(alike & footer.keys()), None)) is not None:
                files_by_type.setdefault(footer[name], paths[0])
        for sql_type, path in files_by_type.items():
            _refuse_type(column, sql_type, path)
        if column in self.folders:
            files_by_type = {"VARCHAR": ""}
        if (declared := self.declared.get(column)) is not None:
            for sql_type in files_by_type:
                _read("x", sql_type, declared, column)
            return declared.type
        if column in self.table_types:
            if column not in self.folders:
                refuse_unlike_table(column, self.table_types[column], files_by_type)
            return self.table_types[column]
        common = common_type(files_by_type)
        return common or refuse_unequal(column, files_by_type)

    @contextmanager
    def source_rows(self, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:
        """Yield the SQL after FROM for one query over some columns, as they are declared: types of files differ."""
        self.check_unchanged()
        column_types = self.source_types(workspace, columns)
        folder_names = [name for name in columns if name in self.folders]
        groups: dict[tuple[tuple[str | None, ...], int], list[str]] = {}
        for footer, paths in self.footers:
            spellings = {name.lower(): name for name in footer} if self.table_types else {name: name for name in footer}
            file_columns = [spellings.get(name.lower() if self.table_types else name) for name in columns]
            source_types = tuple(None if name is None else footer[name] for name in file_columns)
            for path in paths:
                groups.setdefault(
                    (source_types, self.folder_columns.prefix_lengths[path] if folder_names else 0), []
                ).append(path)
        parts = [
            self._select_files(columns, source_types, column_types, paths, begin)
            for (source_types, begin), paths in groups.items()
        ]
        none = ", ".join(f"CAST(NULL AS {column_types[name]}) AS {quoted(name)}" for name in columns)
        yield f"({' UNION ALL '.join(parts) or f'SELECT {none} LIMIT 0'})"

    def _select_files(
        self,
        columns: Sequence[str],
        source_types: Sequence[str | None],
        column_types: Mapping[str, str],
        paths: Sequence[str],
        begin: int,
    ) -> str:
        """Return the rows of files of equal types, each value in the type of its column."""
        file_option = f", filename = '{self._path_column}'" if not self.folders_unused(columns) else ""
        values = []
        for name, sql_type in zip(columns, source_types, strict=True):
            value, value_type = self._value(name, sql_type, begin)
            declared = self.declared.get(name)
            if declared is not None:
                value = _read(value, value_type, declared, name)
            elif name in self.folders and value_type != column_types[name]:
                value = _folder_value_as(value, column_types[name], name)
            elif value_type != column_types[name]:
                value = self._cast_to_column(value, value_type, column_types[name])
            values.append(f"{value} AS {quoted(name)}")
        return f"SELECT {', '.join(values)} FROM {parquet_rows(paths, more_options=file_option)}"

    @property
    def _path_column(self) -> str:
        """The name of the column with the path of a row's file, which is no other column's."""
        name, used_names = PATH_COLUMN, set(map(lower_ascii, self.names))
        while name in used_names:
            name += "_"
        return name

    def folders_unused(self, columns: Sequence[str]) -> bool:
        """Return whether no column comes from a name of a folder."""
        return not any(name in self.folders for name in columns)

    def _value(self, name: str, source_type: str | None, begin: int) -> tuple[str, str]:
        """Return the SQL of a value and its type. Statistics of texts are of bytes: a cut one has none."""
        if name in self.folders:
            text = self.folder_columns.text_sql(name, self._path_column, begin)
            # Of the folders of a table Delta's protocol says that an empty name is null.
            return (f"nullif({text}, '')" if name in self.table_types else text), "VARCHAR"
        if source_type is None:
            return "NULL", '"NULL"'
        nothing = f"nullif(left({quoted(name)}, 0), '')" if source_type == "VARCHAR" else "NULL"
        return length_limited_form(quoted(name), source_type, nothing), source_type

    @staticmethod
    def _cast_to_column(value: str, source_type: str, column_type: str) -> str:
        """Return a value in the type of all files, exactly; of a table, in the type that it declares."""
        if column_type.startswith(("INTEGER[", "MAP", "STRUCT")):  # of which a filter asks only whether it is there
            return value
        floored = (
            floor_to_microseconds(value, source_type) if source_type in ("TIMESTAMP_NS", "TIMESTAMPTZ_NS") else value
        )
        return f"TRY_CAST({floored} AS {column_type})"


def _read(value: str, source_type: str, declared: DeclaredType, column: str) -> str:
    """Call `read_value`, which most questions do not need."""
    from dpselect.engines.sources.scans.reading import read_value

    return read_value(value, source_type, declared, column)


def _folder_value_as(text: str, column_type: str, column: str) -> str:
    """Return a name of a folder exactly as the type that a table declares; moments without a zone are of UTC."""
    from dpselect.engines.sources.scans.declarations import DeclaredType

    declared = DeclaredType(
        "DOUBLE" if column_type == "FLOAT" else column_type, zone="UTC" if column_type == ZONED else None
    )
    value = _read(text, "VARCHAR", declared, column)
    return f"TRY_CAST({value} AS FLOAT)" if column_type == "FLOAT" else value


def _refuse_type(column: str, sql_type: str, path: str) -> None:
    if sql_type == "JSON":  # the reader looks at every value, and fails for one
        hint = "write the file again with that column as text"
        raise DataError(f"column {column!r} is JSON in Parquet, where one bad value stops all reading", hint)
    if sql_type in _HINT_OF_REFUSED_TYPE:
        raise DataError(f"column {column!r} of {path} has {sql_type}", _HINT_OF_REFUSED_TYPE[sql_type])


def parquet_scan(workspace: Workspace, files: Files) -> ParquetScan:
    """Return the scan of Parquet files, whose footers are read and no row."""
    inside = read_folders(files)
    stamps = {path: _file_stamp(path) for path in files.paths}
    encrypted = _find_encrypted_columns(files.paths)
    footers = _read_footers(workspace, files.paths)
    for footer, paths in footers:
        refuse_twins_of_source(footer, f" in {paths[0]}", _RENAME_HINT)
    table = dict(files.declared or ())
    parts = inside.names if files.partition_columns is None else files.partition_columns
    if files.partition_columns and any(name not in inside.names for name in files.partition_columns if files.paths):
        raise SourceError(
            "source",
            "be a table whose folders are named by its parts",
            f"no {files.partition_columns[0]}=... among them",
        )
    names = dict.fromkeys([*(name for footer, _ in footers for name in footer), *parts, *table])
    if table:
        lower_names = {name.lower() for name in (*parts, *table)}
        names = {name: None for name in names if name in table or name in parts or name.lower() not in lower_names}
    return ParquetScan(tuple(names), footers, stamps, inside, table, encrypted, fixed=True, folders=parts)


def _find_encrypted_columns(paths: Sequence[str]) -> dict[str, str]:
    """Return the encrypted columns, each with a file in which it is; a file whose footer is encrypted is refused."""
    file_by_column: dict[str, str] = {}
    for path in paths:
        columns = encrypted_columns(path)
        if columns is None:
            raise SourceError("source", "be Parquet files that are not encrypted", path, _DECRYPT_HINT)
        file_by_column |= dict.fromkeys(columns, path)
    return file_by_column


def _read_footers(workspace: Workspace, paths: Sequence[str]) -> tuple[tuple[Footer, tuple[str, ...]], ...]:
    """Return the distinct schemas of the files, each with its files."""
    if not paths:
        return ()
    paths_by_schema = None
    with contextlib.suppress(DataError):
        paths_by_schema = _group_by_schema(workspace.fetch(_READ_FOOTERS.format(path_list_sql(paths))))
    if paths_by_schema is not None:
        return tuple(
            (_without_bytes_of_16(workspace, _top_level_columns(schema), schema_paths[0]), tuple(schema_paths))
            for schema, schema_paths in paths_by_schema.items()
        )
    damaged = [path for path in paths if not _has_footer(workspace, path)] or paths
    hint = "it may be damaged, incomplete or another kind of file"
    raise DataError(f"{unlike_parquet(damaged[:1])} cannot be read as parquet", hint)


def _group_by_schema(elements: Sequence[Row]) -> Mapping[tuple[Row, ...], Sequence[str]]:
    """Return the files of each schema, in the order of their names; an element has its file and its place there."""
    paths_by_schema: dict[tuple[Row, ...], list[str]] = {}
    for path, schema in groupby(sorted(elements, key=itemgetter(0, 1)), key=itemgetter(0)):
        paths_by_schema.setdefault(tuple(element[2:] for element in schema), []).append(path)
    return paths_by_schema


def _without_bytes_of_16(workspace: Workspace, footer: Footer, path: str) -> Footer:
    """Return the footer; values of 16 bytes are whole numbers only of polars, which has no such bytes."""
    if _INT128 not in footer.values():
        return footer
    writer = workspace.fetch(f"SELECT created_by FROM parquet_file_metadata({path_list_sql([path])})")[0][0]
    if str(writer).startswith("Polars"):
        return footer
    return {name: "BLOB" if sql_type == _INT128 else sql_type for name, sql_type in footer.items()}


def _has_footer(workspace: Workspace, path: str) -> bool:
    with contextlib.suppress(DataError):
        return bool(workspace.fetch(f"SELECT count(*) FROM parquet_schema({path_list_sql([path])})"))
    return False


def _top_level_columns(schema: Sequence[Row]) -> Footer:
    """Return the columns of a footer, without what is inside of them, and their types."""
    footer, descendants = {}, 0
    for element in (dict(zip(_ELEMENT, row, strict=True)) for row in schema[1:]):
        if not descendants:
            footer[element["name"]] = _element_type(element)
        descendants += (element["num_children"] or 0) - (1 if descendants else 0)
    return footer


def _element_type(element: Mapping[str, Any]) -> str:
    if (element["precision"] or 0) > 38:
        return _WIDE_DECIMAL
    is_int128 = (
        element["type"] == "FIXED_LEN_BYTE_ARRAY" and element["type_length"] == "16" and element["logical_type"] is None
    )
    return _INT128 if is_int128 and element["duckdb_type"] == "BLOB" else element["duckdb_type"]


def _file_stamp(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
