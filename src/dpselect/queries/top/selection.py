"""How a top k is answered, as a value: made and priced before any data is touched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import Privacy, Steps
from dpselect.accounting.prices import Price, ceiling, of_outcome
from dpselect.draws import Draws
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, Number
from dpselect.release.release import Release, Statement
from dpselect.release.scale import USERS, Scale

if TYPE_CHECKING:
    from dpselect._ground.domain import Domain
    from dpselect.aggregates.measures import Measure
    from dpselect.engines.port import Engine
    from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
    from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures
    from dpselect.queries.plan import Ready


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a plan is made for: all that a question says but its price."""

    k: int
    domain: Domain | None
    counts: bool
    measures: tuple[Measure, ...]
    k_bar: int | None
    ranked: bool
    max_items_per_user: int | None
    moves: int  # by how much one user moves a score at most
    by_weight: bool
    gains: bool = False  # are scores what items gained from some periods to others?
    in_engine: bool = False

    @property
    def noises(self) -> int:
        """How many noisy numbers of each item are asked for."""
        return int(self.counts) + self.of_measures

    @property
    def of_measures(self) -> int:
        """How many of them are for measures."""
        return sum(one.noises for one in self.measures)

    def told(self, each: Fraction) -> dict[str, Any]:
        """What tells noisy numbers of the winners, at this epsilon for each of them."""
        return {"counter": self._counter(each) if self.counts else None, "measurer": self.measurer(each)}

    def measurer(self, each: Fraction) -> NoisyMeasures | None:
        """What tells their measures, where some are asked for."""
        if not self.measures:
            return None
        from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures

        bound = self.max_items_per_user
        return NoisyMeasures(measures=self.measures, k=self.k, epsilon_per_noise=each, max_items_per_user=bound)

    def _counter(self, each: Fraction) -> NoisyCounts:
        from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts

        bound = self.max_items_per_user
        return NoisyCounts(k=self.k, epsilon_per_count=each, max_items_per_user=bound, sensitivity=self.moves)

    def moved(self, k: int) -> int:
        """How many of the k winners' counts one user can move."""
        return k if self.max_items_per_user is None else min(k, self.max_items_per_user)


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
        """How many items with the most users are looked at; None for a known domain, or where all are."""
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
        """No item that comes back has fewer users than the k-th best by more, with 95 % confidence; None: not known."""
        return None

    @property
    def counting(self) -> dict[str, Any]:
        """Have items counts, between ends how far apart, and what they are counted in."""
        width = None if self.counter is None else self.counter.width(BETA)
        return {"counted": self.counter is not None, "width": width, "scale": self.scale}

    def width(self) -> int:
        """With 95 % confidence all counts that were asked for lie within so many users of what they count, at once."""
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
            from dpselect.release.measures import of_measures

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
