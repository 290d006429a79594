"""top_k by discovery: what is planned before data is touched, and what is said of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpselect import methods, parameters
from dpselect.accounting.calibration import COUNT_SHARE
from dpselect.accounting.renyi_prices import divergence, up
from dpselect.accounting.two_prices import Price, ceiling
from dpselect.aggregates.measures import Measure, noises
from dpselect.aggregates.user_sets import Int64, Sets
from dpselect.aggregates.weight_groups import PairsElsewhere
from dpselect.draws import Draws, fresh_key
from dpselect.errors import ParameterError
from dpselect.mechanisms import gaps
from dpselect.mechanisms.set_union.by_weight import release_elsewhere
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped, has_curve
from dpselect.mechanisms.top_k.discover import DiscoverThenPeel, best, picks, users_of
from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
from dpselect.parameters import Number, Progress
from dpselect.privacy import BoundedRange, Neighbors, Privacy, PureDP, Steps
from dpselect.queries.found import found_by
from dpselect.queries.top_k_plan import Plan, fresh_counts, noise
from dpselect.queries.union import SAID, bound_at, chosen_bound, placed
from dpselect.queries.union_terms import BOUND_SHARE, BOUNDS, MOST_ITEMS, bound_chooser, without_curve
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, whole
from dpselect.release.measured import of_measures
from dpselect.release.release import Ended, Item, Release, Statement

if TYPE_CHECKING:
    from dpselect.engines.port import Engine
    from dpselect.queries.query import Ready

METHOD = "discover"
TOGETHER = "hitting-set"
REASON = "No domain is given, so part of the price finds items that enough users share, and the rest ranks the best."
TOGETHER_REASON = (
    "Part of the price finds items that enough users share. Of these each pick takes one that reaches many users whom "
    "none before it has reached, so that together they reach most."
)


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """What is asked. `most` is max_items_per_user, None where it is to be chosen privately."""

    k: int
    epsilon: Fraction
    delta: Fraction
    most: int | None
    counted: bool
    method: str = METHOD
    in_engine: bool = False
    measures: tuple[Measure, ...] = ()

    @property
    def noises(self) -> int:
        """How many noisy numbers an item comes with."""
        return int(self.counted) + noises(self.measures)

    @property
    def for_bound(self) -> Fraction:
        """The epsilon for choosing max_items_per_user."""
        return self.epsilon * BOUND_SHARE if self.most is None else Fraction(0)

    @property
    def privacy(self) -> Privacy:
        """The price of all of it: choosing the bound and all else add up."""
        return Privacy(
            epsilon=self.epsilon,
            delta=self.delta,
            neighbors=Neighbors.ADD_REMOVE,
            steps=(Steps(PureDP(self.epsilon), 1),),
            failure=self.delta,
            bound="basic" if self.most in (None, 1) else "Renyi",
        )

    def mechanism(self, most: int) -> DiscoverThenPeel:
        """For users of at most `most` items in the union."""
        left = self.epsilon - self.for_bound
        found: DiscoverThenPeel = methods.named("top_k", self.method).make(
            k=self.k, epsilon=left, delta=self.delta, max_items_per_user=most
        )
        return found


@dataclass(frozen=True, kw_only=True)
class FoundTop(Plan):
    """The best k of the items that a set union finds: the whole price at any answer.

    `ready` is the mechanism where its bound is known beforehand.
    """

    selector: Discovery
    ready: DiscoverThenPeel | None

    def price_at(self, order: int | None) -> Price:
        """What any answer costs at most an account of this Rényi order; that of any bound, where it is chosen."""
        return self._price(self.ready, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """What an answer cost it: the bound is a part of the answer."""
        most = release.privacy.parameters.get("max_items_per_user")
        return self._price(self.ready or (self.selector.mechanism(most) if isinstance(most, int) else None), order)

    def _price(self, made: DiscoverThenPeel | None, order: int | None) -> Price:
        """The choice of the bound, the union and the ranking: docs/composing.md, "A union"."""
        if order is None:
            return ceiling(self.privacy, None)
        asked = self.selector
        left = divergence(PureDP(asked.epsilon - asked.for_bound), order)
        if made is not None:
            found = made.divergence(order)
            left = left if found is None else min(left, up(found))
        renyi = divergence(BoundedRange(asked.for_bound), order) + left
        return Price(asked.epsilon, renyi, asked.delta, added=asked.epsilon)

    @property
    def ranks(self) -> bool:
        """Are items chosen by all their users? If not, by those whom no item before has reached."""
        return self.method == METHOD

    @property
    def of_sets(self) -> bool:
        """Counts alone do not tell who shares which items."""
        return True

    def select(self, aggregate: Sets, draws: Draws, progress: Progress | None = None) -> Release:
        """The answer for the items of every user."""
        asked, sets = self.selector, aggregate
        mechanism = self.ready or asked.mechanism(chosen_bound(sets, bound_chooser(asked.for_bound, BOUNDS), draws))
        found = mechanism.union(sets, draws=draws, progress=progress)
        each = self._price_of_pick(mechanism, found)
        codes = mechanism.best(sets, found, each, draws)
        return self._released(mechanism, found, each, sets.labels(codes), users_of(sets, codes), draws)

    def asked_of(self, engine: Engine) -> Ready | None:
        """Where users' items stay in the engine: it adds up the weights of the union, then users of what was found."""
        if not (self.selector.in_engine or self.scale.gains):
            return None
        engine.check_sets()
        return lambda draws, progress: self._of_pairs(engine.pairs(progress=progress), draws, progress)

    def _of_pairs(self, pairs: PairsElsewhere, draws: Draws, progress: Progress | None) -> Release:
        """The answer for pairs that are kept elsewhere: what was found comes here, with its numbers of users."""
        assert self.ranks, "a hitting set needs to know who has which items"
        asked, mechanism = self.selector, self.ready
        if mechanism is None:
            users_at, chooser = placed(*pairs.lengths(BOUNDS[-1]), BOUNDS), bound_chooser(asked.for_bound, BOUNDS)
            mechanism = asked.mechanism(bound_at(users_at, chooser, draws, BOUNDS))
        release_elsewhere(mechanism.union, pairs, draws=draws, progress=progress)
        names = pairs.names()
        users = pairs.users(max(1, len(names)), fresh_key()) if names else np.zeros(0, dtype=np.int64)
        found = np.arange(len(names), dtype=np.int64)
        each = self._price_of_pick(mechanism, found)
        places = best(asked.k, found, users, each, draws)
        release = self._released(mechanism, found, each, [names[place] for place in places], users[places], draws)
        if not asked.in_engine:
            return release
        said = release.privacy
        sentences = (*said.sentences, SAID)
        return replace(
            release, privacy=replace(said, parameters={**said.parameters, "in_engine": True}, sentences=sentences)
        )

    def _price_of_pick(self, mechanism: DiscoverThenPeel, found: Int64) -> Fraction:
        """The epsilon of a pick, where so many items were found."""
        asked = self.selector
        return mechanism.epsilon_per_pick(picks(asked.k, found), min(asked.k, len(found)) * asked.noises)

    def _released(
        self,
        mechanism: DiscoverThenPeel,
        found: Int64,
        each: Fraction,
        labels: Sequence[object],
        users: Int64,
        draws: Draws,
    ) -> Release:
        """The answer with these items of those that were found, and their numbers of users."""
        asked, size = self.selector, len(labels)
        counter = NoisyCounts(k=size, epsilon_per_count=each * COUNT_SHARE) if asked.counted and size else None
        told = fresh_counts(counter, users.tolist(), draws, self.scale)
        items = tuple(Item(label, i + 1, *told.of[i]) for i, label in enumerate(labels))
        statement = self.statement(mechanism, len(found), each)
        among = " in the periods that are asked about" if self.scale.gains else ""
        good = found_by(mechanism.union, mechanism.max_items_per_user, among=among)
        if (made := picks(asked.k, found)) and len(found) > 1:
            gap = gaps.exponential(each, gaps.others(len(found)), gaps.each(BETA, made))
            good += (
                accuracy.ranking(whole(gap), what=accuracy.DISCOVERED, scale=self.scale)
                if self.ranks
                else accuracy.reaching(whole(gap), discovered=True, scale=self.scale)
            )
        return Release(
            items=items,
            ended=Ended.FULL if size == asked.k else Ended.DISCOVERED,
            counted=asked.counted,
            privacy=statement,
            secure=draws.secure,
            accuracy=good + told.accuracy,
        )

    def statement(self, mechanism: DiscoverThenPeel, found: int, each: Fraction) -> Statement:
        """What is promised, in numbers and in sentences. How many items were found is part of the answer."""
        asked = self.selector
        used: dict[str, object] = {
            "k": asked.k,
            "discovered": found,
            "max_items_per_user": mechanism.max_items_per_user,
            "union_share": mechanism.union_share,
            **({"order": mechanism.union.order} if isinstance(mechanism.union, RenyiShaped) else {}),
            "epsilon_per_pick": each,
            **({"epsilon_of_bound": asked.for_bound} if asked.most is None else {}),
        }
        sentences = [self.reason, _bound(mechanism.max_items_per_user, asked)]
        how = "ranked by the numbers of all their users" if self.ranks else "chosen by all the items of every user"
        how = "ranked by what they gained of all users" if self.scale.gains else how
        sentences.append(
            f"Items discovered: {found:,}; {self._ranked(found)} {how}: max_items_per_user limits the discovery only."
        )
        if asked.counted:
            used["epsilon_per_count"] = each * COUNT_SHARE
            sentences.append(noise(each * COUNT_SHARE, self.scale))
        if asked.measures:
            more, said = of_measures(asked.measures, each * COUNT_SHARE, None)
            used, sentences = used | more, [*sentences, *said]
        sentences += self.scale.sentences
        return Statement.of(self.privacy, type(mechanism).__name__, used | self.scale.parameters, tuple(sentences))

    def _ranked(self, found: int) -> str:
        """Which of the items that were found are ranked."""
        return (
            f"{'the best ' if self.ranks else ''}{self.selector.k} of them are"
            if found > self.selector.k
            else "all of them are"
        )


