"""A top k in every group by discovery: a union of pairs of group and item, then a ranking inside each group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Self

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect.accounting.calibration import COUNT_SHARE
from dpselect.aggregates.user_sets import Int64, Sets, numbers_of_users
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms.top_k.by_group import MOST_GROUPS
from dpselect.mechanisms.top_k.discover import DiscoverThenPeel, rank_best
from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
from dpselect.queries.plan import BoundDraw
from dpselect.queries.top.discovery import FoundTop, discovered_at_least, picks_needed
from dpselect.queries.top.selection import TopRequest, noisy_counts
from dpselect.questions.parts import ResolvedGroups
from dpselect.release.answers.outcome import DrawnItem, Outcome
from dpselect.release.answers.ranking_sentences import discovered_by_group
from dpselect.release.answers.union_sentences import IN_ONE_GROUP
from dpselect.release.groups import Group, typed_group
from dpselect.release.release import Release
from dpselect.release.statement import Ended

if TYPE_CHECKING:
    from dpselect._ground.domain import Domain
    from dpselect.engines import Engine

Values = tuple[object, ...]


@dataclass(frozen=True)
class DiscoveredGroup:
    """The items of one group that the union found, and by how many of its picks they are ranked."""

    group: Values
    codes: Int64
    items: tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class FoundTopByGroup(FoundTop):
    """The best k of the items that a set union of pairs finds in each group: the whole price at any answer."""

    resolved_groups: ResolvedGroups
    groups: int  # in which one user counts, at most

    @classmethod
    def for_groups(
        cls, request: TopRequest, groups: ResolvedGroups, epsilon: Fraction, delta: Fraction, reason: str
    ) -> Self:
        """Return the selection in every group; every parameter is checked."""
        if groups.sizes:
            requirement = "be left out for discover: it counts users of items only"
            raise ParameterError("users", requirement, True, "limited-domain counts those of groups too")
        max_groups = parameters.whole_number(
            "max_groups_per_user", groups.groups_per_user, minimum=1, maximum=MOST_GROUPS
        )
        found = FoundTop.from_request(request, epsilon, delta, reason)
        return cls(
            method=found.method,
            selector=found.selector,
            known_mechanism=found.known_mechanism,
            privacy=found.privacy,
            reason=discovered_by_group(groups_listed=groups.listed_groups is not None) + reason,
            resolved_groups=groups,
            groups=max_groups,
        )

    def bind_draw(self, engine: Engine, domain: Domain | None) -> BoundDraw:  # noqa: ARG002 - pairs are discovered
        """Bind to the pairs of every user, in the groups that they keep."""
        listed_groups = self.resolved_groups.listed_groups
        engine.check_pairs()
        if listed_groups is not None:
            engine.check_groups(listed_groups)

        def draw(draws: Draws, progress: Progress | None) -> Outcome:
            names = [] if listed_groups is None else engine.group_names(listed_groups)
            sets = engine.contributions_by(self.groups, listed_groups, progress=progress)
            return self.draw_by_group(sets, names, draws, progress)

        return draw

    def draw_by_group(self, sets: Sets, listed: Sequence[object], draws: Draws, progress: Progress | None) -> Outcome:
        """Draw from the pairs of every user; the label of a pair has the values of the group, then the item's."""
        discovery = self.selector
        mechanism = self.known_mechanism or discovery.mechanism(discovery.bound_choice.of_sets(sets, draws))
        codes = mechanism.union(sets, draws=draws, progress=progress)
        discovered = self._by_group(codes, sets.labels(codes))
        users = numbers_of_users(sets)
        listed_values = [name if isinstance(name, tuple) else (name,) for name in listed]
        groups_shown = {
            typed_group(values): values
            for values in listed_values or (group_items.group for group_items in discovered.values())
        }
        largest = self._largest(len(group_items.codes) for group_items in discovered.values())
        epsilon_per_pick = self._epsilon_per_pick(mechanism, largest)
        counter = self._counter(mechanism, discovery.k, epsilon_per_pick)
        found_groups = [discovered[group_key] for group_key in groups_shown if group_key in discovered]
        ranked = [
            rank_best(discovery.k, found.codes, users[found.codes], epsilon_per_pick, draws) for found in found_groups
        ]
        true_counts = users[np.concatenate(ranked)].tolist() if ranked else []
        noisy = iter(noisy_counts(counter, true_counts, draws, list(map(len, ranked))))
        items: list[DrawnItem] = []
        for found, best in zip(found_groups, ranked, strict=True):
            labels = dict(zip(found.codes.tolist(), found.items, strict=True))
            items += [DrawnItem(labels[code], next(noisy), found.group) for code in best.tolist()]
        groups = tuple(
            self._group(values, len(discovered[group_key].codes) if group_key in discovered else 0)
            for group_key, values in groups_shown.items()
        )
        return Outcome(
            items=tuple(items),
            secure=draws.secure,
            ended=Ended.FULL if groups and all(group.complete for group in groups) else Ended.DISCOVERED,
            groups=groups,
            max_items_per_user=mechanism.max_items_per_user,
            discovered=len(codes),
            discovered_by_group=tuple(largest),
        )

    def _counter(self, mechanism: DiscoverThenPeel, size: int, epsilon_per_pick: Fraction) -> NoisyCounts | None:  # noqa: ARG002
        """Return the noise of the counts of every group, of which some have fewer items."""
        return (
            NoisyCounts(k=size, epsilon_per_count=epsilon_per_pick * COUNT_SHARE)
            if self.selector.counted and size
            else None
        )

    def nearest_possible(self, outcome: Outcome) -> Outcome:
        """Return an outcome with a bound that can be chosen, and no fewer discovered items than are shown."""
        k, sizes = self.selector.k, Counter(typed_group(item.group) for item in outcome.items).values()
        shown_sizes, stated_sizes, size = self._largest(sizes), outcome.discovered_by_group, len(outcome.items)
        stated_sizes = (*stated_sizes, *shown_sizes[len(stated_sizes) :])
        largest = [
            discovered_at_least(shown_size, stated_size, k)
            for shown_size, stated_size in zip(shown_sizes, stated_sizes, strict=False)
        ]
        full = max(sizes, default=0) >= k
        return replace(
            outcome,
            max_items_per_user=self._possible_bound(outcome),
            discovered=discovered_at_least(size, outcome.discovered, 0) if full else size,
            discovered_by_group=tuple(largest),
        )

    def answer(self, outcome: Outcome) -> Release:
        """Write the release; the bound, and how many pairs were discovered, are parts of the outcome."""
        mechanism, largest = self._mechanism_of(outcome), outcome.discovered_by_group
        epsilon_per_pick = self._epsilon_per_pick(mechanism, largest)
        counter = self._counter(mechanism, self.selector.k, epsilon_per_pick) if outcome.items else None
        statement = self.statement(mechanism, outcome.discovered or 0, epsilon_per_pick)
        group_parameters = {"max_groups_per_user": self.groups, "discovered_by_group": largest}
        statement = replace(statement, parameters={**statement.parameters, **group_parameters})
        return self._write(
            outcome, statement, self._accuracy_for(mechanism, max(largest, default=0), epsilon_per_pick), counter
        )

    @property
    def _columns(self) -> tuple[str, ...]:
        """The columns of groups."""
        return self.resolved_groups.by

    @property
    def _users_condition(self) -> str:
        """The condition on users: those of one group."""
        return IN_ONE_GROUP

    def _by_group(self, codes: Int64, labels: Sequence[object]) -> Mapping[object, DiscoveredGroup]:
        """Return the pairs found, group by group; codes are in the order of pairs, so groups are in theirs."""
        width = len(self.resolved_groups.by)
        members: dict[object, tuple[Values, list[tuple[int, object]]]] = {}
        for code, label in sorted(zip(codes.tolist(), labels, strict=True), key=lambda pair: pair[0]):
            values = label if isinstance(label, tuple) else (label,)
            item = values[width] if len(values) == width + 1 else values[width:]
            group = values[:width]
            members.setdefault(typed_group(group), (group, []))[1].append((code, item))
        return {
            group_key: DiscoveredGroup(
                group, np.array([code for code, _ in pairs], dtype=np.int64), tuple(item for _, item in pairs)
            )
            for group_key, (group, pairs) in members.items()
        }

    def _largest(self, sizes: Iterable[int]) -> list[int]:
        """Return the numbers of items of the groups with most, as many as a user may count in."""
        return sorted(sizes, reverse=True)[: self.groups]

    def _epsilon_per_pick(self, mechanism: DiscoverThenPeel, largest: Sequence[int]) -> Fraction:
        """Return the epsilon of a pick: the largest groups, as many as a user may count in, share what is left.

        How many were found is part of the answer of the union, so the share may rest on it.
        """
        k = self.selector.k
        noisy_counts = sum(min(k, items) for items in largest) if self.selector.counted else 0
        return mechanism.epsilon_per_pick(sum(picks_needed(k, items) for items in largest), noisy_counts)

    def _group(self, values: Values, items: int) -> Group:
        return Group(values, Ended.FULL if items >= self.selector.k else Ended.DISCOVERED)
