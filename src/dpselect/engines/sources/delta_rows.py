"""Rows of a Delta table whose files alone do not tell them, or that lie at an address: read file by file with PyArrow.

A deletion vector says which rows of a file are deleted, a mapping what its columns are called in the files, and the log
which values a file has in the columns that divide the table. deltalake reads all of these; the rows it does not read
for us, because it fails where one text is no UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from dpselect._ground.dataclass import dataclass
from dpselect.engines.filters.column_names import make_unique
from dpselect.engines.sources.columns import ScannableColumns
from dpselect.engines.sources.frames import Frame, stream_of
from dpselect.engines.sources.refused_types import GENERAL, refused_type
from dpselect.errors import DataError, SourceError

_PHYSICAL_NAME = b"delta.columnMapping.physicalName"


@dataclass(frozen=True)
class _File:
    """A file of a table: a fragment of PyArrow, its values in the dividing columns, and which of its rows are left."""

    fragment: Any
    divided_by: dict[str, Any]  # scalars by logical name
    kept: Any  # an Arrow array of booleans, None where all rows are left

    def batches(self, fields: Sequence[Any]) -> Iterator[list[Any]]:
        """Yield the values of some columns, each in the type of its field."""
        import pyarrow

        names = [self._name_in_file(field) for field in fields]
        used = sorted({name for name in names if name is not None})
        start = 0
        for batch in self.fragment.to_batches(columns=used):
            kept = None if self.kept is None else _padded(self.kept.slice(start, len(batch)), len(batch))
            start += len(batch)
            columns = []
            for field, name in zip(fields, names, strict=True):
                if field.name in self.divided_by:
                    column = pyarrow.repeat(self.divided_by[field.name].cast(field.type), len(batch))
                elif name is not None:
                    column = batch.column(name).cast(field.type, safe=False)
                else:
                    column = pyarrow.nulls(len(batch), field.type)
                columns.append(column if kept is None else column.filter(kept))
            yield columns

    def _name_in_file(self, field: Any) -> str | None:
        """Return what a column is called in the file, in whatever letter case; None where the file lacks it."""
        name = _physical_name(field)
        names = self.fragment.physical_schema.names
        return name if name in names else next((other for other in names if other.lower() == name.lower()), None)

    def refuse_other_type(self, field: Any) -> None:
        """Refuse a file that has a column in another type than the table declares: a row could decide what fits."""
        schema, name = self.fragment.physical_schema, self._name_in_file(field)
        if field.name in self.divided_by or name is None:
            return
        if _stored_type(schema.field(name).type) != _stored_type(field.type):
            came = f"column {field.name!r} of type {schema.field(name).type} in {self.fragment.path}"
            raise SourceError("source", f"be a table whose files have {field.name!r} as {field.type}", came, GENERAL)


def open_delta_rows(table: Any, address: str | None = None) -> Frame:
    """Return the rows of a DeltaTable, which are read at an address of it that PyArrow knows. No row is read.

    deltalake has a reader of files, too, but it keeps all other threads from running while it waits for one.
    """
    import pyarrow
    from pyarrow import fs

    system, folder = fs.FileSystem.from_uri(table.table_uri if address is None else address)
    schema = pyarrow.schema(table.schema().to_arrow())
    for name in table.metadata().partition_columns:  # a part that is bytes is written as text
        if pyarrow.types.is_binary(schema.field(name).type):
            index = schema.get_field_index(name)
            schema = schema.set(index, schema.field(name).with_type(pyarrow.string()))
    files = _files(table, system, f"{folder.rstrip('/')}/")

    def narrow(positions: Sequence[int], empty: bool) -> ScannableColumns:
        fields = [schema.field(position) for position in positions]
        for field in fields:
            if pyarrow.types.is_nested(field.type):
                raise refused_type(field.name, str(field.type).partition("<")[0], GENERAL)
            for file in files:
                file.refuse_other_type(field)
        batches = (columns for file in files for columns in file.batches(fields))
        return stream_of(
            [field.name for field in fields], [field.type for field in fields], batches, empty=empty, library="pyarrow"
        )

    return Frame(tuple(make_unique(schema.names)), narrow)


def _files(table: Any, system: Any, folder: str) -> list[_File]:
    """Return the files that a table has now."""
    import pyarrow
    from pyarrow import dataset

    # A time of 96 bits is one of nanoseconds, unless it is told otherwise, and those reach from 1677 to 2262.
    parquet = dataset.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    root, actions = table.table_uri, pyarrow.table(table.get_add_actions(flatten=True))
    paths = [unquote(path) for path in actions["path"].to_pylist()]
    vectors = pyarrow.table(table.deletion_vectors())
    kept = {
        unquote(path.as_py().removeprefix(root)): vector.values
        for path, vector in zip(*(vectors[name] for name in vectors.column_names), strict=True)
    }
    if not kept.keys() <= set(paths):
        raise DataError("the log of the Delta table deletes rows of files that it does not have")
    divided_by = {name: actions[f"partition.{name}"] for name in table.metadata().partition_columns}
    return [
        _File(
            parquet.make_fragment(path if path.startswith("/") else folder + path, system),
            {name: values[index] for name, values in divided_by.items()},
            kept.get(path),
        )
        for index, path in enumerate(paths)
    ]


def _padded(kept: Any, rows: int) -> Any:
    """Return which of some rows are left: those that a vector does not reach are."""
    import pyarrow

    return pyarrow.concat_arrays([kept, pyarrow.repeat(pyarrow.scalar(True), rows - len(kept))])


def _physical_name(field: Any) -> str:
    """Return what a column is called in the files."""
    name: bytes = (field.metadata or {}).get(_PHYSICAL_NAME, field.name.encode())
    return name.decode()


def _stored_type(arrow_type: Any) -> str:
    """Return a type without what Arrow adds to it: a writer may have left word of its views, units and dictionaries."""
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        return _stored_type(arrow_type.value_type)
    if types.is_timestamp(arrow_type):
        return "timestamp"
    if types.is_decimal(arrow_type):
        return f"decimal({arrow_type.precision}, {arrow_type.scale})"
    return str(arrow_type).removeprefix("large_").removesuffix("_view")
