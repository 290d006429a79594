"""Forecast of a top k: the real mechanisms, planned and priced as for real data, on imagined counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpselect._ground import methods
from dpselect._ground.domain import Size
from dpselect.aggregates.count_groups import CountGroups
from dpselect.aggregates.user_sets import Int64
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.forecast.crowds import Crowd, expected_counts, smallest_likely
from dpselect.forecast.forecast import ForecastRow
from dpselect.mechanisms.top_k.limited_domain import LimitedDomain
from dpselect.mechanisms.top_k.sparse_limited_domain import LimitedDomainSparse
from dpselect.queries.facts import Facts
from dpselect.queries.top.method import DISCOVER
from dpselect.queries.top.plan import TopKPlan
from dpselect.queries.top.selection import Selection
from dpselect.questions.parts import Method
from dpselect.questions.payment import Payment
from dpselect.questions.questions import TopK

RUNS = 20


@dataclass(frozen=True, kw_only=True)
class TopKForecast:
    """What a caller wants to know about a top k."""

    k: int
    delta: Fraction
    known: bool
    max_items_per_user: int | None
    k_bar: int | None
    counts: bool
    within: int | None = None

    def plan(self, method: str, epsilon: Fraction | None, items: int) -> TopKPlan:
        """As a Dataset would ask it, at an epsilon or at what follows from `within`."""
        how = Method(method, k_bar=self.k_bar)
        return TopKPlan(
            question=TopK(self.k, domain=Size(items) if self.known else None, counts=self.counts, method=how),
            payment=Payment(epsilon=epsilon, delta=self.delta, within=self.within),
            facts=Facts(max_items_per_user=self.max_items_per_user),
        )


def applicable_methods(*, known: bool) -> list[str]:
    """The methods that apply."""
    return [name for name in methods.names("top_k", domain=known) if name != DISCOVER]


def top_k_rows(
    terms: TopKForecast,
    crowd: Crowd,
    chosen: Sequence[str],
    epsilons: Sequence[Fraction | None],
    draws: Draws,
    tell: Callable[[float], None],
    said: list[str],
) -> Iterator[ForecastRow]:
    """A row for each method and epsilon, None for what follows from `within`; what that costs is `said`."""
    counts = np.rint(expected_counts(crowd, None)).astype(np.int64)  # a ranking is of all items of a user
    counts = -np.sort(-counts)
    if not terms.known and not counts.any():
        raise ParameterError("users", "be enough for some item to have one", "too few", "raise users or items_per_user")
    histogram = group_counts(counts)
    total = len(chosen) * len(epsilons)
    for place, method in enumerate(chosen):
        for step, epsilon in enumerate(epsilons):
            tell((place * len(epsilons) + step) / total)
            try:
                plan = terms.plan(method, epsilon, crowd.items)
            except ParameterError as error:
                if error.parameter != "within" or len(chosen) == 1:
                    raise
                said.append(f"{method} is left out: within must {error.must}.")
                continue
            said += [] if plan.asked is None else [f"By {method}: {plan.asked.price_sentence}."]
            candidates = crowd.items if terms.known else None
            yield run_method(method, plan.selection, counts, candidates, histogram, draws)


def run_method(
    method: str, plan: Selection, counts: Int64, candidates: int | None, histogram: CountGroups, draws: Draws
) -> ForecastRow:
    """Mean and spread of some answers."""
    best = int(counts[: plan.selector.k].sum())
    found: list[int] = []
    lost: list[float] = []
    seen = np.zeros(len(counts))
    for _ in range(RUNS):
        places = np.array(plan.select(histogram, draws).labels, dtype=np.int64)
        seen[places] += 1 / RUNS
        found.append(len(places))
        lost.append(1 - int(counts[places].sum()) / best if best else 0.0)
    return ForecastRow(
        method=method,
        epsilon=plan.privacy.epsilon,
        items=float(np.mean(found)),
        items_spread=float(np.std(found, ddof=1)),
        smallest_count=smallest_likely(counts, seen),
        error=float(np.mean(lost)),
        error_spread=float(np.std(lost, ddof=1)),
        threshold=find_threshold(plan, counts),
        within=plan.shortfall(candidates),
    )


def find_threshold(plan: Selection, counts: Int64) -> float | None:
    """Where bottom stands, if there is one."""
    s = plan.selector
    if isinstance(s, LimitedDomain):
        return count_at_rank(counts, s.terms.k_bar) + s.height
    if isinstance(s, LimitedDomainSparse):
        return float(count_at_rank(counts, s.terms.k_bar) + s.terms.height)
    return None


def count_at_rank(counts: Int64, k_bar: int) -> int:
    """The count of rank k_bar + 1, 0 where there is none."""
    return int(counts[k_bar]) if len(counts) > k_bar else 0


def group_counts(counts: Int64) -> CountGroups:
    """Equal counts in one group; an item is known by its rank."""
    values, sizes = np.unique(-counts, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return CountGroups(
        counts=-values, sizes=tuple(sizes.tolist()), label=lambda group, member: int(starts[group]) + member
    )
