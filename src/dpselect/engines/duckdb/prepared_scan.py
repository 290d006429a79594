"""Prepared data as a scan: rows put together again from their codes, and numbers of users that were counted before.

Which rows there are, and what stands in them, is as in the source, in the columns that were prepared; rows that say the
same stand once, unless a question needs each. So every question is answered as there. Numbers of distinct users of the
prepared items are read from cells: how many users have an item with which set of kept values, so that a condition on
these is looked at once for each combination of values, and no user is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from dpselect.engines.duckdb.files import parquet_rows
from dpselect.engines.duckdb.scans import Counting, Scan, Select
from dpselect.engines.duckdb.types import OBJECT, filter_form
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.prepared.reading import Reading
from dpselect.engines.prepared.rules import Rules
from dpselect.engines.prepared.state import CODES, Part, Segment
from dpselect.engines.values import MARK

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods


@dataclass(frozen=True)
class PreparedScan(Scan):
    """One state of a folder of prepared data; `repeated` gives each row as often as it was there."""

    reading: Reading
    repeated: bool = False

    @classmethod
    def of(cls, workspace: Workspace, folder: str) -> PreparedScan:
        """The scan of the state that counts now; its files stay until the workspace is closed."""
        reading = Reading(folder)
        workspace.closes(reading.close)
        names, state = reading.state.rules.names, reading.state
        code = own_name("u", names)
        return cls(names, reading, untyped=state.rules.untyped, fixed=True, state=state.name, user_code=code)

    @property
    def _rules(self) -> Rules:
        return self.reading.state.rules

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        return self._rules.hint(column)

    def refuse(
        self,
        user: tuple[str, ...] | None,
        others: Sequence[tuple[str, str]],
        filtered: Sequence[str],
        periods: Periods | None,
    ) -> None:
        """Refuse what these data cannot answer as their source would."""
        self._rules.refuse(user, others, filtered, periods)

    def each(self) -> Self:
        """The same data, whose rows are there as often as they are in the source."""
        return replace(self, repeated=True)

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """The SQL types of some columns, as they are in the source."""
        return {column: self._rules.type_of(column) for column in columns}

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:  # noqa: ARG002
        """What stands after FROM for one query over the selected rows."""
        asked = ", ".join([f"rows.u AS {self._own('u')}", *(f"{self._place(one)} AS {quoted(one)}" for one in columns)])
        tables = {self._table(column) for column in columns} - {"rows"}
        joined = "".join(f" JOIN {self._dictionary(one)} AS {one} USING ({CODES[one]})" for one in sorted(tables))
        rows = self._files([part for segment in self.reading.state.segments for part in segment.rows])
        if self.repeated:
            rows = f"(SELECT *, unnest(range(n)) AS once FROM {rows})"
        yield f"({select(f'(SELECT {asked} FROM {rows} AS rows{joined})')})"

    @contextmanager
    def counts(self, workspace: Workspace, asked: Counting) -> Iterator[str | None]:  # noqa: ARG002
        """The prepared items i and their numbers n of distinct users, where conditions are on items or kept columns."""
        if not self._has_codes(asked):
            yield None
            return
        inside = []
        if asked.where is not None:
            table, chosen = self._chosen(asked.where, asked.filtered)
            inside.append(f"i IN ({chosen})" if table == "items" else self._sets_with(chosen))
        cut = ""
        if asked.most is not None:
            last = f"SELECT n FROM counted ORDER BY n DESC LIMIT 1 OFFSET {max(asked.most, 1) - 1}"
            cut = f" WHERE n >= coalesce(({last}), 0)"
        number = self._own("n")
        items = f"{self._dictionary('items')} AS items"
        named = f"SELECT {self._items}, n AS {number} FROM counted JOIN {items} USING (i){cut}"
        counted = self._counted(inside, asked.periods)
        yield f"WITH counted AS MATERIALIZED ({counted}) SELECT {asked.form} AS i, {number} AS n FROM ({named})"

    def coded(self, asked: Counting) -> tuple[str, str] | None:
        """Users u and codes i of the prepared items that they have, and the number and the item i of each code."""
        if not self._has_codes(asked) or (asked.periods is not None and len(asked.periods.all) > 1):
            return None
        items = self._dictionary("items")
        inside, segments = [f"i IN (SELECT i FROM {items} WHERE k)"], self._in(asked.periods)
        if asked.where is not None:
            table, chosen = self._chosen(asked.where, asked.filtered)
            inside.append(f"{CODES[table]} IN ({chosen})")
        inside += _days(asked.periods)
        files = self._files([part for one in segments or self.reading.state.segments[:1] for part in one.rows])
        rows = f"(SELECT u, i FROM {files} WHERE {' AND '.join(inside)})"
        number = self._own("i")
        named = f"SELECT i AS {number}, {self._items} FROM {items} AS items"
        return rows, f"SELECT {number} AS number, {asked.form} AS i FROM ({named})"

    def _has_codes(self, asked: Counting) -> bool:
        """Is it about the prepared items, with conditions on these or on kept columns, and on whole periods?"""
        rules = self._rules
        if asked.item != rules.item or not rules.by_whole_periods(asked.periods):
            return False
        return asked.where is None or self._table_of(asked.filtered) is not None

    def _table_of(self, filtered: Sequence[str]) -> str | None:
        """The dictionary that has all columns of a condition."""
        there = (one for one in ("items", "kept") if self._columns(one) and set(filtered) <= set(self._columns(one)))
        return next(there, None)

    def _in(self, periods: Periods | None) -> list[Segment]:
        """The segments that have rows of some periods."""
        days = None if periods is None else {one.start.isoformat() for one in periods.all}
        return [one for one in self.reading.state.segments if days is None or not days.isdisjoint(one.periods)]

    def _counted(self, inside: Sequence[str], periods: Periods | None) -> str:
        """i, a code, and n: of cells in the periods that are asked for, of totals, or what was added up already."""
        state = self.reading.state
        if periods is None and not inside:
            return f"SELECT i, n FROM {self._files(state.sums)}"
        of_all = periods is None and self._rules.period is not None
        cells = list(state.totals) if of_all else [part for one in self._in(periods) for part in one.cells]
        if not cells:
            return "SELECT 0 AS i, 0 AS n LIMIT 0"
        conditions = [*inside, *_days(periods)]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT i, CAST(sum(n) AS BIGINT) AS n FROM {self._files(cells)}{where} GROUP BY i"

    @property
    def _items(self) -> str:
        """The columns of items, from their dictionary, by the names that the SQL of an item has for them."""
        rules = self._rules
        names = [f"{self._place(name)} AS {quoted(name)}" for name in rules.item]
        names += [f"{self._place(name)} AS {quoted(MARK + name)}" for name in rules.item if rules.types[name] == OBJECT]
        return ", ".join(names)

    def _chosen(self, where: str, filtered: Sequence[str]) -> tuple[str, str]:
        """A dictionary, and the codes of its entries for which a condition holds."""
        table = self._table_of(filtered) or ""
        columns, code = self._columns(table), self._own(CODES[table])
        values = ", ".join(f"{self._place(column)} AS {quoted(column)}" for column in columns)
        forms = ", ".join([code, *(filter_form(column, self._rules.types[column]) for column in filtered)])
        entries = f"(SELECT {CODES[table]} AS {code}, {values} FROM {self._dictionary(table)} AS {table})"
        return table, f"SELECT {code} AS {CODES[table]} FROM (SELECT {forms} FROM {entries}) WHERE ({where})"

    def _sets_with(self, chosen: str) -> str:
        """The condition that a set has one of these combinations; a set of one has its number."""
        sets = self._files(self.reading.state.sets)
        several = f"SELECT s FROM (SELECT s, unnest(cs) AS c FROM {sets}) WHERE c IN ({chosen})"
        return f"s IN (SELECT c AS s FROM ({chosen}) UNION {several})"

    def _columns(self, table: str) -> tuple[str, ...]:
        rules = self._rules
        return {"users": rules.user, "items": rules.item, "kept": rules.keep, "rows": rules.weight}[table]

    def _place(self, column: str) -> str:
        """The SQL of a column's value, in its type."""
        table, rules = self._table(column), self._rules
        if table == "rows" and column not in rules.weight:
            return "rows.p"
        letter = "w" if table == "rows" else "v"
        value, sql_type = f"{table}.{letter}{self._columns(table).index(column)}", rules.types[column]
        return value if sql_type in (OBJECT, "VARCHAR") else f"CAST({value} AS {sql_type})"

    def _table(self, column: str) -> str:
        return next((table for table in CODES if column in self._columns(table)), "rows")

    def _own(self, name: str) -> str:
        return quoted(own_name(name, self._rules.names))

    def _dictionary(self, name: str) -> str:
        state = self.reading.state
        return self._files({"users": state.users, "items": state.items, "kept": state.kept}[name])

    def _files(self, parts: Sequence[Part]) -> str:
        return parquet_rows(self.reading.paths(parts))


def own_name(name: str, columns: Sequence[str]) -> str:
    """A name of ours beside those of columns, and those that the engine has for their values: none of them is it."""
    taken = {one.lower() for column in columns for one in (column, MARK + column)}
    own = MARK + name
    while own.lower() in taken:
        own = MARK + own
    return own


def _days(periods: Periods | None) -> list[str]:
    """The SQL condition that a row or a cell is in one of the periods; none where all are meant."""
    return [] if periods is None else [f"p IN ({', '.join(f'DATE {str(one.start)!r}' for one in periods.all)})"]
