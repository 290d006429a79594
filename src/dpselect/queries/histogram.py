"""A histogram: all counts of a known domain, every parameter checked, the noise and its price fixed by public facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, cast

from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import MAX_COUNTED_ITEMS, Column, NamedDomain, Size, max_domain_size, refuse_large_domain
from dpselect._ground.privacy import Privacy
from dpselect.accounting.prices import Price, ceiling, divergence
from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms.histogram import (
    HistogramGaussian,
    HistogramNoise,
    HistogramShared,
    HistogramSharedGaussian,
    nearest,
)
from dpselect.mechanisms.port import set_fields
from dpselect.queries.plan import BoundDraw, Plan
from dpselect.questions.questions import Histogram
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy
from dpselect.release.answers.count_sentences import (
    describe_gaussian,
    describe_histogram,
    describe_laplace,
    describe_shared,
)
from dpselect.release.answers.outcome import DrawnItem, Outcome, write_release
from dpselect.release.release import Release
from dpselect.release.scale import Scale
from dpselect.release.statement import Kind, Statement

if TYPE_CHECKING:
    from dpselect.engines import Engine


@dataclass(frozen=True, kw_only=True, repr=False)
class HistogramPlan(Plan):
    """Numbers of distinct users for each item of a known domain: all of them at once, in the domain's own order.

    A user counts for `max_items_per_user` items, or for all of them. Noise that needs a delta is taken only where it is
    nearer; else the answer costs no delta.
    """

    verb: ClassVar[str] = "histogram"

    used_facts: ClassVar[tuple[str, ...]] = ("max_items_per_user",)

    question: Histogram
    mechanism: HistogramNoise = field(init=False, repr=False, compare=False)

    def derive_fields(self) -> None:
        """Set the noise, by how many items there are and how many of them a user counts for."""
        domain = self.require_domain()
        if isinstance(domain, Size):
            hint = "list the items, or give a range or a Column: items that nobody has are counted too"
            raise ParameterError("domain", "say which items there are", "only how many", hint)
        sensitivity, items = self._moved(domain), self._items(domain)
        size = max_domain_size(domain)
        set_fields(
            self, mechanism=nearest(self.requested_epsilon, self.delta, sensitivity, items, BETA, domain_size=size)
        )

    def _moved(self, domain: NamedDomain) -> int:
        """Return the largest number of counts that one user changes."""
        items, bound = max_domain_size(domain), self.max_items_per_user
        if items is None and bound is None:
            from dpselect.engines.sources.files import refuse_absent

            refuse_absent(cast(Column, domain).source)
            requirement = "be given if only reading the domain tells how many items it has"
            hint = "Dataset(max_items_per_user=...), --max-items-per-user; or list the items"
            raise ParameterError("max_items_per_user", requirement, "nothing", hint)
        return min(limit for limit in (items, bound) if limit is not None)

    def _items(self, domain: NamedDomain) -> int:
        """Return how many items the noise is chosen for: all, or where only reading tells, as many as one user has."""
        items = max_domain_size(domain)
        if items is None:
            return self._moved(domain)
        refuse_large_domain(items, MAX_COUNTED_ITEMS)
        return items

    @property
    def named_domain(self) -> NamedDomain:
        """The domain, whose items have names."""
        return cast(NamedDomain, self.domain)

    @property
    def method(self) -> str:
        """The name of the mechanism that answers."""
        return type(self.mechanism).__name__

    @property
    def price(self) -> Privacy:
        """The price that any answer promises, and costs."""
        return self.mechanism.privacy

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy for any data; nothing where only reading tells how many items there are."""
        items = max_domain_size(self.named_domain)
        return accuracy.NO_ACCURACY if items is None else self._accuracy_for(items)

    @property
    def key(self) -> Mapping[str, object]:
        """The key of the question in a ledger."""
        return {
            "epsilon": self.requested_epsilon,
            "delta": self.delta,
            "domain": self.domain,
            "max_items_per_user": self.max_items_per_user,
            "noise": self.method,
        }

    def price_at(self, order: int | None) -> Price:
        """Return the cost for an account of this Rényi order: of Gaussian noise its zCDP, where that is less."""
        price = ceiling(self.price, order)
        if order is None or not isinstance(self.mechanism, HistogramGaussian | HistogramSharedGaussian):
            return price
        renyi = min(price.renyi, divergence(self.mechanism.rho, order))
        return Price(price.epsilon, renyi, price.failure, added=price.added)

    def cost_at(self, release: Release, order: int | None) -> Price:  # noqa: ARG002 - every answer costs the same
        """Return what an answer cost it."""
        return self.price_at(order)

    def bind_draw(self, engine: Engine) -> BoundDraw:
        """Bind to the users of each item of the domain, which the column of items must be able to hold."""
        domain = self.named_domain
        engine.check(domain, max_items=MAX_COUNTED_ITEMS)
        return lambda draws, progress: self.draw(engine.counts_of(domain, progress=progress), draws)

    def draw(self, counts: CountGroups, draws: Draws) -> Outcome:
        """Draw the noisy counts of all items, each a group of its own."""
        noisy = self.mechanism(counts.counts, draws=draws)
        items = tuple(DrawnItem(counts.label(index, 0), count) for index, count in enumerate(noisy))
        return Outcome(items=items, secure=draws.secure)

    def answer(self, outcome: Outcome) -> Release:
        """Write the release; its items are all those of the domain."""
        items = max(1, len(outcome.items))
        width = self.mechanism.width(BETA, items)
        return write_release(
            outcome, self._statement(items), self._accuracy_for(items), kind=Kind.SET, counted=True, width=width
        )

    def _accuracy_for(self, items: int) -> Accuracy:
        """Return how near the counts of so many items are."""
        good = accuracy.counts_of_all(self.mechanism.width(BETA, items), self.mechanism.width(BETA), self.scale)
        return good + accuracy.leads(self.mechanism.lead(BETA, items), self.scale) if items > 1 else good

    @property
    def scale(self) -> Scale:
        """The users who count."""
        bound, size = self.max_items_per_user, max_domain_size(self.named_domain)
        is_tighter = bound is not None and (size is None or bound < size)
        return Scale(items=bound if is_tighter else None, period=self.period, rows=self.row_bound)

    def _statement(self, items: int) -> Statement:
        """State the promise for so many items."""
        mechanism = self.mechanism
        parameters: dict[str, object] = {"items": items, "max_items_per_user": mechanism.max_items_per_user}
        if isinstance(mechanism, HistogramShared):
            parameters |= mechanism.noise.parameters
            is_gaussian = isinstance(mechanism, HistogramSharedGaussian)
            noise = describe_shared(mechanism.noise.variance, gaussian=is_gaussian)
        elif isinstance(mechanism, HistogramGaussian):
            parameters["variance"] = mechanism.variance
            noise = describe_gaussian(mechanism.variance)
        else:
            rate = Fraction(mechanism.epsilon) / mechanism.max_items_per_user
            parameters["epsilon_per_count"] = rate
            noise = describe_laplace(rate)
        sentences = (*describe_histogram(noise, self.max_items_per_user), *self.scale.sentences)
        return Statement.from_privacy(self.price, self.method, parameters | self.scale.parameters, sentences)
