"""Plans: what will be run and what it costs at most, fixed before any data is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpselect import accuracy, forms
from dpselect.accounting.composition import basic
from dpselect.accuracy import BETA, Accuracy, whole
from dpselect.counting import Counts, fresh_counts, noise
from dpselect.draws import Draws
from dpselect.histogram import Histogram
from dpselect.mechanisms import (
    CanonicalSet,
    GammaMechanism,
    JointPermuteAndFlip,
    JointSequence,
    JointSet,
    LimitedDomainGaussian,
    LimitedDomainLaplace,
    Mechanism,
    NoisyCounts,
    OneShotLaplace,
    noisy_limited_domain,
)
from dpselect.mechanisms.candidates import Input, candidates
from dpselect.mechanisms.chosen_k_bar import ChosenKBar
from dpselect.mechanisms.joint_permute_and_flip import Loss
from dpselect.mechanisms.limited_domain import LimitedDomain
from dpselect.mechanisms.noisy_limited_domain import k_bar_of
from dpselect.mechanisms.peeling import Peeling
from dpselect.mechanisms.quantile import Quantile
from dpselect.mechanisms.ranked import fixed, ranked
from dpselect.mechanisms.top_rows import top_rows
from dpselect.parameters import Number
from dpselect.privacy import ApproxDP, Privacy, Steps
from dpselect.release import Item, Release, Statement


class Chooser(Mechanism, Protocol):
    """A mechanism that chooses one, and knows how far the best may be above it."""

    @property
    def sensitivity(self) -> Number:
        """By how much one user moves a score."""
        ...

    def gap(self, beta: float, candidates: int) -> Fraction:
        """No candidate has a score that is larger by more than this, but with probability beta."""
        ...


@dataclass(frozen=True)
class BestOne:
    """A plan for choosing one. `users` says whether scores are whole numbers of users."""

    chooser: Chooser
    sentence: str
    users: bool

    def select(self, scores: Input, draws: Draws) -> Release:
        """Run on the scores."""
        label = next(iter(self.chooser(scores, draws=draws)))
        label = int(label) if isinstance(label, np.integer) else label
        statement = stated(self.chooser.privacy, type(self.chooser).__name__, {"k": 1}, (self.sentence,))
        among = sum(scores.sizes) if isinstance(scores, Histogram) else len(scores)  # type: ignore[arg-type]
        good = accuracy.best_of(self.chooser.gap(BETA, int(among)), users=self.users)
        items = (Item(label, 1, None),)
        return Release(items=items, complete=True, privacy=statement, secure=draws.secure, accuracy=good)


@dataclass(frozen=True)
class TopK:
    """A plan for top k: what selects, what counts the winners, and what both cost. Made before data is touched."""

    selector: LimitedDomain | ChosenKBar | Peeling
    counter: NoisyCounts | None
    privacy: Privacy
    reason: str

    @property
    def rows(self) -> int | None:
        """How many rows may leave the engine; None for a known domain, which is asked for groups."""
        return None if isinstance(self.selector, Peeling) else self.selector.terms.k_bar + 1

    def select(self, histogram: Histogram, draws: Draws) -> Release:
        """Run on the engine's answer."""
        if isinstance(self.selector, Peeling):
            among = candidates(histogram)
            picks, counts, names = self.selector.picks(among, draws), among.scores, among.names
            good = accuracy.ranking(whole(self.selector.gap(BETA, among.count)))
        else:
            rows = top_rows(histogram, self.selector.terms.k_bar + 1)
            picks, counts, names = self.selector.picks(rows, draws), rows.counts, rows.names
            good = _among_the_first(self.selector)
        told = fresh_counts(self.counter, [int(counts[g]) for g, _ in picks], draws)
        labels = names(picks) if picks else []
        items = tuple(Item(label, i + 1, *told.of[i]) for i, label in enumerate(labels))
        return Release(
            items=items,
            complete=len(items) == self.selector.k,
            privacy=self.statement(),
            secure=draws.secure,
            accuracy=good + told.accuracy,
        )

    def taken(self, found: int) -> tuple[Steps, ...]:
        """The steps that an answer of `found` items took, read from the answer alone. Bottom is a pick like any."""
        picks, *counts = self.privacy.steps
        missing = max(0, self.selector.k - found - 1)
        steps = [Steps(picks.value, picks.times - missing), *(Steps(c.value, min(found, c.times)) for c in counts)]
        return tuple(s for s in steps if s.times)

    def charge(self, found: int) -> ApproxDP:
        """What an answer of `found` items costs: no more than its steps added up, and never less than the whole delta.

        Why the epsilon of picks that were not made may be kept, and delta may not: docs/budgets.md.
        """
        return ApproxDP(min(self.privacy.epsilon, basic(self.taken(found))), self.privacy.delta)

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        s = self.selector
        used: dict[str, object] = {"k": s.k, "epsilon_per_pick": s.epsilon_per_pick}
        sentences = [self.reason]
        if not isinstance(s, Peeling):
            used |= {"k_bar": s.k_bar, "delta_threshold": s.delta_threshold, "max_items_per_user": s.max_items_per_user}
            sentences += _limited_domain_sentences(s)
        if self.counter is not None:
            used["epsilon_per_count"] = self.counter.epsilon_per_count
            sentences.append(noise(Fraction(self.counter.epsilon_per_count)))
        return stated(self.privacy, type(s).__name__, used, tuple(sentences))


