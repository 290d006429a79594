"""How a top k is answered, as a value: made and priced before any data is touched.

Here are the port of all plans, those by picks (peeling of a known domain, limited domain of an unknown one), and the
noisy counts that may follow any selection.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import Privacy, Steps
from dpselect.accounting.two_prices import Price, ceiling, of_outcome
from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import candidates
from dpselect.mechanisms.top_k.limited_domain import LimitedDomain
from dpselect.mechanisms.top_k.top_rows import top_rows
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, Number, whole
from dpselect.release.release import Ended, Item, Release, Statement
from dpselect.release.scale import USERS, Scale

if TYPE_CHECKING:
    from dpselect.engines.port import Engine
    from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
    from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures
    from dpselect.mechanisms.top_k.peeling import Peeling
    from dpselect.mechanisms.top_k.sparse_limited_domain import LimitedDomainSparse
    from dpselect.queries.plan import Ready


@dataclass(frozen=True, kw_only=True)
class Selection(ABC):
    """By which method of the menu, what selects, what tells numbers of the winners, the price, and why."""

    method: str
    selector: Any
    counter: NoisyCounts | None = None
    measurer: NoisyMeasures | None = None
    privacy: Privacy
    reason: str
    scale: Scale = USERS  # what its scores are counted in

    @property
    def k_bar(self) -> int | None:
        """How many items with most users are looked at; None for a known domain, or where all are."""
        return None

    @property
    def noises(self) -> int:
        """How many noisy numbers with a price of their own an item comes with."""
        return (self.counter is not None) + (0 if self.measurer is None else self.measurer.noises)

    @property
    def of_sets(self) -> bool:
        """Does it select by the items of every user? The others need counts only."""
        return False

    def shortfall(self, candidates: int | None) -> int | None:  # noqa: ARG002 - only a known domain has a number of them
        """No item that comes back has fewer users than the k-th best by more, `TIMES` times of 100; None: not known."""
        return None

    @property
    def counting(self) -> dict[str, Any]:
        """Have items counts, between ends how far apart, and what they are counted in."""
        width = None if self.counter is None else self.counter.width(BETA)
        return {"counted": self.counter is not None, "width": width, "scale": self.scale}

    def width(self) -> int:
        """All counts that were asked for lie within so many users of what they count at once, `TIMES` times of 100."""
        return 0 if self.counter is None else self.counter.width(BETA, self.counter.k)

    def reach(self) -> int | None:
        """While an item has more users than the one at rank k_bar + 1 by more, the list does not end early."""
        return None

    def stated(self, used: dict[str, object], sentences: Sequence[str]) -> Statement:
        """What is promised, in numbers and in sentences, also of the counts that were asked for."""
        if self.counter is not None:
            used["epsilon_per_count"] = self.counter.epsilon_per_count
            if self.counter.max_items_per_user is not None:  # so many counts are moved by one user
                used["max_items_per_user"] = self.counter.max_items_per_user
            sentences = [*sentences, noise(self.counter.rate, self.scale)]
        if self.measurer is not None:
            from dpselect.release.measured import of_measures

            m = self.measurer
            more, said = of_measures(m.measures, m.epsilon_per_noise, m.max_items_per_user)
            used, sentences = used | more, [*sentences, *said]
        used, sentences = used | self.scale.parameters, [*sentences, *self.scale.sentences]
        return Statement.of(self.privacy, type(self.selector).__name__, used, tuple(sentences))

    @abstractmethod
    def select(self, aggregate: Any, draws: Draws, progress: Progress | None = None) -> Release:
        """The answer for counts, or for the items of every user."""

    @abstractmethod
    def like(self, release: Release, candidates: int) -> Release:
        """An answer with what this plan says of it, of a domain of so many items where there is one."""

    def before(self, candidates: int | None) -> Accuracy:  # noqa: ARG002 - of a known domain
        """What holds of an answer whatever the data are, as far as it is known before there is one."""
        return accuracy.NOTHING

    def asked_of(self, engine: Engine) -> Ready | None:  # noqa: ARG002 - most ask what the data of all methods have
        """How an engine answers it, where that is a question of its own."""
        return None

    def steps(self, found: Sequence[int]) -> tuple[Steps, ...]:  # noqa: ARG002 - only picks can be saved
        """The steps that an answer took; `found` are its items, of each group by itself that has any."""
        return self.privacy.steps

    def price_at(self, order: int | None) -> Price:
        """What any answer costs at most an account of this Rényi order."""
        return ceiling(self.privacy, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """What an answer cost it."""
        return of_outcome(self.privacy, self.steps(release.found), order)


@dataclass(frozen=True)
class Counts:
    """Noisy counts with their intervals, and how good they are."""

    of: Sequence[tuple[Number | None, Number | None, Number | None]]
    accuracy: Accuracy

    @classmethod
    def none(cls, items: int) -> Counts:
        """None were asked for."""
        return cls([(None, None, None)] * items, accuracy.NOTHING)

    @classmethod
    def within(cls, noisy: Sequence[int], width: int, said: Accuracy, scale: Scale = USERS) -> Counts:
        """Each is so near to what it counts."""
        return cls([(scale.value(n), *accuracy.interval(n, width, scale)) for n in noisy], said)


def near_counts(counter: NoisyCounts | None, scale: Scale = USERS) -> Accuracy:
    """How near counts with noise of their own are, where they were asked for."""
    return accuracy.NOTHING if counter is None else accuracy.counts_apart(counter.width(BETA), scale)


def fresh_counts(counter: NoisyCounts | None, counts: Sequence[int], draws: Draws, scale: Scale = USERS) -> Counts:
    """Counts with noise of their own, where they were asked for."""
    if counter is None:
        return Counts.none(len(counts))
    width = counter.width(BETA)
    noisy = counter(counts, draws=draws) if counts else []
    return Counts.within(noisy, width, near_counts(counter, scale), scale)


def noise(rate: Fraction, scale: Scale = USERS) -> str:
    """How noisy counts are."""
    return f"{scale.score.title()}s carry discrete Laplace noise of scale {scale.about(1 / float(rate), 3)}."


Picked = tuple[Sequence[tuple[int, int]], Any, Callable[[Any], Any]]
"""Picks, the counts of groups, and what names the picks."""


@dataclass(frozen=True, kw_only=True)
class Picks(Selection):
    """One pick for each item."""

    @abstractmethod
    def picked(self, histogram: CountGroups, draws: Draws) -> tuple[Picked, Accuracy]:
        """The picks of an answer, and how good they are."""

    @abstractmethod
    def near(self, candidates: int) -> Accuracy:
        """How good the picks are."""

    def before(self, candidates: int | None) -> Accuracy:
        """How good the picks are, and their counts."""
        return self.near(candidates or 1) + near_counts(self.counter, self.scale)

    def like(self, release: Release, candidates: int) -> Release:
        """An answer with what this plan says of it."""
        from dpselect.queries.likeness import likeness

        near = self.near(candidates) + near_counts(self.counter, self.scale)
        return likeness(release, self.stated(*self.said()), near, **self.counting)

    def select(self, aggregate: CountGroups, draws: Draws, progress: Progress | None = None) -> Release:  # noqa: ARG002 - quick
        """The answer for counts."""
        (picks, counts, names), good = self.picked(aggregate, draws)
        told = fresh_counts(self.counter, [int(counts[g]) for g, _ in picks], draws, self.scale)
        labels = names(picks) if picks else []
        items = tuple(Item(label, i + 1, *told.of[i]) for i, label in enumerate(labels))
        return Release(
            items=items,
            ended=Ended.FULL if len(items) == self.selector.k else Ended.BOTTOM,
            counted=self.counter is not None,
            privacy=self.stated(*self.said()),
            secure=draws.secure,
            accuracy=good + told.accuracy,
        )

    def steps(self, found: Sequence[int]) -> tuple[Steps, ...]:
        """The steps that an answer took, read from the answer alone. Bottom is a pick like any.

        Why the epsilon of picks that were not made may be kept, and delta may not: docs/budgets.md.
        """
        picks, *counts = self.privacy.steps
        items, told = sum(found), self.noises * sum(found)
        missing = max(0, self.selector.k - items - 1)
        steps = [Steps(picks.value, picks.times - missing), *(Steps(c.value, min(told, c.times)) for c in counts)]
        return tuple(s for s in steps if s.times)

    def said(self) -> tuple[dict[str, object], list[str]]:
        """Parameters and sentences of the selection."""
        return {"k": self.selector.k, "epsilon_per_pick": self.selector.epsilon_per_pick}, [self.reason]


@dataclass(frozen=True, kw_only=True)
class PeeledTop(Picks):
    """Exactly k items of a known domain."""

    selector: Peeling

    def shortfall(self, candidates: int | None) -> int | None:
        """By how much an item may be below the k-th best."""
        return None if candidates is None else whole(self.selector.shortfall(BETA, candidates))

    def picked(self, histogram: CountGroups, draws: Draws) -> tuple[Picked, Accuracy]:
        """Among all items of the domain."""
        among = candidates(histogram)
        return (self.selector.picks(among, draws), among.scores, among.names), self.near(among.count)

    def near(self, candidates: int) -> Accuracy:
        """By how much an item is below another at most."""
        return accuracy.ranking(whole(self.selector.gap(BETA, candidates)), what=accuracy.OF_DOMAIN, scale=self.scale)


@dataclass(frozen=True, kw_only=True)
class UnknownTop(Picks):
    """At most k of the k_bar items with most users; what ends the list is the selector's."""

    selector: LimitedDomain | LimitedDomainSparse

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

    def picked(self, histogram: CountGroups, draws: Draws) -> tuple[Picked, Accuracy]:
        """Among the first k_bar items."""
        rows = top_rows(histogram, self.k_bar + 1)
        return (self.selector.picks(rows, draws), rows.counts, rows.names), self.near(self.k_bar)

    def near(self, candidates: int) -> Accuracy:  # noqa: ARG002 - k_bar of them are looked at
        """By how much an item is below another at most, and what is not missing."""
        good = accuracy.ranking(whole(self.selector.terms.gap(BETA)), scale=self.scale)
        return good + accuracy.ends_early(self.reach(), self.k_bar + 1, self.scale)


@dataclass(frozen=True, kw_only=True)
class LimitedTop(UnknownTop):
    """At most k of the k_bar items with most users, until bottom is picked."""

    selector: LimitedDomain

    def said(self) -> tuple[dict[str, object], list[str]]:
        """Parameters and sentences of the selection."""
        used, sentences = super().said()
        s = self.selector
        used |= {"k_bar": s.k_bar, "delta_threshold": s.delta_threshold, "max_items_per_user": s.max_items_per_user}
        touched = "any number of items" if s.max_items_per_user is None else f"at most {s.max_items_per_user} items"
        sentences += [
            f"One user counts for {touched}.",
            f"An item comes out only if it beats bottom, which stands {self.scale.about(s.height)} above the "
            f"{self.scale.score} of rank k_bar + 1 = {self.k_bar + 1:,}.",
        ]
        return used, sentences
