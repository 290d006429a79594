"""Scale: the unit of an answer's scores, users or the units of a weight, and how scores are written for a person.

Users may be all that an item has, or those that it gained from one period to another. Where a bound keeps some of them
from counting, every form of an answer speaks of *counted* users, because an interval holds the number of those alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect._ground.dataclass import dataclass
from dpselect.release import formatting

if TYPE_CHECKING:
    from dpselect._ground.row_bound import RowBound
    from dpselect.aggregates.totals import Totals


GROUP_USERS = "group_users"
CERTAIN_PLACE = "certain place"  # a column of tables for people
COUNTED_COLUMNS = ("counted_users", "counted_sum", "counted_gain", "counted_loss", "counted_group_users")
ONCE_IN_EACH = " counts once in each "  # in a sentence about a whole user, in several periods
OF_RETURNED = (
    " of those here"  # after a bound on returned items only, which keeps nobody from counting where items are chosen
)
THEREFORE = ", so "  # between who counts and what that means for counts
LOST = "lost"  # the parameter of a statement that says that gains are losses
COUNTED = "counted"
ALL_ITEMS = "all_items"  # of a user take part, whatever bound was chosen
USERS_BY = "users_by"  # the columns of groups of which users are counted
"""The parameter of a statement that says which bounds keep users, or parts of them, from counting."""


@dataclass(frozen=True)
class Scale:
    """The form of whole scores as numbers for a reader. Those of weights are in the weight's own unit.

    A user counts in at most so many `groups`, for at most so many `items` (of those that came back if `only_returned`,
    and of each group by itself if `in_each_group`), once in each `period`, and by the `rows` that were prepared; None
    means no bound.
    """

    totals: Totals | None = None
    gains: bool = False
    lost: bool = False  # are the gains losses?
    groups: int | None = None
    items: int | None = None
    only_returned: bool = False
    in_each_group: bool = False
    items_are_pairs: bool = False  # is an item a group and an item of it?
    period: str | None = None
    rows: RowBound | None = None

    @property
    def bounds(self) -> dict[str, object]:
        """Bounds that make a score another number than that of all users, by the names of parameters."""
        at_most = None if self.totals is None else self.totals.at_most
        bounds: dict[str, object] = {"max_groups_per_user": self.groups, "max_items_per_user": self.items}
        bounds |= {
            "at_most": at_most,
            "once_in_each": self.period,
            "max_rows_per_user": None if self.rows is None else self.rows.max_rows,
        }
        return {name: value for name, value in bounds.items() if value is not None}

    @property
    def counted_prefix(self) -> str:
        """Word before the name of a score that bounds cut."""
        return "counted " if self.bounds else ""

    @property
    def _who_counts(self) -> str:
        """Sentence that says who counts, and which other number an interval does not hold, if bounds cut."""
        scope = (OF_RETURNED if self.only_returned else "") + (" in each group" if self.in_each_group else "")
        limits = [
            *([f"once in each {self.period}"] if self.period else []),
            *([self.rows.text] if self.rows else []),
            *([f"in at most {self.groups:,} group{'' if self.groups == 1 else 's'}"] if self.groups else []),
            *([f"for at most {format_items(self.items, in_groups=self.items_are_pairs)}{scope}"] if self.items else []),
        ]
        counts = f" counts {', '.join(limits)}" if limits else ""
        counts += " (chosen at random)" if self.groups or self.items or self.rows else ""
        if self.totals is not None:
            cap = f"{formatting.short(self.totals.at_most)} of {formatting.text(self.totals.column)}"
            counts += f"{' and' if limits else ''} gives an item at most {cap}"
        elif self.period and self.rows and not (self.groups or self.items):
            return f"Each user{counts}{THEREFORE}{self.counted_prefix}users may be other than people."
        elif not (self.groups or self.items or self.rows):
            return f"Each user{counts}{THEREFORE}{self.counted_prefix}users may be more than people."
        comparison = "fewer than all users" if self.score == "count" else f"other than whole {self.score_plural}"
        return f"Each user{counts}{THEREFORE}{self.counted_prefix}{comparison.rpartition(' ')[2]} may be {comparison}."

    @property
    def unit(self) -> str:
        """Name of one of the counted users."""
        return "user" if self.period is None else f"user in one {self.period}"

    @property
    def score(self) -> str:
        """Name of a score."""
        if self.totals is not None:
            return "sum"
        if not self.gains:
            return "count"
        return "loss" if self.lost else "gain"

    @property
    def score_plural(self) -> str:
        """Name of several scores."""
        return "losses" if self.score == "loss" else f"{self.score}s"

    @property
    def column(self) -> str:
        """Name of the column of scores."""
        return score_column(self.score, self.parameters)

    @property
    def noisy_number(self) -> str:
        """Name of a noisy score in a sentence: that of its column, if it says more."""
        return self.column if self.bounds else f"the {self.score}"

    @property
    def true_number(self) -> str:
        """Name of the number that an interval holds."""
        name = "number of {}users" if self.score == "count" else f"{{}}{self.score}"
        return name.format(self.counted_prefix) if self.bounds else f"true {name.format('')}"

    @property
    def user_noun(self) -> str:
        """Name of one user that a score counts, without the plural's s."""
        if not self.gains:
            return "user"
        return "lost user" if self.lost else "gained user"

    def value(self, steps: int) -> int | float:
        """Return a score for a reader: an integer if the unit is one, else the nearest float."""
        if self.totals is None:
            return steps
        exact = steps * self.totals.unit
        return int(exact) if self.totals.unit.denominator == 1 else float(exact)

    def steps(self, value: float) -> int:
        """Return the whole score that is nearest to a number for a reader."""
        return round(Fraction(value) / (1 if self.totals is None else self.totals.unit))

    def format_score(self, steps: int) -> str:
        """Format a score with its unit: users, or an amount of the weight."""
        if self.totals is None:
            return f"{steps:,} {self.counted_prefix}{self.user_noun}{'' if steps == 1 else 's'}"
        return f"{self.value(steps):,} of counted {formatting.text(self.totals.column)}"

    def with_bounds(
        self,
        groups: int | None = None,
        items: int | None = None,
        *,
        only_returned: bool = False,
        in_each_group: bool = False,
    ) -> Scale:
        """Return the scale with bounds on the groups and items of a user: on items that came back, in each group."""
        return replace(self, groups=groups, items=items, only_returned=only_returned, in_each_group=in_each_group)

    @property
    def of_rows(self) -> Scale:
        """Scale before any bound on groups or items: who counts by rows and periods alone."""
        return Scale(period=self.period, rows=self.rows)

    def format_about(self, steps: float, digits: int = 4) -> str:
        """Format a height, or a scale of noise, with its unit in few digits."""
        if self.totals is None:
            return f"{formatting.round_digits(steps, digits)} {self.user_noun}s"
        value = formatting.round_digits(steps * float(self.totals.unit), digits)
        return f"{value} of {formatting.text(self.totals.column)}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences that say who counts if bounds cut, and what a score is if it is not a number of users."""
        who = (self._who_counts,) if self.bounds else ()
        if self.totals is None:
            return who
        unit, cap = formatting.short(self.totals.unit), formatting.short(self.totals.at_most)
        column = formatting.text(self.totals.column)
        return (
            *who,
            f"A score is a sum over users: for each user, the total of {column} in their rows of the item, rounded to "
            f"units of {unit} and cut to at most {cap}. Rows that hold no number there, or one below 0, give nothing.",
            f"The cap of {cap} is part of the question; the promise holds if it was not chosen by these data.",
        )

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters of a statement: the bounds, and those of a weight."""
        counted: dict[str, object] = {COUNTED: self.bounds} if self.bounds else {}
        return counted if self.totals is None else {**self.totals.question_parameters, **counted}


def format_items(number: int, *, in_groups: bool = False) -> str:
    """Format a number of items; for a set union by group, an item is a group and an item of it.

    >>> format_items(1), format_items(2), format_items(2, in_groups=True)
    ('1 item', '2 items', '2 pairs of group and item')
    """
    kind, kind_suffix = ("pair", " of group and item") if in_groups else ("item", "")
    return f"{number:,} {kind}{'' if number == 1 else 's'}{kind_suffix}"


def score_column(score: str, parameters: Mapping[str, object]) -> str:
    """Return the name of the column of a score, by the parameters of a statement.

    >>> score_column("count", {}), score_column("count", {"counted": {"max_groups_per_user": 1}})
    ('count', 'counted_users')
    """
    return f"counted_{'users' if score == 'count' else score}" if COUNTED in parameters else score


def score_name(parameters: Mapping[str, object]) -> str:
    """Return the name of a score, by the parameters of a statement."""
    if "compared_with" in parameters:
        return "loss" if LOST in parameters else "gain"
    return "sum" if isinstance(parameters.get("by_weight"), str) else "count"


def unit_of_counts(parameters: Mapping[str, object]) -> str:
    """Return the unit of a release's counts, by the parameters of its statement."""
    weight = parameters.get("by_weight")
    unit = formatting.text(weight) if isinstance(weight, str) else "users"
    if "compared_with" in parameters:
        unit = f"users {'lost' if LOST in parameters else 'gained'}"
    return f"counted {unit}" if COUNTED in parameters else unit


USERS = Scale()
