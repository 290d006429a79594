"""The same question in every group of a list: the price of the groups that one user counts in, and how it is told.

Where nobody lists the groups, part of the price finds them first, and what was found is the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from dpselect._ground.domain import Domain
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import Privacy, PureDP, Steps
from dpselect.draws import Draws
from dpselect.engines.port import Engine
from dpselect.mechanisms.choose.by_group import ChoiceByGroup
from dpselect.mechanisms.quantile_by_group import QuantileByGroup
from dpselect.queries.group_finder import SHARE, GroupFinder
from dpselect.queries.of_groups import AskedGroups
from dpselect.release.accuracy import Accuracy
from dpselect.release.groups import Group, Groups
from dpselect.release.release import Ended, Item, Kind, Release, Statement
from dpselect.release.scale import Scale

ByGroup = TypeVar("ByGroup", QuantileByGroup, ChoiceByGroup)
Which = Callable[[Draws, Progress | None], Any]
"""The groups that are asked for, found now where nobody lists them; None where none were found."""
LISTED = (
    "The groups are listed: each is answered, with or without users; of a group with few of them an answer says little."
)


@dataclass(frozen=True, kw_only=True)
class InGroups:
    """By which columns, of which groups, what finds them where they are not listed, and the price of all of it."""

    by: tuple[str, ...]
    listed: Domain | None
    most: int
    delta: Fraction
    finder: GroupFinder | None
    privacy: Privacy

    def which(self, engine: Engine) -> Which:
        """How to come by the groups; listed ones that do not fit are refused now."""
        finder, listed = self.finder, self.listed
        if finder is not None:
            return lambda draws, progress: finder.found(engine, draws, progress)
        assert listed is not None
        engine.check_groups(listed)
        return lambda _draws, _progress: listed

    def released(
        self,
        names: Sequence[object],
        answers: Sequence[Sequence[object]],
        *,
        statement: Statement,
        accuracy: Accuracy,
        secure: bool,
        kind: Kind = Kind.RANKING,
    ) -> Release:
        """The answers of all groups, in the order of groups."""
        groups = [name if isinstance(name, tuple) else (name,) for name in names]
        items = tuple(
            Item(value, rank, None, group=group)
            for group, answer in zip(groups, answers, strict=True)
            for rank, value in enumerate(answer, 1)
        )
        return Release(
            items=items,
            kind=kind,
            privacy=statement,
            secure=secure,
            accuracy=self.near(accuracy),
            groups=Groups(self.by, tuple(Group(group, Ended.FULL) for group in groups)),
        )

    def near(self, each: Accuracy) -> Accuracy:
        """From how many users on a group is found, and how good the answer of each is."""
        good = replace(each, sentences=tuple(f"In a group: {said}" for said in each.sentences))
        return good if self.finder is None else self.finder.accuracy + good

    def statement(
        self, mechanism: str, used: Mapping[str, object], sentences: Sequence[str], scale: Scale
    ) -> Statement:
        """What is promised, in numbers and in sentences: first of groups, then what is said of one."""
        found = {"groups_listed": True} if self.finder is None else self.finder.parameters
        how = LISTED if self.finder is None else self.finder.sentence
        said = (how, *scale.sentences, *sentences)
        return Statement.of(
            self.privacy, mechanism, {**used, "max_groups_per_user": self.most, **found} | scale.parameters, said
        )


def in_groups(
    asked: AskedGroups, epsilon: Fraction, delta: Fraction, make: Callable[..., ByGroup]
) -> tuple[InGroups, ByGroup]:
    """A question's price in groups, and the mechanism. `make` takes max_groups_per_user, epsilon and delta.

    Finding and asking add up; delta that composing the picks does not need is left to the finding.
    """
    most, listed = asked.each, asked.listed
    finder: GroupFinder | None = None
    if listed is not None:
        mechanism = make(max_groups_per_user=most, epsilon=epsilon, delta=delta)
        privacy = mechanism.privacy
    else:
        mechanism = make(max_groups_per_user=most, epsilon=epsilon * (1 - SHARE), delta=delta / 2)
        finder = GroupFinder.of(epsilon * SHARE, delta - mechanism.privacy.delta, most)
        privacy = _with(finder, mechanism.privacy, epsilon, delta)
    table = InGroups(by=asked.by, listed=listed, most=most, delta=delta, finder=finder, privacy=privacy)
    return table, mechanism


def _with(finder: GroupFinder, asked: Privacy, epsilon: Fraction, delta: Fraction) -> Privacy:
    """The union is one step that is pure but for a failure of its delta."""
    steps = (Steps(PureDP(finder.epsilon), 1), *asked.steps)
    return replace(asked, epsilon=epsilon, delta=delta, steps=steps, failure=finder.delta)
