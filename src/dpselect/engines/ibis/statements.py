"""What is asked of a backend, as expressions of Ibis: rows in their one form, and counts of distinct users.

People are counted as distinct rows: on some backends Ibis writes its number of distinct values as an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpselect.engines.ibis.backends import Backend, Value, call
from dpselect.engines.ibis.forms import Form

Forms = Mapping[str, Form]


def select_forms(table: Value, columns: Sequence[str], forms: Forms, prefix: str) -> dict[str, Value]:
    """Return the forms of some columns, under the names `prefix`0, `prefix`1, ..."""
    return {f"{prefix}{index}": forms[name].value(table[name]) for index, name in enumerate(columns)}


def all_rows(table: Value, columns: Sequence[str], forms: Forms, *, distinct: bool) -> Value:
    """Return some columns of all rows, as texts c0, c1, ...; each different row once if `distinct`."""
    rows = table.select(**select_forms(table, columns, forms, "c"))
    return as_texts(rows.distinct() if distinct else rows, rows.columns)


def users_per_item(
    table: Value, users: Sequence[str], items: Sequence[str], forms: Forms, max_items: int | None
) -> Value:
    """Return i0, i1, ... as texts and n, the number of distinct users, of each item; without columns of items, of all.

    With `max_items` only of those that have the most; among equal counts the first in the order of items.
    """
    import ibis

    rows = table.select(**select_forms(table, users, forms, "u"), **select_forms(table, items, forms, "i"))
    item_columns = [f"i{index}" for index in range(len(items))]
    pairs = rows.filter(*(rows[name].notnull() for name in rows.columns)).distinct()
    counts = (pairs.group_by(item_columns) if item_columns else pairs).aggregate(n=pairs.count())
    if max_items is not None:
        counts = counts.order_by([ibis.desc("n"), *item_columns]).limit(max_items)
    return as_texts(counts, item_columns, kept=("n",))


def users_per_item_and_group(
    table: Value, columns: Mapping[str, Sequence[str]], forms: Forms, most: tuple[int, int], key: bytes, backend: Backend
) -> Value:
    """Return g0, ... and i0, ... as texts, n, place and users of the best items of each group.

    `columns` are those of users u, groups g and items i, `most` the groups that a user keeps and the items of a group.
    Of the groups a user keeps the first by a keyed hash of the user and the group, which are digits, points and signs:
    what stands between them is in none of them.
    """
    import ibis

    names = {prefix: [f"{prefix}{index}" for index in range(len(columns[prefix]))] for prefix in "ugi"}
    selected = {
        name: form
        for prefix in "ugi"
        for name, form in select_forms(table, columns[prefix], forms, prefix).items()
    }
    rows = table.select(**selected)
    rows = rows.filter(*(rows[name].notnull() for name in rows.columns)).distinct()
    hashed = ibis.literal(key.hex())
    for prefix in "ug":
        for name in names[prefix]:
            hashed = hashed.concat(f"{prefix}:", _as_text(rows[name]))
    ranked = rows.mutate(hash=backend.digest(hashed))
    first = ibis.dense_rank().over(group_by=names["u"], order_by=["hash", *names["g"]])
    ranked = ranked.mutate(place=first)
    kept = ranked.filter(ranked.place < most[0])
    users = kept.select(*names["u"], *names["g"]).distinct()
    users = users.group_by(names["g"]).aggregate(users=users.count())
    counts = kept.group_by([*names["g"], *names["i"]]).aggregate(n=kept.count())
    best = ibis.row_number().over(group_by=names["g"], order_by=[ibis.desc("n"), *names["i"]])
    counts = counts.mutate(place=best + 1)
    counts = counts.filter(counts.place <= most[1]).inner_join(users, names["g"])
    return as_texts(counts, [*names["g"], *names["i"]], kept=("n", "place", "users"))


def _as_text(value: Value) -> Value:
    if value.type().is_binary():
        return call("hex", "string", value)
    return value if value.type().is_string() else value.cast("string")


def as_texts(rows: Value, names: Sequence[str], kept: Sequence[str] = ()) -> Value:
    """Return these forms as texts, bytes as bytes and doubles as doubles, and numbers of users."""
    texts = {name: rows[name] for name in names}
    return rows.select(
        **{name: value if _is_exact(value) else value.cast("string") for name, value in texts.items()},
        **{name: rows[name].cast("int64") for name in kept},
    )


def _is_exact(value: Value) -> bool:
    """Return whether every driver fetches a value of this type as it is."""
    data_type = value.type()
    return bool(data_type.is_string() or data_type.is_binary() or data_type.is_floating())