def plan_discovery(
    k: int,
    *,
    epsilon: Fraction,
    delta: Number,
    counts: bool,
    measures: tuple[Measure, ...] = (),
    k_bar: int | None,
    max_items_per_user: int | None,
    method: str = METHOD,
    in_engine: bool = False,
    why: str = "",
) -> FoundTop:
    """Check every parameter. What can be refused without data is refused here."""
    if k_bar is not None:
        raise ParameterError("k_bar", f"be left out for {method}, which has no cut-off", k_bar)
    if method == TOGETHER and (counts or measures):
        hint = "ask for a top k of the same items, or a histogram of them"
        raise ParameterError("counts" if counts else "measures", f"be left out for {method}", "asked for", hint)
    asked = Discovery(
        k=parameters.listed("k", k),
        epsilon=epsilon,
        delta=parameters.probability("delta", delta),
        most=max_items_per_user,
        counted=counts,
        method=method,
        in_engine=in_engine,
        measures=measures,
    )
    left = asked.epsilon - asked.for_bound
    if not fits(left, asked.delta, asked.most):
        hint = "lower max_items_per_user, or take limited-domain"
        raise without_curve(epsilon, left, asked.delta, asked.most, method, hint)
    ready = None if asked.most is None else asked.mechanism(asked.most)
    reason = TOGETHER_REASON if method == TOGETHER else REASON + why
    return FoundTop(method=method, selector=asked, ready=ready, privacy=asked.privacy, reason=reason)


def fits(epsilon: Fraction, delta: Fraction, most: int | None) -> bool:
    """Is there a union for users of so many items, or of as many as may be chosen?"""
    return most == 1 or has_curve(epsilon, delta, MOST_ITEMS if most is None else most)


def _bound(most: int, asked: Discovery) -> str:
    said = f"Every user takes part in the discovery with at most {most} random items"
    return (
        f"{said}."
        if asked.most is not None
        else f"{said}; that number was chosen privately, for 1/{1 / BOUND_SHARE} of epsilon."
    )
