"""A set of pairs, group and item, as a release by group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpselect.release.groups import Group, Groups
from dpselect.release.release import Release
from dpselect.release.statement import Item


def in_groups(release: Release, columns: tuple[str, ...], order: Callable[[object], Any]) -> Release:
    """A set of pairs, group and item, as the items of groups: each group that has any is shown, in this order."""
    width = len(columns)
    members: dict[tuple[object, ...], list[Item]] = {}
    for item in release.items:
        values = item.item if isinstance(item.item, tuple) else (item.item,)
        label = values[width] if len(values) == width + 1 else values[width:]
        members.setdefault(values[:width], []).append(replace(item, item=label, group=values[:width]))
    names = sorted(members, key=order)
    groups = Groups(columns, tuple(Group(values, release.ended) for values in names))
    return replace(release, items=tuple(item for values in names for item in members[values]), groups=groups)
