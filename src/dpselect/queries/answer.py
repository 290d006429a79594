"""An answer as its plan has it: everything but what was found, and which items were left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

from dpselect._ground.domain import Column, Listed, most_items
from dpselect.engines.port import Engine
from dpselect.queries.plan import Ready
from dpselect.release.accuracy import Accuracy, interval, said_items
from dpselect.release.groups import Groups, told_apart
from dpselect.release.release import Item, Kind, Release, Statement
from dpselect.release.scale import USERS, Scale

Ends = Callable[[int], Collection[tuple[float | None, float | None]]]
"""From a noisy score to the intervals of which one goes with it."""


def likeness(
    release: Release,
    said: Statement,
    near: Accuracy,
    *,
    kind: Kind = Kind.RANKING,
    counted: bool = False,
    width: int | None = None,
    ends: Ends | None = None,
    of_groups: int | None = None,
    scale: Scale = USERS,
) -> Release:
    """The answer with this statement and accuracy; counts, if any, lie in intervals of `width`, or by `ends`.

    `of_groups` is how wide the intervals of numbers of users of groups are, where there are any.
    """
    known: Ends = ends or (lambda steps: [interval(steps, width, scale)])
    places = Counter[object]()
    items = []
    for one in release.items:
        group = told_apart(one.group)
        places[group] += 1
        rank = None if kind is Kind.SET else places[group]
        items.append(replace(_counted(one, known, scale) if counted else _uncounted(one), rank=rank))
    groups = None if release.groups is None else _groups(release.groups, of_groups)
    told = replace(release, items=tuple(items), kind=kind, counted=counted, groups=groups)
    return replace(told, privacy=said, accuracy=near)


def _groups(groups: Groups, width: int | None) -> Groups:
    """The groups, with their numbers of users where there are any."""
    shown = []
    for one in groups.shown:
        low, high = interval(one.users, width)
        assert not isinstance(low, float)
        assert not isinstance(high, float)
        shown.append(replace(one, users=None if width is None else one.users, low=low, high=high))
    return replace(groups, shown=tuple(shown), counted=width is not None)


def _uncounted(item: Item) -> Item:
    return replace(item, count=None, low=None, high=None)


def _counted(item: Item, ends: Ends, scale: Scale) -> Item:
    """A count in whole steps, between ends that go with it: those that it has, or others."""
    if item.count is None:
        return item
    steps = scale.steps(item.count)
    those = ends(steps)
    low, high = (item.low, item.high) if (item.low, item.high) in those else next(iter(those))
    return replace(item, count=scale.value(steps), low=low, high=high)


def without(items: Listed | Column, engine: Engine, answer: Callable[[Engine], Ready]) -> Ready:
    """The answer of an engine that leaves out these items, and says so."""
    engine.leave_out(items)
    ready = answer(engine)
    return lambda draws, progress: left_out_of(ready(draws, progress), items)


def left_out_of(release: Release, items: Listed | Column) -> Release:
    """The answer, which says that these items were left out."""
    statement = release.privacy
    return replace(release, privacy=replace(statement, sentences=(*statement.sentences, _said(items))))


def _said(items: Listed | Column) -> str:
    if isinstance(items, Column):
        return f"Rows of items that a public list has in its column {items.column} do not count."
    return f"Rows of {said_items(most_items(items) or 0)}, which a public list names, do not count."
