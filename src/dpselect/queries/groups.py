"""The same question in every group: which groups, and the price of those that one user counts in.

Where nobody lists the groups, a set union over the groups of every user finds, for part of the price, those that enough
users share, and what was found is the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import Privacy, PureDP, Steps
from dpselect.draws import Draws
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.choose.by_group import ChoiceByGroup
from dpselect.mechanisms.quantile_by_group import QuantileByGroup
from dpselect.questions.parts import Payment, ResolvedGroups
from dpselect.questions.questions import Union
from dpselect.release.accuracy import CONFIDENCE_PERCENT, Accuracy
from dpselect.release.answers.group_sentences import (
    GROUPS_LISTED,
    describe_finding,
    describe_found_groups,
    in_each_group,
)
from dpselect.release.scale import Scale
from dpselect.release.statement import Statement
from dpselect.utility.union_accuracy import users_for

if TYPE_CHECKING:
    from dpselect.engines import Engine

ByGroup = TypeVar("ByGroup", QuantileByGroup, ChoiceByGroup)
FindGroups = Callable[[Draws, Progress | None], Any]
"""Returns the groups that are asked for, found now where nobody lists them; None where none were found."""
SHARE_FOR_FINDING = Fraction(1, 6)  # of epsilon; measured: docs/results.md
UNION_PARAMETERS = ("threshold", "cutoff", "rounds", "order")  # those of a set union that a statement has


@dataclass(frozen=True, kw_only=True)
class GroupFinder:
    """A set union of the groups of users, each in at most `max_groups_per_user`, for a part of the price."""

    epsilon: Fraction
    delta: Fraction
    max_groups_per_user: int
    method: str
    union: Any

    @classmethod
    def for_price(cls, epsilon: Fraction, delta: Fraction, max_groups_per_user: int) -> GroupFinder:
        """Return the finder by the method that a union of these parameters takes."""
        from dpselect.queries.facts import Facts
        from dpselect.queries.union.plan import UnionPlan
        from dpselect.queries.union.terms import LARGEST_EPSILON, LEAST_EPSILON

        if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                "epsilon", "be between 6e-6 and 6e6 if groups are to be found", came(epsilon / SHARE_FOR_FINDING)
            )
        payment, facts = Payment(epsilon=epsilon, delta=delta), Facts(max_items_per_user=max_groups_per_user)
        plan = UnionPlan(question=Union(), payment=payment, facts=facts)
        (union,) = plan.mechanisms(max_groups_per_user)
        return cls(
            epsilon=epsilon,
            delta=delta,
            max_groups_per_user=max_groups_per_user,
            method=plan.method_for(max_groups_per_user),
            union=union,
        )

    def find(self, engine: Engine, draws: Draws, progress: Progress | None) -> Any:
        """Find groups; return them as the engine keeps them, or None where there are none."""
        codes = self.union(engine.group_sets(progress=progress), draws=draws, progress=progress)
        return engine.keep_groups(codes) if len(codes) else None

    @property
    def parameters(self) -> Mapping[str, object]:
        """The parameters of a statement, by which a check plans the union again."""
        union_parameters = {
            f"{name}_of_groups": value for name in UNION_PARAMETERS if (value := getattr(self.union, name, None))
        }
        parameters = {"groups_found_by": type(self.union).__name__}
        return parameters | {"epsilon_of_groups": self.epsilon, "delta_of_groups": self.delta} | union_parameters

    def accuracy(self, scale: Scale) -> Accuracy:
        """Return from how many users on a group is found."""
        users, users_for_half = (users_for(self.union, chance, 1) for chance in (CONFIDENCE_PERCENT / 100, 0.5))
        return describe_found_groups(users, users_for_half, scale)


@dataclass(frozen=True, kw_only=True)
class PricedGroups:
    """The groups, what finds them where they are not listed, and the price of all of it."""

    groups: ResolvedGroups
    finder: GroupFinder | None
    privacy: Privacy

    def bind_groups(self, engine: Engine) -> FindGroups:
        """Return what gets the groups; listed ones that do not fit are refused now."""
        finder, listed = self.finder, self.groups.listed_groups
        if finder is not None:
            return lambda draws, progress: finder.find(engine, draws, progress)
        assert listed is not None
        engine.check_groups(listed)
        return lambda _draws, _progress: listed

    def accuracy(self, of_one: Accuracy, scale: Scale) -> Accuracy:
        """Return from how many users on a group is found, and how good the answer of each is."""
        good = in_each_group(of_one)
        return good if self.finder is None else self.finder.accuracy(scale) + good

    def statement(
        self, mechanism: str, parameters: Mapping[str, object], sentences: tuple[str, ...], scale: Scale
    ) -> Statement:
        """State the promise: first of groups, then what is said of one."""
        finder = self.finder
        group_parameters = {"groups_listed": True} if finder is None else finder.parameters
        group_sentence = (
            GROUPS_LISTED
            if finder is None
            else describe_finding(SHARE_FOR_FINDING, finder.method, finder.max_groups_per_user)
        )
        all_parameters = {**parameters, "max_groups_per_user": self.groups.groups_per_user, **group_parameters}
        all_sentences = (group_sentence, *scale.sentences, *sentences)
        return Statement.from_privacy(self.privacy, mechanism, all_parameters | scale.parameters, all_sentences)


def plan_groups(
    groups: ResolvedGroups, epsilon: Fraction, delta: Fraction, make: Callable[..., ByGroup]
) -> tuple[PricedGroups, ByGroup]:
    """Return a question's groups with their price, and the mechanism.

    `make` takes max_groups_per_user, epsilon and delta. Finding and asking add up; delta that composing the picks
    does not need is left to the finding.
    """
    max_groups, listed_groups = groups.groups_per_user, groups.listed_groups
    finder: GroupFinder | None = None
    if listed_groups is not None:
        mechanism = make(max_groups_per_user=max_groups, epsilon=epsilon, delta=delta)
        privacy = mechanism.privacy
    else:
        mechanism = make(max_groups_per_user=max_groups, epsilon=epsilon * (1 - SHARE_FOR_FINDING), delta=delta / 2)
        finder = GroupFinder.for_price(epsilon * SHARE_FOR_FINDING, delta - mechanism.privacy.delta, max_groups)
        privacy = _with(finder, mechanism.privacy, epsilon, delta)
    return PricedGroups(groups=groups, finder=finder, privacy=privacy), mechanism


def _with(finder: GroupFinder, answering: Privacy, epsilon: Fraction, delta: Fraction) -> Privacy:
    """Return the privacy of both steps: the union is one step that is pure but for a failure of its delta."""
    steps = (Steps(PureDP(finder.epsilon), 1), *answering.steps)
    return replace(answering, epsilon=epsilon, delta=delta, steps=steps, failure=finder.delta)
