"""A top k by limited domain by sparse vector: what it says of itself, and what a short answer cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect._ground.privacy import Steps
from dpselect.accounting.two_prices import Price, ceiling
from dpselect.mechanisms.top_k.sparse_limited_domain import LimitedDomainSparse
from dpselect.queries.selection import UnknownTop
from dpselect.release.release import Release


@dataclass(frozen=True, kw_only=True)
class SparseTop(UnknownTop):
    """At most k of the k_bar items with most users, until one does not pass a noisy threshold."""

    selector: LimitedDomainSparse

    def steps(self, found: Sequence[int]) -> tuple[Steps, ...]:  # noqa: ARG002 - the picks that are hidden were made
        """All steps: the picks that an answer does not show took place."""
        return self.privacy.steps

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
        count = self.scale.score
        sentences += [
            "One user counts for any number of items.",
            f"Picks are shown in their order while their {count}s pass one noisy threshold, which stands "
            f"{self.scale.about(t.height)} above the {count} of rank k_bar + 1 = {t.k_bar + 1:,} at most; "
            "the first that does not ends the list.",
        ]
        return used, sentences
