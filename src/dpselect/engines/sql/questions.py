"""Questions as plain SQL, written once. Rows come in as columns u (user) and i (item), counts go out as i and n.

Rows may also have g (group), w (weight, or the sign of a gain) and m0, m1, ... (numbers of measures). What databases
write differently is in a `Dialect`. Every name after FROM is a table or a query in parentheses. `label_form` is the SQL
of what a label is made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpselect.engines.sql.port import CompiledKey, Dialect, SqlType
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect._ground.domain import Span
    from dpselect.engines.row_periods import RowPeriods


def scan_rows(
    source: str,
    user: CompiledKey,
    item: CompiledKey,
    conditions_of_filter: Sequence[str],
    time: RowPeriods | None,
    dialect: Dialect,
    group: CompiledKey | None = None,
    weight: str | None = None,
    measures: Sequence[str] = (),
) -> str:
    """Compile the users and items of the rows that count, and their groups g, each in its canonical form.

    `weight` is the SQL of a weight w of each row, `measures` are those of m0, m1, ... Of several periods, a user is
    from here on a user in one of them.
    """
    conditions = [user.present_condition, item.nameable_condition]
    conditions += [
        f"({condition})" for condition in (*conditions_of_filter, *([] if time is None else [time.condition_in_reach]))
    ]
    columns, carried_columns = f"{user.canonical_form} AS u, {item.canonical_form} AS i", ""
    if group is not None:
        conditions.append(group.nameable_condition)
        columns, carried_columns = f"{columns}, {group.canonical_form} AS g", ", g"
    if weight is not None:
        columns, carried_columns = f"{columns}, {weight} AS w", f"{carried_columns}, w"
    for index, measure in enumerate(measures):
        columns, carried_columns = f"{columns}, {measure} AS m{index}", f"{carried_columns}, m{index}"
    if time is None or not time.has_several:
        return f"(SELECT {columns} FROM {source} WHERE {' AND '.join(conditions)})"
    timed_rows = f"(SELECT {columns}, {time.time_column_sql} FROM {source} WHERE {' AND '.join(conditions)})"
    user_in_period = _user_in_period(time, dialect)
    signs, in_no_gap = time.sign_column_sql, time.where_in_no_gap
    return f"(SELECT {user_in_period} AS u, i{carried_columns}{signs} FROM {timed_rows} AS t{in_no_gap})"


def _user_in_period(time: RowPeriods, dialect: Dialect) -> str:
    """Compile the user u in one period."""
    period = time.position_sql(lambda period: fill_template(dialect.period_literal, str(period)))
    if dialect.user_in_period is not None:
        return fill_template(dialect.user_in_period, period)
    return time.spelling.binary(f"concat({period}, {fill_template(dialect.text, 'u')})")


def fill_template(template: str, expression: str) -> str:
    """Return a template of SQL around an expression."""
    return template.replace("{}", expression)


def split_items(rows: str, separator: str, dialect: Dialect, carried_columns: Sequence[str] = ()) -> str:
    """Compile the parts of every item as items of their own; a part twice in a row is one, an empty part is none."""
    carried = "".join(f", t.{name} AS {name}" for name in carried_columns)
    split = dialect.split_query.format(rows=f"{rows} AS t", separator=dialect.literal(separator), more=carried)
    return f"(SELECT u, {''.join(f'{name}, ' for name in carried_columns)}i FROM ({split}) AS s WHERE i <> '')"


def rows_without_items(rows: str, items: str, columns: str) -> str:
    """Compile the rows of all other items."""
    return f"(SELECT {columns} FROM {rows} AS t WHERE i NOT IN (SELECT i FROM {items} AS d))"


def distinct_pairs(rows: str, dialect: Dialect) -> str:
    """Compile every user's distinct items."""
    return f"(SELECT DISTINCT u, i FROM {colocate_users(rows, 'u, i', dialect)} AS t)"


def colocate_users(rows: str, columns: str, dialect: Dialect) -> str:
    """Compile the rows with those of a user together, if later steps gain by it."""
    return f"(SELECT {dialect.user_hint} {columns} FROM {rows} AS t)" if dialect.user_hint else rows


def pairs_to_keep(rows: str, dialect: Dialect) -> str:
    """Compile every user's distinct items, to be kept."""
    pairs = distinct_pairs(rows, dialect)
    return f"(SELECT u, i FROM {pairs} AS d {dialect.reread_order})" if dialect.reread_order else pairs


