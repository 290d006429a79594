"""The form in which Spark keeps a value while it prepares, and what it reads it back as.

A caller's session decides how dates and moments are written to a file, so they go there as whole numbers.
"""

from __future__ import annotations

import datetime

import numpy as np

from dpselect.aggregates.user_sets import Int64
from dpselect.engines.duckdb.preparing.starts import marks_near
from dpselect.engines.filters.engines import of_dialect
from dpselect.engines.prepared.rules import Rules
from dpselect.engines.row_periods import row_periods
from dpselect.engines.spark.dialect import SPARK, quoted
from dpselect.engines.sql.port import SqlType
from dpselect.errors import DataError
from dpselect.periods import Periods

DAY = 86_400_000_000  # microseconds
_TO = {"date": "unix_date({})", "timestamp": "unix_micros({})"}
_BACK = {"date": "date_from_unix_date({})", "timestamp": "timestamp_micros({})"}
_MICROS = {
    "date": f"CAST({{}} AS BIGINT) * {DAY}",
    "timestamp": "{}",
    "timestamp_ntz": "unix_micros(CAST({} AS TIMESTAMP_LTZ))",  # in our session, which is in UTC
}
_FIRST, _LAST = datetime.date(999, 12, 1), datetime.date(9999, 2, 1)
_EPOCH = datetime.date(1970, 1, 1)
_KEPT = {"text", "integer", "number", "boolean", "date", "timestamp", "bytes"}


def refuse_type(one: SqlType) -> None:
    """Refuse what the files cannot hold as it is."""
    if one.kind not in _KEPT or one.duckdb is None:
        raise DataError(f"Spark cannot prepare a column of type {one.name}", "cast it to text or to a number in a view")


def kept_form(column: str, one: SqlType) -> str:
    """A value in a step's file: equal values in one form."""
    if one.kind == "text" or one.name in ("float", "double"):
        return one.form.replace("{}", quoted(column))
    return _TO.get(one.name, "{}").replace("{}", quoted(column))


def back(column: str, one: SqlType) -> str:
    """The value in its own type, from a step's file."""
    return f"CAST({column} AS FLOAT)" if one.name == "float" else _BACK.get(one.name, "{}").replace("{}", column)


class Times:
    """The time of a row: its form in a step's file, its microseconds, and which times are in which period."""

    def __init__(self, rules: Rules, one: SqlType) -> None:
        assert rules.time is not None
        assert rules.period is not None
        self._periods = Periods(rules.time, rules.period, rules.timezone, ())
        found = row_periods(self._periods, quoted(rules.time), one, of_dialect(SPARK))
        self._in_utc, zoned = found.in_utc, found.value.type_name == found.spelling.zoned
        self._kind = "date" if found.value.kind == "date" else "timestamp" if zoned else "timestamp_ntz"
        self.form: str = _TO.get(self._kind, "{}").replace("{}", f"({found.moment})")

    def micros(self, column: str) -> str:
        """From the epoch in UTC, or on the clocks; null where no period can be."""
        ends = (_FIRST, _LAST)
        if self._kind == "timestamp_ntz":
            first, last = (f"TIMESTAMP_NTZ'{day.isoformat()} 00:00:00'" for day in ends)
        else:
            unit = 1 if self._kind == "date" else DAY
            first, last = (str((day - _EPOCH).days * unit) for day in ends)
        return f"CASE WHEN {column} BETWEEN {first} AND {last} THEN {_MICROS[self._kind].replace('{}', column)} END"

    def stretches(self, years: set[int]) -> dict[str, Int64]:
        """Of each period begin, stop and first day p, once for every day in UTC that it touches, which is `bucket`."""
        marks = marks_near(years, self._periods.sort)
        begins = [self._periods.midnight(day, in_utc=self._in_utc) for day, _ in marks]
        starts = np.array(begins, "datetime64[us]").astype(np.int64)
        held = np.array([day is not None for _, day in marks[:-1]], dtype=bool)
        days = np.array([day or _EPOCH for _, day in marks[:-1]], "datetime64[D]").astype(np.int64)
        begin, stop, days = starts[:-1][held], starts[1:][held], days[held]
        first = begin // DAY
        touched = np.maximum((stop - 1) // DAY - first + 1, 0)
        row = np.repeat(np.arange(len(begin)), touched)
        place = np.arange(len(row)) - np.repeat(np.cumsum(touched) - touched, touched)
        return {"bucket": first[row] + place, "begin": begin[row], "stop": stop[row], "p": days[row]}


def bucket(micros: str) -> str:
    """The day in UTC of a time."""
    return f"(({micros} - pmod({micros}, {DAY})) div {DAY})"
