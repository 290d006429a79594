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
    """A relation on the caller's own connection, which hands on plain columns. All else is done here.

    There the caller's macros may have any name, of operators and built-in functions too, and settings of theirs say
    how things are read, compared and ordered. So nothing is called there, cast or compared, and nothing is left.
    """

    relation: duckdb.DuckDBPyRelation
    known: Mapping[str, str]

    @classmethod
    def of(cls, relation: duckdb.DuckDBPyRelation) -> RelationScan:
        """The scan of a relation whose connection is still open."""
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        return cls(tuple(types), relation, types)

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """The SQL types of some columns."""
        folded = set(map(lower_ascii, columns))
        same = [column for column in self.relation.columns if lower_ascii(column) in folded]
        refuse_twins_of_source(same, "", "rename one of them in the relation")
        types = {column: self.known[column] for column in columns}
        lost = next((kind(one) for one in types.values() if kind(one) in _LOST), None)
        if lost is not None:
            hint = "cast it to text in the relation, or in a view"
            raise DataError(f"a column of type {lost} cannot be read unchanged from a connection", hint)
        return types

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:
        """What stands after FROM for one query over the selected rows."""
        narrow = self.relation.select(*map(duckdb.ColumnExpression, columns))
        back = ", ".join(f"{_as_it_was(quoted(column), self.known[column])} AS {quoted(column)}" for column in columns)
        # The stream is registered, not the relation: it runs once, and its schema comes with it.
        with workspace.registered(narrow.__arrow_c_stream__()) as name:
            yield f"({select(f'(SELECT {back} FROM {name})')})"


# How these travel is up to a setting of the connection (arrow_lossless_conversion). They become again what they were:
# the bits of a large integer come as those of a signed one.
_BACK = {
    "HUGEINT": "CAST({} AS HUGEINT)",
    "UHUGEINT": "CASE WHEN {} < 0 THEN (CAST({} AS HUGEINT) - (-170141183460469231731687303715884105728)::HUGEINT)"
    "::UHUGEINT + 170141183460469231731687303715884105728 ELSE CAST({} AS UHUGEINT) END",
    "UUID": "CAST({} AS UUID)",
}
_LOST = frozenset({"BIT", "TIME WITH TIME ZONE"})  # what these were cannot be told any more


def _as_it_was(column: str, sql_type: str) -> str:
    back = _BACK.get(kind(sql_type))
    return short_form(column, sql_type) if back is None else back.replace("{}", column)
