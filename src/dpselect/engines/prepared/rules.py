"""Rules: which columns were prepared, as what, and which questions they answer exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpselect._ground.parameters import near
from dpselect.errors import SourceError, came

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods

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
    `types` are those of the source, in SQL, of every column; `untyped` says that the source had none.
    """

    user: tuple[str, ...]
    item: tuple[str, ...]
    keep: tuple[str, ...]
    weight: tuple[str, ...]
    time: str | None
    period: str | None
    timezone: str
    max_rows_per_user: int | None
    types: Mapping[str, str]
    untyped: bool

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns whose values are there."""
        return (*self.user, *self.item, *self.keep, *self.weight)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that a question can name."""
        return tuple(dict.fromkeys([*self.stored, *([] if self.time is None else [self.time])]))

    @property
    def only_period(self) -> bool:
        """Is the period of a row all that was kept of its time?"""
        return self.time is not None and self.time not in self.stored

    def type_of(self, column: str) -> str:
        """The type of a column as it can be read."""
        return self.types[column] if column in self.stored else "DATE"

    def refuse(
        self,
        user: Sequence[str] | None,
        others: Sequence[tuple[str, str]],
        filtered: Sequence[str],
        periods: Periods | None,
    ) -> None:
        """Refuse what cannot be answered as the source would: another user, or more of the time than was kept."""
        if user is not None and tuple(user) != self.user:
            must = f"be {said(self.user)}, for whom these data were prepared"
            raise SourceError("user", must, came(said(user)), "prepare the source again for another user")
        for parameter, name in (*others, *(("where", one) for one in filtered)):
            if name == self.time and self.only_period and parameter != "time":
                hint = f"prepare the source again with keep={name!r}"
                raise SourceError(
                    parameter, "use columns that were kept", f"{name!r}, of which the {self.period} was", hint
                )
        if periods is not None:
            self._refuse_periods(periods)

    def _refuse_periods(self, periods: Periods) -> None:
        """A whole time answers for every period; a period for itself and for what is made of it."""
        if periods.column in self.stored:
            return
        if periods.column != self.time or self.period is None:
            must = "be the column whose periods were prepared" if self.time else "be a column that was kept"
            raise SourceError("time", must, came(periods.column), "prepare the source again with time=")
        sorts = _MADE_OF[self.period]
        if periods.sort not in sorts:
            must = f"be {' or '.join(sorts)}, which these data were prepared for"
            hint = f"prepare the source again with keep={self.time!r}, or by {periods.sort}"
            raise SourceError("period", must, came(periods.sort), hint)
        if periods.timezone != self.timezone:
            hint = f"prepare the source again with keep={self.time!r}, or in that time zone"
            raise SourceError("timezone", f"be {self.timezone}, as prepared", came(periods.timezone), hint)

    def by_whole_periods(self, periods: Periods | None) -> bool:
        """Are the periods those in which users were counted?"""
        if periods is None:
            return True
        return (periods.column, periods.sort, periods.timezone) == (self.time, self.period, self.timezone)

    def hint(self, column: str) -> str:
        """What may be said about a column that is not there."""
        hint = near(column, self.names)
        if hint.startswith("did you mean"):
            return hint
        return f"prepared were {', '.join(self.names)}; for another column prepare the source again with keep="


def said(columns: Sequence[str]) -> str:
    """A key in a sentence."""
    return columns[0] if len(columns) == 1 else f"({', '.join(columns)})"
