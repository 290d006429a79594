"""Groups of a release: which are shown, why each has no more items, and its noisy number of users where asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dpselect._ground.keys import typed_label
from dpselect.release import formatting, typed
from dpselect.release.accuracy import NO_OTHER, NONE
from dpselect.release.formatting import Json
from dpselect.release.scale import CERTAIN_PLACE, COUNTED, COUNTED_COLUMNS, GROUP_USERS, format_items
from dpselect.release.statement import Ended, Item, Statement

T = TypeVar("T")
NAMED = 10  # groups without items that a line names
OWN = (
    "rank",
    "item",
    "count",
    "low",
    "high",
    CERTAIN_PLACE,
    GROUP_USERS,
    *COUNTED_COLUMNS,
)  # columns of a table that are not the caller's


@dataclass(frozen=True)
class Group:
    """One group that is shown: its value in each column, and why it has no more items.

    The number of users that count, where it was asked for, lies from `low` to `high`, as `Release.accuracy` says.
    """

    values: tuple[object, ...]
    ended: Ended
    users: int | None = None
    low: int | None = None
    high: int | None = None

    @property
    def complete(self) -> bool:
        """Are there as many items as were asked for?"""
        return self.ended is Ended.FULL


@dataclass(frozen=True)
class Groups:
    """The columns by which items were grouped, and the groups that are shown, in their own order."""

    columns: tuple[str, ...]
    shown: tuple[Group, ...]
    counted: bool = False  # were numbers of users asked for?

    def group_to_json(self, values: Sequence[object]) -> dict[str, Json]:
        """A group in JSON types: column by column."""
        return {name: formatting.plain(value) for name, value in zip(self.columns, values, strict=True)}

    def to_columns(self, items: Sequence[Item], of_items: Sequence[str]) -> dict[str, list[object]]:
        """The group of every item, a column of a table each; one whose name the table has itself begins with group_."""
        found: dict[str, list[object]] = {}
        taken = {name.casefold() for name in (*OWN, *of_items)}
        for place, name in enumerate(self.columns):
            while name.casefold() in taken:
                name = f"group_{name}"  # noqa: PLW2901 - until it is free
            taken.add(name.casefold())
            found[name] = formatting.column([item.group[place] for item in items])
        return found

    def users_of(self, items: Sequence[Item]) -> list[object]:
        """The noisy number of users of every item's group."""
        users = {typed_group(group.values): group.users for group in self.shown}
        return [users[typed_group(item.group)] for item in items]

    def panels(self, items: Sequence[Item], of: Sequence[T]) -> dict[str, list[T]]:
        """What belongs to the items of each group, under the name of the group; 1 and the text 1 are two."""
        found: dict[str, list[T]] = {}
        named: dict[str, object] = {}
        for item, one in zip(items, of, strict=True):
            name, group = ", ".join(map(formatting.text, item.group)), typed_group(item.group)
            while named.setdefault(name, group) != group:
                name += " (another)"
            found.setdefault(name, []).append(one)
        return found

    def to_dict(self) -> list[Json]:
        """JSON types only."""
        found: list[Json] = []
        for group in self.shown:
            row: dict[str, Json] = {"group": self.group_to_json(group.values), "complete": group.complete}
            row["ended"] = str(group.ended)
            numbers = {"users": group.users, "low": group.low, "high": group.high}
            row |= {name: number for name, number in numbers.items() if number is not None}
            found.append(row | exact_group_json(group.values))
        return found

    def outcome(self, items: Sequence[Item]) -> str:
        """Which groups are shown, in a line."""
        some = {typed_group(item.group) for item in items}
        without = [group for group in self.shown if typed_group(group.values) not in some]
        shown, empty = len(self.shown), len(without)
        if not shown:
            return f"no groups: {NONE}"
        said = f"{shown:,} group{'' if shown == 1 else 's'}"
        short = sum(not group.complete for group in self.shown) - empty
        if short:
            said += f", {short:,} of them with fewer items than asked for: {NO_OTHER}"
        if empty:
            names = [", ".join(map(formatting.text, group.values)) for group in without[:NAMED]]
            more = f", and {empty - NAMED:,} more" if empty > NAMED else ""
            between = "; " if len(self.columns) > 1 else ", "
            said += (
                f"{'; ' if short else ', '}{empty:,} with no item that could be released: {between.join(names)}{more}"
            )
        return said


def describe_groups_of_user(statement: Statement) -> str:
    """Say in how many groups a user counts, by what a statement says; nothing where it does not."""
    bound, cut = (statement.parameters.get(name) for name in ("max_groups_per_user", COUNTED))
    if not isinstance(bound, int):
        pairs = statement.parameters.get("max_items_per_user")  # of a union, which bounds nothing else
        if not isinstance(pairs, int):
            return ""
        return f"; each {statement.unit} counts for at most {format_items(pairs, in_groups=True)}, chosen at random"
    if not isinstance(cut, Mapping) or "max_groups_per_user" not in cut:
        return f"; each {statement.unit} counts in every listed group they are in"
    groups = "one group" if bound == 1 else f"at most {bound:,} groups"
    more = "; max_groups_per_user may be more" if bound == 1 and "groups_found_by" in statement.parameters else ""
    return f"; each {statement.unit} counts in {groups}, chosen at random{more}"


def typed_group(values: Sequence[object]) -> tuple[object, ...]:
    """What no other group has."""
    return tuple(map(typed_label, values))


def exact_group_json(values: Sequence[object]) -> dict[str, Json]:
    """What a group's values were exactly, where their plain form does not say."""
    scalars = [formatting.scalar(value) for value in values]
    return (
        {}
        if all(map(typed.plain_is_exact, scalars))
        else {"exact_group": [typed.label_to_json(one) for one in scalars]}
    )


def parse_group_values(row: Mapping[str, Any], columns: Sequence[str]) -> tuple[object, ...]:
    """The group that a row of JSON is of."""
    given = row["group"]
    if set(given) != set(columns):
        raise ValueError("another group")
    values = row.get("exact_group", [given[name] for name in columns])
    if len(values) != len(columns):
        raise ValueError("another group")
    return tuple(map(typed.value_from_json, values))


def parse_groups(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], whole: Callable[[object], int | None], *, counted: bool
) -> Groups:
    """What `to_dict` wrote."""
    shown = tuple(
        Group(
            parse_group_values(row, columns),
            Ended(row["ended"]),
            *(whole(row.get(name)) for name in ("users", "low", "high")),
        )
        for row in rows
    )
    if any(group.complete is not row["complete"] for group, row in zip(shown, rows, strict=True)):
        raise ValueError("it says that it is complete and that it is not")
    return Groups(tuple(columns), shown, counted)
