"""A top k in every group by discovery: a union of pairs of group and item, then a ranking inside each group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Int64, Sets, numbers_of_users
from dpselect.draws import Draws
from dpselect.engines.port import Engine
from dpselect.errors import ParameterError
from dpselect.mechanisms import gaps
from dpselect.mechanisms.top_k.by_group import MOST_GROUPS
from dpselect.mechanisms.top_k.discover import DiscoverThenPeel, best
from dpselect.queries.facts import cut_by
from dpselect.queries.plan import Ready
from dpselect.queries.top.discovery import FoundTop, made, plan_discovery
from dpselect.queries.top.groups import LISTED, UNLISTED
from dpselect.queries.top.selection import fresh_counts, near_counts
from dpselect.queries.union.accuracy import IN_ONE, found_by
from dpselect.queries.union.bound import BOUNDS, bound_chooser, chosen_bound
from dpselect.questions.parts import AskedGroups
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, whole
from dpselect.release.groups import Group, Groups, told_apart
from dpselect.release.release import Ended, Item, Release, Statement
from dpselect.release.scale import USERS

Values = tuple[object, ...]
REASON = (
    "part of the price finds pairs of group and item that enough users share, and the rest ranks the best of each "
    "group."
)


@dataclass(frozen=True)
class Found:
    """The items of one group that the union found, and by how many of its picks they are ranked."""

    group: Values
    codes: Int64
    items: tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class FoundTopByGroup(FoundTop):
    """The best k of the items that a set union of pairs finds in each group: the whole price at any answer."""

    asked: AskedGroups
    groups: int  # in which one user counts, at most

    def asked_of(self, engine: Engine) -> Ready:
        """How an engine answers it: by the pairs of every user, in the groups that they keep."""
        listed = self.asked.listed
        engine.check_pairs()
        if listed is not None:
            engine.check_groups(listed)

        def answer(draws: Draws, progress: Progress | None) -> Release:
            names = [] if listed is None else engine.group_names(listed)
            return self._select(engine.contributions_by(self.groups, listed, progress=progress), names, draws, progress)

        return answer

    def _select(self, sets: Sets, listed: Sequence[object], draws: Draws, progress: Progress | None) -> Release:
        """The answer for the pairs of every user; the label of a pair has the values of the group, then the item's."""
        asked = self.selector
        mechanism = self.ready or asked.mechanism(chosen_bound(sets, bound_chooser(asked.for_bound, BOUNDS), draws))
        codes = mechanism.union(sets, draws=draws, progress=progress)
        found = self._by_group(codes, sets.labels(codes))
        users = numbers_of_users(sets)
        named = [one if isinstance(one, tuple) else (one,) for one in listed]
        shown = {told_apart(values): values for values in named or (one.group for one in found.values())}
        largest = self._largest(len(one.codes) for one in found.values())
        each = self._each(mechanism, largest)
        counter = self._counter(asked.k, each)
        items: list[Item] = []
        for one in (found[which] for which in shown if which in found):
            places = {code: place for place, code in enumerate(one.codes.tolist())}
            ranked = best(asked.k, one.codes, users[one.codes], each, draws)
            told = fresh_counts(counter, users[ranked].tolist(), draws, self.scale)
            items += [
                Item(one.items[places[code]], rank, *numbers, one.group)
                for rank, (code, numbers) in enumerate(zip(ranked.tolist(), told.of, strict=True), 1)
            ]
        groups = tuple(
            self._group(values, len(found[which].codes) if which in found else 0) for which, values in shown.items()
        )
        return Release(
            items=tuple(items),
            ended=Ended.FULL if groups and all(group.complete for group in groups) else Ended.DISCOVERED,
            counted=asked.counted,
            privacy=self.stated_of(mechanism, len(codes), largest, each),
            secure=draws.secure,
            accuracy=self._good(mechanism, largest, each) + near_counts(counter if items else None, self.scale),
            groups=Groups(self.asked.by, groups),
        )

    def like(self, release: Release, candidates: int) -> Release:  # noqa: ARG002 - they are discovered
        """An answer with what this plan says of it; the bound, and how many were found, are parts of the answer."""
        k, used, mechanism = self.selector.k, release.privacy.parameters, self._mechanism_of(release)
        shown, stated = self._largest(release.found), used.get("discovered_by_group")
        told = (*(stated if isinstance(stated, tuple) else ()), *shown)
        largest = [_found(size, more, k) for size, more in zip(shown, told, strict=False)]
        full = max(release.found, default=0) >= k
        found = _found(len(release), used.get("discovered"), 0) if full else len(release)
        each = self._each(mechanism, largest)
        counter = self._counter(k, each) if len(release) else None
        said = self.stated_of(mechanism, found, largest, each)
        return self._like(release, said, self._good(mechanism, largest, each), counter)

    @property
    def _among(self) -> str:
        """A user of one group."""
        return IN_ONE

    def _by_group(self, codes: Int64, labels: Sequence[object]) -> Mapping[object, Found]:
        """The pairs found, group by group; codes are in the order of pairs, so groups are in theirs."""
        width = len(self.asked.by)
        members: dict[object, tuple[Values, list[tuple[int, object]]]] = {}
        for code, label in sorted(zip(codes.tolist(), labels, strict=True), key=lambda pair: pair[0]):
            values = label if isinstance(label, tuple) else (label,)
            item = values[width] if len(values) == width + 1 else values[width:]
            group = values[:width]
            members.setdefault(told_apart(group), (group, []))[1].append((code, item))
        return {
            which: Found(group, np.array([code for code, _ in pairs], dtype=np.int64), tuple(item for _, item in pairs))
            for which, (group, pairs) in members.items()
        }

    def _largest(self, found: Iterable[int]) -> list[int]:
        """The numbers of items of the groups with most, as many as a user may count in."""
        return sorted(found, reverse=True)[: self.groups]

    def _each(self, mechanism: DiscoverThenPeel, largest: Sequence[int]) -> Fraction:
        """The epsilon of a pick: the groups with most found items, as many as a user may count in, share what is left.

        How many were found is part of the answer of the union, so the share may rest on it.
        """
        k = self.selector.k
        counted = sum(min(k, items) for items in largest) if self.selector.counted else 0
        return mechanism.epsilon_per_pick(sum(made(k, items) for items in largest), counted)

    def _group(self, values: Values, found: int) -> Group:
        return Group(values, Ended.FULL if found >= self.selector.k else Ended.DISCOVERED)

    def _good(self, mechanism: DiscoverThenPeel, largest: Sequence[int], each: Fraction) -> Accuracy:
        """From how many users on a pair is found, and how good the ranking of a group is."""
        good, most = found_by(mechanism.union, mechanism.max_items_per_user, among=self._among), max(largest, default=0)
        if most > 1:
            gap = gaps.exponential(each, gaps.others(most), gaps.each(BETA, made(self.selector.k, most)))
            ranked = accuracy.ranking(whole(gap), what=accuracy.DISCOVERED, scale=self.scale)
            good += replace(ranked, sentences=tuple(f"In a group: {said}" for said in ranked.sentences))
        return good

    def _ranked(self, found: int) -> str:  # noqa: ARG002 - it is so for any number
        """Which of the pairs that were found are ranked."""
        return f"of each group the best {self.selector.k} are"

    def stated_of(self, mechanism: DiscoverThenPeel, found: int, largest: Sequence[int], each: Fraction) -> Statement:
        """What is promised, in numbers and in sentences."""
        said = self.statement(mechanism, found, each)
        used = {**said.parameters, "max_groups_per_user": self.groups, "discovered_by_group": tuple(largest)}
        return replace(said, parameters=used)


def _found(shown: int, stated: object, full: int) -> int:
    """How many were found where so many are shown: more, as it is stated, where those are as many as may be shown."""
    return max(shown, stated) if shown >= full and isinstance(stated, int) else shown


def plan_found_by_group(
    asked: AskedGroups,
    k: int,
    *,
    counts: bool,
    epsilon: Fraction,
    delta: Fraction,
    max_items_per_user: int | None,
    why: str = "",
) -> FoundTopByGroup:
    """Check every parameter."""
    if asked.sizes:
        must = "be left out for discover: it counts users of items only"
        raise ParameterError("users", must, True, "limited-domain counts those of groups too")
    groups = parameters.whole("max_groups_per_user", asked.each, least=1, most=MOST_GROUPS)
    plan = plan_discovery(
        k,
        epsilon=epsilon,
        delta=delta,
        counts=counts,
        max_items_per_user=max_items_per_user,
        why=why,
    )
    return FoundTopByGroup(
        method=plan.method,
        selector=plan.selector,
        ready=plan.ready,
        privacy=plan.privacy,
        reason=(UNLISTED if asked.listed is None else LISTED) + REASON + why,
        asked=asked,
        groups=groups,
        scale=USERS.kept(groups=cut_by(groups, asked.listed)),
    )
