"""A top k by picks: peeling of a known domain, limited domain of an unknown one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dpselect._ground import methods
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import SpentSteps
from dpselect.accounting.calibration import COUNT_SHARE, largest_epsilon, plan_of, split_delta
from dpselect.accounting.composition import basic
from dpselect.accounting.prices import Price, ceiling
from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import parse_candidates
from dpselect.mechanisms.top_k.limited_domain import LimitedDomain
from dpselect.mechanisms.top_k.top_rows import top_rows
from dpselect.queries.top.selection import Selection, Terms, TopRequest
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, largest_whole_below
from dpselect.release.answers.outcome import DrawnItem, Outcome
from dpselect.release.answers.ranking_sentences import (
    KNOWN_DOMAIN,
    UNKNOWN_DOMAIN,
    UNKNOWN_SPARSE,
    describe_limited_domain,
    describe_sparse_limited_domain,
    describe_unknown_domain,
)
from dpselect.release.statement import Ended

if TYPE_CHECKING:
    from dpselect.mechanisms.top_k.peeling import Peeling
    from dpselect.mechanisms.top_k.sparse_limited_domain import LimitedDomainSparse
    from dpselect.release.release import Release

LIMITED, PEELING, SPARSE = "limited-domain", "peeling", "limited-domain-sparse"
Picked = tuple[Sequence[tuple[int, int]], Any, Callable[[Any], Any], int]
"""Picks, the counts of groups, what names the picks, and the number of candidates."""


@dataclass(frozen=True, kw_only=True)
class Picks(Selection):
    """A selection by picks, one for each item."""

    @abstractmethod
    def draw_picks(self, histogram: CountGroups, draws: Draws) -> Picked:
        """Draw the picks."""

    @abstractmethod
    def ranking_accuracy(self, candidates: int) -> Accuracy:
        """Return how good the picks are, and their counts."""

    def planned_accuracy(self, candidates: int | None) -> Accuracy:
        """Return how good the picks are, and their counts."""
        return self.ranking_accuracy(candidates or 1) + self.count_accuracy(self.selector.k)

    def draw(self, aggregate: CountGroups, draws: Draws, progress: Progress | None = None) -> Outcome:  # noqa: ARG002 - quick
        """Draw the picks, and noisy counts of them."""
        picks, counts, names, candidates = self.draw_picks(aggregate, draws)
        noisy = self.count([int(counts[group]) for group, _ in picks], draws)
        labels = names(picks) if picks else []
        return Outcome(
            items=tuple(map(DrawnItem, labels, noisy)),
            secure=draws.secure,
            ended=Ended.FULL if len(picks) == self.selector.k else Ended.BOTTOM,
            candidates=candidates,
        )

    def answer(self, outcome: Outcome) -> Release:
        """Write the release of picks."""
        good = self.ranking_accuracy(outcome.candidates or 1) + self.count_accuracy(len(outcome.items))
        return self.write(outcome, self.state(self.terms()), good)

    def steps(self, release: Release) -> tuple[SpentSteps, ...]:
        """Return the steps that an answer took, read from the answer alone. Bottom is a pick like any.

        Why the epsilon of picks that were not made may be kept, and delta may not: docs/composing.md.
        """
        picks, items = self.privacy.steps[0], sum(release.found)
        missing = max(0, self.selector.k - items - 1)
        steps = (replace(picks, times=picks.times - missing), *self.noise_steps(items))
        return tuple(step for step in steps if step.times)

    def terms(self) -> Terms:
        """Describe the selection."""
        return {"k": self.selector.k, "epsilon_per_pick": self.selector.epsilon_per_pick}, [self.reason]


@dataclass(frozen=True, kw_only=True)
class PeeledTop(Picks):
    """Exactly k items of a known domain."""

    selector: Peeling

    @classmethod
    def from_request(cls, request: TopRequest, epsilon: Fraction, delta: Fraction, reason: str) -> Self:
        """Return the selection at the largest epsilon of one pick that fits."""
        peeling = methods.method_row("top_k", PEELING)
        peeling_alone = peeling.make(k=request.k, epsilon=epsilon, delta=delta, sensitivity=request.sensitivity)
        if not request.noises_per_item:
            return cls(
                method=PEELING, selector=peeling_alone, privacy=peeling_alone.privacy, reason=KNOWN_DOMAIN + reason
            )
        plan = plan_of(peeling_alone.k, request.priced_noises)
        pick = largest_epsilon(plan, epsilon, delta)
        selector = peeling.make(k=request.k, epsilon_per_pick=pick, delta=delta, sensitivity=request.sensitivity)
        noise_plan = request.plan_noise(plan(pick)[0], pick * COUNT_SHARE, epsilon, delta)
        return cls(
            method=PEELING,
            selector=selector,
            counter=noise_plan.counter,
            measurer=noise_plan.measurer,
            privacy=noise_plan.priced(epsilon, delta, Fraction(0)),
            reason=KNOWN_DOMAIN + reason,
        )

    def shortfall(self, candidates: int | None) -> int | None:
        """Return by how much an item may be below the k-th best."""
        return None if candidates is None else largest_whole_below(self.selector.shortfall(BETA, candidates))

    def draw_picks(self, histogram: CountGroups, draws: Draws) -> Picked:
        """Draw the picks among all items of the domain."""
        scored = parse_candidates(histogram)
        return self.selector.picks(scored, draws), scored.scores, scored.names, scored.count

    def ranking_accuracy(self, candidates: int) -> Accuracy:
        """Return by how much an item is below another at most."""
        return accuracy.ranking(
            largest_whole_below(self.selector.gap(BETA, candidates)), noun=accuracy.OF_DOMAIN, scale=self.scale
        )


@dataclass(frozen=True, kw_only=True)
class UnknownTop(Picks):
    """A selection of at most k of the k_bar items with the most users; what ends the list is the selector's."""

    selector: LimitedDomain | LimitedDomainSparse

    @property
    def k_bar(self) -> int:
        """The number of items with the most users that are looked at."""
        return self.selector.terms.k_bar

    def shortfall(self, candidates: int | None) -> int:  # noqa: ARG002
        """Return by how much an item may be below the k-th best."""
        return largest_whole_below(self.selector.terms.shortfall(BETA))

    def reach(self) -> int:
        """Return how far above rank k_bar + 1 nothing is missing."""
        return largest_whole_below(self.selector.terms.reach(BETA))

    def draw_picks(self, histogram: CountGroups, draws: Draws) -> Picked:
        """Draw the picks among the first k_bar items."""
        rows = top_rows(histogram, self.k_bar + 1)
        return self.selector.picks(rows, draws), rows.counts, rows.names, self.k_bar

    def ranking_accuracy(self, candidates: int) -> Accuracy:  # noqa: ARG002 - k_bar of them are looked at
        """Return by how much an item is below another at most, and what is not missing."""
        gap = largest_whole_below(self.selector.terms.gap(BETA))
        return describe_unknown_domain(gap, self.reach(), self.k_bar, self.scale)


