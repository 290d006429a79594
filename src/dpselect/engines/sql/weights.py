"""Questions of a set union as plain SQL: what users keep of their pairs, and what that adds up to."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.engines.sql.port import Dialect, SqlType


def _value_text(item: str, dialect: Dialect) -> str:
    return dialect.text.replace("{}", item)


def unreleased_pairs(pairs: str, released: str | None, dialect: Dialect) -> str:
    """Compile the pairs whose item is not released yet."""
    if released is None:
        return pairs
    return f"(SELECT u, i FROM {pairs} AS k WHERE NOT {_is_released(released, dialect)})"


def released_pairs(pairs: str, released: str, dialect: Dialect) -> str:
    """Compile the pairs whose item is released."""
    return f"(SELECT u, i FROM {pairs} AS k WHERE {_is_released(released, dialect)})"


def _is_released(released: str, dialect: Dialect) -> str:
    """Compile the condition that the item of k is released."""
    return f"EXISTS (SELECT 1 FROM {released} AS f WHERE f.x = {_value_text('k.i', dialect)})"


def kept_items(pairs: str, max_items: int, key: str, dialect: Dialect) -> str:
    """Compile i and t: of each user the first `max_items` items by a keyed hash, and how many those are.

    The hash is of the user and the item themselves, never of a number that the item has among all others: what a
    user keeps depends on their own items and on the key only.
    """
    # One order for both, so that rows are sorted once.
    order_of_user = f"PARTITION BY u ORDER BY {dialect.bound_order(key, 'u', 'i')}, i"
    size = f"count(*) OVER ({order_of_user} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS size"
    ranked = f"SELECT i, row_number() OVER ({order_of_user}) AS place, {size} FROM {pairs} AS k"
    kept_number = f"CAST(CASE WHEN size < {max_items} THEN size ELSE {max_items} END AS BIGINT) AS t"
    return f"(SELECT i, {kept_number} FROM ({ranked}) AS r WHERE place <= {max_items})"


def item_weights(kept_pairs: str, shares: str, share_names: Sequence[str], weight_names: Sequence[str]) -> str:
    """Compile i and its weights: sums of what users give to it. Sums of integers are exact in any order."""
    sums = (
        f"CAST(sum(s.{share}) AS BIGINT) AS {weight_name}"
        for share, weight_name in zip(share_names, weight_names, strict=True)
    )
    return f"SELECT k.i AS i, {', '.join(sums)} FROM {kept_pairs} AS k JOIN {shares} AS s ON s.t = k.t GROUP BY k.i"


def items_per_weight(weights: str, weight_names: Sequence[str]) -> str:
    """Compile the number of items of each weight."""
    weight_columns = ", ".join(weight_names)
    return f"SELECT {weight_columns}, count(*) AS n FROM {weights} AS g GROUP BY {weight_columns}"


def group_members(weights: str, requested: str, weight_names: Sequence[str], dialect: Dialect) -> str:
    """Compile the texts of items by weights and rank r among those of the same weights, in the order of items."""
    weight_columns, first_weight = ", ".join(weight_names), weight_names[0]
    rank = f"row_number() OVER (PARTITION BY {weight_columns} ORDER BY i) - 1 AS r"
    may_be_requested = f"{first_weight} IN (SELECT {first_weight} FROM {requested} AS b)"
    ranked = f"SELECT i, {weight_columns}, {rank} FROM {weights} AS g WHERE {may_be_requested}"
    is_requested = " AND ".join(f"a.{name} = m.{name}" for name in (*weight_names, "r"))
    return f"SELECT {_value_text('m.i', dialect)} AS x FROM ({ranked}) AS m JOIN {requested} AS a ON {is_requested}"


def released_names(pairs: str, released: str, item_type: SqlType, dialect: Dialect) -> str:
    """Compile the names of the released items, in the order of items."""
    items = f"SELECT DISTINCT i FROM {released_pairs(pairs, released, dialect)} AS o"
    return f"SELECT name FROM (SELECT {item_type.label_form} AS name, i FROM ({items}) AS d) AS e ORDER BY i"


def stored_names(released: str, item_type: SqlType) -> str:
    """Compile the names of released items that the database holds itself."""
    items = f"SELECT {item_type.label_form} AS name, i FROM (SELECT x AS i FROM {released} AS r) AS d"
    return f"SELECT name FROM ({items}) AS e ORDER BY i"


def rows_of_sign(rows: str, sign: int) -> str:
    """Compile the rows of users with this w."""
    return f"(SELECT u, i FROM {rows} AS t WHERE w = {sign})"


def released_item_users(pairs: str, kept_pairs: str, previous_counts: str | None = None) -> str:
    """Compile the number of users who keep each of the items that these pairs hold, in the order of items.

    With `previous_counts`, compile by how many it exceeds the n there, or 0 if it does not.
    """
    counts = f"SELECT i, count(*) AS n FROM {kept_pairs} AS k GROUP BY i"
    items = f"SELECT DISTINCT i FROM {pairs} AS p"
    number, joined = "coalesce(c.n, 0)", f"({items}) AS d LEFT JOIN ({counts}) AS c ON c.i = d.i"
    if previous_counts is not None:
        number = f"greatest({number} - coalesce(b.n, 0), 0)"
        joined += f" LEFT JOIN {previous_counts} AS b ON b.i = d.i"
    return f"SELECT {number} AS n FROM {joined} ORDER BY d.i"


def users_per_set_size(pairs: str, largest: int) -> str:
    """Compile how many users have how many items, where more than `largest` is `largest`."""
    size = f"CASE WHEN count(*) < {largest} THEN count(*) ELSE {largest} END AS t"
    return f"SELECT t, count(*) AS n FROM (SELECT {size} FROM {pairs} AS k GROUP BY u) AS s GROUP BY t ORDER BY t"