SetSelector = JointSet | CanonicalSet | JointPermuteAndFlip | JointSequence


@dataclass(frozen=True)
class TopSet:
    """A plan for k items chosen all at once: one step, and noisy counts where they were asked for."""

    selector: SetSelector
    counter: NoisyCounts | None
    privacy: Privacy
    reason: str
    rows: None = None

    def select(self, histogram: Histogram, draws: Draws) -> Release:
        """Run on the engine's answer. Items of a set come in an order of their own, or by their noisy counts."""
        among = ranked(histogram, self.selector.k)
        ranks = self.selector.ranks(among, draws)
        labels = list(among.names(ranks))
        sequence = isinstance(self.selector, JointSequence)
        order = list(range(len(labels))) if sequence else sorted(range(len(labels)), key=lambda i: fixed(labels[i]))
        told = fresh_counts(self.counter, [among.count(rank) for rank in ranks], draws)
        if self.counter is not None and not sequence:
            order.sort(key=lambda i: -(told.of[i][0] or 0))
        places = [place + 1 if sequence else None for place in range(len(order))]
        items = tuple(Item(labels[i], place, *told.of[i]) for i, place in zip(order, places, strict=True))
        gap = whole(self.selector.gap(BETA, among.items))
        canonical = isinstance(self.selector, CanonicalSet) or getattr(self.selector, "loss", "") == Loss.CANONICAL
        good = accuracy.of_set(gap) if canonical else accuracy.by_place(gap, ranked=sequence)
        return Release(
            items=items,
            complete=True,
            privacy=self.statement(),
            secure=draws.secure,
            accuracy=good + told.accuracy,
        )

    def charge(self, _found: int) -> ApproxDP:
        """All of it: exactly k items always come back."""
        return self.privacy.approx

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        used: dict[str, object] = {"k": self.selector.k, "epsilon_of_set": self.selector.epsilon}
        sentences = [self.reason]
        if not isinstance(self.selector, JointSequence):
            sentences.append("The items are a set: their order says nothing, unless noisy counts give one.")
        if self.counter is not None:
            used["epsilon_per_count"] = self.counter.epsilon_per_count
            sentences.append(noise(Fraction(self.counter.epsilon_per_count)))
        return stated(self.privacy, type(self.selector).__name__, used, tuple(sentences))


NoisySelector = OneShotLaplace | GammaMechanism | LimitedDomainLaplace | LimitedDomainGaussian


