"""What a source is opened for: the columns that a question names, its filter and its periods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpselect._ground.keys import Key, named, names

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.row_filter import Hint, RowFilter


@dataclass(frozen=True)
class Asked:
    """The columns of one question, by what they are asked as. `numbers` are those of weights and of measures."""

    user: Key
    item: Key
    by: tuple[str, ...] = ()
    condition: RowFilter | None = None
    periods: Periods | None = None
    numbers: tuple[tuple[str, str], ...] = ()

    @property
    def named(self) -> list[tuple[str, str]]:
        """Each column beside the parameter that names it, but for those of the filter."""
        time = [] if self.periods is None else [("time", self.periods.column)]
        return [*named(self.user, self.item, self.by), *time, *self.numbers]

    @property
    def users(self) -> tuple[str, ...]:
        """The columns of a user."""
        return names(self.user)

    @property
    def items(self) -> tuple[str, ...]:
        """The columns of an item."""
        return names(self.item)

    def filtered(self, known: Sequence[str], hint: Hint | None = None) -> list[str]:
        """The columns that the filter needs, of those of the source."""
        return [] if self.condition is None else self.condition.needs(known, hint)
