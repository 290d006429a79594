"""Questions of a set union as plain SQL: what users keep of their pairs, and what that adds up to."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.engines.sql.port import Dialect, SqlType


def _text(item: str, dialect: Dialect) -> str:
    return dialect.text.replace("{}", item)


def unreleased_pairs(pairs: str, released: str | None, dialect: Dialect) -> str:
    """The pairs whose item is not released yet."""
    if released is None:
        return pairs
    return f"(SELECT u, i FROM {pairs} AS k WHERE NOT {_among(released, dialect)})"


def released_pairs(pairs: str, released: str, dialect: Dialect) -> str:
    """The pairs whose item is released."""
    return f"(SELECT u, i FROM {pairs} AS k WHERE {_among(released, dialect)})"


def _among(released: str, dialect: Dialect) -> str:
    """Is the item of k one of the released ones?"""
    return f"EXISTS (SELECT 1 FROM {released} AS f WHERE f.x = {_text('k.i', dialect)})"


def kept_items(pairs: str, most: int, key: str, dialect: Dialect) -> str:
    """i and t: of each user the first `most` items by a keyed hash, and how many those are.

    The hash is of the user and the item themselves, never of a number that the item got among all others: what a
    user keeps depends on their own items and on the key only.
    """
    theirs = f"PARTITION BY u ORDER BY {dialect.bound_order(key, 'u', 'i')}, i"  # one order for both, so that it is made once
    size = f"count(*) OVER ({theirs} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS size"
    ranked = f"SELECT i, row_number() OVER ({theirs}) AS place, {size} FROM {pairs} AS k"
    t = f"CAST(CASE WHEN size < {most} THEN size ELSE {most} END AS BIGINT) AS t"
    return f"(SELECT i, {t} FROM ({ranked}) AS r WHERE place <= {most})"


def item_weights(kept: str, shares: str, given: Sequence[str], names: Sequence[str]) -> str:
    """i and its weights: sums of what users give to it. Sums of whole numbers are exact in any order."""
    sums = (f"CAST(sum(s.{share}) AS BIGINT) AS {w}" for share, w in zip(given, names, strict=True))
    return f"SELECT k.i AS i, {', '.join(sums)} FROM {kept} AS k JOIN {shares} AS s ON s.t = k.t GROUP BY k.i"


def items_per_weight(weighed: str, names: Sequence[str]) -> str:
    """How many items have which weights."""
    every = ", ".join(names)
    return f"SELECT {every}, count(*) AS n FROM {weighed} AS g GROUP BY {every}"


def group_members(weighed: str, asked: str, names: Sequence[str], dialect: Dialect) -> str:
    """The texts of items by weights and place r among those of the same weights, which are in the order of items."""
    every, first = ", ".join(names), names[0]
    place = f"row_number() OVER (PARTITION BY {every} ORDER BY i) - 1 AS r"
    ranked = f"SELECT i, {every}, {place} FROM {weighed} AS g WHERE {first} IN (SELECT {first} FROM {asked} AS b)"
    same = " AND ".join(f"a.{name} = m.{name}" for name in (*names, "r"))
    return f"SELECT {_text('m.i', dialect)} AS x FROM ({ranked}) AS m JOIN {asked} AS a ON {same}"


def released_names(pairs: str, released: str, item_type: SqlType, dialect: Dialect) -> str:
    """The names of the released items, in the order of items."""
    items = f"SELECT DISTINCT i FROM {released_pairs(pairs, released, dialect)} AS o"
    return f"SELECT name FROM (SELECT {item_type.label_form} AS name, i FROM ({items}) AS d) AS e ORDER BY i"


def stored_names(released: str, item_type: SqlType) -> str:
    """The same of items that the database holds themselves."""
    items = f"SELECT {item_type.label_form} AS name, i FROM (SELECT x AS i FROM {released} AS r) AS d"
    return f"SELECT name FROM ({items}) AS e ORDER BY i"


def rows_of_sign(rows: str, sign: int) -> str:
    """The rows of users with this w."""
    return f"(SELECT u, i FROM {rows} AS t WHERE w = {sign})"


def released_item_users(pairs: str, kept: str, before: str | None = None) -> str:
    """How many users keep each of the items that these pairs hold, in the order of items.

    Or by how many they are more than the n of `before`, 0 where they are not.
    """
    counted = f"SELECT i, count(*) AS n FROM {kept} AS k GROUP BY i"
    items = f"SELECT DISTINCT i FROM {pairs} AS p"
    number, joined = "coalesce(c.n, 0)", f"({items}) AS d LEFT JOIN ({counted}) AS c ON c.i = d.i"
    if before is not None:
        number = f"greatest({number} - coalesce(b.n, 0), 0)"
        joined += f" LEFT JOIN {before} AS b ON b.i = d.i"
    return f"SELECT {number} AS n FROM {joined} ORDER BY d.i"


def users_per_set_size(pairs: str, most: int) -> str:
    """How many users have how many items, more than `most` as `most`."""
    size = f"CASE WHEN count(*) < {most} THEN count(*) ELSE {most} END AS t"
    return f"SELECT t, count(*) AS n FROM (SELECT {size} FROM {pairs} AS k GROUP BY u) AS s GROUP BY t ORDER BY t"