@dataclass(frozen=True)
class TopNoisy:
    """A plan for the k largest noisy counts, all noised once: the whole price at any answer.

    `counter` pays for counts where the selection's own must stay secret; `counts` says whether they were asked for.
    """

    selector: NoisySelector
    counter: NoisyCounts | None
    privacy: Privacy
    reason: str
    counts: bool

    @property
    def rows(self) -> int | None:
        """How many rows may leave the engine; None for a known domain, which is asked for groups."""
        return None if isinstance(self.selector, OneShotLaplace | GammaMechanism) else k_bar_of(self.selector) + 1

    def select(self, histogram: Histogram, draws: Draws) -> Release:
        """Run on the engine's answer."""
        s = self.selector
        if isinstance(s, OneShotLaplace):
            among = candidates(histogram)
            names, picks = among.names, s.picks(among, draws)
            told = fresh_counts(self.counter, [int(among.scores[g]) for g, _ in picks], draws)
            good = accuracy.ranking(whole(s.gap(BETA, among.count)))
        elif isinstance(s, GammaMechanism):
            among = candidates(histogram)
            names, (picks, noisy) = among.names, s.picks_with_counts(among, draws)
            width = s.width(BETA, among.count)
            told, good = self._told(noisy, width), accuracy.ranking(2 * width)
        else:
            rows = top_rows(histogram, k_bar_of(s) + 1)
            names, (picks, noisy) = rows.names, s.picks_with_counts(rows, draws)
            told, good = self._told(noisy, s.width(BETA)), accuracy.ranking(noisy_limited_domain.gap(s, BETA))
            good += accuracy.ends_early(noisy_limited_domain.reach(s, BETA), k_bar_of(s) + 1)
        labels = list(names(picks)) if picks else []
        items = tuple(Item(label, i + 1, *told.of[i]) for i, label in enumerate(labels))
        return Release(
            items=items,
            complete=len(items) == s.k,
            privacy=self.statement(),
            secure=draws.secure,
            accuracy=good + told.accuracy,
        )

    def _told(self, noisy: Sequence[int], width: int) -> Counts:
        """The counts that chose the items, if they were asked for."""
        if not self.counts:
            return Counts.none(len(noisy))
        most = getattr(self.selector, "max_items_per_user", None)
        return Counts.within(noisy, width, accuracy.counts_together(width, most))

    def charge(self, _found: int) -> ApproxDP:
        """All of it, whatever came back."""
        return self.privacy.approx

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        s, sentences = self.selector, [self.reason]
        used: dict[str, object] = {"k": s.k}
        if isinstance(s, LimitedDomainLaplace | LimitedDomainGaussian):
            used |= {"k_bar": k_bar_of(s), "max_items_per_user": s.max_items_per_user, "height": s.height}
            sentences.append(
                f"One user counts for at most {s.max_items_per_user} items. An item comes out only if its noisy count "
                f"is above noisy bottom, which stands {s.height} users above the count of rank {k_bar_of(s) + 1:,}."
            )
        if self.counter is not None:
            used["epsilon_per_count"] = self.counter.epsilon_per_count
            sentences.append(noise(Fraction(self.counter.epsilon_per_count)))
        return stated(self.privacy, type(s).__name__, used, tuple(sentences))


def _among_the_first(selector: LimitedDomain | ChosenKBar) -> Accuracy:
    """Of items picked among the k_bar with most users. Where k_bar is chosen nobody knows where the list would end."""
    good = accuracy.ranking(whole(selector.terms.gap(BETA)))
    if isinstance(selector, LimitedDomain):
        good += accuracy.ends_early(whole(selector.terms.reach(BETA)), selector.terms.k_bar + 1)
    return good


@dataclass(frozen=True)
class ValuesAt:
    """A plan for the values at some ranks. `one_each` says in a sentence which value a user has."""

    mechanism: Quantile
    one_each: str

    def select(self, values: object, draws: Draws) -> Release:
        """Run on one value of each user, or on their numbers at the points of the grid."""
        found = self.mechanism(values, draws=draws)
        items = tuple(Item(value, i + 1, None) for i, value in enumerate(found))
        good = accuracy.ranks(self.mechanism.gap(BETA), several=len(items) > 1)
        return Release(items=items, complete=True, privacy=self.statement(), secure=draws.secure, accuracy=good)

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        m = self.mechanism
        low, step = (forms.short(x) for x in (m.grid.low, m.grid.step))
        high = forms.short(m.grid.high)
        ranks = ", ".join(forms.short(q) for q in m.shares)
        sentences = (
            f"The quantile {ranks}." if len(m.shares) == 1 else f"The quantiles {ranks}, in this order.",
            self.one_each,
            f"Values below {low} count as {low} and those above {high} as {high}. Every value moves to the nearest of "
            f"the points in steps of {step} from {low}, and so does the answer.",
        )
        used: dict[str, object] = {"q": m.shares, "bounds": (m.grid.low, m.grid.high), "step": m.grid.step}
        return stated(m.privacy, "Quantile", used | {"epsilon_per_pick": m.epsilon_per_pick}, sentences)


def _limited_domain_sentences(s: LimitedDomain | ChosenKBar) -> list[str]:
    touched = "any number of items" if s.max_items_per_user is None else f"at most {s.max_items_per_user} items"
    if isinstance(s, ChosenKBar):
        return [f"One user counts for {touched}; the cut-off k_bar is chosen privately between {s.k} and {s.k_bar}."]
    return [
        f"One user counts for {touched}.",
        f"An item comes out only if it beats bottom, which stands {s.height:.4g} users above the count of rank "
        f"k_bar + 1 = {s.terms.k_bar + 1:,}.",
    ]


def stated(privacy: Privacy, mechanism: str, used: Mapping[str, object], sentences: tuple[str, ...]) -> Statement:
    """A privacy value as a release says it."""
    return Statement(
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        neighbors=privacy.neighbors,
        mechanism=mechanism,
        parameters=dict(used),
        bound=privacy.bound,
        sentences=sentences,
    )
