"""How a top k is answered, as a value: made and priced before any data is touched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import Neighbors, Privacy, PureDP, SpentSteps, Steps
from dpselect.accounting.calibration import priced
from dpselect.accounting.prices import Price, ceiling, of_outcome
from dpselect.draws import Draws
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy
from dpselect.release.answers.outcome import write_release
from dpselect.release.answers.ranking_sentences import describe_counts, describe_noise, describe_sharp_noise
from dpselect.release.scale import USERS, Scale
from dpselect.release.statement import Statement

if TYPE_CHECKING:
    from dpselect._ground.domain import Domain
    from dpselect._ground.row_bound import RowBound
    from dpselect.aggregates.measures import Measure
    from dpselect.aggregates.totals import Totals
    from dpselect.engines import Engine
    from dpselect.mechanisms.top_k.noisy_counts import CountNoise, NoisyCounts
    from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures
    from dpselect.queries.plan import BoundDraw
    from dpselect.questions.parts import ResolvedGroups
    from dpselect.release.answers.outcome import Outcome
    from dpselect.release.release import Release

Terms = tuple[dict[str, object], list[str]]
"""Parameters and sentences of a statement."""


@dataclass(frozen=True, kw_only=True)
class TopRequest:
    """All that a top k asks, and what is known of its data, but the price and the method."""

    k: int
    domain: Domain | None
    counts: bool
    measures: tuple[Measure, ...]
    k_bar: int | None
    is_ranked: bool
    in_engine: bool
    max_items_per_user: int | None
    totals: Totals | None  # the weights that are added up
    scores_are_gains: bool  # are scores what items gained from some periods to others?
    gains_are_losses: bool  # or what they lost?
    groups: ResolvedGroups | None

    @property
    def sensitivity(self) -> int:
        """The largest number of steps by which one user moves a score."""
        return 1 if self.totals is None else self.totals.max_units

    @property
    def scale(self) -> Scale:
        """The scale of the scores."""
        groups = None if self.groups is None else self.groups.bound
        return Scale(totals=self.totals, gains=self.scores_are_gains, lost=self.gains_are_losses, groups=groups)

    @property
    def noises_per_item(self) -> int:
        """The number of noisy numbers of each item that are asked for."""
        return int(self.counts) + self.noises_for_measures

    @property
    def noises_for_measures(self) -> int:
        """The number of them that are for measures."""
        return sum(measure.noises for measure in self.measures)

    def plan_noise(self, picks: Steps, epsilon_per_number: Fraction, epsilon: Fraction, delta: Fraction) -> NoisePlan:
        """Plan the noise of the winners' numbers after these picks, each at this epsilon or sharper for its price."""
        if not self.noises_per_item:
            return NoisePlan(None, None, (picks,))
        from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
        from dpselect.mechanisms.top_k.sharp_counts import sharpest

        plain = NoisyCounts(
            k=self.k,
            epsilon_per_count=epsilon_per_number,
            max_items_per_user=self.winners_per_user,
            sensitivity=self.sensitivity,
        )
        measurer = self._measurer(picks, plain, epsilon, delta)
        steps_before: list[SpentSteps] = [picks, *(() if measurer is None else measurer.steps_of(self.k))]
        failure = Fraction(0) if measurer is None else measurer.failure
        counter = sharpest(plain, steps_before, epsilon, delta - failure, BETA) if self.counts else None
        return NoisePlan(counter, measurer, tuple(steps_before))

    def _measurer(self, picks: Steps, plain: NoisyCounts, epsilon: Fraction, delta: Fraction) -> NoisyMeasures | None:
        """Return the noise of their measures, where some are asked for.

        Noisy counts keep what they are planned with.
        """
        if not self.measures:
            return None
        from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures
        from dpselect.mechanisms.top_k.sharp_counts import APART, SharpCounts, sharpest

        k, epsilon_per_number, bound = self.k, Fraction(plain.epsilon_per_count), self.winners_per_user
        measurer = NoisyMeasures(
            measures=self.measures, k=k, epsilon_per_noise=epsilon_per_number, max_items_per_user=bound
        )
        sums = measurer.of_one_sign
        if not sums:
            return measurer
        numbers = Steps(PureDP(epsilon_per_number), plain.moved * (measurer.noises - sums) + k * self.counts)
        steps_before = [picks, *((numbers,) if numbers.times else ())]
        measure_delta = delta * (1 - APART * self.counts)  # counts may need as much for adding
        sharp = sharpest(
            replace(plain, sensitivity=1), steps_before, epsilon, measure_delta, BETA, sums, paid=plain.moved
        )
        return replace(measurer, sums=sharp) if isinstance(sharp, SharpCounts) else measurer

    @property
    def winners_per_user(self) -> int | None:
        """The bound on the winners for which a user counts, where that is fewer than all of them."""
        max_items = self.max_items_per_user
        return None if max_items is None or max_items >= self.k else max_items

    @property
    def moved_winners(self) -> int:
        """The number of the k winners' counts that one user can move."""
        return self.k if self.winners_per_user is None else self.winners_per_user

    @property
    def priced_noises(self) -> int:
        """The number of noisy numbers by which the epsilon of a pick is found.

        Where users move few counts, these gain by it.
        """
        return self.k * self.counts + self.moved_winners * self.noises_for_measures


