"""Forecast of a top k in every group: the real mechanism on imagined groups, for several bounds on groups per user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.aggregates.groups import GroupedCounts, Int64
from dpselect.draws import Draws
from dpselect.forecast.crowds import Floats, Zipf, expected_counts
from dpselect.forecast.forecast import ForecastRow
from dpselect.queries.facts import Facts
from dpselect.queries.top.groups import LIMITED_BY_GROUP, TopByGroup
from dpselect.queries.top.method import DISCOVER
from dpselect.queries.top.plan import TopKPlan
from dpselect.questions.parts import By, Method, Payment
from dpselect.questions.questions import TopK
from dpselect.release.accuracy import BETA

GROUPED_RANKINGS_DRAWN = 5  # each is an answer of many groups
COMPARED_BOUNDS = (1, 2, 5)
_GROUP_COLUMNS = ("country",)  # a made-up column: no data are read
HOW_TO_READ = (
    f"The mechanism was run {GROUPED_RANKINGS_DRAWN} times, planned and priced as for real data; ± is the standard "
    "deviation from one answer to the next.",
    "Users in more than max groups per user count in only that many of them, so each has fewer users. Items: those "
    "of all groups. Groups: those with an item. Lost: by how much the users of the items, including users who do not "
    "count, fall short of those of the best items of every group.",
    "Threshold: how many counted users bottom is above the item at rank k_bar + 1 of a group.",
)
WIDTH_SENTENCE = "Width: with 95 % confidence a noisy count is within this of the true number of users who count."


@dataclass(frozen=True, kw_only=True)
class ByGroupForecast:
    """The parameters of a forecast by group: users of each group, groups per user, and bounds on them."""

    k: int
    delta: Fraction
    max_items_per_user: int | None
    k_bar: int | None
    counts: bool
    groups: tuple[int, ...]
    groups_per_user: Fraction
    max_groups_per_user: tuple[int, ...]

    def plan(self, groups: int, epsilon: Fraction, method: str) -> TopKPlan:
        """Return the plan that a Dataset would make."""
        by, requested_method = By(_GROUP_COLUMNS, max_groups_per_user=groups), Method(method, k_bar=self.k_bar)
        return TopKPlan(
            question=TopK(self.k, counts=self.counts, by=by, method=requested_method),
            payment=Payment(epsilon=epsilon, delta=self.delta),
            facts=Facts(max_items_per_user=self.max_items_per_user),
        )

    def counted_share(self, groups: int) -> float:
        """Return the share of a group's users who count in it, if all users are in equally many groups."""
        return min(1.0, groups / float(self.groups_per_user))

    def sentences(self, crowd: Zipf) -> list[str]:
        """Return the sentences about what was imagined."""
        sizes = f"{len(self.groups):,} groups of {min(self.groups):,} to {max(self.groups):,} users"
        return [
            f"The forecast assumes {sizes}. On average a user is in {float(self.groups_per_user):g} of them, with "
            f"{crowd.items_per_user:g} of {crowd.items:,} items in each; the popularity of the r-th item is "
            f"r^-{crowd.skew:g}."
        ]

    @property
    def assumed(self) -> dict[str, object]:
        """The parameters as a dict."""
        return {**vars(self), "groups": list(self.groups), "max_groups_per_user": list(self.max_groups_per_user)}


def by_group_rows(
    terms: ByGroupForecast,
    crowd: Zipf,
    epsilons: Sequence[Fraction],
    draws: Draws,
    report_progress: Callable[[float], None],
    sentences: list[str],
) -> Iterator[ForecastRow]:
    """Yield a row for each bound on groups and epsilon.

    Where method "auto" would discover groups instead, a sentence about it is appended to `sentences`.
    """
    shares = np.sort(expected_counts(replace(crowd, users=1), None))[::-1]
    group_sizes = np.array(terms.groups, dtype=np.float64)
    total = len(terms.max_groups_per_user) * len(epsilons)
    for bound_index, groups in enumerate(terms.max_groups_per_user):
        for epsilon_index, epsilon in enumerate(epsilons):
            report_progress((bound_index * len(epsilons) + epsilon_index) / total)
            plan = terms.plan(groups, epsilon, LIMITED_BY_GROUP).selection
            assert isinstance(plan, TopByGroup)
            if terms.plan(groups, epsilon, "auto").method == DISCOVER:
                case = f"epsilon {float(epsilon):g} and {groups} group{'s' * (groups > 1)} of a user"
                sentences.append(
                    f'At {case} "auto" takes {DISCOVER}, which is better there; there is no forecast of it.'
                )
            yield _run_mechanism(plan, groups, shares, group_sizes, terms.counted_share(groups), draws)


def _run_mechanism(
    plan: TopByGroup, groups: int, shares: Floats, group_sizes: Floats, counted_share: float, draws: Draws
) -> ForecastRow:
    """Return the mean and the spread of some answers."""
    counts, true_counts, items_per_group = imagine_groups(shares, group_sizes, counted_share, plan.k_bar + 1)
    grouped_counts = GroupedCounts(
        sizes=items_per_group, counts=counts, groups=_labels, items=_labels, users=np.asarray
    )
    best_total = int(np.rint(group_sizes[:, None] * shares[None, : plan.selector.k]).sum())
    numbers_of_items: list[int] = []
    numbers_of_groups: list[int] = []
    lost_shares: list[float] = []
    for _ in range(GROUPED_RANKINGS_DRAWN):
        picks = plan.selector.picks(grouped_counts, draws)
        rows = np.concatenate([pick.rows for pick in picks]) if picks else np.zeros(0, dtype=np.int64)
        numbers_of_items.append(len(rows))
        numbers_of_groups.append(len(picks))
        lost_shares.append(1 - int(true_counts[rows].sum()) / best_total if best_total else 0.0)
    return ForecastRow(
        method=LIMITED_BY_GROUP,
        epsilon=plan.privacy.epsilon,
        items=float(np.mean(numbers_of_items)),
        items_spread=float(np.std(numbers_of_items, ddof=1)),
        smallest_count=None,
        error=float(np.mean(lost_shares)),
        error_spread=float(np.std(lost_shares, ddof=1)),
        threshold=plan.height(),
        max_groups_per_user=groups,
        groups=float(np.mean(numbers_of_groups)),
        width=None if plan.counter is None else plan.counter.width(BETA),
    )


def imagine_groups(
    shares: Floats, group_sizes: Floats, counted_share: float, max_items: int
) -> tuple[Int64, Int64, Int64]:
    """Return the counts of the most popular items of each group: of users who count, of all its users, and how many.

    Items without a user who counts are left out. An item has the same share of the users of every group.
    """
    item_shares = shares[:max_items]
    true_counts = np.rint(group_sizes[:, None] * item_shares[None, :]).astype(np.int64)
    counted_users = np.rint(counted_share * group_sizes[:, None] * item_shares[None, :]).astype(np.int64)
    has_users = counted_users > 0
    return counted_users[has_users], true_counts[has_users], has_users.sum(axis=1)


def _labels(indices: Int64) -> list[object]:
    """Return the labels of groups or items: their indices."""
    return list(indices)
