"""Groups of a release: which are shown, why each has no more items, and its noisy number of users where asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from dpselect._ground.dataclass import dataclass
from dpselect._ground.keys import typed_label
from dpselect.release import formatting, typed
from dpselect.release.accuracy import NO_OTHER, NONE
from dpselect.release.formatting import Json
from dpselect.release.scale import CERTAIN_PLACE, COUNTED, COUNTED_COLUMNS, GROUP_USERS, format_items
from dpselect.release.statement import Ended, Item, Statement

T = TypeVar("T")
MAX_NAMED_GROUPS = 10  # groups without items that a line names
TAKEN_COLUMNS = (
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
    """A group that is shown: its value in each column, and why it has no more items.

    The number of users that count, where it was asked for, lies from `low` to `high`, as `Release.accuracy` says.
    """

    values: tuple[object, ...]
    ended: Ended
    users: int | None = None
    low: int | None = None
    high: int | None = None

    @property
    def complete(self) -> bool:
        """True if there are as many items as were asked for."""
        return self.ended is Ended.FULL


@dataclass(frozen=True)
class Groups:
    """The columns by which items were grouped, and the groups that are shown, in their own order."""

    columns: tuple[str, ...]
    shown: tuple[Group, ...]
    counted: bool = False  # were numbers of users asked for?

    def group_to_json(self, values: Sequence[object]) -> dict[str, Json]:
        """Return a group in JSON types: its value by column."""
        return {name: formatting.plain(value) for name, value in zip(self.columns, values, strict=True)}

    def to_columns(self, items: Sequence[Item], item_columns: Sequence[str]) -> dict[str, list[object]]:
        """Return the group of every item by column. A name that the table has itself begins with group_."""
        columns: dict[str, list[object]] = {}
        taken_names = {name.casefold() for name in (*TAKEN_COLUMNS, *item_columns)}
        for index, name in enumerate(self.columns):
            while name.casefold() in taken_names:
                name = f"group_{name}"  # noqa: PLW2901 - until it is free
            taken_names.add(name.casefold())
            columns[name] = formatting.column([item.group[index] for item in items])
        return columns

    def users_of(self, items: Sequence[Item]) -> list[object]:
        """Return the noisy number of users of every item's group."""
        users = {typed_group(group.values): group.users for group in self.shown}
        return [users[typed_group(item.group)] for item in items]

    def panels(self, items: Sequence[Item], values: Sequence[T]) -> dict[str, list[T]]:
        """Return the values of the items of each group by the name of the group; 1 and the text 1 are two groups."""
        values_by_name: dict[str, list[T]] = {}
        group_of_name: dict[str, object] = {}
        for item, value in zip(items, values, strict=True):
            name, group = ", ".join(map(formatting.text, item.group)), typed_group(item.group)
            while group_of_name.setdefault(name, group) != group:
                name += " (another)"
            values_by_name.setdefault(name, []).append(value)
        return values_by_name

    def to_dict(self) -> list[Json]:
        """Return the groups that are shown in JSON types."""
        rows: list[Json] = []
        for group in self.shown:
            row: dict[str, Json] = {"group": self.group_to_json(group.values), "complete": group.complete}
            row["ended"] = str(group.ended)
            numbers = {"users": group.users, "low": group.low, "high": group.high}
            row |= {name: number for name, number in numbers.items() if number is not None}
            rows.append(row | exact_group_json(group.values))
        return rows

    def outcome(self, items: Sequence[Item]) -> str:
        """Describe which groups are shown, in a line."""
        groups_with_items = {typed_group(item.group) for item in items}
        empty_groups = [group for group in self.shown if typed_group(group.values) not in groups_with_items]
        shown_count, empty_count = len(self.shown), len(empty_groups)
        if not shown_count:
            return f"no groups: {NONE}"
        sentence = f"{shown_count:,} group{'' if shown_count == 1 else 's'}"
        short_count = sum(not group.complete for group in self.shown) - empty_count
        if short_count:
            sentence += f", {short_count:,} of them with fewer items than asked for: {NO_OTHER}"
        if empty_count:
            names = [", ".join(map(formatting.brief, group.values)) for group in empty_groups[:MAX_NAMED_GROUPS]]
            ending = f", and {empty_count - MAX_NAMED_GROUPS:,} more" if empty_count > MAX_NAMED_GROUPS else ""
            separator = "; " if len(self.columns) > 1 else ", "
            sentence += f"{'; ' if short_count else ', '}{empty_count:,} with no item that could be released: "
            sentence += f"{separator.join(names)}{ending}"
        return sentence


def describe_groups_of_user(statement: Statement) -> str:
    """Say in how many groups a user counts, by a statement; "" if it does not say so."""
    bound, bounds = (statement.parameters.get(name) for name in ("max_groups_per_user", COUNTED))
    if not isinstance(bound, int):
        pairs = statement.parameters.get("max_items_per_user")  # of a union, which bounds nothing else
        if not isinstance(pairs, int):
            return ""
        return f"; each {statement.unit} counts for at most {format_items(pairs, in_groups=True)}, chosen at random"
    if not isinstance(bounds, Mapping) or "max_groups_per_user" not in bounds:
        return f"; each {statement.unit} counts in every listed group they are in"
    groups = "one group" if bound == 1 else f"at most {bound:,} groups"
    note = "; max_groups_per_user may be more" if bound == 1 and "groups_found_by" in statement.parameters else ""
    return f"; each {statement.unit} counts in {groups}, chosen at random{note}"


def typed_group(values: Sequence[object]) -> tuple[object, ...]:
    """Return the values with their types, which no other group has."""
    return tuple(map(typed_label, values))


def exact_group_json(values: Sequence[object]) -> dict[str, Json]:
    """Return the exact values of a group as a JSON field, if their plain form is not exact."""
    scalars = [formatting.scalar(value) for value in values]
    return (
        {}
        if all(map(typed.plain_is_exact, scalars))
        else {"exact_group": [typed.label_to_json(exact_value) for exact_value in scalars]}
    )


def parse_group_values(row: Mapping[str, Any], columns: Sequence[str]) -> tuple[object, ...]:
    """Return the group that a row of JSON is of.

    Raises: ValueError if it has other columns.
    """
    plain_values = row["group"]
    if set(plain_values) != set(columns):
        raise ValueError("another group")
    values = row.get("exact_group", [plain_values[name] for name in columns])
    if len(values) != len(columns):
        raise ValueError("another group")
    return tuple(map(typed.value_from_json, values))


def parse_groups(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    parse_whole: Callable[[object], int | None],
    *,
    counted: bool,
) -> Groups:
    """Return what `Groups.to_dict` wrote; `parse_whole` reads whole numbers and None."""
    groups = tuple(
        Group(
            parse_group_values(row, columns),
            Ended(row["ended"]),
            *(parse_whole(row.get(name)) for name in ("users", "low", "high")),
        )
        for row in rows
    )
    if any(group.complete is not row["complete"] for group, row in zip(groups, rows, strict=True)):
        raise ValueError("it says that it is complete and that it is not")
    return Groups(tuple(columns), groups, counted)