def keep_first(
    rows: str,
    columns: str,
    bound: tuple[int, str] | None,
    dialect: Dialect,
    *,
    owner: str = "u",
    chosen: str = "i",
    rank_function: str = "row_number",
) -> str:
    """Compile these columns of the rows that a bound keeps: of every user the first items by a keyed hash.

    The bound is a number of items and a key; without one all rows are kept. The hash is of the user and the item
    themselves. Equal hashes are ordered by the item, so the choice depends on the user's rows and on the key only.
    `owner` are the columns in each of whose values a user keeps as many, `chosen` is the column of what is kept; with
    `dense_rank` as `rank_function` several rows of one item are kept together.
    """
    if bound is None:
        return rows
    max_items, secret_key_sql = bound
    order = f"{dialect.keyed_hash(secret_key_sql, 'u', chosen)}, {chosen}"
    hash_rank = f"{rank_function}() OVER (PARTITION BY {owner} ORDER BY {order}) AS hash_rank"
    ranked_rows = f"SELECT {columns}, {hash_rank} FROM {rows} AS a"
    return f"(SELECT {columns} FROM ({ranked_rows}) AS b WHERE hash_rank <= {max_items})"


def users_per_item(rows: str, bound: tuple[int, str] | None, dialect: Dialect) -> str:
    """Compile i and n, the number of distinct users of every item; a bound is the most items of a user and a key."""
    if bound is not None:
        kept_pairs = keep_first(distinct_pairs(rows, dialect), "u, i", bound, dialect)
        return f"SELECT i, count(*) AS n FROM {kept_pairs} AS k GROUP BY i"
    return f"SELECT i, count(DISTINCT u) AS n FROM {rows} AS t GROUP BY i"


def gained_users_per_item(rows: str, bound: tuple[int, str] | None, dialect: Dialect) -> str:
    """Compile i and n, by how many the users with w = 1 exceed those with w = -1; other items are left out.

    A user has one w, so every pair is one row.
    """
    pairs = f"(SELECT DISTINCT u, i, w FROM {colocate_users(rows, 'u, i, w', dialect)} AS d)"
    kept_rows = keep_first(pairs, "u, i, w", bound, dialect)
    gains = f"SELECT i, CAST(sum(w) AS BIGINT) AS n FROM {kept_rows} AS k GROUP BY i"
    return f"SELECT i, n FROM ({gains}) AS g WHERE n > 0"


def top_items(scores: str, item_type: SqlType, rows: int) -> str:
    """Compile the items with the most users; among equal counts the first in the order of items."""
    top_rows = f"SELECT i, n FROM ({scores}) AS c ORDER BY n DESC, i LIMIT {rows}"
    if item_type.label_form == "i":
        return top_rows
    with_names = f"SELECT {item_type.label_form} AS name, i, n FROM ({top_rows}) AS f"
    return f"SELECT name, n FROM ({with_names}) AS g ORDER BY n DESC, i"


def items_per_count(scores: str) -> str:
    """Compile the number of items of each count."""
    return f"SELECT n, count(*) AS items FROM {scores} AS c GROUP BY n ORDER BY n DESC"


def ranked_names(scores: str, label_form: str) -> tuple[str, str]:
    """Compile the names of all items, and their order: groups by falling count, items of a group in their own order."""
    return f"SELECT {label_form} AS name, i, n FROM {scores} AS c", "n DESC, i"


def names_and_counts(scores: str, label_form: str, *, listed: bool) -> str:
    """Compile the names and counts of all items: those of a list in its order, others in their own order."""
    index_column, order = (", place", "place, i") if listed else ("", "i")
    with_names = f"SELECT {label_form} AS name, i, n{index_column} FROM ({scores}) AS c"
    return f"SELECT name, n FROM ({with_names}) AS o ORDER BY {order}"


def unseen_before_each(scores: str, start: int, dialect: Dialect) -> str:
    """Compile, for each seen number of a span, how many unseen ones are below it."""
    gap = f"CAST(i AS {dialect.big_integer}) - ({start}) - (row_number() OVER (ORDER BY i) - 1) AS gap"
    return f"SELECT {gap} FROM {scores} AS c"


def seen_before(gaps: str, unseen: int) -> str:
    """Compile how many seen numbers are below the r-th unseen one: those with at most r unseen ones below them."""
    return f"SELECT count(*) AS items FROM {gaps} AS g WHERE gap <= {unseen}"


