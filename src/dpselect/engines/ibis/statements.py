"""What is asked of a backend, as expressions of Ibis: rows in their one form, and counts of distinct users.

People are counted as distinct rows: on some backends Ibis writes its number of distinct values as an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpselect.engines.ibis.backends import Value
from dpselect.engines.ibis.forms import Form

Forms = Mapping[str, Form]


def select_forms(table: Value, columns: Sequence[str], forms: Forms, prefix: str) -> dict[str, Value]:
    """Return the forms of some columns, under the names `prefix`0, `prefix`1, ..."""
    return {f"{prefix}{index}": forms[name].value(table[name]) for index, name in enumerate(columns)}


def all_rows(table: Value, columns: Sequence[str], forms: Forms, *, distinct: bool) -> Value:
    """Return some columns of all rows, as texts c0, c1, ...; each different row once if `distinct`."""
    rows = table.select(**select_forms(table, columns, forms, "c"))
    return as_texts(rows.distinct() if distinct else rows, forms, columns, "c")


def users_per_item(
    table: Value, users: Sequence[str], items: Sequence[str], forms: Forms, max_items: int | None
) -> Value:
    """Return i0, i1, ... as texts and n, the number of distinct users, of each item that has one.

    With `max_items` only of those that have the most; among equal counts the first in the order of items.
    """
    import ibis

    rows = table.select(**select_forms(table, users, forms, "u"), **select_forms(table, items, forms, "i"))
    item_columns = [f"i{index}" for index in range(len(items))]
    pairs = rows.filter(*(rows[name].notnull() for name in rows.columns)).distinct()
    if item_columns:
        counts = pairs.group_by(item_columns).aggregate(n=pairs.count())
    else:
        counts = pairs.aggregate(n=pairs.count())
        counts = counts.filter(counts.n > 0)
    if max_items is not None:
        counts = counts.order_by([ibis.desc("n"), *item_columns]).limit(max_items)
    return as_texts(counts, forms, items, "i", kept=("n",))


def as_texts(rows: Value, forms: Forms, columns: Sequence[str], prefix: str, kept: Sequence[str] = ()) -> Value:
    """Return the forms of these columns as texts; bytes stay bytes, and doubles doubles."""
    texts = {f"{prefix}{index}": rows[f"{prefix}{index}"] for index in range(len(columns))}
    return rows.select(
        **{name: value if _is_exact(value) else value.cast("string") for name, value in texts.items()},
        **{name: rows[name].cast("int64") for name in kept},
    )


def _is_exact(value: Value) -> bool:
    """Return whether every driver fetches a value of this type as it is."""
    data_type = value.type()
    return bool(data_type.is_string() or data_type.is_binary() or data_type.is_floating())