@dataclass(frozen=True, kw_only=True)
class LimitedTop(UnknownTop):
    """A selection of at most k of the k_bar items with the most users, until bottom is picked."""

    selector: LimitedDomain

    @classmethod
    def from_request(cls, request: TopRequest, epsilon: Fraction, delta: Fraction) -> Self:
        """Return the selection at the largest epsilon of a pick and the split of delta that puts bottom lowest."""

        def limited(**price: Any) -> LimitedDomain:
            return LimitedDomain(k=request.k, k_bar=request.k_bar, sensitivity=request.sensitivity, **price)

        picks_alone = limited(epsilon=epsilon, delta=delta)
        if not request.noises_per_item:
            return cls(method=LIMITED, selector=picks_alone, privacy=picks_alone.privacy, reason=UNKNOWN_DOMAIN)
        picks = sum(step.times for step in picks_alone.privacy.steps)
        plan = plan_of(picks, request.priced_noises)
        split = split_delta(plan, epsilon, delta, picks_alone.terms.swaps(picks_alone.terms.k_bar))
        pick, failure = split.epsilon_per_pick, split.threshold
        selector = limited(epsilon_per_pick=pick, delta=delta, delta_threshold=failure)
        noise_plan = request.plan_noise(plan(pick)[0], pick * COUNT_SHARE, epsilon, split.composition)
        return cls(
            method=LIMITED,
            selector=selector,
            counter=noise_plan.counter,
            measurer=noise_plan.measurer,
            privacy=noise_plan.priced(epsilon, split.composition, failure),
            reason=UNKNOWN_DOMAIN,
        )

    def terms(self) -> Terms:
        """Describe the selection."""
        parameters, sentences = super().terms()
        parameters |= {"k_bar": self.k_bar, "delta_threshold": self.selector.delta_threshold}
        return parameters, [*sentences, *describe_limited_domain(self.selector.height, self.k_bar, self.scale)]


