"""Rules: which columns were prepared, as what, and which questions they answer exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpselect._ground.parameters import suggest
from dpselect._ground.row_bound import RowBound
from dpselect.errors import SourceError, came

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.row_periods import RowPeriods

ALL = "DATE 'infinity'"  # the period of counts over all time
CODES = {"users": "u", "items": "i", "kept": "c"}  # dictionaries, and the columns of their codes

# Periods of these sorts are made of whole ones of the first.
_MADE_OF = {
    "day": ("day", "week", "month", "quarter", "year"),
    "week": ("week",),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
}


@dataclass(frozen=True)
class Rules:
    """The columns of users, of items, those that are kept beside them, and what is kept of the time.

    `max_rows_per_user` is how many rows there are at most of a user, in each period if there are periods.
    `types` are those of every column, in SQL, as it can be read; `declared` has what the owner declared of some.
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
        """How many rows of a user were kept; None where all were."""
        return None if self.max_rows_per_user is None else RowBound(self.max_rows_per_user, self.period)

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """The columns of the dictionaries, whose values have codes, and those that stand in the rows themselves."""
        return {"users": self.user, "items": self.item, "kept": self.keep, "rows": self.weight}

    def table(self, column: str) -> str:
        """Where the values of a column are; those of a time are with the rows."""
        return next((table for table, columns in self.tables.items() if column in columns), "rows")

    def place(self, column: str) -> str:
        """What the column is called there; of a time that is not kept whole there is the period."""
        table = self.table(column)
        if column not in self.stored:
            return "p"
        return f"{'w' if table == 'rows' else 'v'}{self.tables[table].index(column)}"

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns whose values are there."""
        return tuple(name for columns in self.tables.values() for name in columns)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that a question can name."""
        return tuple(dict.fromkeys([*self.stored, *([] if self.time is None else [self.time])]))

    def refuse(
        self,
        user: Sequence[str] | None,
        others: Sequence[tuple[str, str]],
        filtered: Sequence[str],
        periods: Periods | None,
    ) -> None:
        """Refuse what cannot be answered as the source would: another user, or more of the time than was kept."""
        if user is not None and tuple(user) != self.user:
            must = f"be {said(self.user)}, for which these data were prepared"
            raise SourceError("user", must, came(said(user)), "prepare the source again for another user")
        whole = f"prepare the source again with keep={self.time!r}"
        for parameter, name in (*others, *(("where", one) for one in filtered)):
            if name == self.time and name not in self.stored and parameter != "time":
                got = f"{name!r}, of which the {self.period} was"
                raise SourceError(parameter, "use columns that were kept", got, whole)
        if periods is None or periods.column in self.stored:
            return
        if periods.column != self.time or self.period is None:
            must = "be the column of the prepared periods" if self.time else "be a column that was kept"
            raise SourceError("time", must, came(periods.column), "prepare the source again with time=")
        sorts = _MADE_OF[self.period]
        if periods.kind not in sorts:
            must = f"be {' or '.join(sorts)}, which these data were prepared for"
            raise SourceError("period", must, came(periods.kind), f"{whole}, or by {periods.kind}")
        if periods.timezone != self.timezone:
            must = f"be {self.timezone}, as prepared"
            raise SourceError("timezone", must, came(periods.timezone), f"{whole}, or in that time zone")

    def times(self) -> RowPeriods:
        """The time of a row of the source, as questions compare it; refused where it tells none."""
        from dpselect._ground.periods import Periods
        from dpselect.engines.duckdb.times import row_time
        from dpselect.engines.duckdb.workspace import quoted

        periods = Periods(self.time or "", self.period or "", self.timezone, ())
        return row_time(periods, self.types, quoted(periods.column))

    def by_whole_periods(self, periods: Periods | None) -> bool:
        """Are the periods those in which users were counted?"""
        if periods is None:
            return True
        return (periods.column, periods.kind, periods.timezone) == (self.time, self.period, self.timezone)

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        hint = suggest(column, self.names)
        if hint.startswith("did you mean"):
            return hint
        return f"the prepared columns are {', '.join(self.names)}; for another one prepare the source again with keep="


def said(value: object) -> str:
    """Columns, or a number, in a sentence."""
    if isinstance(value, (tuple, list)):
        return value[0] if len(value) == 1 else f"({', '.join(value)})"
    return str(value)
