"""top_k by discovery: what is planned before data is touched, and what is said of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.parameters import Number, Progress
from dpselect._ground.privacy import BoundedRange, Neighbors, Privacy, PureDP, Steps
from dpselect.accounting.calibration import COUNT_SHARE
from dpselect.accounting.prices import Price, ceiling, divergence, up
from dpselect.aggregates.measures import Measure, noises
from dpselect.aggregates.user_sets import Int64, Sets
from dpselect.aggregates.weight_groups import PairsElsewhere
from dpselect.draws import Draws, fresh_key
from dpselect.mechanisms import gaps
from dpselect.mechanisms.set_union.by_weight import release_elsewhere
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped, has_curve
from dpselect.mechanisms.top_k.discover import DiscoverThenPeel, best, picks, users_of
from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
from dpselect.queries.answer import likeness
from dpselect.queries.top.selection import Selection, fresh_counts, near_counts, noise
from dpselect.queries.union.accuracy import found_by
from dpselect.queries.union.bound import (
    BOUND_SHARE,
    BOUNDS,
    MOST_ITEMS,
    bound_at,
    bound_chooser,
    chosen_bound,
    one_of,
    placed,
)
from dpselect.queries.union.run import added_in_engine
from dpselect.queries.union.terms import without_curve
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, whole
from dpselect.release.measures import of_measures
from dpselect.release.release import Ended, Item, Release, Statement

if TYPE_CHECKING:
    from dpselect.engines.port import Engine
    from dpselect.queries.plan import Ready

METHOD = "discover"
REASON = "No domain is given, so part of the price finds items that enough users share, and the rest ranks the best."


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """What is asked. `most` is max_items_per_user, None where it is to be chosen privately."""

    k: int
    epsilon: Fraction
    delta: Fraction
    most: int | None
    counted: bool
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
        return DiscoverThenPeel(k=self.k, epsilon=left, delta=self.delta, max_items_per_user=most)


@dataclass(frozen=True, kw_only=True)
class FoundTop(Selection):
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
    def of_sets(self) -> bool:
        """Counts alone do not tell who shares which items."""
        return True

    def select(self, aggregate: Sets, draws: Draws, progress: Progress | None = None) -> Release:
        """The answer for the items of every user."""
        asked, sets = self.selector, aggregate
        mechanism = self.ready or asked.mechanism(chosen_bound(sets, bound_chooser(asked.for_bound, BOUNDS), draws))
        found = mechanism.union(sets, draws=draws, progress=progress)
        each = self._price_of_pick(mechanism, len(found))
        codes = best(asked.k, found, users_of(sets, found), each, draws)
        return self._released(mechanism, len(found), each, sets.labels(codes), users_of(sets, codes), draws)

    def before(self, candidates: int | None) -> Accuracy:  # noqa: ARG002 - they are discovered
        """From how many users on an item is found, where the bound is known; how many are found is in the answer."""
        if self.ready is None:
            return accuracy.NOTHING
        return found_by(self.ready.union, self.ready.max_items_per_user, among=self._among)

    @property
    def _among(self) -> str:
        """Which users those are, if not all."""
        return " in the periods that are asked about" if self.scale.gains else ""

    def like(self, release: Release, candidates: int) -> Release:  # noqa: ARG002 - they are discovered
        """An answer with what this plan says of it; the bound, and how many were found, are parts of the answer."""
        asked, size, mechanism = self.selector, len(release), self._mechanism_of(release)
        stated = release.privacy.parameters.get("discovered")
        found = size if size < asked.k or not isinstance(stated, int) else max(size, stated)
        each = self._price_of_pick(mechanism, found)
        said = self._in_engine(self.statement(mechanism, found, each))
        return self._like(release, said, self._near(mechanism, found, each), self._counter(size, each))

    def _like(self, release: Release, said: Statement, near: Accuracy, counter: NoisyCounts | None) -> Release:
        width, near = None if counter is None else counter.width(BETA), near + near_counts(counter, self.scale)
        return likeness(release, said, near, counted=self.selector.counted, width=width, scale=self.scale)

    def _mechanism_of(self, release: Release) -> DiscoverThenPeel:
        """What gave the answer: where the bound was chosen, that of its bound."""
        most = release.privacy.parameters.get("max_items_per_user")
        return self.ready or self.selector.mechanism(one_of(BOUNDS, most))

    def asked_of(self, engine: Engine) -> Ready | None:
        """Where users' items stay in the engine: it adds up the weights of the union, then users of what was found."""
        if not (self.selector.in_engine or self.scale.gains):
            return None
        return lambda draws, progress: self._of_pairs(engine.pairs(progress=progress), draws, progress)

    def _of_pairs(self, pairs: PairsElsewhere, draws: Draws, progress: Progress | None) -> Release:
        """The answer for pairs that are kept elsewhere: what was found comes here, with its numbers of users."""
        asked, mechanism = self.selector, self.ready
        if mechanism is None:
            users_at, chooser = placed(*pairs.lengths(BOUNDS[-1]), BOUNDS), bound_chooser(asked.for_bound, BOUNDS)
            mechanism = asked.mechanism(bound_at(users_at, chooser, draws, BOUNDS))
        release_elsewhere(mechanism.union, pairs, draws=draws, progress=progress)
        names = pairs.names()
        users = pairs.users(max(1, len(names)), fresh_key()) if names else np.zeros(0, dtype=np.int64)
        found = np.arange(len(names), dtype=np.int64)
        each = self._price_of_pick(mechanism, len(names))
        places = best(asked.k, found, users, each, draws)
        labels = [names[place] for place in places]
        release = self._released(mechanism, len(names), each, labels, users[places], draws)
        return replace(release, privacy=self._in_engine(release.privacy))

    def _in_engine(self, said: Statement) -> Statement:
        """What is promised, and where weights were added up."""
        return added_in_engine(said) if self.selector.in_engine else said

    def _price_of_pick(self, mechanism: DiscoverThenPeel, found: int) -> Fraction:
        """The epsilon of a pick, where so many items were found."""
        asked = self.selector
        return mechanism.epsilon_per_pick(made(asked.k, found), min(asked.k, found) * asked.noises)

    def _counter(self, size: int, each: Fraction) -> NoisyCounts | None:
        """What tells the counts of so many items, where they were asked for."""
        if not self.selector.counted or not size:
            return None
        return NoisyCounts(k=size, epsilon_per_count=each * COUNT_SHARE)

    def _released(
        self,
        mechanism: DiscoverThenPeel,
        found: int,
        each: Fraction,
        labels: Sequence[object],
        users: Int64,
        draws: Draws,
    ) -> Release:
        """The answer with these items of those that were found, and their numbers of users."""
        asked, size = self.selector, len(labels)
        told = fresh_counts(self._counter(size, each), users.tolist(), draws, self.scale)
        items = tuple(Item(label, i + 1, *told.of[i]) for i, label in enumerate(labels))
        return Release(
            items=items,
            ended=Ended.FULL if size == asked.k else Ended.DISCOVERED,
            counted=asked.counted,
            privacy=self.statement(mechanism, found, each),
            secure=draws.secure,
            accuracy=self._near(mechanism, found, each) + told.accuracy,
        )

    def _near(self, mechanism: DiscoverThenPeel, found: int, each: Fraction) -> Accuracy:
        """From how many users on an item is found, and how good the ranking of so many is."""
        good = found_by(mechanism.union, mechanism.max_items_per_user, among=self._among)
        if found <= 1:
            return good
        gap = whole(gaps.exponential(each, gaps.others(found), gaps.each(BETA, made(self.selector.k, found))))
        return good + accuracy.ranking(gap, what=accuracy.DISCOVERED, scale=self.scale)

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
        how = "what they gained of all users" if self.scale.gains else "the numbers of all their users"
        sentences.append(
            f"Items discovered: {found:,}; {self._ranked(found)} ranked by {how}: max_items_per_user limits the "
            "discovery only."
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
        return f"the best {self.selector.k} of them are" if found > self.selector.k else "all of them are"


def plan_discovery(
    k: int,
    *,
    epsilon: Fraction,
    delta: Number,
    counts: bool,
    measures: tuple[Measure, ...] = (),
    max_items_per_user: int | None,
    in_engine: bool = False,
    why: str = "",
) -> FoundTop:
    """Check every parameter. What can be refused without data is refused here."""
    asked = Discovery(
        k=parameters.listed("k", k),
        epsilon=epsilon,
        delta=parameters.probability("delta", delta),
        most=max_items_per_user,
        counted=counts,
        in_engine=in_engine,
        measures=measures,
    )
    left = asked.epsilon - asked.for_bound
    if not fits(left, asked.delta, asked.most):
        hint = "lower max_items_per_user, or take limited-domain"
        raise without_curve(epsilon, left, asked.delta, asked.most, METHOD, hint)
    ready = None if asked.most is None else asked.mechanism(asked.most)
    return FoundTop(method=METHOD, selector=asked, ready=ready, privacy=asked.privacy, reason=REASON + why)


def made(k: int, found: int) -> int:
    """How many picks rank the best k of so many items."""
    return picks(k, np.arange(min(found, k + 1)))


def fits(epsilon: Fraction, delta: Fraction, most: int | None) -> bool:
    """Is there a union for users of so many items, or of as many as may be chosen?"""
    return most == 1 or has_curve(epsilon, delta, MOST_ITEMS if most is None else most)


def _bound(most: int, asked: Discovery) -> str:
    said = f"Every user takes part in the discovery with at most {most} random items"
    return (
        f"{said}."
        if asked.most is not None
        else f"{said}; that number was chosen privately, with 1/{1 / BOUND_SHARE} of epsilon."
    )