@dataclass(frozen=True, kw_only=True)
class SparseTop(UnknownTop):
    """A selection of at most k of the k_bar items with most users, until one does not pass a noisy threshold."""

    selector: LimitedDomainSparse

    @classmethod
    def from_request(cls, request: TopRequest, epsilon: Fraction, delta: Fraction, reason: str) -> Self:
        """Return the selection: one noisy threshold, picks, and their noisy numbers, together within epsilon."""
        noisy_numbers = request.priced_noises
        options: dict[str, Any] = {
            "k": request.k,
            "k_bar": request.k_bar,
            "sensitivity": request.sensitivity,
            "counted": noisy_numbers,
        }
        selector = methods.method_row("top_k", SPARSE).make(epsilon=epsilon, delta=delta, **options)
        terms, (tests, picks, *_) = selector.terms, selector.privacy.steps
        noise_plan = request.plan_noise(picks, selector.epsilon_per_pick * COUNT_SHARE, terms.left, terms.composition)
        privacy = noise_plan.priced(terms.left, terms.composition, terms.delta_threshold)
        return cls(
            method=SPARSE,
            selector=selector,
            counter=noise_plan.counter,
            measurer=noise_plan.measurer,
            privacy=replace(privacy, epsilon=epsilon, steps=(tests, *privacy.steps)),
            reason=UNKNOWN_SPARSE + reason,
        )

    def steps(self, release: Release) -> tuple[SpentSteps, ...]:  # noqa: ARG002 - the picks that are hidden were made
        """Return all steps: the picks that an answer does not show took place."""
        return self.privacy.steps

    def price_at(self, order: int | None) -> Price:
        """Return what any answer costs at most an account of this Rényi order."""
        return self._price(self.selector.k, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """Return what an answer cost it: by adding up what it shows, by divergences all steps."""
        return self._price(sum(release.found), order)

    def _price(self, items: int, order: int | None) -> Price:
        """Return the price by adding up.

        The threshold and the picks shown are enough (docs/mechanisms/limited-domain-sparse.md).
        """
        added, whole_price = self._added(items), ceiling(self.privacy, order)
        renyi = added if order is None else whole_price.renyi
        return replace(whole_price, epsilon=min(self.privacy.epsilon, added), added=added, renyi=renyi)

    def _added(self, items: int) -> Fraction:
        """Return the ceiling by adding up: an answer of k - 1 items ends by a test, and may cost more than one of k."""
        terms = self.selector.terms
        picks = terms.added(items)
        picks = max(picks, terms.added(items - 1)) if items == self.selector.k else picks
        return picks + basic(self.noise_steps(items))

    def terms(self) -> Terms:
        """Describe the selection."""
        parameters, sentences = super().terms()
        terms = self.selector.terms
        for name in ("k_bar", "epsilon_of_threshold", "epsilon_of_test", "delta_threshold", "height"):
            parameters[name] = getattr(terms, name)
        return parameters, [*sentences, *describe_sparse_limited_domain(terms.height, terms.k_bar, self.scale)]
