"""Items that came back as a table: each value goes back into the type that it came from."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.engines.duckdb.dialect import compile_plain_key
from dpselect.engines.duckdb.types import FLOATS, INTEGERS, OBJECT, ZONED, kind
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sources.objects import encode_values

_AS_THEY_ARE = INTEGERS | FLOATS | {"DECIMAL", "BOOLEAN", "DATE", "TIME", "BLOB", ZONED}
_AS_THEY_ARE |= {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"}


def keep_returned(workspace: Workspace, labels: Sequence[object], types: Sequence[str]) -> str:
    """Store items that came back as a table of i, in its one form, and its index; return its name; inside guarded work.

    Each value is cast alone to the type that it came from, so it is the same value again.
    """
    table, values = workspace.fresh_name(), workspace.fresh_name()
    stored_types = tuple(sql_type if kind(sql_type) in _AS_THEY_ARE else "VARCHAR" for sql_type in types)
    fields = ", ".join(f"v{index} {sql_type}" for index, sql_type in enumerate(stored_types))
    parameters = ", ".join(f"TRY_CAST(? AS {sql_type})" for sql_type in stored_types)
    workspace.rows(f"CREATE TEMP TABLE {values} ({fields}, place BIGINT)")
    for index, label in enumerate(labels):
        row = label if isinstance(label, tuple) else (label,)
        column_values = [_to_column_value(value, sql_type) for value, sql_type in zip(row, types, strict=True)]
        workspace.rows(f"INSERT INTO {values} VALUES ({parameters}, ?)", [*column_values, index])
    form = compile_plain_key((f"v{index}", sql_type) for index, sql_type in enumerate(stored_types)).form
    workspace.rows(f"CREATE TEMP TABLE {table} AS SELECT {form} AS i, place FROM {values}")
    return table


def _to_column_value(value: object, sql_type: str) -> object:
    """Return a value as its column holds it."""
    if sql_type == OBJECT:
        return next(iter(encode_values([value])))
    return value
