"""Items that came back as a table: each value goes back into the type that it came from."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.engines.duckdb.keys import DuckDBKey
from dpselect.engines.duckdb.types import FLOATS, INTEGERS, OBJECT, ZONED, kind
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sources.objects import written

_AS_THEY_ARE = INTEGERS | FLOATS | {"DECIMAL", "BOOLEAN", "DATE", "TIME", "BLOB", ZONED}
_AS_THEY_ARE |= {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"}


def keep_returned(workspace: Workspace, labels: Sequence[object], types: Sequence[str]) -> str:
    """The name of a table of items that came back, i in its one form, and the place of each; inside guarded work.

    Each value goes back alone into the type that it came from, so it is the one that it was.
    """
    table, values = workspace.fresh(), workspace.fresh()
    stored = tuple(one if kind(one) in _AS_THEY_ARE else "VARCHAR" for one in types)
    fields = ", ".join(f"v{at} {one}" for at, one in enumerate(stored))
    given = ", ".join(f"TRY_CAST(? AS {one})" for one in stored)
    workspace.rows(f"CREATE TEMP TABLE {values} ({fields}, place BIGINT)")
    for at, label in enumerate(labels):
        row = label if isinstance(label, tuple) else (label,)
        own = [_own(value, sql_type) for value, sql_type in zip(row, types, strict=True)]
        workspace.rows(f"INSERT INTO {values} VALUES ({given}, ?)", [*own, at])
    form = DuckDBKey(tuple(f"v{at}" for at in range(len(types))), stored).item
    workspace.rows(f"CREATE TEMP TABLE {table} AS SELECT {form} AS i, place FROM {values}")
    return table


def _own(value: object, sql_type: str) -> object:
    """A value as its column holds it."""
    if sql_type == OBJECT:
        return next(iter(written([value])))
    return value
