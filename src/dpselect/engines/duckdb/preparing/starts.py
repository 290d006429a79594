"""Starts: when each period begins that may hold a row. A row's period depends on its own time and constants alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from dpselect._ground.periods import YEARS, Day, Periods, between
from dpselect.engines.duckdb.preparing.work import Work
from dpselect.engines.duckdb.times import row_time
from dpselect.engines.prepared.rules import Rules
from dpselect.engines.row_periods import RowPeriods


def times_of(rules: Rules) -> RowPeriods:
    """The time of a row, as questions compare it."""
    assert rules.time is not None
    assert rules.period is not None
    return row_time(Periods(rules.time, rules.period, rules.timezone, ()), rules.types, raw=True)


def keep_starts(work: Work) -> None:
    """A table of `start` and p, the day on which the period begins; after the last one of some years p is null."""
    times = times_of(work.rules)
    some = "t >= '0999-12-01' AND t <= '9999-02-01'"
    years = {int(row[0]) for row in work.rows(f"SELECT DISTINCT year(t) FROM staged WHERE {some}")}
    marks = marks_near(years, times.periods.sort)
    starts = np.array([times.periods.midnight(day, in_utc=times.in_utc) for day, _ in marks], "datetime64[us]")
    days = np.array([day for _, day in marks], "datetime64[us]")
    work.rows("CREATE TEMP TABLE starts AS SELECT t AS start, NULL::DATE AS p FROM staged LIMIT 0")
    with work.workspace.registered({"start": starts, "p": days}) as given:
        work.rows(f"INSERT INTO starts SELECT start, p::DATE FROM {given}")


def marks_near(years: Collection[int], sort: str) -> list[tuple[Day, Day | None]]:
    """The days on which periods begin in these years and those beside them, and where none does that any has."""
    near = sorted({year + step for year in years for step in (-1, 0, 1)} & set(YEARS))
    marks: list[tuple[Day, Day | None]] = []
    for first, last in _runs(near):
        found = [one for one in between(sort, Day(first, 1, 1), Day(last, 12, 31)) if one.start.year in YEARS]
        marks += [*((one.start, one.start) for one in found), (found[-1].stop, None)]
    return marks


def _runs(years: Sequence[int]) -> list[tuple[int, int]]:
    """Years in a row, as the first and the last of each stretch."""
    found: list[tuple[int, int]] = []
    for year in years:
        if found and found[-1][1] == year - 1:
            found[-1] = found[-1][0], year
        else:
            found.append((year, year))
    return found
