"""k items of a known domain that together reach most users: by the items of every user, of which the engine sends few.

Items of the domain that nobody has stay candidates: they reach nobody, and may be picked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpselect._ground.domain import MOST_COUNTED, Domain, Known, Size, most_items, refuse_many
from dpselect._ground.parameters import Progress
from dpselect.accounting.hitting_set import hitting_divergence
from dpselect.accounting.two_prices import Price, ceiling
from dpselect.aggregates.user_sets import Int64, S, Sets, UserSets
from dpselect.draws import Draws
from dpselect.engines.port import Engine
from dpselect.errors import ParameterError
from dpselect.mechanisms.candidates import fixed
from dpselect.mechanisms.set_union.rounds import bounded
from dpselect.mechanisms.top_k.hitting_set import GreedyHittingSet
from dpselect.queries.likeness import likeness
from dpselect.queries.query import Ready, sampled
from dpselect.queries.top_k_plan import Plan
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, whole
from dpselect.release.release import Item, Release, Statement

METHOD = "hitting-set"
REASON = "The domain is given, and each pick reaches most of the users whom none before has reached."


@dataclass(frozen=True, kw_only=True)
class HittingTop(Plan):
    """Exactly k items of a known domain; `most` is max_items_per_user, None where users count for all they have."""

    selector: GreedyHittingSet
    domain: Known
    most: int | None

    def asked_of(self, engine: Engine) -> Ready:
        """By the items of every user, of this domain."""
        domain = self.domain
        engine.check(domain, k=self.selector.k, most=MOST_COUNTED)
        engine.check_sets()

        def answer(draws: Draws, progress: Progress | None) -> Release:
            sets = engine.contributions(domain, progress=progress)
            return self.select(among(sets, engine.item_names(domain)), draws, progress)

        return answer

    def select(self, aggregate: Sets, draws: Draws, progress: Progress | None = None) -> Release:  # noqa: ARG002 - quick
        """The answer for the items of every user, numbered as the domain is."""
        sets, chooser = bounded(aggregate, self.most, draws), self.selector
        labels = sets.labels(chooser(sets, draws=draws))
        return Release(
            items=tuple(Item(label, place + 1, None) for place, label in enumerate(labels)),
            privacy=self.statement(),
            secure=draws.secure,
            accuracy=self.near(sets.size),
        )

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        chooser = self.selector
        used: dict[str, object] = {"k": chooser.k, "epsilon_per_pick": chooser.epsilon_per_pick}
        return self.stated(used, [self.reason])

    def near(self, candidates: int) -> Accuracy:
        """How good the items are."""
        if candidates == 1:
            return accuracy.NOTHING
        gap = whole(self.selector.gap(BETA, candidates))
        return accuracy.reaching(gap, discovered=False, scale=self.scale)

    def like(self, release: Release, candidates: int) -> Release:
        """An answer with what this plan says of it."""
        return likeness(release, self.statement(), self.near(candidates))

    def price_at(self, order: int | None) -> Price:
        """What any answer costs an account of this Rényi order: of its steps' divergences and its own the smaller."""
        price, chooser = ceiling(self.privacy, order), self.selector
        if order is None:
            return price
        renyi = min(price.renyi, hitting_divergence(chooser.k, chooser.epsilon_per_pick, order))
        return Price(price.epsilon, renyi, price.failure, price.composition, price.added)

    def cost_at(self, release: Release, order: int | None) -> Price:  # noqa: ARG002 - every answer costs the same
        """What an answer cost it."""
        return self.price_at(order)


def among(sets: S, names: Sequence[object]) -> S:
    """The same users, their items numbered by their place in the domain."""
    place = {fixed(name): at for at, name in enumerate(names)}
    places = np.array([place.get(fixed(label), -1) for label in sets.labels(np.arange(sets.size))], dtype=np.int64)

    def moved(block: UserSets) -> UserSets:
        codes = places[block.codes]
        kept = np.append(0, np.cumsum(codes >= 0))[block.offsets]
        here = codes[codes >= 0]
        return UserSets(offsets=kept, codes=here, size=len(names), label=names.__getitem__, label_many=many)

    def many(codes: Int64) -> list[object]:
        return [names[code] for code in codes.tolist()]

    return sets.mapped(moved)


def plan_hitting(
    k: int, domain: Domain, *, epsilon: Fraction, delta: Fraction, most: int | None, noises: int
) -> HittingTop:
    """Check every parameter. What can be refused without data is refused here."""
    if noises:
        hint = "histogram counts the users of a known domain"
        raise ParameterError("counts", f"be left out for {METHOD}, which has no price for them", "True", hint)
    if isinstance(domain, Size):
        hint = "list the items, or give a range or a Column"
        raise ParameterError("domain", f"say for {METHOD} which items there are", "only how many", hint)
    refuse_many(most_items(domain) or 0, MOST_COUNTED)
    selector = GreedyHittingSet(k=k, epsilon=epsilon, delta=delta)
    reason = REASON + sampled(most)
    return HittingTop(
        method=METHOD, selector=selector, privacy=selector.privacy, reason=reason, domain=domain, most=most
    )
