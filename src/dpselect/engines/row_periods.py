"""Row periods: which period a row is in, as comparisons of its own time with constants, written for one engine.

The comparisons are those of the filter language (docs/filters.md): a value for every row, whatever stands in it. A
time that is null, unreadable, infinite or outside of all periods is in none, and its row does not count.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dpselect._ground.periods import Periods
from dpselect.engines.filters.operations import Writer
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Constant, Name, Node, Operation
from dpselect.engines.filters.values import Value, column_value
from dpselect.engines.sql.port import SqlType
from dpselect.errors import SourceError

TIME = "dpselect_time"
_TIME = Name(TIME)
FEW = 8
"""Stretches of time that stand in one condition, which a reader may use to leave others out."""


@dataclass(frozen=True)
class RowPeriods:
    """The time of a row, for one engine: `inside` says which rows count, `position_sql` in which period."""

    periods: Periods
    spelling: Spelling
    value: Value  # of the column
    in_utc: bool  # is it a moment, or what the clocks showed?

    @property
    def moment(self) -> str:
        """The SQL of the time itself, as it is compared; null where it cannot be read."""
        return self._writer(self.value).value(self._time).sql

    @property
    def several(self) -> bool:
        """True where there are several periods, in each of which a user is another user."""
        return len(self.periods.all) > 1

    @property
    def inside(self) -> str:
        """The SQL condition that a row is in one of the periods, or, where `but` says the rest, in their reach."""
        ends = self.periods.runs if self._in_short else [(self.periods.all[0], self.periods.all[-1])]
        runs = [
            Operation("AND", (self._compared(">=", first.start), self._compared("<", last.stop)))
            for first, last in ends
        ]
        return self._writer(self.value).condition(runs[0] if len(runs) == 1 else Operation("OR", tuple(runs)))

    @property
    def column(self) -> str:
        """The time itself as a column for `position_sql`."""
        return f"{self.moment} AS {TIME}"

    @property
    def all(self) -> str:
        """The SQL condition that a row is in one of the periods, however long it is."""
        return f"({self.inside})" + (f" AND {self._gaps.replace(TIME, f'({self.moment})')}" if self._gaps else "")

    def position_sql(self, position_form: Callable[[int], str]) -> str:
        """Return the SQL of the position among the periods, for rows that are in one and have `column`.

        `position_form` compiles a position.
        """
        return self._last([(period.start, position_form(position)) for position, period in enumerate(self.periods.all)])

    @property
    def gained(self) -> str:
        """The SQL of a column w beside the position: -1 in the periods with which the others are compared, 1 elsewhere.

        Of losses it is the other way round. There is none, but nothing, where none are compared.
        """
        if not self.periods.compared:
            return ""
        compared_sign, other_sign = ("1", "-1") if self.periods.lost else ("-1", "1")
        signs = [compared_sign if period in self.periods.compared else other_sign for period in self.periods.all]
        return f", {self.position_sql(signs.__getitem__)} AS w"

    @property
    def but(self) -> str:
        """The WHERE that leaves out gaps between periods, for rows that have `column`; nothing where `inside` does."""
        return f" WHERE {self._gaps}" if self._gaps else ""

    @property
    def _gaps(self) -> str:
        if self._in_short:
            return ""
        ends = [mark for first, last in self.periods.runs for mark in ((first.start, "1"), (last.stop, "0"))]
        return f"{self._last(ends)} = 1"

    @property
    def _in_short(self) -> bool:
        """True if few comparisons are enough. Each of those with a text reads it anew."""
        return len(self.periods.runs) <= (1 if self.value.kind == "text" else FEW)

    def _last(self, marks: Sequence[tuple[datetime.date, str]]) -> str:
        """Return the SQL at the last of the days that has begun; half of them are left after each comparison."""
        kind = "timestamp" if self.value.kind == "text" else self.value.kind
        writer = self._writer(replace(self.value, kind=kind, sql=TIME, safe=""))

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

    def _compared(self, sign: str, day: datetime.date) -> Operation:
        return Operation(sign, (self._time, self._constant(day)))

    def _constant(self, day: datetime.date) -> Constant:
        if self.value.kind == "date":
            return Constant(day)
        begins = self.periods.midnight(day, in_utc=self.in_utc)
        return Constant(begins.replace(tzinfo=datetime.UTC) if self.value.type_name == self.spelling.zoned else begins)

    def _writer(self, value: Value) -> Writer:
        return Writer({TIME: value}, self.spelling)


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
    return RowPeriods(periods, spelling, value, in_utc=zoned)
