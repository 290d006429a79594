"""A set union: how an engine answers it, and what an answer cost."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import ZCDP, BoundedRange, PureDP
from dpselect.accounting.prices import Price, ceiling, divergence, up
from dpselect.aggregates.user_sets import Int64, Sets
from dpselect.draws import Draws, fresh_key
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.queries.plan import BoundDraw
from dpselect.queries.union.bounded_union import BoundedUnion, sort_key
from dpselect.queries.union.method import FEW_ITEMS, FOR_FEW
from dpselect.queries.union.terms import COUNT_SHARE, UnionTerms
from dpselect.release import accuracy
from dpselect.release.accuracy import Accuracy
from dpselect.release.answers.items_left_out import add_left_out, but_excluded
from dpselect.release.answers.outcome import DrawnItem, Outcome
from dpselect.release.answers.union_sentences import describe_method, describe_method_for_few
from dpselect.release.groups import Group, typed_group
from dpselect.release.release import Release

if TYPE_CHECKING:
    from dpselect.aggregates.weight_groups import PairsElsewhere
    from dpselect.engines import Engine
    from dpselect.texts.token_stream import TokenStream


@dataclass(frozen=True, kw_only=True, repr=False)
class UnionPlan(UnionTerms):
    """All items that enough distinct users share, or the n-grams of a text."""

    @property
    def reason(self) -> str:
        """The reason for this method."""
        reason = describe_method(self.method, was_named=not self.may_choose_method)
        return f"{reason} {describe_method_for_few(FOR_FEW, FEW_ITEMS)}" if self.bound_decides_method else reason

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy for any data; nothing where a bound is to be chosen first."""
        if self.chooses_bound:
            return accuracy.NO_ACCURACY
        good = BoundedUnion.with_bound(self, self.max_items_per_user).accuracy()
        good += accuracy.NO_ACCURACY if self.target_accuracy is None else self.target_accuracy.accuracy
        return good if self.facts.exclude is None else but_excluded(good)

    def price_at(self, order: int | None) -> Price:
        """Return what any answer costs at most an account of this Rényi order."""
        return union_price(self, self.max_items_per_user, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """Return what an answer cost it: a bound that was chosen is a part of the answer."""
        max_items = (
            release.privacy.parameters.get("max_items_per_user") if self.chooses_bound else self.max_items_per_user
        )
        return union_price(self, max_items if isinstance(max_items, int) else None, order)

    def bind_draw(self, engine: Engine) -> BoundDraw:
        """Bind to the tokens of a text, to items that stay in the engine, or to the items of every user."""
        if self.facts.exclude is not None:
            engine.leave_out(self.facts.exclude)
        if self.words is not None:
            tokenizer = self.words.tokenizer
            engine.check_text(tokenizer)
            return lambda draws, progress: draw_vocabulary(
                engine.tokens(tokenizer, progress=progress), self, draws, progress
            )
        if self.by:
            engine.check_pairs()

        def draw(draws: Draws, progress: Progress | None) -> Outcome:
            if self.in_engine:
                outcome = draw_pairs(engine.pairs(progress=progress), self, draws, progress)
            else:
                outcome = draw_union(engine.contributions(progress=progress), self, draws, progress)
            return _by_group(outcome, len(self.by)) if self.by else outcome

        return draw

    def outcome_of(self, release: Release) -> Outcome:
        """Read the outcome of a release: a bound that was chosen, and the levels of its items, are parts of it."""
        outcome = super().outcome_of(release)
        return self._bounded(outcome).possible(outcome, [(item.low, item.high) for item in release.items])

    def answer(self, outcome: Outcome) -> Release:
        """Write the release, with what was left out and what accuracy was asked for."""
        release = self._bounded(outcome).answer(outcome)
        if self.facts.exclude is not None:
            release = add_left_out(release, self.facts.exclude)
        return release if self.target_accuracy is None else self.target_accuracy.added_to(release)

    def _bounded(self, outcome: Outcome) -> BoundedUnion:
        """Return the union with the bound that was chosen, if one was."""
        return BoundedUnion.with_bound(
            self,
            self.bound_choice.bound_of_answer(outcome.max_items_per_user)
            if self.chooses_bound
            else self.max_items_per_user,
        )


def draw_union(sets: Sets, terms: UnionTerms, draws: Draws, progress: Progress | None) -> Outcome:
    """Draw the items that enough users share."""
    union = BoundedUnion.choose(terms, sets if terms.chooses_bound else None, draws)
    return union.outcome([union.draw_level(sets, 0, draws, progress)], secure=draws.secure)


def draw_vocabulary(stream: TokenStream, terms: UnionTerms, draws: Draws, progress: Progress | None) -> Outcome:
    """Draw the n-grams that enough users share, level by level."""
    from dpselect.texts.token_stream import release_levels

    shortest, longest = terms.first_level + 1, len(terms.shares_of_levels)
    union = BoundedUnion.choose(terms, stream.sets() if terms.chooses_bound else None, draws)
    drawn: list[dict[object, DrawnItem]] = []

    def release(sets: Sets, length: int) -> Int64:
        items = union.draw_level(sets, length - 1, draws, progress)
        drawn.append({item.label: item for item in items.values()})
        return np.array(list(items), dtype=np.int64)

    lengths = [level.length for level in release_levels(stream, longest, release)]
    shown_lengths = [length for length in lengths if length >= shortest]
    levels = [drawn[length - 1] if length <= len(drawn) else {} for length in shown_lengths]
    return union.outcome(levels, secure=draws.secure, lengths=[str(length) for length in shown_lengths])


def draw_pairs(pairs: PairsElsewhere, terms: UnionTerms, draws: Draws, progress: Progress | None) -> Outcome:
    """Draw the items that enough users share; neither users nor items that were not released come here."""
    from dpselect.mechanisms.set_union.by_weight import release_elsewhere

    max_items = terms.max_items_per_user or terms.bound_choice.of_pairs(pairs, draws)
    union = BoundedUnion.with_bound(terms, max_items)
    release_elsewhere(union.mechanisms[0], pairs, draws=draws, progress=progress)
    labels = pairs.names()
    counts: list[int | None] = [None] * len(labels)
    if terms.counts:
        counts = list(union.add_noise(pairs.released_item_counts(max_items, fresh_key()), 0, draws))
    return union.outcome([dict(enumerate(map(DrawnItem, labels, counts)))], secure=draws.secure)


def union_price(terms: UnionTerms, max_items: int | None, order: int | None) -> Price:
    """Return the price of an answer for users of at most `max_items` items.

    Where that was to be chosen and is None, of any.
    """
    if order is None:
        return ceiling(terms.price, None)
    return Price(terms.price.epsilon, _renyi(terms, max_items, order), terms.price.delta, added=terms.price.epsilon)


def _renyi(terms: UnionTerms, max_items: int | None, order: int) -> Fraction:
    """Return the divergence of the choice of the bound and of what follows."""
    choice, shared = divergence(BoundedRange(terms.epsilon_for_bound), order), terms.shared_budget
    if shared is None:
        return choice + (
            _of_any_bound(terms, order) if max_items is None else _items_and_counts(terms, max_items, order)
        )
    if order > shared.order:  # of all bounds or of none: docs/composing.md
        return divergence(PureDP(terms.total_epsilon), order)
    rounds_budget = terms.budget_of_rounds  # spent at the budget's own order, so not more at this one
    if max_items is None:
        return choice + max(rounds_budget, _of_any_bound(terms, order))
    if not terms.uses_rounds(max_items):
        return choice + _items_and_counts(terms, max_items, order)
    items = _items(terms, max_items, order)
    return choice + (
        rounds_budget
        if items is None
        else min(rounds_budget, items + divergence(ZCDP(terms.rho_of_counts(max_items)), order))
    )


def _items_and_counts(terms: UnionTerms, max_items: int | None, order: int) -> Fraction:
    """Return the divergence of all levels and their counts: of (epsilon, delta) steps, or less where it is known."""
    of_steps, of_items = divergence(PureDP(terms.price_of_union(max_items)[0]), order), _items(terms, max_items, order)
    counts = divergence(ZCDP(terms.rho_of_counts(max_items)), order)
    if terms.counts_share(max_items):
        return of_steps if of_items is None else min(of_steps, of_items + counts)
    return min(of_steps, of_items or of_steps) + min(
        divergence(PureDP(terms.price_of_counts(max_items)[0]), order), counts
    )


def _of_any_bound(terms: UnionTerms, order: int) -> Fraction:
    """Return the divergence where the bound is not known: of one step, or of two if counts are a step of their own."""
    epsilon, of_counts = terms.price_after_bound[0], terms.total_epsilon * COUNT_SHARE
    of_one_step = divergence(PureDP(epsilon), order)
    if not terms.counts:
        return of_one_step
    return max(of_one_step, divergence(PureDP(epsilon - of_counts), order) + divergence(PureDP(of_counts), order))


def _items(terms: UnionTerms, max_items: int | None, order: int) -> Fraction | None:
    """Return the divergence of the items of all levels as their mechanisms know it; None if one does not."""
    from dpselect.mechanisms.set_union.count_laplace import CountLaplace

    divergences = [
        mechanism.divergence(order) if isinstance(mechanism, RenyiShaped | CountLaplace) else None
        for mechanism in terms.mechanisms(max_items)
    ]
    known_divergences = [cost for cost in divergences if cost is not None]
    return up(sum(known_divergences, Fraction(0))) if len(known_divergences) == len(divergences) else None


def _by_group(outcome: Outcome, columns: int) -> Outcome:
    """Return a set of pairs, group and item, as the items of groups; each group that has any is shown, by its name."""
    members: dict[object, list[DrawnItem]] = {}
    names: dict[object, tuple[object, ...]] = {}
    for item in outcome.items:
        values = item.label if isinstance(item.label, tuple) else (item.label,)
        label = values[columns] if len(values) == columns + 1 else values[columns:]
        group = values[:columns]
        key = typed_group(group)
        names.setdefault(key, group)
        members.setdefault(key, []).append(item._replace(label=label, group=group))
    order = sorted(names, key=lambda key: sort_key(names[key]))
    groups = tuple(Group(names[key], outcome.ended) for key in order)
    return replace(outcome, items=tuple(item for key in order for item in members[key]), groups=groups)
