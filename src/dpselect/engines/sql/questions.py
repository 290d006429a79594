"""Questions as plain SQL, written once. Rows come in as columns u (user) and i (item), counts go out as i and n.

What databases write differently stands in a `Dialect`. Every name after FROM is a table or a query in parentheses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpselect.engines.port import PerUser
from dpselect.engines.sql.port import Dialect, Key, SqlType
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect._ground.domain import Span
    from dpselect.aggregates.unbounded import Points
    from dpselect.engines.row_periods import RowPeriods


def scan_rows(
    source: str,
    user: Key,
    item: Key,
    where: Sequence[str],
    time: RowPeriods | None,
    dialect: Dialect,
    group: Key | None = None,
    weight: str | None = None,
    measures: Sequence[str] = (),
) -> str:
    """The users and items of the rows that count, and their groups g, each in its one form.

    `weight` is the SQL of a weight w that goes with them, `measures` are those of m0, m1, ... Of several periods a
    user is a user in one of them, from here on.
    """
    conditions = [user.present, item.nameable]
    conditions += [f"({one})" for one in (*where, *([] if time is None else [time.inside]))]
    forms, more = f"{user.form} AS u, {item.form} AS i", ""
    if group is not None:
        conditions.append(group.nameable)
        forms, more = f"{forms}, {group.form} AS g", ", g"
    if weight is not None:
        forms, more = f"{forms}, {weight} AS w", f"{more}, w"
    for at, measure in enumerate(measures):
        forms, more = f"{forms}, {measure} AS m{at}", f"{more}, m{at}"
    if time is None or not time.several:
        return f"(SELECT {forms} FROM {source} WHERE {' AND '.join(conditions)})"
    timed = f"(SELECT {forms}, {time.column} FROM {source} WHERE {' AND '.join(conditions)})"
    return f"(SELECT {_in_period(time, dialect)} AS u, i{more}{time.gained} FROM {timed} AS t{time.but})"


def _in_period(time: RowPeriods, dialect: Dialect) -> str:
    """The user u in one period."""
    place = time.place(lambda place: fill_template(dialect.period, str(place)))
    if dialect.in_period is not None:
        return fill_template(dialect.in_period, place)
    return time.spelling.binary(f"concat({place}, {fill_template(dialect.text, 'u')})")


def fill_template(template: str, expression: str) -> str:
    """A template of SQL around an expression."""
    return template.replace("{}", expression)


def split_items(rows: str, separator: str, dialect: Dialect, beside: Sequence[str] = ()) -> str:
    """The parts of every item as items of their own; the same part twice in a row is one, an empty part is none.

    The columns `beside` go with them.
    """
    more = "".join(f", t.{name} AS {name}" for name in beside)
    split = dialect.split_query.format(rows=f"{rows} AS t", separator=dialect.literal(separator), more=more)
    return f"(SELECT u, {''.join(f'{name}, ' for name in beside)}i FROM ({split}) AS s WHERE i <> '')"


def rows_without_items(rows: str, items: str, columns: str, own: str = "i") -> str:
    """The rows of all other items; `own` is the column of what is listed."""
    return f"(SELECT {columns} FROM {rows} AS t WHERE {own} NOT IN (SELECT i FROM {items} AS d))"


def distinct_pairs(rows: str, dialect: Dialect) -> str:
    """Every user's distinct items."""
    return f"(SELECT DISTINCT u, i FROM {colocate_users(rows, 'u, i', dialect)} AS t)"


def colocate_users(rows: str, columns: str, dialect: Dialect) -> str:
    """The rows, those of a user in one place where later steps gain by it."""
    return f"(SELECT {dialect.user_hint} {columns} FROM {rows} AS t)" if dialect.user_hint else rows


def pairs_to_keep(rows: str, dialect: Dialect) -> str:
    """Every user's distinct items, to be kept."""
    pairs = distinct_pairs(rows, dialect)
    return f"(SELECT u, i FROM {pairs} AS d {dialect.reread_order})" if dialect.reread_order else pairs


def bounded_pairs(rows: str, most: int, key: str, dialect: Dialect) -> str:
    """The distinct (u, i) pairs that are kept: of every user the `most` first by a keyed hash.

    The hash is of the user and the item themselves. Equal hashes are told apart by the item, so the choice depends on
    the user's rows and on the key only.
    """
    place = bound_rank(key, dialect)
    return f"(SELECT u, i FROM (SELECT u, i, {place} FROM {distinct_pairs(rows, dialect)} AS d) AS p WHERE place <= {most})"


def bound_rank(key: str, dialect: Dialect) -> str:
    """The column `place` of a user's items in the order in which a bound keeps them."""
    return f"row_number() OVER (PARTITION BY u ORDER BY {dialect.bound_order(key, 'u', 'i')}, i) AS place"


