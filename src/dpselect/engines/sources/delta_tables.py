"""Delta tables: the state that the log of one has, and whether its files alone are its rows."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from dpselect.engines.sources.tables import redact_address, refuse_missing_package
from dpselect.errors import DataError, SourceError

# Of Delta's features those that leave each file as it is: a row is in it, and called as it is there.
_HARMLESS_FEATURES = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "variantType", "variantType-preview",
          "variantShredding", "variantShredding-preview"}  # fmt: skip
_READ_BY_FILE = {"columnMapping", "deletionVectors"}
_SQL_OF_DELTA_TYPE = {
    "string": "VARCHAR", "byte": "TINYINT", "short": "SMALLINT", "integer": "INTEGER", "long": "BIGINT",
    "float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN", "binary": "BLOB", "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE", "timestamp_ntz": "TIMESTAMP",
    "array": "INTEGER[]", "map": "MAP(INTEGER, INTEGER)", "struct": "STRUCT(x INTEGER)",
    "variant": "STRUCT(x INTEGER)",
}  # fmt: skip
_LINE_TO_READ_ALL = 'pa.table(deltalake.QueryBuilder().register("t", table).execute("SELECT * FROM t"))'


def open_table(source: Any, options: dict[str, str] | None = None) -> tuple[Any, bool]:
    """Return the DeltaTable of a folder or an address, or the one that is given, and whether its files are its rows.

    The files of a table at an address are not: DuckDB does not read them there. No row is read.
    """
    place = source if isinstance(source, str) else unquote(source.table_uri.removeprefix("file://"))
    if "://" not in place and re.search("%[0-9A-Fa-f]{2}", place):  # which the package takes for another letter
        raise SourceError("source", "be a Delta table whose path has no % before two digits", repr(place.rstrip("/")))
    with refuse_missing_package("lake"):
        from deltalake import DeltaTable
    wrong = ""
    try:
        table = DeltaTable(source, storage_options=options) if isinstance(source, str) else source
        features = _features_in_use(table)
        table.file_uris(), table.schema()  # whoever opened it asks for them
        if features and features <= _READ_BY_FILE:
            table.deletion_vectors()  # which it does not give beside a feature that it does not know
    except Exception as error:  # whatever it is: its text may quote statistics of rows, so it is no cause
        wrong = type(error).__name__
    if wrong:
        raise DataError(f"{redact_address(place).rstrip('/')} cannot be read as a Delta table ({wrong})")
    if unread := sorted(features - _READ_BY_FILE):
        hint = f"pass {_LINE_TO_READ_ALL} for its DeltaTable `table`"
        raise SourceError("source", "be a Delta table whose rows can be read by file", ", ".join(unread), hint)
    return table, not features and "://" not in place


def _features_in_use(table: Any) -> set[str]:
    """Return the features by which rows of a Delta table need not be those of its files; a declared one may be unused.

    Deletion vectors count where they are declared: if the first row that is deleted changed the reader, it would change
    how other rows are read.
    """
    protocol = table.protocol()
    features = set(protocol.reader_features or ()) - _HARMLESS_FEATURES
    if protocol.min_reader_version == 2:  # which is that of column mapping
        features.add("columnMapping")
    mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if "columnMapping" in features and mapping == "id":
        features.add("columnMapping by id")
    if mapping == "none":
        features.discard("columnMapping")
    if all("delta.typeChanges" not in field.to_json() for field in table.schema().fields):
        features.discard("typeWidening")
    return features


def declared_types(table: Any) -> tuple[tuple[str, str], ...]:
    """Return the columns of a table and their SQL types, as it declares them for all of its files."""
    parts = table.metadata().partition_columns
    type_names = {field.name: str(getattr(field.type, "type", "")) for field in table.schema().fields}
    # A part that is bytes is written as text.
    return tuple(
        (name, "VARCHAR" if name in parts and type_name == "binary" else _sql_type(type_name))
        for name, type_name in type_names.items()
    )


def _sql_type(type_name: str) -> str:
    return _SQL_OF_DELTA_TYPE.get(type_name, type_name.upper() if type_name.startswith("decimal(") else "VARCHAR")
