"""A set union: how an engine answers it, and what an answer cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import ZCDP, BoundedRange, PureDP
from dpselect.accounting.calibration import largest_rho
from dpselect.accounting.prices import Price, ceiling, divergence, up
from dpselect.aggregates.user_sets import Int64, Sets
from dpselect.aggregates.weight_groups import PairsElsewhere
from dpselect.draws import Draws, fresh_key, secure
from dpselect.engines.port import Engine
from dpselect.mechanisms.gaps import gaussian_width
from dpselect.mechanisms.set_union.by_weight import release_elsewhere
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.queries.plan import Ready
from dpselect.queries.union.bound import BOUNDS, bound_at, one_of, placed
from dpselect.queries.union.run import Run, added_in_engine, plainly, why
from dpselect.queries.union.terms import UnionTerms
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, interval
from dpselect.release.groups import Group, Groups, told_apart
from dpselect.release.release import Item, Release
from dpselect.texts.token_stream import TokenStream, level_by_level


@dataclass(frozen=True, kw_only=True, repr=False)
class UnionPlan(UnionTerms):
    """All items that enough distinct users share, or the n-grams of a text."""

    @property
    def reason(self) -> str:
        """Why this method."""
        return why(self.method, self)

    @property
    def accuracy(self) -> Accuracy:
        """What holds of an answer whatever the data are; nothing where a bound is to be chosen first."""
        if self.chosen:
            return accuracy.NOTHING
        found = Run(self, self.most, self.mechanisms(self.most), secure(), None).accuracy()
        return found + (accuracy.NOTHING if self.asked is None else self.asked.accuracy)

    def price_at(self, order: int | None) -> Price:
        """What any answer costs at most an account of this Rényi order."""
        return union_price(self, self.most, order)

    def cost_at(self, release: Release, order: int | None) -> Price:
        """What an answer cost it: a bound that was chosen is a part of the answer."""
        most = release.privacy.parameters.get("max_items_per_user") if self.chosen else self.most
        return union_price(self, most if isinstance(most, int) else None, order)

    def ready(self, engine: Engine) -> Ready:
        """How the engine answers it, and what accuracy was asked for."""
        answer, asked, by = self._without(engine), self.asked, self.by

        def said(draws: Draws, progress: Progress | None) -> Release:
            found = answer(draws, progress)
            found = found if asked is None else asked.told(found)
            return _by_group(found, by, plainly) if by else found

        return said

    def like(self, release: Release) -> Release:
        """An answer with what is planned of it: a bound that was chosen is a part of the answer."""
        most = one_of(BOUNDS, release.privacy.parameters.get("max_items_per_user")) if self.chosen else self.most
        told = Run(self, most, self.mechanisms(most), secure(), None).like(release)
        told = replace(told, privacy=added_in_engine(told.privacy)) if self.in_engine else told
        if self.facts.exclude is not None:
            from dpselect.queries.answer import left_out_of

            told = left_out_of(told, self.facts.exclude)
        return told if self.asked is None else self.asked.told(told)

    def _without(self, engine: Engine) -> Ready:
        """Of all items but those that shall not come back."""
        if self.facts.exclude is None:
            return self._ready(engine)
        from dpselect.queries.answer import without

        return without(self.facts.exclude, engine, self._ready)

    def _ready(self, engine: Engine) -> Ready:
        """By the items of every user: the tokens of a text, items that stay in the engine, or items in memory."""
        if self.words is not None:
            cutter = self.words.tokenizer
            engine.check_text(cutter)
            return lambda draws, progress: vocabulary_of(
                engine.tokens(cutter, progress=progress), self, draws, progress
            )
        if self.by:
            engine.check_pairs()
        if self.in_engine:
            return lambda draws, progress: union_of_pairs(engine.pairs(progress=progress), self, draws, progress)
        return lambda draws, progress: union_of(engine.contributions(progress=progress), self, draws, progress)


def union_of(sets: Sets, query: UnionTerms, draws: Draws, progress: Progress | None) -> Release:
    """The items that enough users share."""
    run = Run.of(sets if query.chosen else None, query, draws, progress)
    items = run.level(sets, 0)
    return run.release([items])


def vocabulary_of(stream: TokenStream, query: UnionTerms, draws: Draws, progress: Progress | None) -> Release:
    """The n-grams that enough users share, level by level."""
    shortest, longest = query.first + 1, len(query.parts)
    run = Run.of(stream.sets() if query.chosen else None, query, draws, progress)
    found: list[dict[object, Item]] = []

    def release(sets: Sets, level: int) -> Int64:
        items = run.level(sets, level - 1)
        found.append({item.item: item for item in items.values()})
        return np.array(list(items), dtype=np.int64)

    levels = [level.length for level in level_by_level(stream, longest, release)]
    wanted = [found[length - 1] if length <= len(found) else {} for length in levels if length >= shortest]
    return run.release(wanted, [str(length) for length in levels if length >= shortest])


def union_of_pairs(pairs: PairsElsewhere, query: UnionTerms, draws: Draws, progress: Progress | None) -> Release:
    """The items that enough users share; neither users nor items that were not released come here."""
    most = query.most or bound_at(placed(*pairs.lengths(BOUNDS[-1]), BOUNDS), query.chooser, draws, BOUNDS)
    run = Run(query, most, query.mechanisms(most), draws, progress)
    release_elsewhere(run.mechanisms[0], pairs, draws=draws, progress=progress)
    labels = pairs.names()
    counts: list[int | None] = [None] * len(labels)
    width = None
    if query.counts:
        variance = query.noise(0, most)
        width = gaussian_width(variance, BETA)
        counts = [int(n) + draws.gaussian(variance) for n in pairs.users(most, fresh_key())]
    told = zip(labels, counts, strict=True)
    items = dict(enumerate(Item(label, None, n, *interval(n, width)) for label, n in told))
    release = run.release([items])
    return replace(release, privacy=added_in_engine(release.privacy))


def union_price(terms: UnionTerms, most: int | None, order: int | None) -> Price:
    """The price of an answer for users of at most `most` items; where that was to be chosen and is None, of any."""
    if order is None:
        return ceiling(terms.price, None)
    renyi = divergence(BoundedRange(terms.for_bound), order) + _items(terms, most, order) + _counts(terms, order)
    return Price(terms.price.epsilon, renyi, terms.price.delta, added=terms.price.epsilon)


def _items(terms: UnionTerms, most: int | None, order: int) -> Fraction:
    """The divergence of all levels: of any (epsilon, delta) step, or less where the release curves say so."""
    stated = divergence(PureDP(terms.for_union[0]), order)
    if terms.chosen and most is None:
        return stated
    made = [one.divergence(order) if isinstance(one, RenyiShaped) else None for one in terms.mechanisms(most)]
    known = [one for one in made if one is not None]
    return min(stated, up(sum(known, Fraction(0)))) if len(known) == len(made) else stated


def _counts(terms: UnionTerms, order: int) -> Fraction:
    """The divergence of the Gaussian noise on all counts together."""
    if not terms.counts or terms.counts_decide:
        return Fraction(0)
    epsilon, delta = terms.for_counts
    return min(divergence(PureDP(epsilon), order), divergence(ZCDP(largest_rho(epsilon, delta)), order))


def _by_group(release: Release, columns: tuple[str, ...], order: Callable[[object], Any]) -> Release:
    """A set of pairs, group and item, as the items of groups: each group that has any is shown, in this order."""
    width = len(columns)
    members: dict[object, list[Item]] = {}
    names: dict[object, tuple[object, ...]] = {}
    for item in release.items:
        values = item.item if isinstance(item.item, tuple) else (item.item,)
        label = values[width] if len(values) == width + 1 else values[width:]
        which, group = told_apart(values[:width]), values[:width]
        names.setdefault(which, group)
        members.setdefault(which, []).append(replace(item, item=label, group=group))
    shown = sorted(names, key=lambda which: order(names[which]))
    groups = Groups(columns, tuple(Group(names[which], release.ended) for which in shown))
    return replace(release, items=tuple(item for which in shown for item in members[which]), groups=groups)
