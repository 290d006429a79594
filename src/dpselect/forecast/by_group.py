"""Forecast of a top k in every group: the real mechanism on imagined groups, for several numbers of groups per user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpselect.aggregates.groups import GroupedCounts, Int64
from dpselect.draws import Draws
from dpselect.forecast.crowds import Floats, Zipf, expected_counts
from dpselect.forecast.forecast import ForecastRow
from dpselect.queries.facts import Facts
from dpselect.queries.top.groups import METHOD, TopByGroup
from dpselect.queries.top.method import DISCOVER
from dpselect.queries.top.plan import TopKPlan
from dpselect.questions.parts import By, Method
from dpselect.questions.payment import Payment
from dpselect.questions.questions import TopK
from dpselect.release.accuracy import BETA

RUNS = 5  # each is an answer of many groups
COMPARED_BOUNDS = (1, 2, 5)
GROUP_COLUMNS = ("country",)  # what groups are called in the question: any name will do
HOW_TO_READ = (
    f"The mechanism was run {RUNS} times, planned and priced as for real data; ± is the standard deviation from one "
    "answer to the next.",
    "Users in more than max groups per user count in only that many of them, so each has fewer users. Items: those "
    "of all groups. Groups: those with an item. Lost: by how much the users of the items, including users who do not "
    "count, fall short of those of the best items of every group.",
    "Threshold: how many counted users bottom is above the item at rank k_bar + 1 of a group.",
)
WIDTH_SENTENCE = "Width: with 95 % confidence a noisy count is within this of the true number of users who count."


@dataclass(frozen=True, kw_only=True)
class ByGroupForecast:
    """What a caller wants to know: users of each group, in how many groups a user is, and in how many they count."""

    k: int
    delta: Fraction
    max_items_per_user: int | None
    k_bar: int | None
    counts: bool
    groups: tuple[int, ...]
    groups_per_user: Fraction
    max_groups_per_user: tuple[int, ...]

    def plan(self, groups: int, epsilon: Fraction, method: str) -> TopKPlan:
        """As a Dataset would ask it."""
        by, how = By(GROUP_COLUMNS, max_groups_per_user=groups), Method(method, k_bar=self.k_bar)
        return TopKPlan(
            question=TopK(self.k, counts=self.counts, by=by, method=how),
            payment=Payment(epsilon=epsilon, delta=self.delta),
            facts=Facts(max_items_per_user=self.max_items_per_user),
        )

    def kept(self, groups: int) -> float:
        """The part of the users of a group who count in it, if all are in equally many groups."""
        return min(1.0, groups / float(self.groups_per_user))

    def sentences(self, crowd: Zipf) -> list[str]:
        """What was imagined."""
        some = f"{len(self.groups):,} groups of {min(self.groups):,} to {max(self.groups):,} users"
        return [
            f"The forecast assumes {some}. On average a user is in {float(self.groups_per_user):g} of them, with "
            f"{crowd.items_per_user:g} of {crowd.items:,} items in each; the popularity of the r-th item is "
            f"r^-{crowd.skew:g}."
        ]

    @property
    def assumed(self) -> dict[str, object]:
        """The same as numbers."""
        return {**vars(self), "groups": list(self.groups), "max_groups_per_user": list(self.max_groups_per_user)}


def by_group_rows(
    terms: ByGroupForecast,
    crowd: Zipf,
    epsilons: Sequence[Fraction],
    draws: Draws,
    tell: Callable[[float], None],
    said: list[str],
) -> Iterator[ForecastRow]:
    """A row for each number of groups and epsilon; where "auto" would discover instead is `said`."""
    shares = np.sort(expected_counts(replace(crowd, users=1), None))[::-1]
    there = np.array(terms.groups, dtype=np.float64)
    total = len(terms.max_groups_per_user) * len(epsilons)
    for place, groups in enumerate(terms.max_groups_per_user):
        for step, epsilon in enumerate(epsilons):
            tell((place * len(epsilons) + step) / total)
            plan = terms.plan(groups, epsilon, METHOD).selection
            assert isinstance(plan, TopByGroup)
            if terms.plan(groups, epsilon, "auto").method == DISCOVER:
                what = f"epsilon {float(epsilon):g} and {groups} group{'s' * (groups > 1)} of a user"
                said.append(f'At {what} "auto" takes {DISCOVER}, which is better there; there is no forecast of it.')
            yield run_mechanism(plan, groups, shares, there, terms.kept(groups), draws)


def run_mechanism(
    plan: TopByGroup, groups: int, shares: Floats, there: Floats, kept: float, draws: Draws
) -> ForecastRow:
    """Mean and spread of some answers."""
    counts, true, sizes = imagine_groups(shares, there, kept, plan.k_bar + 1)
    found = GroupedCounts(sizes=sizes, counts=counts, groups=_place, items=_place, users=np.asarray)
    best = int(np.rint(there[:, None] * shares[None, : plan.selector.k]).sum())
    items: list[int] = []
    shown: list[int] = []
    lost: list[float] = []
    for _ in range(RUNS):
        picked = plan.selector.picks(found, draws)
        rows = np.concatenate([one.rows for one in picked]) if picked else np.zeros(0, dtype=np.int64)
        items.append(len(rows))
        shown.append(len(picked))
        lost.append(1 - int(true[rows].sum()) / best if best else 0.0)
    return ForecastRow(
        method=METHOD,
        epsilon=plan.privacy.epsilon,
        items=float(np.mean(items)),
        items_spread=float(np.std(items, ddof=1)),
        smallest_count=None,
        error=float(np.mean(lost)),
        error_spread=float(np.std(lost, ddof=1)),
        threshold=plan.height(),
        max_groups_per_user=groups,
        groups=float(np.mean(shown)),
        width=None if plan.counter is None else plan.counter.width(BETA),
    )


def imagine_groups(shares: Floats, there: Floats, kept: float, most: int) -> tuple[Int64, Int64, Int64]:
    """Of each group the users of its first `most` items who count, all that it has of these items, and how many.

    An item is had by the same part of the users of every group.
    """
    first = shares[:most]
    true = np.rint(there[:, None] * first[None, :]).astype(np.int64)
    counted = np.rint(kept * there[:, None] * first[None, :]).astype(np.int64)
    some = counted > 0
    return counted[some], true[some], some.sum(axis=1)


def _place(places: Int64) -> list[object]:
    """Groups and items are their places."""
    return list(places)
