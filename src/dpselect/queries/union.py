"""A set union, run: choose the bound, release the items of every level, count them, and say what was done."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpselect._ground.methods import AUTO
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import weak_points
from dpselect.accounting.two_prices import Price
from dpselect.aggregates.user_sets import Int64, Sets, numbers_of_users
from dpselect.aggregates.value_counts import UsersAt
from dpselect.aggregates.weight_groups import PairsElsewhere
from dpselect.draws import Draws, fresh_key, secure
from dpselect.engines.port import Engine
from dpselect.mechanisms.gaps import gaussian_width
from dpselect.mechanisms.quantile import Quantile
from dpselect.mechanisms.set_union.by_weight import release_elsewhere
from dpselect.mechanisms.set_union.rounds import bounded, without
from dpselect.queries.found import IN_ONE, found_by
from dpselect.queries.likeness import likeness
from dpselect.queries.plan import Ready
from dpselect.queries.union_counts import accuracy_of, level_with_counts, said_of
from dpselect.queries.union_price import union_price
from dpselect.queries.union_terms import BOUND_SHARE, BOUNDS, UnionTerms, chosen_method
from dpselect.release import accuracy
from dpselect.release.accuracy import BETA, Accuracy, interval
from dpselect.release.in_groups import in_groups
from dpselect.release.release import Item, Kind, Release, Statement
from dpselect.release.scale import Scale
from dpselect.texts.token_stream import TokenStream, level_by_level

FOR_FEW, FEW = "greedy-geometric", 6  # docs/set-union-experiment.md has the figures
ORDERED = (str, int, float, bytes, decimal.Decimal, datetime.date, datetime.time)


@dataclass(frozen=True, kw_only=True, repr=False)
class UnionPlan(UnionTerms):
    """All items that enough distinct users share, or the n-grams of a text."""

    @property
    def reason(self) -> str:
        """Why this method."""
        return _why(self.method, self)

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
            return in_groups(found, by, plainly) if by else found

        return said

    def like(self, release: Release) -> Release:
        """An answer with what is planned of it: a bound that was chosen is a part of the answer."""
        most = one_of(BOUNDS, release.privacy.parameters.get("max_items_per_user")) if self.chosen else self.most
        told = Run(self, most, self.mechanisms(most), secure(), None).like(release)
        told = replace(told, privacy=added_in_engine(told.privacy)) if self.in_engine else told
        if self.facts.exclude is not None:
            from dpselect.queries.left_out import left_out_of

            told = left_out_of(told, self.facts.exclude)
        return told if self.asked is None else self.asked.told(told)

    def _without(self, engine: Engine) -> Ready:
        """Of all items but those that shall not come back."""
        if self.facts.exclude is None:
            return self._ready(engine)
        from dpselect.queries.left_out import without

        return without(self.facts.exclude, engine, self._ready)

    def _ready(self, engine: Engine) -> Ready:
        """By the items of every user: the tokens of a text, items that stay in the engine, or items in memory."""
        if self.words is not None:
            cutter = self.words.tokenizer
            engine.check_text(cutter)
            return lambda draws, progress: vocabulary_of(
                engine.tokens(cutter, progress=progress), self, draws, progress
            )
        engine.check_sets()
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


@dataclass(frozen=True)
class Run:
    """One question while it is answered."""

    query: UnionTerms
    most: int | None
    mechanisms: tuple[Any, ...]
    draws: Draws
    progress: Progress | None

    @classmethod
    def of(cls, sets: Sets | None, query: UnionTerms, draws: Draws, progress: Progress | None) -> Run:
        """The bound is chosen first, from `sets`, where it is."""
        most = query.most if sets is None else chosen_bound(sets, query.chooser, draws)
        return cls(query, most, query.mechanisms(most), draws, progress)

    def level(self, sets: Sets, place: int) -> dict[int, Item]:
        """What one level releases, by code."""
        if self.query.counts_decide and place >= self.query.first:
            return level_with_counts(self.mechanisms[place], sets, self.draws, self.progress)
        codes = self.mechanisms[place](sets, draws=self.draws, progress=self.progress)
        labels = sets.labels(codes)
        counts: list[int | None] = [None] * len(labels)
        width = None
        if self.query.counts and self.most is not None and place >= self.query.first:
            counts = list(self._counts(sets, codes, self.query.noise(place, self.most)))
            width = self._width(place)
        told = zip(codes, labels, counts, strict=True)
        return {int(c): Item(label, None, n, *accuracy.interval(n, width)) for c, label, n in told}

    def _width(self, place: int) -> int:
        """How near the counts of a level are."""
        return gaussian_width(self.query.noise(place, self.most or 1), BETA)

    def _counts(self, sets: Sets, codes: Int64, variance: Fraction) -> Iterator[int]:
        """Noisy numbers of users. Every user counts for a random few of the released items that they have."""
        gone: npt.NDArray[np.bool_] = np.ones(sets.size, dtype=np.bool_)
        gone[codes] = False
        kept = bounded(without(sets, gone), self.most, self.draws)
        true = numbers_of_users(kept)[codes]
        return (int(n) + self.draws.gaussian(variance) for n in true)

    def release(self, levels: list[Any], lengths: list[str] | None = None) -> Release:
        """All of it, in an order that says nothing: by noisy count where there is one, then by name."""
        items = [item for level in levels for item in level.values()]
        items.sort(key=lambda item: (-(item.count or 0), plainly(item.item)))
        sizes = None
        if lengths is not None:
            sizes = {length: len(level) for length, level in zip(lengths, levels, strict=True)}
        return Release(
            items=tuple(items),
            kind=Kind.SET,
            counted=self.query.counts,
            privacy=self.statement(sizes),
            secure=self.draws.secure,
            accuracy=self.accuracy(),
        )

    def accuracy(self) -> Accuracy:
        """From how many users on an item is found, and how near the counts are."""
        levels = range(self.query.first, len(self.query.parts))
        among = IN_ONE if self.query.by else ""
        good = found_by(self.mechanisms[-1], self.most, len(self.query.parts), among)
        if self.query.counts_decide:
            good += accuracy_of(self.mechanisms[self.query.first :], self.scale)
        elif self.query.counts and self.most is not None:
            good += accuracy.counts_of_takers([self._width(place) for place in levels], self.scale)
        return good

    @property
    def scale(self) -> Scale:
        """Which users are counted: each for a few of the items that came back, or of all that they have."""
        return Scale(items=self.most, here=not self.query.counts_decide, period=self.query.period)

    def like(self, release: Release) -> Release:
        """An answer with what is said of it. How many items of each length a text has is a part of the answer."""
        stated, sizes = release.privacy.parameters.get("items_by_length"), None
        if self.query.words is not None:
            words, told = self.query.words, stated if isinstance(stated, Mapping) else {}
            lengths = map(str, range(words.shortest, words.longest + 1))
            sizes = {one: told[one] for one in lengths if isinstance(told.get(one), int)}
            sizes = sizes if sum(sizes.values()) == len(release) else {}
        said, counted = self.statement(sizes), self.query.counts
        return likeness(release, said, self.accuracy(), kind=Kind.SET, counted=counted, ends=self._ends)

    def _ends(self, count: int) -> list[tuple[float | None, float | None]]:
        """The interval of a count, at each level."""
        levels = range(self.query.first, len(self.query.parts))
        if self.query.counts_decide:
            return [self.mechanisms[place].interval(count, BETA) for place in levels]
        return [accuracy.interval(count, self._width(place)) for place in levels]

    def statement(self, sizes: Mapping[str, int] | None = None) -> Statement:
        """What is promised, in numbers and in sentences; `sizes` says how many items a text has of each length."""
        t, last = self.query, self.mechanisms[-1]
        name = chosen_method(t, self.most)
        used: dict[str, object] = {"method": name, "max_items_per_user": self.most}
        used |= {
            key: value
            for key in ("threshold", "deviation", "cutoff", "slack", "rounds", "order")
            if (value := getattr(last, key, None))
        }
        epsilon, delta = t.for_union
        used |= {"epsilon_of_items": epsilon, "delta_of_items": delta}
        sentences = [_why(name, t), *_levels(t.parts), _bound(self.most, t), NEVER]
        if t.chosen:
            used["epsilon_of_bound"] = t.for_bound
            sentences += _of_few(self.most, t)
        if len(t.parts) > 1:
            used["shares"] = t.parts
        if t.counts_decide:
            told, said = said_of(self.mechanisms[t.first :])
            used, sentences = used | told, [*sentences, said]
        elif t.counts and self.most is not None:
            deviation = math.sqrt(max(t.noise(place, self.most) for place in range(t.first, len(t.parts))))
            used |= {"epsilon_of_counts": t.for_counts[0], "delta_of_counts": t.for_counts[1]}
            used["deviation_of_counts"] = deviation
            sentences.append(
                f"Counts carry Gaussian noise of standard deviation {deviation:.4g}, or less, and cost a quarter of "
                "the price."
            )
        if t.counts:
            used |= self.scale.parameters
            sentences += self.scale.sentences
        sentences += [f"Mind: {text}" for text in weak_points(t.price.epsilon, t.price.delta)]
        if sizes is not None:
            used["items_by_length"] = sizes
            counted = ", ".join(f"{size:,} of {length}" for length, size in sizes.items())
            sentences.append(f"Items by number of tokens: {counted}.")
        return Statement.of(t.price, type(last).__name__, used, tuple(sentences))


def chosen_bound(sets: Sets, chooser: Quantile, draws: Draws) -> int:
    """About how many items 9 of 10 users have at most: each stands at the least of BOUNDS that leaves all they have."""
    total = np.zeros(BOUNDS[-1] + 1, dtype=np.int64)
    for block in sets.blocks():
        total += np.bincount(np.minimum(np.diff(block.offsets), BOUNDS[-1]), minlength=len(total))
    lengths = np.flatnonzero(total[1:]) + 1
    return bound_at(placed(lengths, total[lengths], BOUNDS), chooser, draws, BOUNDS)


def bound_at(places: Any, chooser: Quantile, draws: Draws, bounds: Sequence[int]) -> int:
    """The bound, from one place in `bounds` for each user, or from how many users are at each."""
    return bounds[int(chooser(places, draws=draws)[0])]


def plainly(label: object) -> tuple[str, bool, Any]:
    """Where a label stands among its like: text by its characters, numbers and times by their size."""
    kind = type(label).__qualname__
    if isinstance(label, tuple):
        return kind, False, tuple(map(plainly, label))
    if isinstance(label, datetime.datetime) and label.tzinfo is not None:  # Python compares none with one without
        kind += " with a zone"
    if not isinstance(label, ORDERED) or (isinstance(label, float) and math.isnan(label)):
        return kind, True, repr(label)
    return kind, False, label


NEVER = "An item that only a single user has appears with a probability of at most delta."


def _why(name: str, query: UnionTerms) -> str:
    taken = "It was named." if query.named != AUTO else "It was taken by epsilon, delta and max_items_per_user alone."
    return f"Items that enough users share, by {name}; every decision is one exact coin. {taken}"


def _levels(shares: tuple[Fraction, ...]) -> list[str]:
    """How the levels of a text share the price."""
    if len(shares) == 1:
        return []
    dealt = ", ".join(str(share) for share in shares)
    return [
        f"Items of 1 to {len(shares)} tokens, level by level, for {dealt} of the price of items; an item is a "
        "candidate only if both of its parts, all tokens but the last and all but the first, were released."
    ]


def _bound(most: int | None, query: UnionTerms) -> str:
    if most is None:
        return "A user may have any number of items."
    said = f"Every user takes part with at most {_items(most, 'random')}"
    return f"{said}; that number was chosen privately, for {BOUND_SHARE} of epsilon." if query.chosen else f"{said}."


def _of_few(most: int | None, query: UnionTerms) -> list[str]:
    """What else may be asked of users of few items: an account that composes pays more for it, so it is not taken."""
    if query.named != AUTO or query.words is not None or query.in_engine or most is None or not 1 < most <= FEW:
        return []
    more = "often finds 10 to 50 % more items of such data; an account that composes pays more for it"
    return [f"About nine of ten users have at most {most} items: method={FOR_FEW!r} {more}."]


def _items(number: int, kind: str) -> str:
    return f"{number} {kind} item{'' if number == 1 else 's'}"


def one_of(bounds: Sequence[int], chosen: object) -> int:
    """A bound that an answer says was chosen; one that none can be stands for all others."""
    return chosen if isinstance(chosen, int) and chosen in bounds else bounds[0]


def added_in_engine(said: Statement) -> Statement:
    """What is promised, and that the engine added the weights up."""
    return replace(said, parameters={**said.parameters, "in_engine": True}, sentences=(*said.sentences, SAID))


SAID = (
    "Weights were added up in the engine. Which items of a user take part is decided by a hash with a secret key that "
    "was made for it; the guarantee needs no randomness of that choice, and every decision about an item is drawn here."
)


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


def placed(lengths: Int64, users: Int64, bounds: Sequence[int]) -> UsersAt:
    """How many users stand at which place in `bounds`: the least that leaves them all they have, or the last."""
    at = np.searchsorted(bounds[:-1], lengths)
    total = np.zeros(len(bounds), dtype=np.int64)
    np.add.at(total, at, users)
    places = np.flatnonzero(total)
    return UsersAt(places.astype(np.int64), total[places])
