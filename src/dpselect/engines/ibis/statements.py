"""What is asked of a backend, as expressions of Ibis: rows in their one form, and counts of distinct users.

People are counted as distinct rows: on some backends Ibis writes its number of distinct values as an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpselect.engines.ibis.backends import Backend, Value, call
from dpselect.engines.ibis.forms import Form

Columns = Mapping[str, Sequence[str]]
"""Columns by the letter under which, with a number, their forms are known: u of users, g of groups, i of items, c."""


def named(columns: Columns, letters: str) -> dict[str, str]:
    """Return the columns by the names of their forms."""
    return {f"{letter}{index}": name for letter in letters for index, name in enumerate(columns[letter])}


def all_rows(table: Value, columns: Columns, forms: Mapping[str, Form], *, distinct: bool) -> Value:
    """Return the columns c of all rows, as texts; each different row once if `distinct`."""
    rows = _select(table, columns, "c", forms)
    return _as_texts(rows.distinct() if distinct else rows, rows.columns)


def users_per_item(table: Value, columns: Columns, forms: Mapping[str, Form], max_items: int | None) -> Value:
    """Return the items i as texts and n, their numbers of distinct users u; without columns of items, that of all.

    With `max_items` only of those that have the most; among equal counts the first in the order of items.
    """
    import ibis

    pairs, items = _present(_select(table, columns, "ui", forms)), list(named(columns, "i"))
    counts = (pairs.group_by(items) if items else pairs).aggregate(n=pairs.count())
    if max_items is not None:
        counts = counts.order_by([ibis.desc("n"), *items]).limit(max_items)
    return _as_texts(counts, items, "n")


def users_per_item_and_group(
    table: Value, columns: Columns, forms: Mapping[str, Form], most: tuple[int, int], key: bytes, backend: Backend
) -> Value:
    """Return groups g and items i as texts, n, place and users of the best items of each group.

    `most` are the groups that a user keeps, the first by a keyed hash of the user and the group; and the items.
    """
    import ibis

    assert backend.digest is not None
    users, groups, items = (list(named(columns, letter)) for letter in "ugi")
    rows = _present(_select(table, columns, "ugi", forms))
    # A colon stands in no digits, and in no number.
    parts = [part for name in (*users, *groups) for part in (_as_digits(rows[name]), ":")]
    hashed = rows.mutate(hash=call(ibis.literal(f"{key.hex()}:").concat(*parts), *backend.digest))
    ranked = hashed.mutate(rank=ibis.dense_rank().over(group_by=users, order_by=["hash", *groups]))
    kept = ranked.filter(ranked["rank"] < most[0])
    pairs = kept.select(*users, *groups).distinct()
    group_users = pairs.group_by(groups).aggregate(users=pairs.count())
    counts = kept.group_by([*groups, *items]).aggregate(n=kept.count())
    first = ibis.row_number().over(group_by=groups, order_by=[ibis.desc("n"), *items])
    best = counts.mutate(place=first + 1)
    best = best.filter(best.place <= most[1]).inner_join(group_users, groups)
    return _as_texts(best, [*groups, *items], "n", "place", "users")


def _select(table: Value, columns: Columns, letters: str, forms: Mapping[str, Form]) -> Value:
    return table.select(
        **{name: forms[column].value(table[column]) for name, column in named(columns, letters).items()}
    )


def _present(rows: Value) -> Value:
    """Return the distinct rows in which no value is missing."""
    return rows.filter(*(rows[name].notnull() for name in rows.columns)).distinct()


def _as_digits(form: Value) -> Value:
    return call(form, ("hex", "string")) if form.type().is_binary() else form.cast("string")


def _as_texts(rows: Value, names: Sequence[str], *counts: str) -> Value:
    """Return these forms as texts, but bytes and doubles as they are, and numbers of users."""

    def text(form: Value) -> Value:
        return form if form.type().is_binary() or form.type().is_floating() else form.cast("string")

    return rows.select(
        **{name: text(rows[name]) for name in names}, **{name: rows[name].cast("int64") for name in counts}
    )