def rows_in_span(rows: str, span: Span, item_type: SqlType, carried_columns: str = "") -> str:
    """Compile the rows whose item is one of the span's numbers, with these other columns."""
    if item_type.undeclared_text is not None:
        item_type.undeclared_text.refuse("whole numbers", declare="BIGINT")
    if item_type.integer_form is not None:
        rows = f"(SELECT u, {item_type.integer_form} AS i{carried_columns} FROM {rows} AS s)"
    elif item_type.kind != "integer":
        hint = "list the items, or name a column that has them"
        if item_type.number_form is not None:
            hint = 'declare whole numbers: types={...: "BIGINT"}, --type ...=BIGINT; or list the items'
        raise ParameterError(
            "domain", f"fit the item column, which is {item_type.name}", "a range of whole numbers", hint
        )
    return f"(SELECT u, i{carried_columns} FROM {rows} AS t WHERE i BETWEEN {span.start} AND {span.stop - 1})"


def rows_of_items(rows: str, item_list: str, carried_columns: str) -> str:
    """Compile the rows of listed items, with these other columns."""
    return f"(SELECT u, i{carried_columns} FROM {rows} AS t WHERE i IN ({item_list}))"


def named_scores(scores: str, label_form: str) -> str:
    """Compile the name and the score of every item."""
    return f"SELECT {label_form} AS name, n FROM ({scores}) AS c"


def rows_in_domain(rows: str, domain: str, carried_columns: str = "") -> str:
    """Compile the rows whose item is in the domain, with these other columns."""
    return f"(SELECT u, i{carried_columns} FROM {rows} AS t WHERE i IN (SELECT i FROM {domain} AS d))"


def with_unseen_items(scores: str, domain: str) -> str:
    """Compile every item of the domain, with count 0 if no row has it, and its index in the list."""
    joined = f"{domain} AS d LEFT JOIN ({scores}) AS k ON k.i = d.i"
    return f"SELECT d.i AS i, coalesce(k.n, 0) AS n, d.place AS place FROM {joined}"


def coded_pairs(pairs: str, item_codes: int, max_pairs: int) -> str:
    """Compile at most `max_pairs` pairs, each as one number: user and item by their indices in their orders."""
    users = "SELECT u, row_number() OVER (ORDER BY u) - 1 AS code FROM (SELECT DISTINCT u FROM p) AS d"
    items = "SELECT i, row_number() OVER (ORDER BY i) - 1 AS code FROM (SELECT DISTINCT i FROM p) AS d"
    return (
        f"WITH p AS (SELECT u, i FROM {pairs} AS k), a AS ({users}), b AS ({items}) "
        f"SELECT a.code * {item_codes} + b.code AS pair "
        f"FROM p JOIN a ON a.u = p.u JOIN b ON b.i = p.i LIMIT {max_pairs}"
    )


def number_of_pairs(pairs: str) -> str:
    """Compile the number of pairs."""
    return f"SELECT count(*) AS pairs FROM {pairs} AS k"


def item_names(pairs: str, label_form: str) -> tuple[str, str]:
    """Compile the names of all items, and their order."""
    return f"SELECT {label_form} AS name, i FROM (SELECT DISTINCT i FROM {pairs} AS k) AS d", "i"


def items_by_code(pairs: str, codes: str) -> str:
    """Compile items by their indices in their order, from 0, as set unions number them; `codes` has them as x."""
    items = f"SELECT DISTINCT i FROM {pairs} AS k"
    numbered = f"SELECT i, row_number() OVER (ORDER BY i) - 1 AS code FROM ({items}) AS d"
    return f"(SELECT i FROM ({numbered}) AS c WHERE code IN (SELECT x FROM {codes} AS p))"


def number_of_letters(rows: str) -> str:
    """Compile the number of letters of all texts."""
    return f"SELECT sum(length(i)) AS letters FROM {rows} AS t"


def texts_of_users(rows: str) -> str:
    """Compile every row's text, with its user's index in the order of users."""
    users = "SELECT u, row_number() OVER (ORDER BY u) - 1 AS code FROM (SELECT DISTINCT u FROM p) AS d"
    with_user_codes = f"WITH p AS (SELECT u, i FROM {rows} AS t), a AS ({users})"
    return f"{with_user_codes} SELECT a.code AS u, p.i AS i FROM p JOIN a ON a.u = p.u"
