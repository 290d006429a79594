"""A top k in every group: what is planned before data is touched, what is said of the answer, what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import Neighbors, Steps
from dpselect.accounting.calibration import COUNT_SHARE, plan_of, priced
from dpselect.aggregates.groups import GroupedCounts
from dpselect.draws import Draws
from dpselect.engines.port import Engine
from dpselect.mechanisms.top_k.by_group import LimitedDomainByGroup, parsed, split_by_group
from dpselect.mechanisms.top_k.group_draws import Picked
from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
from dpselect.queries.answer import likeness
from dpselect.queries.facts import cut_by
from dpselect.queries.plan import Ready
from dpselect.queries.top.selection import Selection, fresh_counts, near_counts
from dpselect.questions.parts import AskedGroups
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, NOTHING, whole
from dpselect.release.groups import Group, Groups
from dpselect.release.release import Ended, Item, Release, Statement
from dpselect.release.scale import USERS, Scale

METHOD = "limited-domain"
LISTED = "Each listed group has its own answer: "
UNLISTED = "Each group has its own answer, and groups need not be known: "
REASON = "limited domain looks only at the k_bar + 1 items with the most users of each"


@dataclass(frozen=True, kw_only=True)
class TopByGroup(Selection):
    """At most k items of each group, at the price of the groups that one user counts in."""

    selector: LimitedDomainByGroup
    asked: AskedGroups
    of_groups: NoisyCounts | None  # what counts the users of a group

    @property
    def k_bar(self) -> int:
        """How many items with the most users are looked at, of each group."""
        return self.selector.each.terms.k_bar

    def height(self) -> float:
        """How far bottom stands above the item at rank k_bar + 1 of a group, in users or in units of a weight."""
        return self.selector.each.height

    def asked_of(self, engine: Engine) -> Ready:
        """How an engine answers it; listed groups that do not fit are refused now."""
        most, listed = self.selector.max_groups_per_user, self.asked.listed
        if listed is not None:
            engine.check_groups(listed)
        rows = self.k_bar + 1  # no more of a group leave the engine
        users = self.of_groups is not None
        return lambda draws, progress: self.select(
            engine.top_by(rows, most, listed, users=users, progress=progress), draws
        )

    def select(self, aggregate: GroupedCounts, draws: Draws, progress: Progress | None = None) -> Release:  # noqa: ARG002 - quick
        """The answer for counts."""
        picked = self.selector.picks(aggregate, draws)
        places = np.concatenate([one.rows for one in picked]) if picked else np.zeros(0, dtype=np.int64)
        told = fresh_counts(self.counter, aggregate.counts[places].tolist(), draws, self.scale)
        groups = self._shown(aggregate, picked, draws)
        values = {place: group.values for place, group in groups.items()}
        of = [(values[one.group], rank) for one in picked for rank in range(1, len(one.rows) + 1)]
        labels = aggregate.items(places)
        items = tuple(
            Item(label, rank, *numbers, group)
            for label, numbers, (group, rank) in zip(labels, told.of, of, strict=True)
        )
        shown = Groups(self.asked.by, tuple(groups.values()), self.of_groups is not None)
        return Release(
            items=items,
            ended=Ended.FULL if groups and all(group.complete for group in shown.shown) else Ended.BOTTOM,
            counted=self.counter is not None,
            privacy=self.statement(),
            secure=draws.secure,
            accuracy=self._good(),
            groups=shown,
        )

    def before(self, candidates: int | None) -> accuracy.Accuracy:  # noqa: ARG002 - k_bar of them are looked at
        """How good the items of a group are, their counts and its number of users."""
        return self._good()

    def like(self, release: Release, candidates: int) -> Release:  # noqa: ARG002 - k_bar of them are looked at
        """An answer with what this plan says of it."""
        of_groups = None if self.of_groups is None else self.of_groups.width(BETA)
        return likeness(release, self.statement(), self._good(), of_groups=of_groups, **self.counting)

    def _shown(self, found: GroupedCounts, picked: Sequence[Picked], draws: Draws) -> dict[int, Group]:
        """The groups with an item, in their order; of listed groups all. Their numbers of users where asked for."""
        sizes = {one.group: len(one.rows) for one in picked}
        shown = sorted(sizes) if self.asked.listed is None else range(len(found.sizes))
        places = np.array(shown, dtype=np.int64)
        names = [name if isinstance(name, tuple) else (name,) for name in found.groups(places)]
        told: Sequence[Any] = fresh_counts(self.of_groups, self._users(found, places), draws, self._of_users).of
        if self.of_groups is None:
            told = [(None, None, None)] * len(names)
        return {
            place: Group(name, Ended.FULL if sizes.get(place) == self.selector.k else Ended.BOTTOM, *numbers)
            for place, name, numbers in zip(places.tolist(), names, told, strict=True)
        }

    def _users(self, found: GroupedCounts, places: np.ndarray) -> list[int]:
        return [] if self.of_groups is None else found.users(places).tolist()

    def _good(self) -> accuracy.Accuracy:
        """How good the items of a group are, their counts and its number of users."""
        terms = self.selector.each.terms
        good = accuracy.ranking(whole(terms.gap(BETA)), scale=self.scale)
        good += accuracy.ends_early(whole(terms.reach(BETA)), self.k_bar + 1, self.scale)
        good = replace(good, sentences=tuple(f"In a group: {said}" for said in good.sentences))
        return good + near_counts(self.counter, self.scale) + self._good_of_groups()

    @property
    def _of_users(self) -> Scale:
        """What the users of a group are counted in."""
        return replace(self.scale, totals=None)

    def _good_of_groups(self) -> accuracy.Accuracy:
        return (
            NOTHING if self.of_groups is None else accuracy.users_of_groups(self.of_groups.width(BETA), self._of_users)
        )

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        s = self.selector
        groups, each = s.max_groups_per_user, s.each
        used: dict[str, object] = {
            "k": s.k,
            "max_groups_per_user": groups,
            "epsilon_per_pick": s.epsilon_per_pick,
            "k_bar": self.k_bar,
            "delta_threshold": s.delta_threshold,
            "max_items_per_user": s.max_items_per_user,
            **({"groups_listed": True} if self.asked.listed is not None else {}),
        }
        if self.of_groups is not None:
            used["epsilon_per_group"] = self.of_groups.epsilon_per_count
        sentences = [self.reason, *self._by_weights(), *self._in_a_group()]
        sentences.append(
            f"An item is returned only if it exceeds a noisy threshold (bottom), {self.scale.about(each.height)} above "
            f"the {self.scale.score} at rank k_bar + 1 = {self.k_bar + 1:,} of its group."
        )
        return self.stated(used, sentences)

    def _by_weights(self) -> list[str]:
        if self.scale.totals is None:
            return []
        return ["A user has only the groups in which they give an item a unit; what they give is added up in each."]

    def _in_a_group(self) -> list[str]:
        most = self.selector.max_items_per_user
        return [] if most is None else [f"In each of them a user counts for at most {accuracy.said_items(most)}."]

    def steps(self, found: Sequence[int]) -> tuple[Steps, ...]:
        """The steps that an answer took: those of the groups with most, as many as one user may count in.

        A group that is not shown took one pick: bottom.
        """
        s = self.selector
        most = s.max_groups_per_user
        largest = sorted(found, reverse=True)[:most]
        picks = sum(min(s.k, items + 1) for items in largest) + most - len(largest)
        counted = sum(min(items, self._moved) for items in largest) if self.counter is not None else 0
        groups = self._groups_counted(len(largest)) if self.of_groups is not None else 0
        first, *counts = self.privacy.steps
        steps = [Steps(first.value, picks), *(Steps(one.value, counted + groups) for one in counts)]
        return tuple(one for one in steps if one.times)

    def _groups_counted(self, with_items: int) -> int:
        """How many numbers of users one user may have moved: those of listed groups are told in any case."""
        return with_items if self.asked.listed is None else self.selector.max_groups_per_user

    @property
    def _moved(self) -> int:
        """How many counts of one group a user can move."""
        return moved(self.selector.k, self.selector.max_items_per_user)


def plan_by_group(
    asked: AskedGroups,
    k: int,
    *,
    counts: bool,
    epsilon: Fraction,
    delta: Fraction,
    k_bar: int | None,
    max_items_per_user: int | None,
    moves: int = 1,
) -> TopByGroup:
    """Check every parameter, and find the largest epsilon of one pick that fits. One user moves a score by `moves`."""
    k, groups, k_bar, most = parsed(k, asked.each, k_bar, max_items_per_user)
    counted = groups * (moved(k, most) * counts + asked.sizes)
    plan = plan_of(groups * k, counted)
    split = split_by_group(plan, epsilon, delta, groups, k_bar if most is None else min(most, k_bar))
    pick, failure = split.epsilon_per_pick, groups * split.threshold
    privacy = priced(plan(pick), epsilon, split.composition, failure=failure, neighbors=Neighbors.ADD_REMOVE)
    selector = LimitedDomainByGroup(
        k=k,
        max_groups_per_user=groups,
        k_bar=k_bar,
        epsilon_per_pick=pick,
        delta=delta,
        delta_threshold=split.threshold,
        max_items_per_user=most,
        sensitivity=moves,
    )
    each = pick * COUNT_SHARE
    counter = NoisyCounts(k=k, epsilon_per_count=each, max_items_per_user=most, sensitivity=moves)
    return TopByGroup(
        method=METHOD,
        selector=selector,
        counter=counter if counts else None,
        of_groups=NoisyCounts(k=1, epsilon_per_count=each) if asked.sizes else None,
        privacy=privacy,
        reason=f"{UNLISTED}{REASON}, and a group without an item is not shown."
        if asked.listed is None
        else f"{LISTED}{REASON}.",
        asked=asked,
        scale=USERS.kept(groups=cut_by(groups, asked.listed), items=most),
    )


def moved(k: int, most: int | None) -> int:
    """How many of the k winners' counts of a group one user can move."""
    return k if most is None else min(k, most)
