"""A top k in every group: what is planned before data is touched, how it is drawn, what it cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import Neighbors, SpentSteps
from dpselect.accounting.calibration import COUNT_SHARE, plan_of, priced
from dpselect.aggregates.groups import GroupedCounts
from dpselect.draws import Draws
from dpselect.mechanisms.top_k.by_group import LimitedDomainByGroup, parse_sizes, split_by_group
from dpselect.mechanisms.top_k.group_draws import Picked
from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
from dpselect.mechanisms.top_k.sharp_counts import sharpest
from dpselect.queries.plan import BoundDraw
from dpselect.queries.top.selection import Selection, Terms, TopRequest, noisy_counts
from dpselect.questions.parts import ResolvedGroups
from dpselect.release.accuracy import BETA, Accuracy, largest_whole_below
from dpselect.release.answers.outcome import DrawnItem, Outcome
from dpselect.release.answers.ranking_sentences import (
    describe_limited_domain_by_group,
    describe_ranking_by_group,
    limited_by_group,
)
from dpselect.release.groups import Group
from dpselect.release.release import Release
from dpselect.release.statement import Ended

if TYPE_CHECKING:
    from dpselect._ground.domain import Domain
    from dpselect.engines import Engine

LIMITED_BY_GROUP = "limited-domain"
ScoresBy = Callable[[Sequence[tuple[tuple[object, ...], object]]], Sequence[int]]
"""The scores of some items, each of a group, where each user counts for a bounded number of these in few groups."""


@dataclass(frozen=True, kw_only=True)
class TopByGroup(Selection):
    """A selection of at most k items of each group, at the price of the groups that one user counts in."""

    selector: LimitedDomainByGroup
    resolved_groups: ResolvedGroups
    group_counter: NoisyCounts | None  # what counts the users of a group

    @classmethod
    def for_groups(cls, request: TopRequest, groups: ResolvedGroups, epsilon: Fraction, delta: Fraction) -> Self:
        """Return the selection at the largest epsilon of one pick that fits; every parameter is checked."""
        k, max_groups, k_bar, _ = parse_sizes(
            request.k, groups.groups_per_user, request.k_bar, request.max_items_per_user
        )
        sizes = PriceSizes(
            k, max_groups, k_bar, request.winners_per_user, request.sensitivity, request.counts, groups.sizes
        )
        reason = limited_by_group(groups_listed=groups.listed_groups is not None)
        return cls(method=LIMITED_BY_GROUP, reason=reason, resolved_groups=groups, **_parts(sizes, epsilon, delta))

    @property
    def k_bar(self) -> int:
        """The number of items with the most users that are looked at, of each group."""
        return self.selector.each.terms.k_bar

    def height(self) -> float:
        """Return how far bottom is above the item at rank k_bar + 1 of a group, in users or in units of a weight."""
        return self.selector.each.height

    def bind_draw(self, engine: Engine, domain: Domain | None) -> BoundDraw:  # noqa: ARG002 - groups have none
        """Bind to the largest items of every group; listed groups that do not fit are refused now."""
        max_groups, listed_groups = self.selector.max_groups_per_user, self.resolved_groups.listed_groups
        if listed_groups is not None:
            engine.check_groups(listed_groups)
        rows = self.k_bar + 1  # no more of a group leave the engine
        users = self.group_counter is not None

        def draw(draws: Draws, progress: Progress | None) -> Outcome:
            aggregate = engine.top_by(rows, max_groups, listed_groups, users=users, progress=progress)
            if not self.counts_again:
                return self.draw(aggregate, draws)
            count_winners = partial(
                engine.scores_by, max_groups_per_user=max_groups, groups=listed_groups, progress=progress
            )
            return self.draw_by_group(aggregate, count_winners, draws)

        return draw

    def draw(self, aggregate: GroupedCounts, draws: Draws, progress: Progress | None = None) -> Outcome:  # noqa: ARG002 - quick
        """Draw where the ranking gives all counts that are shown."""
        return self.draw_by_group(aggregate, None, draws)

    def draw_by_group(self, aggregate: GroupedCounts, count_winners: ScoresBy | None, draws: Draws) -> Outcome:
        """Draw the picks of every group, their noisy counts, and the noisy numbers of users of the groups.

        Where a user counts for few of the winners, `count_winners` counts anew. Each group has noise as if alone.
        """
        picked = self.selector.picks(aggregate, draws)
        rows = np.concatenate([picks.rows for picks in picked]) if picked else np.zeros(0, dtype=np.int64)
        groups = self._draw_groups(aggregate, picked, draws)
        group_of_items = [groups[picks.group].values for picks in picked for _ in picks.rows]
        labels = aggregate.items(rows)
        if not self.counts_again:
            scores: Sequence[int] = aggregate.counts[rows].tolist()
        else:
            assert count_winners is not None
            scores = count_winners(list(zip(group_of_items, labels, strict=True)))
        noisy = noisy_counts(self.counter, scores, draws, [len(picks.rows) for picks in picked])
        groups_shown = tuple(groups.values())
        return Outcome(
            items=tuple(map(DrawnItem, labels, noisy, group_of_items)),
            secure=draws.secure,
            ended=Ended.FULL if groups_shown and all(group.complete for group in groups_shown) else Ended.BOTTOM,
            groups=groups_shown,
        )

    def _draw_groups(self, counts: GroupedCounts, picked: Sequence[Picked], draws: Draws) -> dict[int, Group]:
        """Draw the groups with an item, in their order, or all listed ones, with numbers of users if asked for."""
        sizes = {picks.group: len(picks.rows) for picks in picked}
        group_numbers = sorted(sizes) if self.resolved_groups.listed_groups is None else range(len(counts.sizes))
        shown_groups = np.array(group_numbers, dtype=np.int64)
        names = [name if isinstance(name, tuple) else (name,) for name in counts.groups(shown_groups)]
        users = [0] * len(names) if self.group_counter is None else counts.users(shown_groups).tolist()
        noisy = noisy_counts(self.group_counter, users, draws)
        return {
            shown_group: Group(
                name, Ended.FULL if sizes.get(shown_group) == self.selector.k else Ended.BOTTOM, noisy_users
            )
            for shown_group, name, noisy_users in zip(shown_groups.tolist(), names, noisy, strict=True)
        }

    def answer(self, outcome: Outcome) -> Release:
        """Write the release of all groups."""
        columns, group_width = self.resolved_groups.by, self._group_width
        good = self._accuracy_for(outcome.largest_group_size)
        return self.write(outcome, self.state(self.terms()), good, columns=columns, group_width=group_width)

    def terms(self) -> Terms:
        """Describe the selection."""
        s = self.selector
        parameters: dict[str, object] = {
            "k": s.k,
            "max_groups_per_user": s.max_groups_per_user,
            "epsilon_per_pick": s.epsilon_per_pick,
            "k_bar": self.k_bar,
            "delta_threshold": s.delta_threshold,
            **({"groups_listed": True} if self.resolved_groups.listed_groups is not None else {}),
        }
        if self.group_counter is not None:
            parameters["epsilon_per_group"] = self.group_counter.epsilon_per_count
        described = describe_limited_domain_by_group(s.each.height, self.k_bar, self.scale)
        return parameters, [self.reason, *described]

    @property
    def _group_width(self) -> int | None:
        return None if self.group_counter is None else self.group_counter.width(BETA)

    def planned_accuracy(self, candidates: int | None) -> Accuracy:  # noqa: ARG002 - k_bar of them are looked at
        """Return how good the items of a group are, their counts and its number of users."""
        return self._accuracy_for(self.selector.k)

    def _accuracy_for(self, items: int) -> Accuracy:
        """Return the accuracy where no group has more items."""
        terms, counts = self.selector.each.terms, self.count_accuracy(items, by_group=True)
        gap, reach = largest_whole_below(terms.gap(BETA)), largest_whole_below(terms.reach(BETA))
        return describe_ranking_by_group(
            gap, reach, self.k_bar, counts=counts, group_width=self._group_width, scale=self.scale
        )

    @property
    def is_by_group(self) -> bool:
        """The selection is in every group."""
        return True

    def steps(self, release: Release) -> tuple[SpentSteps, ...]:
        """Return the steps that an answer took: those of the groups with most, as many as one user may count in.

        A group that is not shown took one pick: bottom.
        """
        s = self.selector
        max_groups = s.max_groups_per_user
        largest = sorted(release.found, reverse=True)[:max_groups]
        picks = sum(min(s.k, items + 1) for items in largest) + max_groups - len(largest)
        steps = [replace(self.privacy.steps[0], times=picks)]
        if self.group_counter is not None:
            steps += self.group_counter.steps_of(*[1] * self._groups_counted(len(largest)))
        if self.counter is not None:
            steps += self.counter.steps_of(*largest)
        return tuple(step for step in steps if step.times)

    def _groups_counted(self, with_items: int) -> int:
        """Return how many numbers of users one user may have moved: those of listed groups are released in any case."""
        return with_items if self.resolved_groups.listed_groups is None else self.selector.max_groups_per_user


class PriceSizes(NamedTuple):
    """The sizes that decide the price of the parts, besides epsilon and delta."""

    k: int
    groups: int  # of one user
    k_bar: int
    winners_per_user: int | None  # the winners of a group for which a user counts, where these are fewer than k
    sensitivity: int
    counts: bool
    group_sizes: bool  # are users of groups counted too?


@lru_cache(maxsize=256)  # each bound that can be chosen is priced before each question, and again for each share
def _parts(sizes: PriceSizes, epsilon: Fraction, delta: Fraction) -> Mapping[str, Any]:
    """Return the selector, the noise of numbers, and the price: the largest epsilon of one pick that fits."""
    k, groups = sizes.k, sizes.groups
    counted_numbers = groups * (k * sizes.counts + sizes.group_sizes)
    plan = plan_of(groups * k, counted_numbers)
    split = split_by_group(plan, epsilon, delta, groups, sizes.k_bar)
    pick, failure = split.epsilon_per_pick, groups * split.threshold
    epsilon_per_count = pick * COUNT_SHARE
    group_counter = NoisyCounts(k=1, epsilon_per_count=epsilon_per_count) if sizes.group_sizes else None
    steps_before: list[SpentSteps] = [
        plan(pick)[0],
        *(() if group_counter is None else group_counter.steps_of(*[1] * groups)),
    ]
    plain = NoisyCounts(
        k=k,
        epsilon_per_count=epsilon_per_count,
        max_items_per_user=sizes.winners_per_user,
        sensitivity=sizes.sensitivity,
    )
    counter = sharpest(plain, steps_before, epsilon, split.composition, BETA, groups) if sizes.counts else None
    counter_failure = Fraction(0) if counter is None else counter.failure
    steps = steps_before if counter is None else [*steps_before, *counter.steps_of(*[k] * groups)]
    composition, related = split.composition - counter_failure, Neighbors.ADD_REMOVE
    privacy = priced(steps, epsilon, composition, failure=failure + counter_failure, neighbors=related)
    selector = LimitedDomainByGroup(
        k=k,
        max_groups_per_user=groups,
        k_bar=sizes.k_bar,
        epsilon_per_pick=pick,
        delta=failure,  # its own price, of picks alone, is not asked for: none is left to compose them
        delta_threshold=split.threshold,
        sensitivity=sizes.sensitivity,
    )
    return {"selector": selector, "counter": counter, "group_counter": group_counter, "privacy": privacy}
