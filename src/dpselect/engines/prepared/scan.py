"""Prepared data as a scan: rows put together again from their codes, and numbers of users that were counted before.

Which rows there are, and what stands in them, is as in the source, in the columns that were prepared; rows that say the
same stand once, unless a question needs each. So every question is answered as there. Numbers of distinct users of the
prepared items are read from counts (`engines.prepared.preparing`): without a condition, under one on items or on kept
values, which is looked at once for each combination of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from dpselect._ground.dataclass import dataclass
from dpselect.engines.duckdb.types import OBJECT, filter_form
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.prepared.file import ALL, CODES, PreparedFile, Rules
from dpselect.engines.sources.scans.declarations import parse_type
from dpselect.engines.sources.scans.scan import CountRequest, RequestedColumns, Scan
from dpselect.engines.values import TYPE_MARK
from dpselect.errors import SourceError, came

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods


@dataclass(frozen=True)
class PreparedScan(Scan):
    """A scan of an open file of prepared data; `repeated` reads each row as often as it occurred."""

    counts_users = True
    file: PreparedFile
    repeated: bool = False

    @classmethod
    def open(cls, workspace: Workspace, path: str) -> PreparedScan:
        """Return the scan of the current state, which stays the same until the workspace is closed."""
        file = PreparedFile.open(workspace, path)
        rules = file.state.rules
        code = unused_name("u", rules.names)
        declared = {name: parse_type(name, text) for name, text in rules.declared.items()}
        properties: dict[str, Any] = {"kept_types": declared, "state": file.state.name, "row_bound": rules.row_bound}
        return cls(rules.names, file, fixed=True, user_code=code, **properties)

    @property
    def _rules(self) -> Rules:
        return self.file.state.rules

    def hint(self, column: str) -> str:
        """Return a hint about a column that does not exist."""
        return self._rules.hint(column)

    def refuse(self, requested: RequestedColumns) -> None:
        """Refuse what these data cannot answer as their source would, and types of users, who have codes."""
        self._rules.refuse(requested)
        if name := next((column for column in requested.user or () if column in self.declared), None):
            hint = "prepare the source again with types="
            raise SourceError("types", "be left out for the user of prepared data", came(name), hint)

    def with_duplicates(self) -> Self:
        """Return the scan that reads equal rows as often as they occur in the source."""
        return replace(self, repeated=True)

    def source_types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the SQL types of some columns, as they are in the source; of a time the first day of its period."""
        return {column: self._rules.types.get(column, "DATE") for column in columns}

    @contextmanager
    def source_rows(self, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:  # noqa: ARG002
        """Yield the SQL after FROM for one query over some columns."""
        values = ", ".join(
            [
                f"rows.u AS {self._unused_name('u')}",
                *(f"{self._column_sql(name)} AS {quoted(name)}" for name in columns),
            ]
        )
        tables = {self._rules.table_of(column) for column in columns} - {"rows"}
        joins = "".join(f" JOIN {self.file.table(name)} AS {name} USING ({CODES[name]})" for name in sorted(tables))
        rows = self.file.table("rows")
        if self.repeated:
            rows = f"(SELECT *, unnest(range(n)) AS once FROM {rows})"
        yield f"(SELECT {values} FROM {rows} AS rows{joins})"

    @contextmanager
    def counts(self, workspace: Workspace, request: CountRequest) -> Iterator[str | None]:  # noqa: ARG002
        """Yield the prepared items i and their numbers n of distinct users, if these were counted."""
        if not self._has_codes(request):
            yield None
            return
        table, conditions = "counts", [f"p IN ({_first_days(request.periods, ALL)})"]
        if request.where is not None:
            dictionary, codes = self._matching_codes(request.where, request.filter_columns)
            if dictionary == "items":
                conditions.append(f"i IN ({codes})")
            else:
                sets = f"(SELECT s, unnest(cs) AS c FROM {self.file.table('sets')})"
                table = "cells"
                conditions.append(f"s IN (SELECT s FROM {sets} WHERE c IN ({codes}))")
        kept_counts = f"{self.file.table(table)} WHERE {' AND '.join(conditions)}"
        summed_counts = f"SELECT i, CAST(sum(n) AS BIGINT) AS n FROM {kept_counts} GROUP BY i"
        cutoff = ""
        if request.max_items is not None:
            last_count = f"SELECT n FROM counted ORDER BY n DESC LIMIT 1 OFFSET {max(request.max_items, 1) - 1}"
            cutoff = f" WHERE n >= coalesce(({last_count}), 0)"
        number_column = self._unused_name("n")
        joined = f"counted JOIN {self.file.table('items')} AS items USING (i)"
        with_item_columns = f"SELECT {self._item_columns}, n AS {number_column} FROM {joined}"
        yield (
            f"WITH counted AS MATERIALIZED ({summed_counts}) "
            f"SELECT {request.form} AS i, {number_column} AS n FROM ({with_item_columns}{cutoff})"
        )

    def read_codes(self, request: CountRequest) -> tuple[str, str] | None:
        """Return users u and codes i of their prepared items, and the number and the item i of each code."""
        if not self._has_codes(request) or (request.periods is not None and len(request.periods.all) > 1):
            return None
        items, conditions = (
            self.file.table("items"),
            [] if request.periods is None else [f"p IN ({_first_days(request.periods)})"],
        )
        conditions.append(f"i IN (SELECT i FROM {self.file.table('counts')})")  # of items that can be named
        if request.where is not None:
            table, codes = self._matching_codes(request.where, request.filter_columns)
            conditions.append(f"{CODES[table]} IN ({codes})")
        rows = f"(SELECT u, i FROM {self.file.table('rows')} WHERE {' AND '.join(conditions)})"
        number_column = self._unused_name("i")
        with_item_columns = f"SELECT i AS {number_column}, {self._item_columns} FROM {items} AS items"
        return rows, f"SELECT {number_column} AS number, {request.form} AS i FROM ({with_item_columns})"

    def _has_codes(self, request: CountRequest) -> bool:
        """Return whether a request is about prepared items, conditions on these or kept columns, and whole periods."""
        rules = self._rules
        if request.item != rules.item or not rules.has_periods(request.periods):
            return False
        return request.where is None or self._table_with(request.filter_columns) is not None

    def _table_with(self, filter_columns: Sequence[str]) -> str | None:
        """Return the dictionary that has all columns of a condition."""
        tables = self._rules.tables
        return next(
            (table for table in ("items", "kept") if tables[table] and set(filter_columns) <= set(tables[table])), None
        )

    @property
    def _item_columns(self) -> str:
        """The columns of items, from their dictionary, under the names in the SQL of an item."""
        rules = self._rules
        names = [f"{self._column_sql(name)} AS {quoted(name)}" for name in rules.item]
        names += [
            f"{self._column_sql(name)} AS {quoted(TYPE_MARK + name)}"
            for name in rules.item
            if rules.types[name] == OBJECT
        ]
        return ", ".join(names)

    def _matching_codes(self, where: str, filter_columns: Sequence[str]) -> tuple[str, str]:
        """Return a dictionary, and the SQL of the codes of its entries for which a condition holds."""
        table = self._table_with(filter_columns) or ""
        code = self._unused_name(CODES[table])
        values = ", ".join(f"{self._column_sql(column)} AS {quoted(column)}" for column in self._rules.tables[table])
        forms = ", ".join([code, *(filter_form(column, self._rules.types[column]) for column in filter_columns)])
        entries = f"(SELECT {CODES[table]} AS {code}, {values} FROM {self.file.table(table)} AS {table})"
        return table, f"SELECT {code} AS {CODES[table]} FROM (SELECT {forms} FROM {entries}) WHERE ({where})"

    def _column_sql(self, column: str) -> str:
        """Return the SQL of a column's value."""
        return f"{self._rules.table_of(column)}.{self._rules.column_of(column)}"

    def _unused_name(self, name: str) -> str:
        return quoted(unused_name(name, self._rules.names))


def unused_name(name: str, columns: Sequence[str]) -> str:
    """Return a reserved name that differs from those of columns and those that the engine has for their values."""
    taken_names = {taken.lower() for column in columns for taken in (column, TYPE_MARK + column)}
    candidate = TYPE_MARK + name
    while candidate.lower() in taken_names:
        candidate = TYPE_MARK + candidate
    return candidate


def _first_days(periods: Periods | None, all_time: str = "") -> str:
    """Compile the first days of periods, or `all_time` without periods."""
    return all_time if periods is None else ", ".join(f"DATE {str(period.start)!r}" for period in periods.all)
