"""Forecast of a top k: the real mechanisms, planned and priced as for real data, on imagined counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from dpselect._ground import methods
from dpselect._ground.dataclass import dataclass
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
from dpselect.questions.parts import Method, Payment
from dpselect.questions.questions import TopK

RANKINGS_DRAWN = 20


@dataclass(frozen=True, kw_only=True)
class TopKForecast:
    """The parameters of a forecast of a top k."""

    k: int
    delta: Fraction
    known: bool
    max_items_per_user: int | None
    k_bar: int | None
    counts: bool
    within: int | None = None

    def plan(self, method: str, epsilon: Fraction | None, items: int) -> TopKPlan:
        """Return the plan that a Dataset would make, at an epsilon or at the one that follows from `within`."""
        named, domain = Method(method, k_bar=self.k_bar), Size(items) if self.known else None
        return TopKPlan(
            question=TopK(self.k, domain=domain, counts=self.counts, method=named),
            payment=Payment(epsilon=epsilon, delta=self.delta, within=self.within),
            facts=Facts(max_items_per_user=self.max_items_per_user),
        )


def applicable_methods(*, has_domain: bool) -> list[str]:
    """Return the methods that apply."""
    return [name for name in methods.names("top_k", domain=has_domain) if name != DISCOVER]


def top_k_rows(
    terms: TopKForecast,
    crowd: Crowd,
    method_names: Sequence[str],
    epsilons: Sequence[Fraction | None],
    draws: Draws,
    report_progress: Callable[[float], None],
    sentences: list[str],
) -> Iterator[ForecastRow]:
    """Yield a row for each method and epsilon; an epsilon of None follows from `within`.

    Sentences about the price of `within`, and about methods without one, are appended to `sentences`.
    """
    counts = np.rint(expected_counts(crowd, None)).astype(np.int64)  # a ranking uses all items of a user
    counts = -np.sort(-counts)
    if not terms.known and not counts.any():
        raise ParameterError("users", "be enough for some item to have one", "too few", "raise users or items_per_user")
    histogram = _group_counts(counts)
    total = len(method_names) * len(epsilons)
    for method_index, method in enumerate(method_names):
        for epsilon_index, epsilon in enumerate(epsilons):
            report_progress((method_index * len(epsilons) + epsilon_index) / total)
            try:
                plan = terms.plan(method, epsilon, crowd.items)
            except ParameterError as error:
                if error.parameter != "within" or len(method_names) == 1:
                    raise
                sentences.append(f"{method} is left out: within must {error.must}.")
                continue
            sentences += (
                [] if plan.target_accuracy is None else [f"By {method}: {plan.target_accuracy.price_sentence}."]
            )
            candidates = crowd.items if terms.known else None
            yield _run_method(method, plan.fixed_selection, counts, candidates, histogram, draws)


def _run_method(
    method: str, plan: Selection, counts: Int64, candidates: int | None, histogram: CountGroups, draws: Draws
) -> ForecastRow:
    """Return the mean and the spread of some answers of one method."""
    best_total = int(counts[: plan.selector.k].sum())
    numbers_of_items: list[int] = []
    lost_shares: list[float] = []
    release_frequencies = np.zeros(len(counts))
    for _ in range(RANKINGS_DRAWN):
        ranks = np.array(plan.select(histogram, draws).labels, dtype=np.int64)
        release_frequencies[ranks] += 1 / RANKINGS_DRAWN
        numbers_of_items.append(len(ranks))
        lost_shares.append(1 - int(counts[ranks].sum()) / best_total if best_total else 0.0)
    return ForecastRow(
        method=method,
        epsilon=plan.privacy.epsilon,
        items=float(np.mean(numbers_of_items)),
        items_spread=float(np.std(numbers_of_items, ddof=1)),
        smallest_count=smallest_likely(counts, release_frequencies),
        error=float(np.mean(lost_shares)),
        error_spread=float(np.std(lost_shares, ddof=1)),
        threshold=_find_threshold(plan, counts),
        within=plan.shortfall(candidates),
    )


def _find_threshold(plan: Selection, counts: Int64) -> float | None:
    """Return the height of bottom, or None if the mechanism has none."""
    selector = plan.selector
    if isinstance(selector, LimitedDomain):
        return _count_at_rank(counts, selector.terms.k_bar) + selector.height
    if isinstance(selector, LimitedDomainSparse):
        return float(_count_at_rank(counts, selector.terms.k_bar) + selector.terms.height)
    return None


def _count_at_rank(counts: Int64, k_bar: int) -> int:
    """Return the count at rank k_bar + 1, or 0 if there is none."""
    return int(counts[k_bar]) if len(counts) > k_bar else 0


def _group_counts(counts: Int64) -> CountGroups:
    """Group equal counts; an item's label is its rank."""
    values, sizes = np.unique(-counts, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return CountGroups(
        counts=-values, sizes=tuple(sizes.tolist()), label=lambda group, member: int(starts[group]) + member
    )
