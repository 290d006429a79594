"""Outcome: what a draw gave. With what its plan fixes it makes a release, and it can be read back from that release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, Self

from dpselect._ground.dataclass import dataclass
from dpselect.release.accuracy import Accuracy, score_interval
from dpselect.release.groups import Group, Groups, typed_group
from dpselect.release.release import Item, Kind, Release
from dpselect.release.scale import USERS, Scale
from dpselect.release.statement import FROM_ZERO, Ended, Measurement, Ranked, Statement

if TYPE_CHECKING:
    from dpselect.release.groups import Group
    from dpselect.release.release import Release
    from dpselect.release.scale import Scale


class DrawnItem(NamedTuple):
    """A released item, in whole steps its noisy score if one was asked for, its group, and its noisy measures.

    Below and above a quantile are noisy numbers of users.
    `level` is the place of the level of a union that released it: each level has noise of its own.
    """

    label: object
    score: int | None = None
    group: tuple[object, ...] = ()
    level: int = 0
    measures: tuple[Measurement, ...] = ()
    users_below: int | None = None
    users_above: int | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The part of an answer that its plan does not fix.

    `candidates` is the number of items that could be chosen; None where only the data tell it. The bounds are those
    that were chosen privately, and the numbers of discovered items are what a set union found before a ranking, in all
    and in the groups with most. `is_place` says that the item is a place in an array of scores. `users` is the noisy
    number of users of quantiles; by group each group has its own.
    """

    items: tuple[DrawnItem, ...]
    secure: bool
    ended: Ended = Ended.FULL
    groups: tuple[Group, ...] | None = None
    candidates: int | None = None
    max_items_per_user: int | None = None
    max_groups_per_user: int | None = None
    discovered: int | None = None
    discovered_by_group: tuple[int, ...] = ()
    items_by_length: Mapping[str, int] | None = None
    is_place: bool = False
    users: int | None = None

    @property
    def largest_group_size(self) -> int:
        """Number of items; in groups, of the group with most."""
        if self.groups is None:
            return len(self.items)
        from dpselect.release.groups import typed_group

        return max(Counter(typed_group(item.group) for item in self.items).values(), default=0)

    @classmethod
    def by_group(
        cls,
        groups: Sequence[object],
        items: Sequence[Sequence[DrawnItem]],
        *,
        secure: bool,
        users: Sequence[int | None] = (),
    ) -> Self:
        """Return the outcome of several items for every group; a group of one column may be its value alone.

        `users` has the noisy number of users of each group, if they were counted.
        """
        from dpselect.release.groups import Group

        values = [group if isinstance(group, tuple) else (group,) for group in groups]
        return cls(
            items=tuple(
                item._replace(group=group) for group, of_group in zip(values, items, strict=True) for item in of_group
            ),
            secure=secure,
            groups=tuple(
                Group(group, Ended.FULL, users=number)
                for group, number in zip(values, users or [None] * len(values), strict=True)
            ),
        )

    @classmethod
    def from_release(cls, release: Release, scale: Scale, *, candidates: int | None) -> Self:
        """Read the outcome of a release, whose scores are steps of `scale`; what has another type was not drawn."""
        parameters = release.privacy.parameters
        by_group, by_length = parameters.get("discovered_by_group"), parameters.get("items_by_length")
        if not (isinstance(by_group, tuple) and all(isinstance(size, int) for size in by_group)):
            by_group = ()
        groups = None
        if release.groups is not None:
            groups = tuple(replace(group, low=None, high=None) for group in release.groups.shown)
        scores = (None if item.count is None else scale.steps(item.count) for item in release.items)
        items = (
            DrawnItem(
                item.item,
                score,
                item.group,
                measures=item.measures,
                users_below=None if item.ranked is None else item.ranked.users_below,
                users_above=None if item.ranked is None else item.ranked.users_above,
            )
            for item, score in zip(release.items, scores, strict=True)
        )
        return cls(
            items=tuple(items),
            secure=release.secure,
            ended=release.ended,
            groups=groups,
            candidates=candidates,
            max_items_per_user=_whole_or_none(parameters.get("max_items_per_user")),
            max_groups_per_user=_whole_or_none(parameters.get("max_groups_per_user")),
            discovered=_whole_or_none(parameters.get("discovered")),
            discovered_by_group=by_group,
            items_by_length=by_length if isinstance(by_length, Mapping) else None,
            is_place=parameters.get(FROM_ZERO) == 0,
            users=_whole_or_none(release.accuracy.numbers.get("users")),
        )


def _whole_or_none(number: object) -> int | None:
    return number if isinstance(number, int) else None


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
