"""What is known of a column before any row is read: its one spelling, its type, and who declared it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpselect._ground.periods import Periods


@dataclass(frozen=True)
class ColumnType:
    """A column by its one spelling, and the SQL type of its values.

    The owner declares a type, or the source does, in a footer, a catalogue or a frame. Text files, JSON lines and names
    of folders declare none: their values are texts.
    """

    name: str
    type: str
    by: Literal["owner", "source", "nobody"]


@dataclass(frozen=True)
class RequestedColumns:
    """The columns that a question names, by their parameters; no `user` where it is no question of users."""

    user: tuple[str, ...] | None
    columns: Sequence[tuple[str, str]]  # each beside its parameter; those of the user, too
    filtered: Sequence[str] = ()
    periods: Periods | None = None

    @property
    def all_columns(self) -> list[tuple[str, str]]:
        """Every column with the parameter that names it."""
        return [*self.columns, *(("where", name) for name in self.filtered)]
