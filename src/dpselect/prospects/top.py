"""Prospects of a top k: the real mechanisms, planned and priced as for real data, on imagined counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpselect.accuracy import BETA
from dpselect.discovery import TopFound
from dpselect.draws import Draws
from dpselect.engines.domain import Domain, Size
from dpselect.errors import ParameterError, came
from dpselect.histogram import Histogram
from dpselect.mechanisms.limited_domain import LimitedDomain
from dpselect.mechanisms.noisy_limited_domain import LimitedDomainGaussian, LimitedDomainLaplace, k_bar_of
from dpselect.planning import NOISED, ONE_SHOT, SETS, UNKNOWN, plan_top_k
from dpselect.plans import TopK, TopNoisy, TopSet
from dpselect.prospects.answers import Prospect
from dpselect.prospects.chances import smallest_likely
from dpselect.prospects.crowd import Crowd, expected_counts
from dpselect.user_sets import Int64

RUNS = 20
RUNS_OF_NOISE = 5  # each of them draws a noise for every one of k_bar + 1 counts
SEQUENCE = "joint-sequence"

Plan = TopK | TopSet | TopNoisy


@dataclass(frozen=True, kw_only=True)
class TopTerms:
    """What a caller wants to know about a top k."""

    k: int
    delta: Fraction
    known: bool
    max_items_per_user: int | None
    k_bar: int | None
    noisy_counts: bool

    def plan(self, method: str, epsilon: Fraction, items: int) -> Plan:
        """As a Dataset would plan it."""
        domain: Domain | None = Size(items) if self.known else None
        plan = plan_top_k(
            self.k,
            epsilon=epsilon,
            delta=self.delta,
            domain=domain,
            counts=self.noisy_counts,
            k_bar=self.k_bar,
            max_items_per_user=self.max_items_per_user,
            method=method,
            ranked=method not in SETS or method == SEQUENCE,
        )
        if isinstance(plan, TopFound):
            raise ParameterError("methods", "be ones that need no users' sets", came(method))
        return plan


def applying(*, known: bool, bounded: bool) -> list[str]:
    """The methods that apply: `bounded` says that users' items are."""
    if known:
        return ["peeling", *SETS, *ONE_SHOT]
    return [*UNKNOWN, *(NOISED if bounded else ())]


def top_prospects(
    terms: TopTerms,
    crowd: Crowd,
    methods: Sequence[str],
    epsilons: Sequence[Fraction],
    draws: Draws,
    tell: Callable[[float], None],
) -> Iterator[Prospect]:
    """A row for each method and epsilon."""
    counts = np.rint(expected_counts(crowd, terms.max_items_per_user)).astype(np.int64)
    counts = -np.sort(-counts)
    if not terms.known and not counts.any():
        raise ParameterError("users", "be enough for some item to have one", "too few", "raise users or items_per_user")
    histogram = grouped(counts)
    total = len(methods) * len(epsilons)
    for place, method in enumerate(methods):
        for step, epsilon in enumerate(epsilons):
            tell((place * len(epsilons) + step) / total)
            plan = terms.plan(method, epsilon, crowd.items)
            yield tried(method, epsilon, plan, counts, histogram, draws)


def tried(method: str, epsilon: Fraction, plan: Plan, counts: Int64, histogram: Histogram, draws: Draws) -> Prospect:
    """Mean and spread of some answers."""
    runs = RUNS_OF_NOISE if method in NOISED else RUNS
    best = int(counts[: plan.selector.k].sum())
    found: list[int] = []
    lost: list[float] = []
    seen = np.zeros(len(counts))
    for _ in range(runs):
        places = np.array(plan.select(histogram, draws).labels, dtype=np.int64)
        seen[places] += 1 / runs
        found.append(len(places))
        lost.append(1 - int(counts[places].sum()) / best if best else 0.0)
    threshold, within = promised(plan, counts)
    return Prospect(
        method=method,
        epsilon=epsilon,
        items=float(np.mean(found)),
        items_spread=float(np.std(found, ddof=1)),
        smallest_count=smallest_likely(counts, seen),
        error=float(np.mean(lost)),
        error_spread=float(np.std(lost, ddof=1)),
        threshold=threshold,
        within=within,
    )


def promised(plan: Plan, counts: Int64) -> tuple[float | None, float | None]:
    """Where bottom stands, and what is proved about an item's count."""
    s = plan.selector
    if isinstance(s, LimitedDomain):
        return after(counts, s.terms.k_bar) + s.height, float(s.terms.gap(BETA))
    if isinstance(s, LimitedDomainLaplace | LimitedDomainGaussian):
        return float(after(counts, k_bar_of(s)) + s.height), None
    return None, None


def after(counts: Int64, k_bar: int) -> int:
    """The count of rank k_bar + 1, 0 where there is none."""
    return int(counts[k_bar]) if len(counts) > k_bar else 0


def grouped(counts: Int64) -> Histogram:
    """Equal counts in one group; an item is known by its rank."""
    values, sizes = np.unique(-counts, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Histogram(
        counts=-values, sizes=tuple(sizes.tolist()), label=lambda group, member: int(starts[group]) + member
    )
