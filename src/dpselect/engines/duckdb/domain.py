"""Listed items as tables: a domain, and items that came back, each value in the type and form of its column.

A domain is public, so a value of it that does not fit is an error and may be spoken of.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpselect._ground.domain import Column, Listed
from dpselect.engines.address import Address
from dpselect.engines.duckdb.dialect import compile_plain_key
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import (
    FLOATS,
    INTEGERS,
    OBJECT,
    TEXTS,
    ZONED,
    base_type,
    is_text,
    item_form,
    label_function,
    nameable_condition,
)
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.sources.objects import EncodedTexts, encode_values
from dpselect.engines.sources.scans.scan import RequestedColumns, describe_columns
from dpselect.engines.sql.port import SqlType
from dpselect.engines.values import INFINITY, MAX_VALUE_BYTES, MINUS_INFINITY
from dpselect.errors import DataError, ParameterError

_NUMBER_TYPES = INTEGERS | FLOATS | {"DECIMAL", "BOOLEAN"}


def store_domain(workspace: Workspace, domain: Listed | Column, types: Sequence[SqlType]) -> str:
    """Store the distinct items of a domain as a table of i and `place`, its first index in a list; return its name."""
    values = [workspace.fresh_name() for _ in types]
    if isinstance(domain, Column):
        targets = [_store_column_values(workspace, domain, values[0], types[0])]
    else:
        items = [item if len(types) > 1 else (item,) for item in domain.items if item is not None]
        columns = [[item[index] for item in items] for index in range(len(types))]  # type: ignore[index]
        targets = [_store_values(workspace, *column) for column in zip(columns, values, types, strict=True)]
    casts = ", ".join(f"TRY_CAST({values[index]}.v AS {target}) AS v{index}" for index, target in enumerate(targets))
    joined = " ".join([values[0], *(f"JOIN {other_values} USING (place)" for other_values in values[1:])])
    key = compile_plain_key((f"v{index}", target) for index, target in enumerate(targets))
    table = workspace.fresh_name()
    typed = f"(SELECT {casts}, place FROM {joined})"
    distinct = (
        f"SELECT {key.canonical_form} AS i, min(place) AS place FROM {typed} WHERE {key.nameable_condition} GROUP BY 1"
    )
    workspace.fetch(f"CREATE TEMP TABLE {table} AS {distinct}")
    if not workspace.fetch(f"FROM {table} LIMIT 1"):
        raise ParameterError("domain", "hold at least one item", "none")
    for name in values:
        workspace.fetch(f"DROP TABLE {name}")
    return table


def _store_values(
    workspace: Workspace, column: list[object], values: str, sql_type: SqlType, *, ordered: bool = True
) -> str:
    """Store one column's values v with the index of each item, and return the type to which they are cast."""
    if sql_type.canonical_type == OBJECT:
        store_list(workspace, list(to_object_forms(column)), values, ordered=ordered)
        return "VARCHAR"
    store_list(workspace, column, values, ordered=ordered)
    return choose_fitting_type(workspace, values, sql_type)


def choose_fitting_type(workspace: Workspace, values: str, item_column: SqlType) -> str:
    """Return the type to which the kept values v are cast, in which each of them keeps its value."""
    value_type, item_type = describe_columns(workspace, f"FROM {values}")["v"], item_column.canonical_type
    if item_column.undeclared_text is not None and base_type(value_type) in _NUMBER_TYPES:
        is_integer = base_type(value_type) in INTEGERS
        item_column.undeclared_text.refuse(
            "whole numbers" if is_integer else "numbers", declare="BIGINT" if is_integer else ""
        )
    if is_text(item_type) and base_type(value_type) in _NUMBER_TYPES:
        hint = "write the items as text, in quotes"
        raise ParameterError("domain", "hold text, like the item column", f"{base_type(value_type)} values", hint)
    target = "VARCHAR" if is_text(item_type) else item_type
    _refuse_misfits(workspace, values, value_type, target)
    return target


def store_list(workspace: Workspace, items: list[object], values: str, *, ordered: bool = True) -> None:
    """Store values of one type as a table of v and `place`, the index of each, or 0 if they have no order."""
    index_sql = "unnest(range(?))" if ordered else "0 * ?"
    try:
        workspace.fetch(
            f"CREATE TEMP TABLE {values} AS SELECT unnest(?) AS v, {index_sql} AS place", [items, len(items)]
        )
        fits_one_column = True
    except DataError:
        fits_one_column = False
    if not fits_one_column:
        raise ParameterError("domain", "hold values of one type", "some that cannot be in one column")


def to_object_forms(items: list[object]) -> EncodedTexts:
    """Return public values in the form that those of a column without a declared type have; each must have one."""
    forms = encode_values(items)
    if any(form in (None, INFINITY, MINUS_INFINITY) for form in forms):
        invalid_values = f"NaN, an infinity, text that is not Unicode, or a value over {MAX_VALUE_BYTES >> 20} MiB"
        raise ParameterError("domain", "hold values that a column can hold", invalid_values)
    return forms


