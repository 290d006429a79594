"""Prepared data as a scan: rows put together again from their codes, and numbers of users that were counted before.

Which rows there are, and what stands in them, is as in the source, in the columns that were prepared; rows that say the
same stand once, unless a question needs each. So every question is answered as there. Numbers of distinct users of the
prepared items are read from counts (`engines.prepared.preparing`): without a condition, under one on items or on kept
values, which is looked at once for each combination of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from dpselect.engines.duckdb.scans import Counting, Scan, Select
from dpselect.engines.duckdb.types import OBJECT, filter_form
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.prepared.file import PreparedFile
from dpselect.engines.prepared.rules import ALL, CODES, Rules
from dpselect.engines.sources.scans.declarations import Types, parse_type
from dpselect.engines.values import MARK

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.sources.scans.columns import AskedColumns


@dataclass(frozen=True)
class PreparedScan(Scan):
    """An open file of prepared data; `repeated` gives each row as often as it was there."""

    file: PreparedFile
    repeated: bool = False

    @classmethod
    def of(cls, workspace: Workspace, path: str) -> PreparedScan:
        """The scan of what is there now, which stays until the workspace is closed."""
        file = PreparedFile.open(workspace, path)
        rules = file.state.rules
        code = own_name("u", rules.names)
        declared = {name: parse_type(name, text) for name, text in rules.declared.items()}
        more: dict[str, Any] = {"state": file.state.name, "row_bound": rules.row_bound, "declared": declared}
        return cls(rules.names, file, fixed=True, user_code=code, **more)

    @property
    def given(self) -> Types:
        """Nothing: what was declared when the data were prepared is part of them."""
        return {}

    @property
    def _rules(self) -> Rules:
        return self.file.state.rules

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        return self._rules.hint(column)

    def refuse(self, asked: AskedColumns) -> None:
        """Refuse what these data cannot answer as their source would."""
        self._rules.refuse(asked)

    def each(self) -> Self:
        """The same data, whose rows are there as often as they are in the source."""
        return replace(self, repeated=True)

    def types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """The SQL types of some columns, as they are in the source; of a time the day on which its period begins."""
        return {column: self._rules.types.get(column, "DATE") for column in columns}

    @contextmanager
    def rows(self, workspace: Workspace, columns: Sequence[str], select: Select) -> Iterator[str]:  # noqa: ARG002
        """What stands after FROM for one query over the selected rows."""
        asked = ", ".join([f"rows.u AS {self._own('u')}", *(f"{self._place(one)} AS {quoted(one)}" for one in columns)])
        tables = {self._rules.table(column) for column in columns} - {"rows"}
        joined = "".join(f" JOIN {self.file.table(one)} AS {one} USING ({CODES[one]})" for one in sorted(tables))
        rows = self.file.table("rows")
        if self.repeated:
            rows = f"(SELECT *, unnest(range(n)) AS once FROM {rows})"
        yield f"({select(f'(SELECT {asked} FROM {rows} AS rows{joined})')})"

    @contextmanager
    def counts(self, workspace: Workspace, asked: Counting) -> Iterator[str | None]:  # noqa: ARG002
        """The prepared items i and their numbers n of distinct users, where these were counted."""
        if not self._has_codes(asked):
            yield None
            return
        table, inside = "counts", [f"p IN ({_days(asked.periods, ALL)})"]
        if asked.where is not None:
            chosen, codes = self._chosen(asked.where, asked.filtered)
            if chosen == "items":
                inside.append(f"i IN ({codes})")
            else:
                sets = f"(SELECT s, unnest(cs) AS c FROM {self.file.table('sets')})"
                table = "cells"
                inside.append(f"s IN (SELECT s FROM {sets} WHERE c IN ({codes}))")
        kept = f"{self.file.table(table)} WHERE {' AND '.join(inside)}"
        counted = f"SELECT i, CAST(sum(n) AS BIGINT) AS n FROM {kept} GROUP BY i"
        cut = ""
        if asked.most is not None:
            last = f"SELECT n FROM counted ORDER BY n DESC LIMIT 1 OFFSET {max(asked.most, 1) - 1}"
            cut = f" WHERE n >= coalesce(({last}), 0)"
        number = self._own("n")
        named = f"SELECT {self._items}, n AS {number} FROM counted JOIN {self.file.table('items')} AS items USING (i)"
        yield f"WITH counted AS MATERIALIZED ({counted}) SELECT {asked.form} AS i, {number} AS n FROM ({named}{cut})"

    def coded(self, asked: Counting) -> tuple[str, str] | None:
        """Users u and codes i of the prepared items that they have, and the number and the item i of each code."""
        if not self._has_codes(asked) or (asked.periods is not None and len(asked.periods.all) > 1):
            return None
        items, inside = self.file.table("items"), [] if asked.periods is None else [f"p IN ({_days(asked.periods)})"]
        inside.append(f"i IN (SELECT i FROM {self.file.table('counts')})")  # of items that can be named
        if asked.where is not None:
            table, codes = self._chosen(asked.where, asked.filtered)
            inside.append(f"{CODES[table]} IN ({codes})")
        rows = f"(SELECT u, i FROM {self.file.table('rows')} WHERE {' AND '.join(inside)})"
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
        tables = self._rules.tables
        return next((one for one in ("items", "kept") if tables[one] and set(filtered) <= set(tables[one])), None)

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
        code = self._own(CODES[table])
        values = ", ".join(f"{self._place(column)} AS {quoted(column)}" for column in self._rules.tables[table])
        forms = ", ".join([code, *(filter_form(column, self._rules.types[column]) for column in filtered)])
        entries = f"(SELECT {CODES[table]} AS {code}, {values} FROM {self.file.table(table)} AS {table})"
        return table, f"SELECT {code} AS {CODES[table]} FROM (SELECT {forms} FROM {entries}) WHERE ({where})"

    def _place(self, column: str) -> str:
        """The SQL of a column's value."""
        return f"{self._rules.table(column)}.{self._rules.place(column)}"

    def _own(self, name: str) -> str:
        return quoted(own_name(name, self._rules.names))


def own_name(name: str, columns: Sequence[str]) -> str:
    """A name of ours beside those of columns, and those that the engine has for their values: none of them is it."""
    taken = {one.lower() for column in columns for one in (column, MARK + column)}
    own = MARK + name
    while own.lower() in taken:
        own = MARK + own
    return own


def _days(periods: Periods | None, every: str = "") -> str:
    """The first days of periods, as SQL, or what stands for all time."""
    return every if periods is None else ", ".join(f"DATE {str(one.start)!r}" for one in periods.all)
