"""A set union for a known bound: how the items of every level and their counts are drawn, and how it is answered."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.methods import AUTO
from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Int64, Sets, numbers_of_users
from dpselect.draws import Draws
from dpselect.mechanisms.gaps import gaussian_width
from dpselect.mechanisms.set_union.rounds import bounded, without
from dpselect.queries.union.bound import BOUND_SHARE
from dpselect.queries.union.method import FEW_ITEMS, FOR_FEW
from dpselect.queries.union.terms import UnionTerms
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy
from dpselect.release.answers import union_sentences
from dpselect.release.answers.outcome import DrawnItem, Interval, Outcome, write_release
from dpselect.release.release import Release
from dpselect.release.scale import ALL_ITEMS, Scale
from dpselect.release.statement import Kind, Statement
from dpselect.utility.union_accuracy import found_accuracy

if TYPE_CHECKING:
    import numpy.typing as npt

ORDERED = (str, int, float, bytes, decimal.Decimal, datetime.date, datetime.time)
MECHANISM_PARAMETERS = ("threshold", "deviation", "rate", "cutoff", "rounds", "order")  # those that a statement has


@dataclass(frozen=True)
class BoundedUnion:
    """A union for users of at most `max_items_per_user` items each."""

    terms: UnionTerms
    max_items_per_user: int | None
    mechanisms: tuple[Any, ...]

    @classmethod
    def with_bound(cls, terms: UnionTerms, max_items_per_user: int | None) -> BoundedUnion:
        """Return the union with this bound."""
        return cls(terms, max_items_per_user, terms.mechanisms(max_items_per_user))

    @classmethod
    def choose(cls, terms: UnionTerms, sets: Sets | None, draws: Draws) -> BoundedUnion:
        """Return the union with a bound that is chosen privately from `sets`, or with that of its terms."""
        return cls.with_bound(
            terms, terms.max_items_per_user if sets is None else terms.bound_choice.of_sets(sets, draws)
        )

    @property
    def items_of_users(self) -> int | None:
        """The bound on the items with which a user takes part; None where a greedy update looks at all of them."""
        bound: int | None = self.mechanisms[-1].max_items_per_user
        return bound

    @cached_property
    def counts_decide(self) -> bool:
        """The counts are those that decided which items are released."""
        return self.terms.counts_decide(self.max_items_per_user)

    # ---- what is drawn ----------------------------------------------------------------------------------------

    def draw_level(self, sets: Sets, level: int, draws: Draws, progress: Progress | None) -> dict[int, DrawnItem]:
        """Draw what one level releases, by code."""
        mechanism, is_shown = self.mechanisms[level], level >= self.terms.first_level
        if self.counts_decide and is_shown:
            codes, users = mechanism.weighed(sets, draws, progress)
            noisy: Iterable[int | None] = mechanism.noisy(users.astype("int64"), draws)
        else:
            codes = mechanism(sets, draws=draws, progress=progress)
            draws_counts = self.terms.counts and is_shown
            noisy = self._draw_counts(sets, codes, level, draws) if draws_counts else repeat(None, len(codes))
        drawn = zip(codes.tolist(), sets.labels(codes), noisy, strict=True)
        return {code: DrawnItem(label, count, level=level) for code, label, count in drawn}

    def _draw_counts(self, sets: Sets, codes: Int64, level: int, draws: Draws) -> list[int]:
        """Draw noisy numbers of users. Every user counts for a random few of the released items that they have."""
        is_unreleased: npt.NDArray[np.bool_] = np.ones(sets.size, dtype=np.bool_)
        is_unreleased[codes] = False
        bounded_sets = bounded(without(sets, is_unreleased), self.max_items_per_user, draws)
        return self.add_noise(numbers_of_users(bounded_sets)[codes], level, draws)

    def add_noise(self, users: Int64, level: int, draws: Draws) -> list[int]:
        """Draw the noisy numbers of users of items, of which a user has no more than the bound."""
        noises = draws.gaussians(self._variances[level], len(users))
        return [number + noise for number, noise in zip(users.tolist(), noises, strict=True)]

    @cached_property
    def _variances(self) -> Mapping[int, Fraction]:
        """The variance of the noise on the counts of each level that is released."""
        return {level: self.terms.noise(level, self.max_items_per_user or 1) for level in self._levels}

    @cached_property
    def _widths(self) -> Mapping[int, int]:
        """The widths of the noise on the counts of each level."""
        return {level: gaussian_width(variance, BETA) for level, variance in self._variances.items()}

    def outcome(
        self, levels: Sequence[Mapping[Any, DrawnItem]], *, secure: bool, lengths: Sequence[str] | None = None
    ) -> Outcome:
        """Return the items of all levels in an order that says nothing: by noisy count if there is one, then by name.

        `lengths` are the numbers of tokens of the items of each level of a text.
        """
        items = [item for level in levels for item in level.values()]
        items.sort(key=lambda item: (-(item.score or 0), sort_key(item.label)))
        sizes = None if lengths is None else dict(zip(lengths, map(len, levels), strict=True))
        return Outcome(
            items=tuple(items), secure=secure, max_items_per_user=self.max_items_per_user, items_by_length=sizes
        )

    # ---- what is written --------------------------------------------------------------------------------------

    def answer(self, outcome: Outcome) -> Release:
        """Write the release. How many items of each length a text has is a part of the outcome."""
        statement = self._statement(outcome.items_by_length)
        interval_of = cache(self.interval)
        return write_release(
            outcome,
            statement,
            self.accuracy(),
            kind=Kind.SET,
            counted=self.terms.counts,
            width=lambda item: interval_of(item.level, item.score),
            columns=self.terms.by,
        )

    def possible(self, outcome: Outcome, intervals: Sequence[Interval]) -> Outcome:
        """Return an outcome with the level of every item, by its interval, and with lengths that an answer can have."""
        sizes = None
        if self.terms.words is not None:
            words, stated = self.terms.words, outcome.items_by_length or {}
            lengths = map(str, range(words.shortest, words.longest + 1))
            sizes = {length: stated[length] for length in lengths if isinstance(stated.get(length), int)}
            sizes = sizes if sum(sizes.values()) == len(outcome.items) else {}
        items = outcome.items
        if self.terms.counts:
            items = tuple(map(self._with_level, items, intervals))
        return replace(outcome, items=items, items_by_length=sizes, max_items_per_user=self.max_items_per_user)

    def _with_level(self, item: DrawnItem, interval: Interval) -> DrawnItem:
        """Return the item with the first level whose interval it has, or else with the first of all."""
        fitting = []
        if item.score is not None and len(self._levels) > 1:
            fitting = [level for level in self._levels if self.interval(level, item.score) == interval]
        return item._replace(level=fitting[0] if fitting else self.terms.first_level)

    @property
    def _levels(self) -> range:
        """The levels that are released."""
        return range(self.terms.first_level, len(self.terms.shares_of_levels))

    def interval(self, level: int, count: int) -> Interval:
        """Return the interval of a count of a level."""
        if self.counts_decide:
            interval: Interval = self.mechanisms[level].interval(count, BETA)
            return interval
        return accuracy.score_interval(count, self._widths[level])

    def accuracy(self) -> Accuracy:
        """Return from how many users on an item is found, and how near the counts are."""
        users_condition = union_sentences.IN_ONE_GROUP if self.terms.by else ""
        good = found_accuracy(
            self.mechanisms[-1], self.items_of_users, len(self.terms.shares_of_levels), users_condition, self.scale
        )
        if self.counts_decide:
            widths = [mechanism.width(BETA) for mechanism in self.mechanisms[self.terms.first_level :]]
            good += accuracy.selecting_counts(max(widths), self.scale)
        elif self.terms.counts:
            good += accuracy.union_counts(list(self._widths.values()), self.scale)
        return good

    @property
    def scale(self) -> Scale:
        """The users who are counted: each for a few of the items that came back, or of all that they have."""
        only_returned = not self.counts_decide
        terms = self.terms
        return Scale(
            items=self.items_of_users,
            only_returned=only_returned,
            items_are_pairs=bool(terms.by),
            period=terms.period,
            rows=terms.row_bound,
        )

    def _statement(self, items_by_length: Mapping[str, int] | None) -> Statement:
        """State the promise; `items_by_length` says how many items a text has of each length."""
        terms, last, bound = self.terms, self.mechanisms[-1], self.max_items_per_user
        name = terms.method_for(bound)
        mechanism_parameters = {key: value for key in MECHANISM_PARAMETERS if (value := getattr(last, key, None))}
        epsilon, delta = terms.price_of_union(bound)
        shared = terms.shared_budget is not None and terms.uses_rounds(bound)
        parameters: dict[str, object] = {"method": name, "max_items_per_user": bound, **mechanism_parameters}
        if not shared:
            parameters |= {"epsilon_of_items": epsilon, "delta_of_items": delta}
        sentences = [
            union_sentences.describe_method(name, was_named=not terms.may_choose_method),
            *union_sentences.describe_levels(terms.shares_of_levels),
            union_sentences.describe_bound(
                self.items_of_users,
                share_of_bound=BOUND_SHARE if terms.chooses_bound else None,
                shared=shared,
                in_groups=bool(terms.by),
            ),
            union_sentences.describe_rare(in_groups=bool(terms.by)),
        ]
        if terms.chooses_bound:
            parameters["epsilon_of_bound"] = terms.epsilon_for_bound
            if shared:
                parameters["bound_in_budget"] = True
            elif terms.shared_budget is not None:
                parameters["order_of_other_bounds"] = terms.shared_budget.order
            if self.items_of_users is None and bound is not None:
                parameters[ALL_ITEMS] = True  # the bound that was chosen decided the method, and cuts nobody
                sentences.append(union_sentences.describe_choice_of_method(bound, BOUND_SHARE))
            elif bound is not None and 1 < bound <= FEW_ITEMS and self._could_be_greedy:
                sentences.append(union_sentences.describe_few_items(FOR_FEW, bound))
        if len(terms.shares_of_levels) > 1:
            parameters["shares"] = terms.shares_of_levels
        scale = self.scale if terms.counts else self.scale.of_rows
        if terms.counts:
            of_counts, sentence = self._describe_counts()
            parameters |= of_counts
            sentences.append(sentence)
        parameters |= scale.parameters
        sentences += scale.sentences
        sentences += union_sentences.describe_weak_points(terms.price.epsilon, terms.price.delta)
        if items_by_length is not None:
            parameters["items_by_length"] = items_by_length
            sentences.append(union_sentences.describe_lengths(items_by_length))
        statement = Statement.from_privacy(terms.price, type(last).__name__, parameters, tuple(sentences))
        return union_sentences.add_in_engine(statement) if terms.in_engine else statement

    @property
    def _could_be_greedy(self) -> bool:
        """No method was named, and greedy updates can answer."""
        terms = self.terms
        return terms.requested_name == AUTO and terms.words is None and not terms.in_engine

    def _describe_counts(self) -> tuple[dict[str, object], str]:
        """Return the parameters and the sentence of the counts."""
        if self.counts_decide:
            mechanisms = self.mechanisms[self.terms.first_level :]
            deviation, least = (
                max(float(mechanism.deviation) for mechanism in mechanisms),
                min(mechanism.least for mechanism in mechanisms),
            )
            noise = mechanisms[0].noise
            sentence = union_sentences.describe_deciding_counts(noise, deviation, least, several=len(mechanisms) > 1)
            return {"deviation_of_counts": deviation, "counts_decided": True}, sentence
        deviation, share = math.sqrt(max(self._variances.values())), self.terms.counts_share(self.max_items_per_user)
        if share:
            parameters: dict[str, object] = {"share_of_counts": share, "deviation_of_counts": deviation}
            return parameters, union_sentences.describe_counts_of_budget(deviation, share)
        epsilon, delta = self.terms.price_of_counts(self.max_items_per_user)
        parameters = {"epsilon_of_counts": epsilon, "delta_of_counts": delta, "deviation_of_counts": deviation}
        return parameters, union_sentences.describe_counts(deviation)


def sort_key(label: object) -> tuple[str, bool, Any]:
    """Return the key that sorts a label among its like: text by its characters, numbers and times by their size."""
    kind = type(label).__qualname__
    if isinstance(label, tuple):
        return kind, False, tuple(map(sort_key, label))
    if isinstance(label, datetime.datetime) and label.tzinfo is not None:  # Python compares none with one without
        kind += " with a zone"
    if not isinstance(label, ORDERED) or (isinstance(label, float) and math.isnan(label)):
        return kind, True, repr(label)
    return kind, False, label
