"""Rules: which columns were prepared, as what, and which questions they answer exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpselect._ground.parameters import suggest
from dpselect._ground.row_bound import RowBound
from dpselect.errors import SourceError, came

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.row_periods import RowPeriods
    from dpselect.engines.sources.scans.scan import RequestedColumns

ALL = "DATE 'infinity'"  # the period of counts over all time
CODES = {"users": "u", "items": "i", "kept": "c"}  # dictionaries, and the columns of their codes

# Periods of these sorts consist of whole periods of the key's sort.
_COARSER_SORTS = {
    "day": ("day", "week", "month", "quarter", "year"),
    "week": ("week",),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
}


@dataclass(frozen=True)
class Rules:
    """The columns of users and items, the kept columns, and what is kept of the time.

    `max_rows_per_user` is the largest number of rows of a user, in each period if there are periods.
    `types` are those of every column, in SQL, as it can be read; `declared` has the types that the owner declared.
    """

    user: tuple[str, ...]
    item: tuple[str, ...]
    keep: tuple[str, ...] = ()
    weight: tuple[str, ...] = ()
    time: str | None = None
    period: str | None = None
    timezone: str = "UTC"
    max_rows_per_user: int | None = None
    declared: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def row_bound(self) -> RowBound | None:
        """The bound on rows of a user; None if all rows were kept."""
        return None if self.max_rows_per_user is None else RowBound(self.max_rows_per_user, self.period)

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """The columns of each dictionary, whose values have codes, and those whose values are in the rows."""
        return {"users": self.user, "items": self.item, "kept": self.keep, "rows": self.weight}

    def table_of(self, column: str) -> str:
        """Return the table with the values of a column; those of a time are in the rows."""
        return next((table for table, columns in self.tables.items() if column in columns), "rows")

    def column_of(self, column: str) -> str:
        """Return the name of the column in its table; of a time that is not kept exactly, the name of the period."""
        table = self.table_of(column)
        if column not in self.stored:
            return "p"
        return f"{'w' if table == 'rows' else 'v'}{self.tables[table].index(column)}"

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns whose values are stored."""
        return tuple(name for columns in self.tables.values() for name in columns)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that a question can name."""
        return tuple(dict.fromkeys([*self.stored, *([] if self.time is None else [self.time])]))

    def refuse(self, requested: RequestedColumns) -> None:
        """Refuse a question that these data cannot answer as the source would: of another user or of an unkept time."""
        user, periods = requested.user, requested.periods
        if user is not None and user != self.user:
            requirement = f"be {format_columns(self.user)}, for which these data were prepared"
            raise SourceError(
                "user", requirement, came(format_columns(user)), "prepare the source again for another user"
            )
        exact_time_hint = f"prepare the source again with keep={self.time!r}"
        for parameter, name in requested.all_columns:
            if name == self.time and name not in self.stored and parameter != "time":
                unkept_column = f"{name!r}, of which the {self.period} was"
                raise SourceError(parameter, "use columns that were kept", unkept_column, exact_time_hint)
        if periods is None or periods.column in self.stored:
            return
        if periods.column != self.time or self.period is None:
            requirement = "be the column of the prepared periods" if self.time else "be a column that was kept"
            raise SourceError("time", requirement, came(periods.column), "prepare the source again with time=")
        sorts = _COARSER_SORTS[self.period]
        if periods.kind not in sorts:
            requirement = f"be {' or '.join(sorts)}, which these data were prepared for"
            raise SourceError("period", requirement, came(periods.kind), f"{exact_time_hint}, or by {periods.kind}")
        if periods.timezone != self.timezone:
            requirement = f"be {self.timezone}, as prepared"
            raise SourceError(
                "timezone", requirement, came(periods.timezone), f"{exact_time_hint}, or in that time zone"
            )

    def row_periods(self) -> RowPeriods:
        """Return the periods of a row of the source, as questions compare it; refuse a column that has no times."""
        from dpselect._ground.periods import Periods
        from dpselect.engines.duckdb.types import row_time
        from dpselect.engines.duckdb.workspace import quoted

        periods = Periods(self.time or "", self.period or "", self.timezone, ())
        return row_time(periods, self.types, quoted(periods.column))

    def has_periods(self, periods: Periods | None) -> bool:
        """Return whether the periods are those in which users were counted."""
        if periods is None:
            return True
        return (periods.column, periods.kind, periods.timezone) == (self.time, self.period, self.timezone)

    def hint(self, column: str) -> str:
        """Return a hint about a column that does not exist."""
        hint = suggest(column, self.names)
        if hint.startswith("did you mean"):
            return hint
        return f"the prepared columns are {', '.join(self.names)}; for another one prepare the source again with keep="


def format_columns(value: object) -> str:
    """Format columns, or a number, for a sentence."""
    if isinstance(value, (tuple, list)):
        return value[0] if len(value) == 1 else f"({', '.join(value)})"
    return str(value)