@dataclass(frozen=True)
class NoisePlan:
    """The noise of winners' numbers, and the steps before the counts: picks, then measures."""

    counter: CountNoise | None
    measurer: NoisyMeasures | None
    steps_before: tuple[SpentSteps, ...]

    @property
    def failure(self) -> Fraction:
        """The probability that Gaussian noise may fail by where epsilons add up: a part of the delta of composition."""
        return sum((noise.failure for noise in (self.counter, self.measurer) if noise is not None), Fraction(0))

    def priced(self, epsilon: Fraction, composition: Fraction, failure: Fraction) -> Privacy:
        """Return the privacy of all steps, which were calibrated to this epsilon."""
        steps = (
            self.steps_before if self.counter is None else (*self.steps_before, *self.counter.steps_of(self.counter.k))
        )
        related = Neighbors.ADD_REMOVE
        return priced(steps, epsilon, composition - self.failure, failure=failure + self.failure, neighbors=related)


@dataclass(frozen=True, kw_only=True)
class Selection(ABC):
    """A method of the menu: its selector, the noise of the winners' numbers, the price, and the reason."""

    method: str
    selector: Any
    counter: CountNoise | None = None
    measurer: NoisyMeasures | None = None
    privacy: Privacy
    reason: str
    scale: Scale = USERS  # what its scores are counted in

    @property
    def k_bar(self) -> int | None:
        """The number of items with the most users that are looked at; None for a known domain, or where all are."""
        return None

    def with_counted_users(self, period: str | None, rows: RowBound | None) -> Self:
        """Return the same for users who count once in each period, and by a bounded number of rows."""
        return replace(self, scale=replace(self.scale, period=period, rows=rows))

    def noise_steps(self, items: int) -> tuple[SpentSteps, ...]:
        """Return the steps of noisy numbers of so many items."""
        measure_steps = () if self.measurer is None else self.measurer.steps_of(items)
        count_steps = () if self.counter is None else self.counter.steps_of(items)
        return (*measure_steps, *count_steps)

    @property
    def is_by_group(self) -> bool:
        """The selection is in every group."""
        return False

    @property
    def needs_user_sets(self) -> bool:
        """The selection is by the items of every user; the others need counts only."""
        return False

    def shortfall(self, candidates: int | None) -> int | None:  # noqa: ARG002 - only a known domain has a number of them
        """Return by how many users a returned item may be below the k-th best, with 95 % confidence; None.

        Not known.
        """
        return None

    def width_of_all_counts(self) -> int:
        """Return the width within which all counts that were asked for lie at once, in users, with 95 % confidence."""
        return 0 if self.counter is None else self.counter.width(BETA, self.counter.k)

    def reach(self) -> int | None:
        """Return the reach: while an item leads rank k_bar + 1 by more users, the list does not end early; None.

        Unknown.
        """
        return None

    def state(self, terms: Terms, mechanism: str | None = None) -> Statement:
        """State the promise: the terms of the selection, the counts and measures that were asked for, who counts."""
        parameters, sentences = terms
        if self.counter is not None:
            parameters |= self.counter.parameters
            if self.counter.max_items_per_user is not None:  # one user moves that many counts
                parameters["max_items_per_user"] = self.counter.max_items_per_user
            sentences = [*sentences, self._noise_of(self.counter)]
        if self.measurer is not None:
            from dpselect.release.measures import describe_measures

            measure_parameters, measure_sentences = describe_measures(self.measurer)
            parameters, sentences = parameters | measure_parameters, [*sentences, *measure_sentences]
        scale = self.counted_scale
        parameters, sentences = parameters | scale.parameters, [*sentences, *scale.sentences]
        return Statement.from_privacy(
            self.privacy, mechanism or type(self.selector).__name__, parameters, tuple(sentences)
        )

    def _noise_of(self, counter: CountNoise) -> str:
        """Say how noisy counts are."""
        from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
        from dpselect.mechanisms.top_k.sharp_counts import SharpCounts

        if isinstance(counter, NoisyCounts):
            return describe_noise(counter.rate, self.counted_scale)
        assert isinstance(counter, SharpCounts)
        deviation, shared, grouped = float(counter.noise.variance) ** 0.5, counter.is_shared, self.is_by_group
        return describe_sharp_noise(counter.shape, deviation, self.counted_scale, shared=shared, by_group=grouped)

    @property
    def counted_scale(self) -> Scale:
        """The scale of the winners' numbers: users may count for few of these."""
        noise = self.measurer if self.counter is None else self.counter
        if noise is None or noise.max_items_per_user is None:
            return self.scale
        items = noise.max_items_per_user
        return self.scale.with_bounds(
            groups=self.scale.groups, items=items, only_returned=True, in_each_group=self.is_by_group
        )

    @property
    def counts_again(self) -> bool:
        """A user counts for so few of the winners that the counts of the ranking, of all users, are not shown."""
        return self.counter is not None and self.counter.max_items_per_user is not None

    def count(self, scores: Sequence[int], draws: Draws) -> Sequence[int | None]:
        """Return noisy counts of the winners by their scores in the ranking; None where these are not shown."""
        return noisy_counts(None if self.counts_again else self.counter, scores, draws)

    def count_again(self, outcome: Outcome, scores: Sequence[int], draws: Draws) -> Outcome:
        """Return the outcome with noisy counts of the winners by these scores, for the ranking has none to be shown."""
        noisy = noisy_counts(self.counter, scores, draws)
        items = (item._replace(score=score) for item, score in zip(outcome.items, noisy, strict=True))
        return replace(outcome, items=tuple(items))

    @property
    def count_width(self) -> int | None:
        """The distance by which one count may be off; None where none are asked for."""
        return None if self.counter is None else self.counter.width(BETA)

    def count_accuracy(self, items: int, *, by_group: bool = False) -> Accuracy:
        """Return how near counts of so many items are, where they are asked for."""
        return describe_counts(self.counter, self.counted_scale, items, by_group=by_group)

    def bind_draw(self, engine: Engine, domain: Domain | None) -> BoundDraw:
        """Bind to the k_bar + 1 largest items, or to all of a domain that fits; no more of them leave the engine.

        Here only counts of items are needed, and where a user counts for few of the winners, these are counted again.
        """
        if domain is not None:
            engine.check(domain, k=self.selector.k)

        def draw(draws: Draws, progress: Progress | None) -> Outcome:
            if self.k_bar is None:
                outcome = self.draw(engine.grouped(domain, progress=progress), draws)
            else:
                outcome = self.draw(engine.top(self.k_bar + 1, progress=progress), draws)
            if not self.counts_again or not outcome.items:
                return outcome
            scores = engine.scores_of([item.label for item in outcome.items], domain=domain, progress=progress)
            return self.count_again(outcome, scores, draws)

        return draw

    @abstractmethod
    def draw(self, aggregate: Any, draws: Draws, progress: Progress | None = None) -> Outcome:
        """Draw the outcome for counts, or for the items of every user."""

    @abstractmethod
    def answer(self, outcome: Outcome) -> Release:
        """Write the release of an outcome."""

    def select(self, aggregate: Any, draws: Draws, progress: Progress | None = None) -> Release:
        """Return the release for counts, or for the items of every user."""
        return self.answer(self.draw(aggregate, draws, progress))

    def nearest_possible(self, outcome: Outcome) -> Outcome:
        """Return an outcome that this selection can have drawn: the same, if it has drawn it."""
        return outcome

    def write(self, outcome: Outcome, statement: Statement, accuracy: Accuracy, **options: Any) -> Release:
        """Write the release, with counts if they are asked for."""
        is_counted, width = self.counter is not None, self.count_width
        return write_release(
            outcome,
            statement,
            accuracy,
            **{"counted": is_counted, "width": width, "scale": self.counted_scale} | options,
        )

    def measurer_of(self, outcome: Outcome) -> NoisyMeasures:  # noqa: ARG002 - of discovered items
        """Return what tells the measures that were asked for."""
        assert self.measurer is not None
        return self.measurer

    def planned_accuracy(self, candidates: int | None) -> Accuracy:  # noqa: ARG002 - of a known domain
        """Return the accuracy for any data, as far as it is known before there is an answer."""
        return accuracy.NO_ACCURACY

    def steps(self, release: Release) -> tuple[SpentSteps, ...]:  # noqa: ARG002 - only picks can be saved
        """Return the steps that an answer took."""
        return self.privacy.steps

    def price_at(self, order: int | None) -> Price:
        """Return what any answer costs at most an account of this Rényi order."""
        return ceiling(self.privacy, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """Return what an answer cost it."""
        return of_outcome(self.privacy, self.steps(release), order)


def noisy_counts(
    counter: CountNoise | None, counts: Sequence[int], draws: Draws, sizes: Sequence[int] | None = None
) -> Sequence[int | None]:
    """Return the counts of groups of these sizes with fresh noise, or None for each if they were not asked for."""
    if counter is None:
        return [None] * len(counts)
    return counter(counts, draws=draws, sizes=sizes) if counts else []
