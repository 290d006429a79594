"""The same question in every group: which groups, the price of those that one user counts in, and how it is told.

Where nobody lists the groups, a set union over the groups of every user finds, for part of the price, those that enough
users share, and what was found is the list.
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
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.choose.by_group import ChoiceByGroup
from dpselect.mechanisms.quantile_by_group import QuantileByGroup
from dpselect.queries.union.accuracy import users_for
from dpselect.questions.parts import AskedGroups
from dpselect.questions.payment import Payment
from dpselect.questions.questions import Union
from dpselect.release.accuracy import NOTHING, TIMES, Accuracy, said_users
from dpselect.release.groups import Group, Groups
from dpselect.release.release import Ended, Item, Kind, Release, Statement
from dpselect.release.scale import Scale

ByGroup = TypeVar("ByGroup", QuantileByGroup, ChoiceByGroup)
Which = Callable[[Draws, Progress | None], Any]
"""The groups that are asked for, found now where nobody lists them; None where none were found."""
LISTED = "The groups are listed, and each is answered, even without users; with few users an answer is mostly noise."
SHARE = Fraction(1, 6)  # of epsilon; measured: docs/results.md
SAID = ("threshold", "cutoff", "rounds", "order")  # what a statement says of a set union


@dataclass(frozen=True, kw_only=True)
class GroupFinder:
    """A set union of the groups of users, each taking part with at most `most`, for a part of the price."""

    epsilon: Fraction
    delta: Fraction
    most: int
    method: str
    union: Any

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, most: int) -> GroupFinder:
        """By the method that a union of these parameters takes."""
        from dpselect.queries.facts import Facts
        from dpselect.queries.union.plan import UnionPlan
        from dpselect.queries.union.terms import LARGEST_EPSILON, LEAST_EPSILON, chosen_method

        if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
            raise ParameterError("epsilon", "be between 6e-6 and 6e6 if groups are to be found", came(epsilon / SHARE))
        payment, facts = Payment(epsilon=epsilon, delta=delta), Facts(max_items_per_user=most)
        plan = UnionPlan(question=Union(), payment=payment, facts=facts)
        (union,) = plan.mechanisms(most)
        return cls(epsilon=epsilon, delta=delta, most=most, method=chosen_method(plan, most), union=union)

    def found(self, engine: Engine, draws: Draws, progress: Progress | None) -> Any:
        """The groups that were found, as the engine keeps them; None where there are none."""
        codes = self.union(engine.group_sets(progress=progress), draws=draws, progress=progress)
        return engine.keep_groups(codes) if len(codes) else None

    @property
    def parameters(self) -> Mapping[str, object]:
        """What a statement says of it, for whoever checks it."""
        own = {f"{name}_of_groups": value for name in SAID if (value := getattr(self.union, name, None))}
        found = {"groups_found_by": type(self.union).__name__}
        return found | {"epsilon_of_groups": self.epsilon, "delta_of_groups": self.delta} | own

    @property
    def sentence(self) -> str:
        """How groups were found."""
        part = f"for {SHARE} of epsilon, by a set union ({self.method})"
        groups = "one group" if self.most == 1 else f"at most {self.most:,} groups"
        return (
            f"The groups were found first, {part} in which each user takes part with {groups}, chosen at random. A "
            "group with only one user appears with probability at most delta."
        )

    @property
    def accuracy(self) -> Accuracy:
        """From how many users on a group is found."""
        sure, half = (users_for(self.union, chance, 1) for chance in (TIMES / 100, 0.5))
        if sure is None or half is None:
            return NOTHING
        said = f"A group is found if {said_users(sure)} or more are in it and in no other"
        said += f" (with {half:,} its chance is about one half). A missing one may still exist, and need not be rare."
        return Accuracy((said,), {"group_found_with_users": sure, "group_half_found_with_users": half})


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
