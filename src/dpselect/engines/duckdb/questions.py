"""Questions as SQL. Rows come in as columns u (user) and i (item), counts go out as i and n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpselect._ground.domain import Span
from dpselect.engines.duckdb.types import INTEGERS, OBJECT, is_text, kind, number_form
from dpselect.engines.duckdb.workspace import literal
from dpselect.engines.port import PerUser
from dpselect.engines.sources.object_marks import MARK
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    from dpselect.aggregates.unbounded import Points
    from dpselect.engines.row_periods import RowPeriods


@dataclass(frozen=True)
class UserBound:
    """Every user keeps at most `most` distinct items: the first by a keyed hash."""

    most: int
    key: bytes

    def pairs(self, rows: str) -> str:
        """The distinct (u, i) pairs that are kept.

        The outer hash matters: hash(key, u, i) alone is a mask of (key, u) laid over hash(i), so which of two
        items comes first would hang on one bit, and an item alone on its side of the highest bit would be kept
        half of the time. Equal hashes are told apart by the item, so the choice depends on the user's rows only.
        """
        return f"(SELECT u, i FROM (SELECT DISTINCT u, i FROM {rows}) {self.first})"

    def rows(self, rows: str) -> str:
        """The rows of the items that are kept, with all of their columns."""
        return (
            f"(SELECT * FROM {rows} QUALIFY dense_rank() "
            f"OVER (PARTITION BY u ORDER BY {keyed_hash(self.key, 'i')}, i) <= {self.most})"
        )

    @property
    def first(self) -> str:
        """What ends a query of distinct (u, i) pairs of which those are kept."""
        return f"QUALIFY row_number() OVER (PARTITION BY u ORDER BY {keyed_hash(self.key, 'i')}, i) <= {self.most}"


def keyed_hash(key: bytes, column: str) -> str:
    """A hash of a user and what they have, which nobody knows without the key."""
    blob = "'" + "".join(f"\\x{byte:02X}" for byte in key) + "'::BLOB"
    return f"hash(hash({blob}, u, {column}))"


def split(rows: str, separator: str, more: str = "") -> str:
    """The parts of every item as items of their own; the same part twice in a row is one, an empty part is none.

    `more` are the columns beside u and i.
    """
    parts = f"SELECT u{more}, unnest(string_split(i, {literal(separator)})) AS i FROM ({rows})"
    return f"SELECT u{more}, i FROM ({parts}) WHERE i <> ''"


def in_periods(rows: str, time: RowPeriods, more: str = "") -> str:
    """Users as users in one of several periods, whose places are small numbers; `more` columns go with them."""
    place = time.place(lambda number: f"{number}::SMALLINT")
    return f"SELECT struct_pack(u := u, p := {place}) AS u{more}{time.gained}, i FROM ({rows}){time.but}"


def counts(rows: str, bound: UserBound | None) -> str:
    """i and n, the number of distinct users of every item."""
    if bound is None:
        return f"SELECT i, count(DISTINCT u) AS n FROM {rows} GROUP BY i"
    return f"SELECT i, count(*) AS n FROM {bound.pairs(rows)} GROUP BY i"


def gains(rows: str, bound: UserBound | None) -> str:
    """i and n, by how many the users with w = 1 are more than those with w = -1; other items are not there.

    A user has one w, so every pair is one row.
    """
    kept = f"(SELECT DISTINCT u, i, w FROM {rows})"
    kept = kept if bound is None else f"(SELECT u, i, w FROM {kept} {bound.first})"
    return f"SELECT i, CAST(sum(w) AS BIGINT) AS n FROM {kept} GROUP BY i HAVING sum(w) > 0"


def top(counted: str, most: int) -> str:
    """The items with the most users; among equal counts the first in the order of items."""
    return f"SELECT i, n FROM ({counted}) ORDER BY n DESC, i LIMIT {most}"


def keep_counts(table: str, counted: str) -> str:
    """Keep all items, each at its place: groups by falling count, items of a group in their own order."""
    place = "row_number() OVER (ORDER BY n DESC, i) - 1 AS place"
    return f"CREATE TEMP TABLE {table} AS SELECT i, n, {place} FROM ({counted})"


def groups(table: str) -> str:
    """How many items have each count."""
    return f"SELECT n, count(*) FROM {table} GROUP BY n ORDER BY n DESC"


def item_at(table: str) -> str:
    """The item at one place."""
    return f"SELECT i FROM {table} WHERE place = ?"


def in_order(counted: str, domain: str | None) -> str:
    """All items and their counts; those of a list as it was given, others in their own order."""
    if domain is None:
        return f"SELECT i, n FROM ({counted}) ORDER BY i"
    return f"SELECT i, n FROM ({counted}) JOIN {domain} USING (i) ORDER BY place, i"


def keep_gaps(gaps: str, table: str, start: int) -> str:
    """For each seen number of a span, how many unseen ones stand before it."""
    gap = f"i::HUGEINT - {start}::HUGEINT - (row_number() OVER (ORDER BY i) - 1) AS gap"
    return f"CREATE TEMP TABLE IF NOT EXISTS {gaps} AS SELECT {gap} FROM {table}"


def seen_before(gaps: str) -> str:
    """How many seen numbers stand before the r-th unseen one: those with at most r unseen ones before them."""
    return f"SELECT count(*) FROM {gaps} WHERE gap <= ?"


def users_at(rows: str, grid: Points, per_user: PerUser, key: bytes, item_type: str) -> str:
    """p, a place of the grid, and n, how many users have their value there; ascending."""
    values = f"SELECT u, {number_form('i', item_type)} AS v FROM {rows}"
    places = f"SELECT u, {place(grid)} AS p FROM ({values}) WHERE NOT isnan(v)"
    users = f"SELECT {one_place(per_user, key)} AS p FROM ({places}) GROUP BY u"
    return f"SELECT p, count(*) AS n FROM ({users}) GROUP BY p ORDER BY p"


def one_place(per_user: PerUser, key: bytes) -> str:
    """Of the places p of a user the one that they take part with."""
    one = {
        PerUser.RANDOM: f"min(struct_pack(h := {keyed_hash(key, 'p')}, p := p)).p",
        PerUser.MIN: "min(p)",
        PerUser.MAX: "max(p)",
        PerUser.MEAN: "CAST((2 * sum(p) + count(*)) // (2 * count(*)) AS BIGINT)",
    }
    return one[per_user]


def place(grid: Points, value: str = "v") -> str:
    """`Grid.places` of a double in SQL, operation by operation."""
    from dpselect.aggregates.unbounded import Unbounded

    if isinstance(grid, Unbounded):
        from dpselect.engines import unbounded_places

        return unbounded_places.place(grid, value, _double)
    low, high, step = (_double(float(x)) for x in (grid.low, grid.high, grid.step))
    steps = f"floor((least(greatest({value}, {low}), {high}) - {low}) / {step} + 0.5::DOUBLE)"
    return f"CAST(least({steps}, {grid.points - 1}::DOUBLE) AS BIGINT)"


def _double(value: float) -> str:
    return f"'{value!r}'::DOUBLE"


def in_span(rows: str, span: Span, item_type: str, more: str = "") -> str:
    """The rows whose item is one of the span's numbers; text counts where it is written as such a number.

    `more` columns go with them.
    """
    name = kind(item_type)
    if name == OBJECT:  # of such values the numbers, in the form of `objects.written`
        is_number = f"starts_with(i, {literal(MARK)}) AND substr(i, 2, 1) > 'z'"
        number = f"TRY_CAST(substr(i, 3) AS BIGINT) AS i{more}"
        rows = f"(SELECT u, {number} FROM {rows} WHERE {is_number} AND NOT contains(i, '.'))"
    elif is_text(item_type):
        number = "TRY_CAST(i AS BIGINT)"
        rows = f'(SELECT u, {number} AS i{more} FROM {rows} WHERE CAST({number} AS VARCHAR) COLLATE "C" = i)'
    elif name not in INTEGERS:
        hint = "list the items, or name a column that holds them"
        raise ParameterError("domain", f"fit the item column, which is {name}", "a range of whole numbers", hint)
    least, most = str(span.start), str(span.stop - 1)
    if name == "UHUGEINT":  # which beside a number below 0 would become a HUGEINT, and large values of it cannot
        least, most = f"{max(span.start, 0)}::UHUGEINT", f"{max(span.stop, 1) - 1}::UHUGEINT"
        rows = rows if span.stop > 0 else f"(SELECT u, i{more} FROM {rows} WHERE false)"
    return f"(SELECT u, i{more} FROM {rows} WHERE i BETWEEN {least} AND {most})"


def in_domain(rows: str, domain: str, more: str = "") -> str:
    """The rows whose item is in the domain; `more` columns go with them."""
    return f"(SELECT u, i{more} FROM {rows} WHERE i IN (SELECT i FROM {domain}))"


def of_domain(counted: str, domain: str) -> str:
    """Every item of the domain, with count 0 where no row has it."""
    return f"SELECT i, coalesce(n, 0) AS n FROM {domain} LEFT JOIN ({counted}) USING (i)"
