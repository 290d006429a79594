"""Row periods: which period a row is in, as comparisons of its own time with constants, written for one engine.

The comparisons are those of the filter language (docs/filters.md): a value for every row, whatever stands in it. A
time that is null, unreadable, infinite or outside of all periods is in none, and its row does not count.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace

from dpselect._ground.dataclass import dataclass
from dpselect._ground.periods import Periods
from dpselect.engines.filters.operations import Compiler
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Constant, Name, Node, Operation
from dpselect.engines.filters.values import Value, column_value
from dpselect.engines.sql.port import SqlType
from dpselect.errors import SourceError

TIME_COLUMN = "dpselect_time"
_TIME = Name(TIME_COLUMN)
MAX_RUNS_IN_CONDITION = 8
"""Stretches of time that stand in one condition, which a reader may use to leave others out."""


@dataclass(frozen=True)
class RowPeriods:
    """The time of a row, for one engine: `condition_in_periods` is of rows that count, `position_sql` their period."""

    periods: Periods
    spelling: Spelling
    value: Value  # of the column
    is_moment: bool  # is it a moment, or what the clocks showed?

    @property
    def moment_sql(self) -> str:
        """The SQL of the time itself, as it is compared; null where it cannot be read."""
        return self._writer(self.value).value(self._time).sql

    @property
    def has_several(self) -> bool:
        """True where there are several periods, in each of which a user is another user."""
        return len(self.periods.all) > 1

    @property
    def condition_in_reach(self) -> str:
        """The SQL condition that a row is in one of the periods, or between them if `where_in_no_gap` says the rest."""
        ends = self.periods.runs if self._is_one_condition else [(self.periods.all[0], self.periods.all[-1])]
        runs = [
            Operation("AND", (self._compare_with(">=", first.start), self._compare_with("<", last.stop)))
            for first, last in ends
        ]
        return self._writer(self.value).condition(runs[0] if len(runs) == 1 else Operation("OR", tuple(runs)))

    @property
    def time_column_sql(self) -> str:
        """The time itself as a column for `position_sql`."""
        return f"{self.moment_sql} AS {TIME_COLUMN}"

    @property
    def condition_in_periods(self) -> str:
        """The SQL condition that a row is in one of the periods, however long it is."""
        gap_condition = self._gap_condition.replace(TIME_COLUMN, f"({self.moment_sql})")
        return f"({self.condition_in_reach})" + (f" AND {gap_condition}" if gap_condition else "")

    def position_sql(self, position_form: Callable[[int], str]) -> str:
        """Return the SQL of the position among the periods, for rows that are in one and have `time_column_sql`.

        `position_form` compiles a position.
        """
        return self._search(
            [(period.start, position_form(position)) for position, period in enumerate(self.periods.all)]
        )

    @property
    def sign_column_sql(self) -> str:
        """The SQL of a column w beside the position: -1 in the periods with which the others are compared, 1 elsewhere.

        Of losses it is the other way round. There is none, but nothing, where none are compared.
        """
        if not self.periods.compared:
            return ""
        compared_sign, other_sign = ("1", "-1") if self.periods.lost else ("-1", "1")
        signs = [compared_sign if period in self.periods.compared else other_sign for period in self.periods.all]
        return f", {self.position_sql(signs.__getitem__)} AS w"

    @property
    def where_in_no_gap(self) -> str:
        """The WHERE that leaves out gaps between periods, for rows that have `time_column_sql`; else nothing."""
        return f" WHERE {self._gap_condition}" if self._gap_condition else ""

    @property
    def _gap_condition(self) -> str:
        if self._is_one_condition:
            return ""
        ends = [mark for first, last in self.periods.runs for mark in ((first.start, "1"), (last.stop, "0"))]
        return f"{self._search(ends)} = 1"

    @property
    def _is_one_condition(self) -> bool:
        """True if few comparisons are enough. Each of those with a text reads it anew."""
        return len(self.periods.runs) <= (1 if self.value.kind == "text" else MAX_RUNS_IN_CONDITION)

    def _search(self, marks: Sequence[tuple[datetime.date, str]]) -> str:
        """Return the SQL at the last of the days that has begun; half of them are left after each comparison."""
        kind = "timestamp" if self.value.kind == "text" else self.value.kind
        writer = self._writer(replace(self.value, kind=kind, sql=TIME_COLUMN, safe=""))

        def search(low: int, high: int) -> str:
            if high - low == 1:
                return marks[low][1]
            middle = (low + high) // 2
            is_before = Operation("<", (_TIME, self._constant(marks[middle][0])))
            return f"CASE WHEN {writer.condition(is_before)} THEN {search(low, middle)} ELSE {search(middle, high)} END"

        return search(0, len(marks))

    @property
    def _time(self) -> Node:
        return Operation("CAST", (_TIME,), ("timestamp",)) if self.value.kind == "text" else _TIME

    def _compare_with(self, sign: str, day: datetime.date) -> Operation:
        return Operation(sign, (self._time, self._constant(day)))

    def _constant(self, day: datetime.date) -> Constant:
        if self.value.kind == "date":
            return Constant(day)
        begins = self.periods.midnight(day, in_utc=self.is_moment)
        return Constant(begins.replace(tzinfo=datetime.UTC) if self.value.type_name == self.spelling.zoned else begins)

    def _writer(self, value: Value) -> Compiler:
        return Compiler({TIME_COLUMN: value}, self.spelling)


def row_periods(periods: Periods, sql: str, sql_type: SqlType, spelling: Spelling) -> RowPeriods:
    """Return the periods over a column; refused where its type has no time.

    A date, and a moment without a zone, is what the clocks of the time zone showed; a moment with one is that moment.
    """
    value = column_value(periods.column, sql, sql_type, spelling)
    if value.kind not in ("date", "timestamp", "text"):
        requirement = "be a column of dates or timestamps"
        hint = "use a view or a frame in which it is one; dps.TimeText(unit=...) declares numbers that count from 1970"
        raise SourceError("time", requirement, f"a column of {sql_type.name}", hint)
    zoned = "ZONE" in (sql_type.duckdb_type or "")
    if zoned and not sql_type.name.endswith("_NS"):  # as it is: who reads may leave parts of a file out
        value = replace(value, sql=f"({sql})", safe="", type_name=spelling.zoned)
    return RowPeriods(periods, spelling, value, is_moment=zoned)
