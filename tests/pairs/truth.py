"""What a call must answer, counted in plain Python: of every score the least and the most that any draw may leave.

Without bounds the two are the same. A bound keeps some of a user's items and groups at random; a user who has no more
of them than it allows counts surely, every other one perhaps. A release is judged by that, at an epsilon so large that
nothing else is left to chance.
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import dpselect as dps
from tests.pairs.crossing import Call
from tests.pairs.rows import ROWS, TEXTUAL, Row, written

STEP = Fraction(1, 2)  # of weights
MANY = 10**6
Group, Label, Unit = tuple[Any, ...], Any, Any


@dataclass
class Score:
    """Between which numbers a score lies, how many users it may be of, and how many surely give to it."""

    least: Fraction = Fraction(0)
    most: Fraction = Fraction(0)
    users: int = 0
    sure: int = 0

    def add(self, value: Fraction, *, sure: bool) -> None:
        self.least += value if sure or value < 0 else 0
        self.most += value if sure or value > 0 else 0
        self.users += 1
        self.sure += sure and value > 0


def keeps(row: Row) -> bool:
    """The one filter that is asked, in Python."""
    return row["level"] > 1 and row["name"] is not None and row["name"] != "b"


class Truth:
    """What the rows say of a call, where a release says which bounds were kept."""

    def __init__(self, call: Call, release: dps.Release) -> None:
        self.call, self.release = call, release
        self.by = names_of(call.asked.get("by"))
        told = release.privacy.parameters
        self.most_items = _least(call.rows.get("max_items_per_user"), told.get("max_items_per_user"))
        if call.verb == "users":  # what is counted are groups, and no bound on items plays a part
            self.by, self.most_items = (), told["max_items_per_user"]
        if call.verb == "choose":  # by all items of every user
            self.most_items = MANY
        # What a bound is about, where all items of a user are ranked; by group discover bounds what is found.
        self.of_winners = call.verb == "top_k" and (not self.by or "k_bar" in told)
        self.most_groups = told.get("max_groups_per_user", MANY) if call.verb != "union" else MANY

    # ---- rows ------------------------------------------------------------------------------------------------

    @cached_property
    def entries(self) -> list[tuple[Unit, Group, Label, Row]]:
        """Who has what in which group, row by row, of the rows that count."""
        return list(self._entries())

    def _entries(self) -> Iterator[tuple[Unit, Group, Label, Row]]:
        listed = self.call.asked.get("groups")
        left_out, domain = self.call.asked.get("exclude") or (), self.call.asked.get("domain")
        for row in ROWS:
            user = tuple(row[name] for name in names_of(self.call.given["user"]))
            group = tuple(row[name] for name in names_of(self.call.asked.get("by")))
            period = self._period(row)
            if None in (*user, *group, period) or (self.call.given.get("where") and not keeps(row)):
                continue
            if listed is not None and group[0] not in listed:
                continue
            if self.call.verb == "users":  # any row counts
                yield (user, period), (), self._shown(group[0]) if group else "users", row
                continue
            for item in self.call.items_of(row):
                if item not in left_out and (domain is None or item in domain):
                    yield (user, period), self._shown(group), self._shown(item), row

    def _shown(self, value: Any) -> Any:
        """As an answer has it: a text file holds texts."""
        if isinstance(value, tuple):
            return tuple(map(self._shown, value))
        return written(value) if self.call.source in TEXTUAL else value

    def _period(self, row: Row) -> object:
        """Which of the periods the row is in, where they matter; "" where they do not."""
        if "during" not in self.call.given:
            return ""
        if row["at"] is None:
            return None
        if self.call.given["period"] == "month":
            month = f"{row['at']:%Y-%m}"
            asked = {self.call.asked.get("compared_with"), *self.call.given["during"].split("..")}
            return month if month in asked else None
        zone = zoneinfo.ZoneInfo(self.call.given["timezone"])
        week = row["at"].replace(tzinfo=datetime.UTC).astimezone(zone).isocalendar().week
        return week if 44 <= week <= 46 else None

    # ---- scores ----------------------------------------------------------------------------------------------

    @cached_property
    def given(self) -> dict[tuple[Unit, Group, Label], Fraction]:
        """What every user gives to every item in every group: 1, or a weight, or 1 less where periods are compared."""
        found: dict[tuple[Unit, Group, Label], Fraction] = defaultdict(Fraction)
        weighed, before = self.call.asked.get("by_weight"), self.call.asked.get("compared_with")
        for unit, group, item, row in self.entries:
            if weighed:
                found[unit, group, item] += max(Fraction(row["minutes"] or 0), Fraction(0))
            else:
                found[unit, group, item] = Fraction(-1 if before and unit[1] == before else 1)
        if weighed:
            found = {key: min(Fraction(4), round(value / STEP) * STEP) for key, value in found.items()}
        return {key: value for key, value in found.items() if value}

    @cached_property
    def _shares(self) -> dict[tuple[Unit, Group | None], set[tuple[Group, Label]]]:
        """What of a user one bound on items is about: all that a union takes, what came back, or all of one group."""
        found = defaultdict(set)
        came_back = {(item.group, item.item) for item in self.release}
        for unit, group, item in self.given:
            if self.of_winners and (group, item) not in came_back:
                continue
            found[unit, self._in(group)].add((group, item))
        return found

    @cached_property
    def _groups_of(self) -> dict[Unit, set[Group]]:
        found = defaultdict(set)
        for unit, group, _ in self.given:
            found[unit].add(group)
        return found

    def _in(self, group: Group) -> Group | None:
        return None if self.call.verb == "union" else group

    def sure(self, unit: Unit, group: Group) -> bool:
        """Does a user count surely in a group with all that they have there? No bound cuts them."""
        few = len(self._shares.get((unit, self._in(group)), ())) <= self.most_items
        return few and self._in_all(unit)

    @cached_property
    def scores(self) -> dict[tuple[Group, Label], Score]:
        """The score of every item in every group, as it is counted."""
        return self._scores(self.sure)

    @cached_property
    def ranked(self) -> dict[tuple[Group, Label], Score]:
        """The same as it is ranked: by all items of every user, in the groups that they keep."""
        return self._scores(lambda unit, _: self._in_all(unit)) if self.of_winners else self.scores

    def _in_all(self, unit: Unit) -> bool:
        """Does a user count surely in all of their groups?"""
        return len(self._groups_of[unit]) <= self.most_groups

    def _scores(self, sure: Callable[[Unit, Group], bool]) -> dict[tuple[Group, Label], Score]:
        found: dict[tuple[Group, Label], Score] = defaultdict(Score)
        for (unit, group, item), value in self.given.items():
            found[group, item].add(value, sure=sure(unit, group))
        for score in found.values():  # of what gained less than nothing the gain is 0
            score.least, score.most = max(score.least, Fraction(0)), max(score.most, Fraction(0))
        return found

    @cached_property
    def groups(self) -> dict[Group, Score]:
        """How many users count in each group."""
        found: dict[Group, Score] = defaultdict(Score)
        for unit, group in {(unit, group) for unit, group, _ in self.given}:
            found[group].add(Fraction(1), sure=self._in_all(unit))
        return found

    # ---- values ----------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> dict[Group, list[tuple[set[Fraction], bool]]]:
        """Of every user in every group: the values that they may take part with, and whether they surely do."""
        held: dict[tuple[Unit, Group], list[Fraction]] = defaultdict(list)
        for unit, group, item, _ in self.entries:
            value = _number(item)
            if value is not None:
                held[unit, group].append(value)
        of = defaultdict(set)
        for unit, group in held:
            of[unit].add(group)
        rule = RULES[self.call.asked.get("per_user", "random")]
        found: dict[Group, list[tuple[set[Fraction], bool]]] = defaultdict(list)
        for (unit, group), values in held.items():
            found[group].append((rule(values), len(of[unit]) <= self.most_groups))
        return found

    def measured(self, group: Group, label: Label) -> tuple[Fraction, Fraction, Fraction | None]:
        """Of the minutes of an item: the least and most sum over users, and the mean of their means if it is sure."""
        held: dict[Unit, list[Fraction]] = defaultdict(list)
        for unit, where, item, row in self.entries:
            if (where, item) == (group, label):
                held[unit] += [] if row["minutes"] is None else [Fraction(row["minutes"])]
        sums = {unit: _cut(sum(values, Fraction(0))) for unit, values in held.items()}
        sure = {unit for unit in held if self.sure(unit, group)}
        means = [sum(map(_cut, values)) / len(values) for values in held.values() if values]
        mean = sum(means, Fraction(0)) / len(means) if means and len(sure) == len(held) else None
        return sum((sums[unit] for unit in sure), Fraction(0)), sum(sums.values(), Fraction(0)), mean


RULES: dict[str, Callable[[Sequence[Fraction]], set[Fraction]]] = {
    "random": set,
    "max": lambda values: {max(values)},
    "mean": lambda values: {sum(values) / len(values)},
}


def _cut(minutes: Fraction) -> Fraction:
    return min(max(minutes, Fraction(0)), Fraction(4))


def _number(value: object) -> Fraction | None:
    """A value as a number, also one that is written as text; None of what is none."""
    try:
        return Fraction(value) if isinstance(value, (int, float, Decimal)) else Fraction(str(value))
    except ValueError:
        return None


def names_of(key: object) -> tuple[str, ...]:
    """The columns of a key."""
    if key is None:
        return ()
    return (key,) if isinstance(key, str) else tuple(key)  # type: ignore[arg-type] # a key of several columns


def _least(*bounds: object) -> int:
    return min((one for one in bounds if isinstance(one, int)), default=MANY)
