"""A top k by limited domain by sparse vector: what it says of itself, and what a short answer cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect.accounting.two_prices import Price, ceiling
from dpselect.aggregates.histogram import Histogram
from dpselect.draws import Draws
from dpselect.mechanisms.top_k.sparse_limited_domain import LimitedDomainSparse
from dpselect.mechanisms.top_k.top_rows import top_rows
from dpselect.privacy import ApproxDP, Steps
from dpselect.queries.top_k_plan import Picked, Picks
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, whole
from dpselect.release.release import Release
from dpselect.release.scale import USERS


@dataclass(frozen=True, kw_only=True)
class SparseTop(Picks):
    """At most k of the k_bar items with most users, until one does not pass a noisy threshold."""

    selector: LimitedDomainSparse

    @property
    def k_bar(self) -> int:
        """How many items with most users are looked at."""
        return self.selector.terms.k_bar

    def shortfall(self, candidates: int | None) -> int:  # noqa: ARG002
        """By how much an item may be below the k-th best."""
        return whole(self.selector.terms.shortfall(BETA))

    def reach(self) -> int:
        """How far above rank k_bar + 1 nothing is missing."""
        return whole(self.selector.terms.reach(BETA))

    def picked(self, histogram: Histogram, draws: Draws) -> tuple[Picked, Accuracy]:
        """Among the first k_bar items."""
        rows = top_rows(histogram, self.k_bar + 1)
        good = accuracy.ranking(whole(self.selector.terms.gap(BETA)), scale=self.scale)
        good += accuracy.ends_early(self.reach(), self.k_bar + 1, self.scale)
        return (self.selector.picks(rows, draws), rows.counts, rows.names), good

    def steps(self, found: Sequence[int]) -> tuple[Steps, ...]:  # noqa: ARG002 - the picks that are hidden were made
        """All steps: the picks that an answer does not show took place."""
        return self.privacy.steps

    def spent(self, found: Sequence[int]) -> ApproxDP:
        """What an answer costs: never more than what it shows by adding up, and never less than the whole delta."""
        return ApproxDP(min(self.privacy.epsilon, self._added(sum(found))), self.privacy.delta)

    def price_at(self, order: int | None) -> Price:
        """What any answer costs at most an account of this Rényi order."""
        return self._price(self.selector.k, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """What an answer cost it: by adding up what it shows, by divergences all steps."""
        return self._price(sum(release.found), order)

    def _price(self, items: int, order: int | None) -> Price:
        """By adding up, the threshold and the picks shown are enough (docs/mechanisms/limited-domain-sparse.md)."""
        added, whole_price = self._added(items), ceiling(self.privacy, order)
        renyi = added if order is None else whole_price.renyi
        return replace(whole_price, epsilon=min(self.privacy.epsilon, added), added=added, renyi=renyi)

    def _added(self, items: int) -> Fraction:
        """An answer of k - 1 items ends by a test, and may so cost more than one of k: a ceiling is that of both."""
        terms = self.selector.terms
        of = terms.added(items, self.noises * items)
        return max(of, terms.added(items - 1, self.noises * items)) if items == self.selector.k else of

    def said(self) -> tuple[dict[str, object], list[str]]:
        """Parameters and sentences of the selection."""
        used, sentences = super().said()
        t = self.selector.terms
        used |= {
            "k_bar": t.k_bar,
            "epsilon_of_threshold": t.epsilon_of_threshold,
            "epsilon_of_test": t.epsilon_of_test,
            "delta_threshold": t.delta_threshold,
            "height": t.height,
        }
        count = "count" if self.scale == USERS else "sum"
        sentences += [
            "One user counts for any number of items.",
            f"Picks are shown in their order while their {count}s pass one noisy threshold, which stands "
            f"{self.scale.about(t.height)} above the {count} of rank k_bar + 1 = {t.k_bar + 1:,} at most; "
            "the first that does not ends the list.",
        ]
        return used, sentences
