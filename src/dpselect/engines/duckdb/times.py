"""Times: the column of times of a source, as its rows are put into periods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpselect.engines.duckdb.types import OBJECT, filter_type, time_form
from dpselect.errors import SourceError

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.row_periods import RowPeriods


def row_time(periods: Periods, types: Mapping[str, str], column: str) -> RowPeriods:
    """Return the periods over the column of times, from the SQL of that column as the source has it.

    Some values without a declared type may have a zone, which is lost.
    """
    from dpselect._ground.periods import UTC
    from dpselect.engines.duckdb.spelling import DUCKDB_SPELLING
    from dpselect.engines.row_periods import row_periods

    sql_type = types[periods.column]
    if sql_type == OBJECT and periods.timezone != UTC:
        hint = "give dates, timestamps or texts in an array or a frame that has their type"
        raise SourceError("timezone", "be UTC if a column of times has no declared type", periods.timezone, hint)
    return row_periods(periods, time_form(column, sql_type), filter_type(sql_type), DUCKDB_SPELLING)