def _store_column_values(workspace: Workspace, domain: Column, values: str, item_column: SqlType) -> str:
    """Store the values v of a column, which have no order, and return the type to which they are cast."""
    scan = open_scan(workspace, Address.parse(domain.source, domain.table))
    scan.check(RequestedColumns(None, [("domain", domain.column)]))
    sql_type = scan.types(workspace, [domain.column])[domain.column]
    is_listed = OBJECT in (sql_type, item_column.canonical_type)  # of no declared type, or compared with items of none

    def keep() -> list[object]:
        with scan.rows(workspace, [domain.column]) as rows:
            source = f"(SELECT {quoted(domain.column)} AS v FROM {rows})"
            if is_listed:
                to_label, is_nameable = label_function(sql_type), nameable_condition("v", sql_type)
                distinct_items = f"SELECT DISTINCT {item_form('v', sql_type)} FROM {source} WHERE {is_nameable}"
                return [to_label(value) for (value,) in workspace.fetch_unguarded(distinct_items)]
            workspace.fetch_unguarded(f"CREATE TEMP TABLE {values} AS SELECT v, 0 AS place FROM {source}")
            return []

    distinct_items = workspace.guarded(keep)
    if is_listed:
        return _store_values(workspace, distinct_items, values, item_column, ordered=False)
    return choose_fitting_type(workspace, values, item_column)


def _refuse_misfits(workspace: Workspace, values: str, value_type: str, target: str) -> None:
    """Refuse values that the item column's type cannot hold, or not exactly: 1.5 if items are integers."""
    cast = f"TRY_CAST(v AS {target})"
    is_changed_text, is_text_value = _changed_text(cast, target), base_type(value_type) in TEXTS
    changed = is_changed_text if is_text_value else f"TRY_CAST({cast} AS {value_type}) IS DISTINCT FROM v"
    if workspace.fetch(f"SELECT 1 FROM {values} WHERE v IS NOT NULL AND ({cast} IS NULL OR {changed}) LIMIT 1"):
        requirement = f"hold values that are {base_type(target)}, like the item column"
        raise ParameterError("domain", requirement, f"{base_type(value_type)} values of which not all are")


def _changed_text(cast: str, target: str) -> str:
    """Compile whether a text v loses something as the item column's type: DuckDB rounds, and cuts times off dates."""
    if base_type(target) in INTEGERS | {"DECIMAL"}:
        scale = 0 if base_type(target) in INTEGERS else int(target.rstrip(")").rpartition(",")[2])
        more_digits = f"regexp_matches(v, '[.][0-9]{{{scale}}}[0-9]*[1-9]')"
        return f"({more_digits} OR TRY_CAST(v AS DOUBLE) IS DISTINCT FROM CAST({cast} AS DOUBLE))"
    if base_type(target) in ("DATE", "TIMESTAMP_S", "TIMESTAMP_MS"):
        return f"TRY_CAST(v AS TIMESTAMP) IS DISTINCT FROM CAST({cast} AS TIMESTAMP)"
    return "false"


_STORED_UNCHANGED = INTEGERS | FLOATS | {"DECIMAL", "BOOLEAN", "DATE", "TIME", "BLOB", ZONED}
_STORED_UNCHANGED |= {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"}


def store_returned_items(workspace: Workspace, labels: Sequence[object], types: Sequence[str]) -> str:
    """Store items that came back as a table of i, canonical, and `place`, its index; return its name; in guarded work.

    Each value is cast alone to the type that it came from, so it is the same value again.
    """
    table, values = workspace.fresh_name(), workspace.fresh_name()
    stored_types = tuple(sql_type if base_type(sql_type) in _STORED_UNCHANGED else "VARCHAR" for sql_type in types)
    fields = ", ".join(f"v{index} {sql_type}" for index, sql_type in enumerate(stored_types))
    parameters = ", ".join(f"TRY_CAST(? AS {sql_type})" for sql_type in stored_types)
    workspace.fetch_unguarded(f"CREATE TEMP TABLE {values} ({fields}, place BIGINT)")
    for index, item in enumerate(labels):
        row = item if isinstance(item, tuple) else (item,)
        column_values = [_to_column_value(value, sql_type) for value, sql_type in zip(row, types, strict=True)]
        workspace.fetch_unguarded(f"INSERT INTO {values} VALUES ({parameters}, ?)", [*column_values, index])
    form = compile_plain_key((f"v{index}", sql_type) for index, sql_type in enumerate(stored_types)).canonical_form
    workspace.fetch_unguarded(f"CREATE TEMP TABLE {table} AS SELECT {form} AS i, place FROM {values}")
    return table


def _to_column_value(value: object, sql_type: str) -> object:
    """Return a value as its column holds it."""
    if sql_type == OBJECT:
        return next(iter(encode_values([value])))
    return value
