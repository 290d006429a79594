"""A listed domain as a table: its values in the item column's type and form, told from the domain alone.

A domain is public, so a value of it that does not fit is an error and may be spoken of.
"""

from __future__ import annotations

import numpy as np

from dpselect._ground.domain import Column, Listed
from dpselect.engines.address import Address
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import FLOATS, INTEGERS, OBJECT, TEXTS, is_text, item_form, kind, label, nameable
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.sources.objects import Texts, encode_values
from dpselect.engines.sources.scans.scan import RequestedColumns, describe_columns, missing_column
from dpselect.engines.sql.port import SqlType
from dpselect.engines.values import INFINITY, LESS_INFINITY
from dpselect.errors import DataError, ParameterError

_NUMBERS = INTEGERS | FLOATS | {"DECIMAL", "BOOLEAN"}


def keep_domain(workspace: Workspace, domain: Listed | Column, item_column: SqlType) -> str:
    """Store the distinct items of the domain as a table of i and place, its first index in a list; return its name."""
    item_type = item_column.form_type
    listed_values = list(domain.items) if isinstance(domain, Listed) else None
    values = workspace.fresh_name()
    if isinstance(domain, Column):
        listed_values = _keep_column(workspace, domain, values, as_objects=item_type == OBJECT)
    if item_type == OBJECT:
        return _keep_objects(workspace, listed_values or [], ordered=isinstance(domain, Listed))
    if listed_values is not None:
        keep_list(workspace, listed_values, values)
    target = choose_fitting_type(workspace, values, item_column)
    form = item_form("v", target)
    is_nameable = nameable("v", target)
    table = workspace.fresh_name()
    # A column of a source has no order of its own.
    place_column = "place" if isinstance(domain, Listed) else "0 AS place"
    typed = f"(SELECT TRY_CAST(v AS {target}) AS v, {place_column} FROM {values})"
    items = f"SELECT {form} AS i, min(place) AS place FROM {typed} WHERE {is_nameable} GROUP BY 1"
    workspace.fetch(f"CREATE TEMP TABLE {table} AS {items}")
    if not workspace.fetch(f"FROM {table} LIMIT 1"):
        raise ParameterError("domain", "hold at least one item", "none")
    workspace.fetch(f"DROP TABLE {values}")
    return table


def choose_fitting_type(workspace: Workspace, values: str, item_column: SqlType) -> str:
    """Return the type to which the kept values v are cast, in which each of them keeps its value."""
    value_type, item_type = describe_columns(workspace, f"FROM {values}")["v"], item_column.form_type
    if item_column.undeclared is not None and kind(value_type) in _NUMBERS:
        is_integer = kind(value_type) in INTEGERS
        item_column.undeclared.refuse(
            "whole numbers" if is_integer else "numbers", declare="BIGINT" if is_integer else ""
        )
    if is_text(item_type) and kind(value_type) in _NUMBERS:
        hint = "write the items as text, in quotes"
        raise ParameterError("domain", "hold text, like the item column", f"{kind(value_type)} values", hint)
    target = "VARCHAR" if is_text(item_type) else item_type
    _refuse_misfits(workspace, values, value_type, target)
    return target


def keep_list(workspace: Workspace, items: list[object], values: str) -> None:
    """Store values of one type as a table of v and place, the index of each."""
    values_and_places = "SELECT unnest(?) AS v, unnest(range(?)) AS place"
    try:
        workspace.fetch(f"CREATE TEMP TABLE {values} AS {values_and_places}", [items, len(items)])
        fits_one_column = True
    except DataError:
        fits_one_column = False
    if not fits_one_column:
        raise ParameterError("domain", "hold values of one type", "some that cannot be in one column")


def _keep_objects(workspace: Workspace, items: list[object], *, ordered: bool) -> str:
    """Store items of a column without a declared type, in the form that its values have."""
    forms = to_object_forms([item for item in items if item is not None])
    indices = np.arange(len(forms)) if ordered else np.zeros(len(forms), dtype=np.int64)
    if not len(forms):
        raise ParameterError("domain", "hold at least one item", "none")
    table = workspace.fresh_name()
    registered_forms = workspace.register({"i": forms, "place": indices})
    distinct = f'SELECT i COLLATE "C" AS i, min(place) AS place FROM {registered_forms} GROUP BY 1'
    try:
        workspace.fetch(f"CREATE TEMP TABLE {table} AS {distinct}")
    finally:
        workspace.connection.unregister(registered_forms)
    return table


def to_object_forms(items: list[object]) -> Texts:
    """Return public values in the form that those of a column without a declared type have; each must have one."""
    forms = encode_values(items)
    if any(form in (None, INFINITY, LESS_INFINITY) for form in forms):
        invalid_values = "NaN, an infinity, or text that is not Unicode"
        raise ParameterError("domain", "hold values that a column can hold", invalid_values)
    return forms


def _keep_column(workspace: Workspace, domain: Column, values: str, *, as_objects: bool) -> list[object] | None:
    """Store the column as a table, or return its values if it has no declared type, or items have none."""
    scan = open_scan(workspace, Address.parse(domain.source, domain.table))
    if scan.names and domain.column not in scan.names:
        raise missing_column("domain", domain.column, scan)
    scan.refuse(RequestedColumns(None, [("domain", domain.column)]))
    sql_type = scan.types(workspace, [domain.column])[domain.column]

    def keep() -> list[object] | None:
        with scan.rows(workspace, [domain.column]) as rows:
            source = f"(SELECT {quoted(domain.column)} AS v FROM {rows})"
            if as_objects or sql_type == OBJECT:
                distinct_items = (
                    f"SELECT DISTINCT {item_form('v', sql_type)} FROM {source} WHERE {nameable('v', sql_type)}"
                )
                return [label(value, sql_type) for (value,) in workspace.rows(distinct_items)]
            workspace.rows(f"CREATE TEMP TABLE {values} AS FROM {source}")
            return None

    return workspace.guarded(keep)


def _refuse_misfits(workspace: Workspace, values: str, value_type: str, target: str) -> None:
    """Refuse values that the item column's type cannot hold, or not exactly: 1.5 if items are integers."""
    cast = f"TRY_CAST(v AS {target})"
    changed = "false" if kind(value_type) in TEXTS else f"TRY_CAST({cast} AS {value_type}) IS DISTINCT FROM v"
    if workspace.fetch(f"SELECT 1 FROM {values} WHERE v IS NOT NULL AND ({cast} IS NULL OR {changed}) LIMIT 1"):
        requirement = f"hold values that are {kind(target)}, like the item column"
        raise ParameterError("domain", requirement, f"{kind(value_type)} values of which not all are")
