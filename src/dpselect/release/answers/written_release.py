"""Write a release from the outcome of a draw and what its plan fixes: the same for the draw and for a check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest

from dpselect.release.accuracy import Accuracy, score_interval
from dpselect.release.answers.outcome import DrawnItem, Outcome
from dpselect.release.groups import Group, Groups, typed_group
from dpselect.release.release import Item, Kind, Release
from dpselect.release.scale import USERS, Scale
from dpselect.release.statement import Ranked, Statement

Interval = tuple[float | None, float | None]
Width = int | Callable[[DrawnItem], Interval] | None
"""How far a score may be off at most, in steps; or what returns the interval of one."""


def write_release(
    outcome: Outcome,
    statement: Statement,
    accuracy: Accuracy,
    *,
    kind: Kind = Kind.RANKING,
    counted: bool = False,
    width: Width = None,
    ranked: Sequence[Ranked] = (),
    columns: tuple[str, ...] = (),
    group_width: int | None = None,
    scale: Scale = USERS,
) -> Release:
    """Return the release: ranks within groups, and scores, if `counted`, with their intervals.

    A score lies within `width`; quantiles have what is `ranked`; numbers of users of groups, if they were counted, lie
    within `group_width`. `columns` are those of groups.
    """
    places = Counter[object]()
    items = []
    for drawn, rank_of in zip_longest(outcome.items, ranked):
        group = typed_group(drawn.group)
        places[group] += 1
        rank = None if kind is Kind.SET else places[group]
        count: float | None = None
        low: float | None = None
        high: float | None = None
        if counted and drawn.score is not None:
            count = scale.value(drawn.score)
            low, high = width(drawn) if callable(width) else score_interval(drawn.score, width, scale)
        items.append(Item(drawn.label, rank, count, low, high, drawn.group, drawn.measures, rank_of))
    groups = None
    if outcome.groups is not None:
        shown = tuple(_with_interval(group, group_width) for group in outcome.groups)
        groups = Groups(columns, shown, counted=group_width is not None)
    return Release(
        items=tuple(items),
        privacy=statement,
        secure=outcome.secure,
        kind=kind,
        counted=counted,
        ended=outcome.ended,
        accuracy=accuracy,
        groups=groups,
    )


def _with_interval(group: Group, width: int | None) -> Group:
    """Return the group with its number of users and their interval, or with none where none was asked for."""
    users = None if width is None else group.users
    low, high = score_interval(users, width)
    assert not isinstance(low, float)
    assert not isinstance(high, float)
    return replace(group, users=users, low=low, high=high)
