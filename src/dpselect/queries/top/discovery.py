"""top_k by discovery: a set union finds items, and the best of them are ranked; what it costs, and how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import BoundedRange, Neighbors, Privacy, PureDP, Steps
from dpselect.accounting.calibration import COUNT_SHARE
from dpselect.accounting.prices import Price, ceiling, divergence, up
from dpselect.accounting.renyi import renyi_budget
from dpselect.aggregates.measures import Measure, noises
from dpselect.aggregates.user_sets import Int64, Sets
from dpselect.aggregates.weight_groups import PairsElsewhere
from dpselect.draws import Draws, fresh_key
from dpselect.mechanisms import gaps
from dpselect.mechanisms.set_union.by_weight import release_elsewhere
from dpselect.mechanisms.set_union.renyi_shaped import COMPOSED, RenyiShaped, has_curve
from dpselect.mechanisms.top_k.discover import DiscoverThenPeel, picks, rank_best, users_of
from dpselect.mechanisms.top_k.noisy_counts import CountNoise, NoisyCounts
from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures
from dpselect.mechanisms.top_k.sharp_counts import sharpest_of_rho
from dpselect.queries.top.selection import Selection, TopRequest, noisy_counts
from dpselect.queries.union.bound import BOUND_SHARE, BoundChoice, SharedBudget, bounds_with_curve, plan_shared_budget
from dpselect.queries.union.method import without_curve
from dpselect.release.accuracy import BETA, NO_ACCURACY, Accuracy, largest_whole_below
from dpselect.release.answers.outcome import DrawnItem, Outcome
from dpselect.release.answers.ranking_sentences import (
    DISCOVERED,
    describe_counts,
    describe_discovered_ranking,
    describe_discovery,
)
from dpselect.release.answers.union_sentences import add_in_engine
from dpselect.release.measures import describe_measures
from dpselect.release.release import Release
from dpselect.release.statement import Ended, Statement
from dpselect.utility.union_accuracy import found_accuracy

if TYPE_CHECKING:
    from dpselect._ground.domain import Domain
    from dpselect.engines import Engine
    from dpselect.queries.plan import BoundDraw

DISCOVER = "discover"


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """The terms of a discovery. `max_items_per_user` is None where it is to be chosen privately."""

    k: int
    epsilon: Fraction
    delta: Fraction
    max_items_per_user: int | None
    counted: bool
    in_engine: bool = False
    measures: tuple[Measure, ...] = ()

    @property
    def noises_per_item(self) -> int:
        """The number of noisy numbers that an item comes with."""
        return int(self.counted) + noises(self.measures)

    @property
    def epsilon_for_bound(self) -> Fraction:
        """The epsilon for choosing max_items_per_user."""
        return self.epsilon * BOUND_SHARE if self.max_items_per_user is None else Fraction(0)

    @property
    def bound_choice(self) -> BoundChoice:
        """The choice of max_items_per_user, among bounds that have a curve."""
        return BoundChoice(self.epsilon_for_bound, bounds_with_curve(self.epsilon - self.epsilon_for_bound, self.delta))

    @property
    def shared_budget(self) -> SharedBudget | None:
        """The budget that the choice of a bound, the union and the ranking share; None where the bound is given."""
        if self.max_items_per_user is not None:
            return None
        return plan_shared_budget(self.epsilon, self.delta, self.epsilon_for_bound, Fraction(0))

    @property
    def privacy(self) -> Privacy:
        """The price of all of it, whatever the bound."""
        return Privacy(
            epsilon=self.epsilon,
            delta=self.delta,
            neighbors=Neighbors.ADD_REMOVE,
            steps=(Steps(PureDP(self.epsilon), 1),),
            failure=self.delta,
            bound="basic" if self.max_items_per_user in (None, 1) else "Renyi",
        )

    def mechanism(self, max_items: int) -> DiscoverThenPeel:
        """Return the mechanism for users of at most `max_items` items.

        At the order of all bounds, where one was chosen.
        """
        shared = self.shared_budget
        if shared is None:
            return _mechanism(self.k, self.epsilon, self.delta, max_items)
        if max_items == 1:
            return _mechanism(self.k, self.epsilon - self.epsilon_for_bound, shared.delta_of_others, max_items)
        return _mechanism(self.k, self.epsilon, self.delta, max_items, shared.order, shared.spent)


@lru_cache(maxsize=4)
def _mechanism(
    k: int, epsilon: Fraction, delta: Fraction, max_items: int, order: int | None = None, spent: Fraction = Fraction(0)
) -> DiscoverThenPeel:
    """Return the mechanism, kept because some take long to make: a draw needs it, and so does writing its release."""
    return DiscoverThenPeel(
        k=k, epsilon=epsilon, delta=delta, max_items_per_user=max_items, at_order=order, spent=spent
    )


@dataclass(frozen=True, kw_only=True)
class FoundTop(Selection):
    """The best k of the items that a set union finds: the whole price at any answer.

    `known_mechanism` is the mechanism where its bound is known beforehand.
    """

    selector: Discovery
    known_mechanism: DiscoverThenPeel | None

    @classmethod
    def from_request(cls, request: TopRequest, epsilon: Fraction, delta: Fraction, reason: str) -> FoundTop:
        """Return the selection; what can be refused without data is refused here."""
        discovery = Discovery(
            k=parameters.listed_size("k", request.k),
            epsilon=epsilon,
            delta=parameters.probability("delta", delta),
            max_items_per_user=request.max_items_per_user,
            counted=request.counts,
            in_engine=request.in_engine,
            measures=request.measures,
        )
        remaining = discovery.epsilon - discovery.epsilon_for_bound
        if not fits(remaining, discovery.delta, discovery.max_items_per_user):
            hint = "lower max_items_per_user, or take limited-domain"
            raise without_curve(epsilon, remaining, discovery.delta, discovery.max_items_per_user, DISCOVER, hint)
        mechanism = None if discovery.max_items_per_user is None else discovery.mechanism(discovery.max_items_per_user)
        return FoundTop(
            method=DISCOVER,
            selector=discovery,
            known_mechanism=mechanism,
            privacy=discovery.privacy,
            reason=DISCOVERED + reason,
        )

    def price_at(self, order: int | None) -> Price:
        """Return what any answer costs at most an account of this Rényi order.

        That of any bound, where it is chosen.
        """
        return self._price(self.known_mechanism, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """Return what an answer cost it: the bound is a part of the answer."""
        max_items = release.privacy.parameters.get("max_items_per_user")
        return self._price(
            self.known_mechanism or (self.selector.mechanism(max_items) if isinstance(max_items, int) else None), order
        )

    def _price(self, mechanism: DiscoverThenPeel | None, order: int | None) -> Price:
        """Return the price of the choice of the bound, the union and the ranking: docs/composing.md, "A union"."""
        if order is None:
            return ceiling(self.privacy, None)
        discovery = self.selector
        return Price(discovery.epsilon, self._divergence(mechanism, order), discovery.delta, added=discovery.epsilon)

    def _divergence(self, mechanism: DiscoverThenPeel | None, order: int) -> Fraction:
        discovery, shared = self.selector, self.selector.shared_budget
        of_one_step = divergence(PureDP(discovery.epsilon), order)
        known_divergence = None if mechanism is None else mechanism.divergence(order)
        if shared is None:
            return of_one_step if known_divergence is None else min(of_one_step, up(known_divergence))
        if order > shared.order:  # of all bounds or of none
            return of_one_step
        choice = divergence(BoundedRange(discovery.epsilon_for_bound), order)
        of_one = divergence(PureDP(discovery.epsilon - discovery.epsilon_for_bound), order)
        # Spent at the budget's own order, so not more at this one.
        budget = renyi_budget(shared.order, discovery.epsilon, discovery.delta * COMPOSED) - shared.spent
        if mechanism is None:
            return choice + max(budget, of_one)
        remaining = of_one if mechanism.max_items_per_user == 1 else budget
        return choice + (remaining if known_divergence is None else min(remaining, up(known_divergence)))

    @property
    def needs_user_sets(self) -> bool:
        """True: counts alone do not tell who shares which items."""
        return True

    def draw(self, aggregate: Sets, draws: Draws, progress: Progress | None = None) -> Outcome:
        """Draw from the items of every user: a bound if none is known, the union, the ranking, and counts."""
        discovery, sets = self.selector, aggregate
        mechanism = self.known_mechanism or discovery.mechanism(discovery.bound_choice.of_sets(sets, draws))
        discovered = mechanism.union(sets, draws=draws, progress=progress)
        codes = rank_best(
            discovery.k, discovered, users_of(sets, discovered), self._price_of_pick(mechanism, len(discovered)), draws
        )
        return self._ranked(mechanism, len(discovered), sets.labels(codes), users_of(sets, codes), draws)

    def planned_accuracy(self, candidates: int | None) -> Accuracy:  # noqa: ARG002 - they are discovered
        """Return from how many users on an item is found, where the bound is known.

        How many are found is in the answer.
        """
        if self.known_mechanism is None:
            return NO_ACCURACY
        return found_accuracy(
            self.known_mechanism.union,
            self.known_mechanism.max_items_per_user,
            users_condition=self._users_condition,
            scale=self.scale,
        )

    @property
    def _users_condition(self) -> str:
        """The condition on users who find an item, if not all do."""
        if not self.scale.gains:
            return ""
        return " in the periods before" if self.scale.lost else " in the periods that are asked about"

    def nearest_possible(self, outcome: Outcome) -> Outcome:
        """Return an outcome with a bound that can be chosen, and no fewer discovered items than are shown."""
        size, k = len(outcome.items), self.selector.k
        return replace(
            outcome,
            max_items_per_user=self._possible_bound(outcome),
            discovered=discovered_at_least(size, outcome.discovered, k),
        )

    def _possible_bound(self, outcome: Outcome) -> int:
        if self.known_mechanism is not None:
            return self.known_mechanism.max_items_per_user
        return self.selector.bound_choice.bound_of_answer(outcome.max_items_per_user)

    def answer(self, outcome: Outcome) -> Release:
        """Write the release; the bound, and how many items were discovered, are parts of the outcome."""
        mechanism, discovered = self._mechanism_of(outcome), outcome.discovered or 0
        epsilon_per_pick = self._price_of_pick(mechanism, discovered)
        statement, good = (
            self.statement(mechanism, discovered, epsilon_per_pick),
            self._accuracy_for(mechanism, discovered, epsilon_per_pick),
        )
        return self._write(outcome, statement, good, self._counter(mechanism, len(outcome.items), epsilon_per_pick))

    def _write(self, outcome: Outcome, statement: Statement, good: Accuracy, counter: CountNoise | None) -> Release:
        """Write the release, with counts by this counter."""
        width = None if counter is None else counter.width(BETA)
        good += describe_counts(counter, self.scale, outcome.largest_group_size, by_group=bool(self._columns))
        return self.write(outcome, statement, good, counted=self.selector.counted, width=width, columns=self._columns)

    @property
    def _columns(self) -> tuple[str, ...]:
        """The columns of groups."""
        return ()

    def _mechanism_of(self, outcome: Outcome) -> DiscoverThenPeel:
        """Return what drew the outcome: where the bound was chosen, that of its bound."""
        return self.known_mechanism or self.selector.mechanism(self._possible_bound(outcome))

    def measurer_of(self, outcome: Outcome) -> NoisyMeasures:
        """Return what tells measures, whose noise depends on how many items were discovered."""
        mechanism = self._mechanism_of(outcome)
        epsilon_per_pick = self._price_of_pick(mechanism, outcome.discovered or 0)
        return self._measurer(mechanism, len(outcome.items), epsilon_per_pick)

    def bind_draw(self, engine: Engine, domain: Domain | None) -> BoundDraw:  # noqa: ARG002 - items are discovered
        """Bind to the items of every user, or to pairs where these stay in the engine.

        It adds up the weights of the union, then users of what was found.
        """
        if self.selector.in_engine or self.scale.gains:
            return lambda draws, progress: self.draw_pairs(engine.pairs(progress=progress), draws, progress)
        return lambda draws, progress: self.draw(engine.contributions(progress=progress), draws, progress)

    def draw_pairs(self, pairs: PairsElsewhere, draws: Draws, progress: Progress | None) -> Outcome:
        """Draw for pairs that are kept elsewhere: what was found comes here, with its numbers of users."""
        discovery, mechanism = self.selector, self.known_mechanism
        if mechanism is None:
            mechanism = discovery.mechanism(discovery.bound_choice.of_pairs(pairs, draws))
        release_elsewhere(mechanism.union, pairs, draws=draws, progress=progress)
        names = pairs.names()
        users = pairs.released_item_counts(max(1, len(names)), fresh_key()) if names else np.zeros(0, dtype=np.int64)
        discovered = np.arange(len(names), dtype=np.int64)
        ranked = rank_best(discovery.k, discovered, users, self._price_of_pick(mechanism, len(names)), draws)
        return self._ranked(mechanism, len(names), [names[rank] for rank in ranked], users[ranked], draws)

    def _price_of_pick(self, mechanism: DiscoverThenPeel, discovered: int) -> Fraction:
        """Return the epsilon of a pick, where so many items were found."""
        discovery = self.selector
        return mechanism.epsilon_per_pick(
            picks_needed(discovery.k, discovered), min(discovery.k, discovered) * discovery.noises_per_item
        )

    def _counter(self, mechanism: DiscoverThenPeel, size: int, epsilon_per_pick: Fraction) -> CountNoise | None:
        """Return the noise of the counts of so many items, where they were asked for."""
        if not self.selector.counted or not size:
            return None
        plain = NoisyCounts(k=size, epsilon_per_count=epsilon_per_pick * COUNT_SHARE)
        return sharpest_of_rho(plain) if isinstance(mechanism.union, RenyiShaped) else plain

    def _measurer(self, mechanism: DiscoverThenPeel, size: int, epsilon_per_pick: Fraction) -> NoisyMeasures:
        """Return the noise of the measures of so many items."""
        noise = epsilon_per_pick * COUNT_SHARE
        plain = NoisyMeasures(measures=self.selector.measures, k=size, epsilon_per_noise=noise)
        if not (plain.of_one_sign and isinstance(mechanism.union, RenyiShaped)):
            return plain
        return replace(plain, sums=sharpest_of_rho(NoisyCounts(k=size, epsilon_per_count=noise)))

    def _ranked(
        self, mechanism: DiscoverThenPeel, discovered: int, labels: Sequence[object], users: Int64, draws: Draws
    ) -> Outcome:
        """Return the outcome with these items of those that were discovered, and draw their noisy counts."""
        counter = self._counter(mechanism, len(labels), self._price_of_pick(mechanism, discovered))
        return Outcome(
            items=tuple(map(DrawnItem, labels, noisy_counts(counter, users.tolist(), draws))),
            secure=draws.secure,
            ended=Ended.FULL if len(labels) == self.selector.k else Ended.DISCOVERED,
            max_items_per_user=mechanism.max_items_per_user,
            discovered=discovered,
        )

    def _accuracy_for(self, mechanism: DiscoverThenPeel, discovered: int, epsilon_per_pick: Fraction) -> Accuracy:
        """Return from how many users on an item is found, and how good the ranking of so many is."""
        good = found_accuracy(
            mechanism.union, mechanism.max_items_per_user, users_condition=self._users_condition, scale=self.scale
        )
        gap = None
        if discovered > 1:
            tail = gaps.failure_per_step(BETA, picks_needed(self.selector.k, discovered))
            gap = largest_whole_below(gaps.exponential(epsilon_per_pick, gaps.log_others(discovered), tail))
        return good + describe_discovered_ranking(gap, self.scale, by_group=bool(self._columns))

    def statement(self, mechanism: DiscoverThenPeel, discovered: int, epsilon_per_pick: Fraction) -> Statement:
        """State the promise. How many items were discovered is part of the outcome."""
        discovery, bound = self.selector, mechanism.max_items_per_user
        size = max(1, min(discovery.k, discovered))
        parameters: dict[str, object] = {
            "k": discovery.k,
            "discovered": discovered,
            "max_items_per_user": bound,
            "union_share": mechanism.union_share,
            **({"order": mechanism.union.order} if isinstance(mechanism.union, RenyiShaped) else {}),
            "epsilon_per_pick": epsilon_per_pick,
        }
        if discovery.shared_budget is not None:
            parameters["epsilon_of_bound"] = discovery.epsilon_for_bound
            parameters |= (
                {"order_of_other_bounds": discovery.shared_budget.order} if bound == 1 else {"bound_in_budget": True}
            )
        share, by_group = BOUND_SHARE if discovery.max_items_per_user is None else None, bool(self._columns)
        sentences = [self.reason]
        sentences += describe_discovery(
            discovery.k,
            discovered,
            bound,
            share_of_bound=share,
            shared=discovery.shared_budget is not None and bound > 1,
            by_group=by_group,
            scale=self.scale,
        )
        if discovery.counted:
            counter = self._counter(mechanism, size, epsilon_per_pick)
            assert counter is not None
            parameters |= counter.parameters
            sentences.append(self._noise_of(counter))
        if discovery.measures:
            measure_parameters, measure_sentences = describe_measures(self._measurer(mechanism, size, epsilon_per_pick))
            parameters, sentences = parameters | measure_parameters, [*sentences, *measure_sentences]
        statement = self.state((parameters, sentences), type(mechanism).__name__)
        return add_in_engine(statement) if discovery.in_engine else statement


def discovered_at_least(shown_items: int, stated_number: int | None, most_shown: int) -> int:
    """Return how many items were discovered where so many are shown: more, if as many are as can be."""
    return shown_items if shown_items < most_shown or stated_number is None else max(shown_items, stated_number)


def picks_needed(k: int, items: int) -> int:
    """Return how many picks rank the best k of so many items."""
    return picks(k, np.arange(min(items, k + 1)))


def fits(epsilon: Fraction, delta: Fraction, max_items: int | None) -> bool:
    """Return whether there is a union for users of so many items, or bounds to choose from."""
    if max_items is None:
        return bool(bounds_with_curve(epsilon, delta))
    return max_items == 1 or has_curve(epsilon, delta, max_items)