def users_per_item(rows: str, bound: tuple[int, str] | None, dialect: Dialect) -> str:
    """i and n, the number of distinct users of every item; a bound is the most items of a user and a key."""
    if bound is not None:
        return f"SELECT i, count(*) AS n FROM {bounded_pairs(rows, *bound, dialect)} AS k GROUP BY i"
    return f"SELECT i, count(DISTINCT u) AS n FROM {rows} AS t GROUP BY i"


def gained_users_per_item(rows: str, bound: tuple[int, str] | None, dialect: Dialect) -> str:
    """i and n, by how many the users with w = 1 are more than those with w = -1; other items are not there.

    A user has one w, so every pair is one row.
    """
    kept = f"(SELECT DISTINCT u, i, w FROM {colocate_users(rows, 'u, i, w', dialect)} AS d)"
    if bound is not None:
        most, key = bound
        kept = f"(SELECT u, i, w, {bound_rank(key, dialect)} FROM {kept} AS a)"
        kept = f"(SELECT u, i, w FROM {kept} AS b WHERE place <= {most})"
    summed = f"SELECT i, CAST(sum(w) AS BIGINT) AS n FROM {kept} AS k GROUP BY i"
    return f"SELECT i, n FROM ({summed}) AS g WHERE n > 0"


def top_items(counted: str, item_type: SqlType, rows: int) -> str:
    """The items with the most users; among equal counts the first in the order of items."""
    first = f"SELECT i, n FROM ({counted}) AS c ORDER BY n DESC, i LIMIT {rows}"
    if item_type.label_form == "i":
        return first
    return (
        f"SELECT name, n FROM (SELECT {item_type.label_form} AS name, i, n FROM ({first}) AS f) AS g ORDER BY n DESC, i"
    )


def items_per_count(counted: str) -> str:
    """How many items have each count."""
    return f"SELECT n, count(*) AS items FROM {counted} AS c GROUP BY n ORDER BY n DESC"


def ranked_names(counted: str, named: str) -> tuple[str, str]:
    """The names of all items, and their order: groups by falling count, items of a group in their own order."""
    return f"SELECT {named} AS name, i, n FROM {counted} AS c", "n DESC, i"


def names_and_counts(counted: str, named: str, *, listed: bool) -> str:
    """The names of all items and their counts; those of a list as it was given, others in their own order."""
    more, order = (", place", "place, i") if listed else ("", "i")
    return f"SELECT name, n FROM (SELECT {named} AS name, i, n{more} FROM ({counted}) AS c) AS o ORDER BY {order}"


def unseen_before_each(counted: str, start: int, dialect: Dialect) -> str:
    """For each seen number of a span, how many unseen ones stand before it."""
    gap = f"CAST(i AS {dialect.big_integer}) - ({start}) - (row_number() OVER (ORDER BY i) - 1) AS gap"
    return f"SELECT {gap} FROM {counted} AS c"


def seen_before(gaps: str, unseen: int) -> str:
    """How many seen numbers stand before the r-th unseen one: those with at most r unseen ones before them."""
    return f"SELECT count(*) AS items FROM {gaps} AS g WHERE gap <= {unseen}"


def rows_in_span(rows: str, span: Span, item_type: SqlType, more: str = "") -> str:
    """The rows whose item is one of the span's numbers, and `more` columns of them."""
    if item_type.undeclared is not None:
        item_type.undeclared.refuse("whole numbers", declare="BIGINT")
    if item_type.integer_form is not None:
        rows = f"(SELECT u, {item_type.integer_form} AS i{more} FROM {rows} AS s)"
    elif item_type.kind != "integer":
        hint = "list the items, or name a column that has them"
        if item_type.number is not None:
            hint = 'declare whole numbers: types={...: "BIGINT"}, --type ...=BIGINT; or list the items'
        raise ParameterError(
            "domain", f"fit the item column, which is {item_type.name}", "a range of whole numbers", hint
        )
    return f"(SELECT u, i{more} FROM {rows} AS t WHERE i BETWEEN {span.start} AND {span.stop - 1})"


def rows_of_items(rows: str, listed: str, more: str) -> str:
    """The rows of listed items; `more` columns go with them."""
    return f"(SELECT u, i{more} FROM {rows} AS t WHERE i IN ({listed}))"


def named_scores(scores: str, named: str) -> str:
    """The name and the score of every item."""
    return f"SELECT {named} AS name, n FROM ({scores}) AS c"


def rows_in_domain(rows: str, domain: str, more: str = "") -> str:
    """The rows whose item is in the domain; `more` columns go with them."""
    return f"(SELECT u, i{more} FROM {rows} AS t WHERE i IN (SELECT i FROM {domain} AS d))"


def with_unseen_items(counted: str, domain: str) -> str:
    """Every item of the domain, with count 0 where no row has it, and its place in the list."""
    joined = f"{domain} AS d LEFT JOIN ({counted}) AS k ON k.i = d.i"
    return f"SELECT d.i AS i, coalesce(k.n, 0) AS n, d.place AS place FROM {joined}"


