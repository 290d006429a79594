"""Questions as PostgreSQL's SQL. Rows come in as columns u (user) and i (item), counts go out as i and n."""

from __future__ import annotations

from dpselect.engines.domain import Span
from dpselect.engines.postgres_types import PgType
from dpselect.engines.postgres_workspace import quoted
from dpselect.errors import ParameterError

_INTEGERS = frozenset({"int2", "int4", "int8"})


def rows(table: str, user: tuple[str, PgType], item: tuple[str, PgType]) -> str:
    """The users and items of the rows that count, each in its one form."""
    (u, user_type), (i, item_type) = ((quoted(name), sql_type) for name, sql_type in (user, item))
    forms = f"{user_type.form.format(u)} AS u, {item_type.form.format(i)} AS i"
    return f"(SELECT {forms} FROM {table} WHERE {_present(user_type, u)} AND {_present(item_type, i)}) AS t"


def _present(sql_type: PgType, column: str) -> str:
    return sql_type.present.replace("{}", column)


def pairs(rows: str, most: int) -> str:
    """The distinct (u, i) pairs that are kept: of every user the `most` first by a keyed hash.

    The bytes are unambiguous: the key, which is one for the whole question, the length of the user in four bytes, the
    user, the item. Both are in their one form, whose text says which value it is. Equal hashes are told apart by the
    item, so the choice depends on the user's rows only.
    """
    distinct = f"SELECT DISTINCT u, i FROM {rows}"
    user, item = "convert_to(u::text, 'UTF8')", "convert_to(i::text, 'UTF8')"
    keyed = f"sha256(%(key)s::bytea || int4send(length({user})) || {user} || {item})"
    place = f"row_number() OVER (PARTITION BY u ORDER BY {keyed}, i) AS place"
    return f"(SELECT u, i FROM (SELECT u, i, {place} FROM ({distinct}) AS d) AS p WHERE place <= {most}) AS p"


def counts(rows: str, most: int | None) -> str:
    """i and n, the number of distinct users of every item."""
    if most is None:
        return f"SELECT i, count(DISTINCT u) AS n FROM {rows} GROUP BY i"
    return f"SELECT i, count(*) AS n FROM {pairs(rows, most)} GROUP BY i"


def top(counted: str, named: str, rows: int) -> str:
    """The items with the most users; among equal counts the first in the order of items."""
    return f"SELECT {named}, n FROM (SELECT i, n FROM ({counted}) AS c ORDER BY n DESC, i LIMIT {rows}) AS c " + (
        "ORDER BY n DESC, c.i"
    )


def groups(counted: str) -> str:
    """How many items have each count."""
    return f"SELECT n, count(*) FROM ({counted}) AS c GROUP BY n ORDER BY n DESC"


def keep_names(cursor: str, counted: str, named: str) -> str:
    """A cursor over all items: groups by falling count, items of a group in their own order."""
    sql = f"SELECT {named} FROM ({counted}) AS c ORDER BY n DESC, c.i"
    return f"DECLARE {cursor} SCROLL CURSOR WITHOUT HOLD FOR {sql}"


def name_at(cursor: str, place: int) -> str:
    """The item at one place."""
    return f"FETCH ABSOLUTE {place + 1} FROM {cursor}"


def seen_before(counted: str, start: int, unseen: int) -> str:
    """How many seen numbers stand before the r-th unseen one: those with at most r unseen ones before them."""
    gap = f"i::numeric - ({start}) - (row_number() OVER (ORDER BY i) - 1) AS gap"
    return f"SELECT count(*) FROM (SELECT {gap} FROM ({counted}) AS c) AS g WHERE gap <= {unseen}"


def in_span(rows: str, span: Span, item_type: PgType) -> str:
    """The rows whose item is one of the span's numbers; text counts where it is written as such a number."""
    if item_type.is_text:
        number = "CASE WHEN i ~ '^(0|-?[1-9][0-9]{0,18})$' THEN i::numeric END"
        rows = f"(SELECT u, {number} AS i FROM {rows}) AS s"
    elif item_type.name not in _INTEGERS:
        hint = "list the items, or name a column that holds them"
        raise ParameterError(
            "domain", f"fit the item column, which is {item_type.name}", "a range of whole numbers", hint
        )
    return f"(SELECT u, i FROM {rows} WHERE i BETWEEN {span.start} AND {span.stop - 1}) AS t"


def domain(item_type: PgType) -> str:
    """The values of a listed domain, which come beside the statement, as a table."""
    values = f"unnest(%(domain)s::{item_type.counted}[])"
    form = f'{values} COLLATE "C"' if item_type.counted == "text" else values
    return f"(SELECT DISTINCT {form} AS i) AS d"


def in_domain(rows: str, domain: str) -> str:
    """The rows whose item is in the domain."""
    return f"(SELECT u, i FROM {rows} WHERE i IN (SELECT i FROM {domain})) AS t"


def of_domain(counted: str, domain: str) -> str:
    """Every item of the domain, with count 0 where no row has it."""
    return f"SELECT i, coalesce(n, 0) AS n FROM {domain} LEFT JOIN ({counted}) AS k USING (i)"
