"""A set of pairs, group and item, as a release by group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpselect.release.groups import Group, Groups, told_apart
from dpselect.release.release import Release
from dpselect.release.statement import Item


def in_groups(release: Release, columns: tuple[str, ...], order: Callable[[object], Any]) -> Release:
    """A set of pairs, group and item, as the items of groups: each group that has any is shown, in this order."""
    width = len(columns)
    members: dict[object, list[Item]] = {}
    names: dict[object, tuple[object, ...]] = {}
    for item in release.items:
        values = item.item if isinstance(item.item, tuple) else (item.item,)
        label = values[width] if len(values) == width + 1 else values[width:]
        which, group = told_apart(values[:width]), values[:width]
        names.setdefault(which, group)
        members.setdefault(which, []).append(replace(item, item=label, group=group))
    shown = sorted(names, key=lambda which: order(names[which]))
    groups = Groups(columns, tuple(Group(names[which], release.ended) for which in shown))
    return replace(release, items=tuple(item for which in shown for item in members[which]), groups=groups)