def coded_pairs(pairs: str, low: int, most: int) -> str:
    """At most so many pairs, each as one number: user and item by their places in their orders."""
    users = "SELECT u, row_number() OVER (ORDER BY u) - 1 AS code FROM (SELECT DISTINCT u FROM p) AS d"
    items = "SELECT i, row_number() OVER (ORDER BY i) - 1 AS code FROM (SELECT DISTINCT i FROM p) AS d"
    return (
        f"WITH p AS (SELECT u, i FROM {pairs} AS k), a AS ({users}), b AS ({items}) "
        f"SELECT a.code * {low} + b.code AS pair FROM p JOIN a ON a.u = p.u JOIN b ON b.i = p.i LIMIT {most}"
    )


def number_of_pairs(pairs: str) -> str:
    """How many pairs there are."""
    return f"SELECT count(*) AS pairs FROM {pairs} AS k"


def item_names(pairs: str, named: str) -> tuple[str, str]:
    """The names of all items, and their order."""
    return f"SELECT {named} AS name, i FROM (SELECT DISTINCT i FROM {pairs} AS k) AS d", "i"


def items_by_code(pairs: str, codes: str) -> str:
    """Items by their places in their order, from 0, as they are numbered for set unions; `codes` are x."""
    items = f"SELECT DISTINCT i FROM {pairs} AS k"
    numbered = f"SELECT i, row_number() OVER (ORDER BY i) - 1 AS code FROM ({items}) AS d"
    return f"(SELECT i FROM ({numbered}) AS c WHERE code IN (SELECT x FROM {codes} AS p))"


def number_of_letters(rows: str) -> str:
    """How many letters all texts have."""
    return f"SELECT sum(length(i)) AS letters FROM {rows} AS t"


def texts_of_users(rows: str) -> str:
    """Every row's text, with its user's place in the order of users."""
    users = "SELECT u, row_number() OVER (ORDER BY u) - 1 AS code FROM (SELECT DISTINCT u FROM p) AS d"
    named = f"WITH p AS (SELECT u, i FROM {rows} AS t), a AS ({users})"
    return f"{named} SELECT a.code AS u, p.i AS i FROM p JOIN a ON a.u = p.u"


def users_per_place(rows: str, grid: Points, per_user: PerUser, key: str, item_type: SqlType, dialect: Dialect) -> str:
    """p, a place of the grid, and n, how many users have their value there; ascending."""
    values = f"SELECT u, {fill_template(item_type.number or '', 'i')} AS v FROM {rows} AS t"
    places = f"SELECT u, {grid_place(grid, dialect)} AS i FROM ({values}) AS r WHERE v IS NOT NULL"
    users = place_per_user(f"({places})", per_user, key, dialect)
    return f"SELECT CAST(i AS BIGINT) AS p, count(*) AS n FROM {users} AS o GROUP BY i ORDER BY p"


def place_per_user(places: str, per_user: PerUser, key: str, dialect: Dialect, whose: str = "u") -> str:
    """Of the places i of each user the one that they take part with; of each user and group where `whose` is u, g."""
    if per_user is PerUser.RANDOM and dialect.first_by_hash is None:
        first = f"row_number() OVER (PARTITION BY {whose} ORDER BY {dialect.bound_order(key, 'u', 'i')}, i) AS place"
        distinct = f"(SELECT DISTINCT {whose}, i FROM {colocate_users(places, f'{whose}, i', dialect)} AS d)"
        return f"(SELECT {whose}, i FROM (SELECT {whose}, i, {first} FROM {distinct} AS m) AS o WHERE place <= 1)"
    one = {
        PerUser.RANDOM: (dialect.first_by_hash or "").format(value="i", hash=dialect.bound_order(key, "u", "i")),
        PerUser.MIN: "min(i)",
        PerUser.MAX: "max(i)",
        PerUser.MEAN: dialect.floor_division.format(
            f"2 * {fill_template(dialect.exact_sum, 'i')} + count(*)", "(2 * count(*))"
        ),
    }
    return f"(SELECT {whose}, {one[per_user]} AS i FROM {places} AS p GROUP BY {whose})"


def grid_place(grid: Points, dialect: Dialect, value: str = "v") -> str:
    """`Grid.places` of a double in SQL, operation by operation."""
    from dpselect.aggregates.unbounded import Unbounded
    from dpselect.engines.sql import unbounded_places

    if isinstance(grid, Unbounded):
        return unbounded_places.unbounded_place(grid, value, lambda x: double_literal(x, dialect))
    ends = (grid.low, grid.high, grid.step, 0.5, grid.points - 1)
    low, high, step, half, last = (double_literal(float(x), dialect) for x in ends)
    above = f"(least(greatest({value}, {low}), {high}) - {low})"
    if dialect.underflow:
        above = f"greatest({above}, {double_literal(float(grid.step) * unbounded_places.TINY, dialect)})"
    steps = f"floor({above} / {step} + {half})"
    return f"CAST(least({steps}, {last}) AS BIGINT)"


def double_literal(value: float, dialect: Dialect) -> str:
    """A double, exactly."""
    return f"CAST('{value!r}' AS {dialect.double})"
