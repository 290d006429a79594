"""Relations as scans: rows on the caller's own connection, which is trusted with nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from dpselect.engines.duckdb.scans import Scan, Select
from dpselect.engines.duckdb.types import kind, short_form
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.filters.column_names import lower_ascii, refuse_twins_of_source
from dpselect.errors import DataError


@dataclass(frozen=True, repr=False)
class RelationScan(Scan):
    """A scan of a relation on the caller's own connection, from which only plain columns are read.

    The caller's macros may have any name there, of operators and built-in functions too, and the caller's settings
    decide how things are read, compared and ordered. So nothing is called, cast or compared there, and nothing is left.
    """

    relation: duckdb.DuckDBPyRelation
    column_types: Mapping[str, str]

    @classmethod
    def from_relation(cls, relation: duckdb.DuckDBPyRelation) -> RelationScan:
        """Return the scan of a relation whose connection is still open."""
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        return cls(tuple(types), relation, types)

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the SQL types of some columns."""
        folded_names = set(map(lower_ascii, columns))
        same_names = [column for column in self.relation.columns if lower_ascii(column) in folded_names]
        refuse_twins_of_source(same_names, "", "rename one of them in the relation")
        types = {column: self.column_types[column] for column in columns}
        unreadable_type = next(
            (kind(sql_type) for sql_type in types.values() if kind(sql_type) in _UNREADABLE_TYPES), None
        )
        if unreadable_type is not None:
            hint = "cast it to text in the relation, or in a view"
            raise DataError(f"a column of type {unreadable_type} cannot be read unchanged from a connection", hint)
        return types

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """Yield the SQL after FROM for one query over the selected rows."""
        narrow_relation = self.relation.select(*map(duckdb.ColumnExpression, columns))
        restored_columns = ", ".join(
            f"{_restored(quoted(column), self.column_types[column])} AS {quoted(column)}" for column in columns
        )
        # The stream is registered, not the relation: it runs once, and its schema comes with it.
        with workspace.registered(narrow_relation.__arrow_c_stream__()) as name:
            yield f"({select(f'(SELECT {restored_columns} FROM {name})')})"


# How these travel is up to a setting of the connection (arrow_lossless_conversion). They become again what they were:
# the bits of a large integer come as those of a signed one.
_RESTORING_CASTS = {
    "HUGEINT": "CAST({} AS HUGEINT)",
    "UHUGEINT": "CASE WHEN {} < 0 THEN (CAST({} AS HUGEINT) - (-170141183460469231731687303715884105728)::HUGEINT)"
    "::UHUGEINT + 170141183460469231731687303715884105728 ELSE CAST({} AS UHUGEINT) END",
    "UUID": "CAST({} AS UUID)",
}
_UNREADABLE_TYPES = frozenset({"BIT", "TIME WITH TIME ZONE"})  # their values cannot be restored


def _restored(column: str, sql_type: str) -> str:
    back = _RESTORING_CASTS.get(kind(sql_type))
    return short_form(column, sql_type) if back is None else back.replace("{}", column)
