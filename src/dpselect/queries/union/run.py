"""A set union while it is answered: the items of every level, their counts, and what is said of them."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from dpselect._ground.methods import AUTO
from dpselect._ground.parameters import Progress
from dpselect._ground.privacy import weak_points
from dpselect.aggregates.user_sets import Int64, Sets, numbers_of_users
from dpselect.draws import Draws
from dpselect.mechanisms.gaps import gaussian_width
from dpselect.mechanisms.set_union.count_gaussian import CountGaussian
from dpselect.mechanisms.set_union.rounds import bounded, without
from dpselect.queries.answer import likeness
from dpselect.queries.union.accuracy import IN_ONE, found_by
from dpselect.queries.union.bound import BOUND_SHARE, chosen_bound
from dpselect.queries.union.terms import UnionTerms, chosen_method
from dpselect.release import accuracy, formatting
from dpselect.release.accuracy import BETA, Accuracy
from dpselect.release.release import Item, Kind, Release, Statement
from dpselect.release.scale import Scale

FOR_FEW, FEW = "greedy-geometric", 6  # docs/methods-compared.md has the figures
ORDERED = (str, int, float, bytes, decimal.Decimal, datetime.date, datetime.time)
NEVER = "An item that only one user has appears with probability at most delta."
SAID = (
    "Weights were added up in the engine. Which items of a user take part is decided by a hash with a secret key that "
    "was made for it; the guarantee needs no randomness of that choice, and every decision about an item is drawn here."
)


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
            return _level_with_counts(self.mechanisms[place], sets, self.draws, self.progress)
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
            good += _near_counts(self.mechanisms[self.query.first :], self.scale)
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
            for key in ("threshold", "deviation", "cutoff", "rounds", "order")
            if (value := getattr(last, key, None))
        }
        epsilon, delta = t.for_union
        used |= {"epsilon_of_items": epsilon, "delta_of_items": delta}
        sentences = [why(name, t), *_levels(t.parts), _bound(self.most, t), NEVER]
        if t.chosen:
            used["epsilon_of_bound"] = t.for_bound
            sentences += _of_few(self.most, t)
        if len(t.parts) > 1:
            used["shares"] = t.parts
        if t.counts_decide:
            told, said = _counts_said(self.mechanisms[t.first :])
            used, sentences = used | told, [*sentences, said]
        elif t.counts and self.most is not None:
            deviation = math.sqrt(max(t.noise(place, self.most) for place in range(t.first, len(t.parts))))
            used |= {"epsilon_of_counts": t.for_counts[0], "delta_of_counts": t.for_counts[1]}
            used["deviation_of_counts"] = deviation
            sentences.append(
                f"Counts carry Gaussian noise of standard deviation {formatting.few(deviation, 4)}, or less, and cost "
                "a quarter of the price."
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


def why(name: str, query: UnionTerms) -> str:
    """What answers, and who chose it."""
    taken = (
        "It was named." if query.named != AUTO else "It was chosen from epsilon, delta and max_items_per_user alone."
    )
    return f"Items that enough users share, by {name}; every decision is one exact Bernoulli draw. {taken}"


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
    said = f"Each user contributes at most {_items(most, 'random')}"
    return f"{said}; that number was chosen privately, with {BOUND_SHARE} of epsilon." if query.chosen else f"{said}."


def _of_few(most: int | None, query: UnionTerms) -> list[str]:
    """What else may be asked of users of few items: an account that composes pays more for it, so it is not taken."""
    if query.named != AUTO or query.words is not None or query.in_engine or most is None or not 1 < most <= FEW:
        return []
    more = "often finds 10 to 50 % more items in such data, but costs more in a budget that composes"
    return [f"About nine of ten users have at most {most} items: method={FOR_FEW!r} {more}."]


def _items(number: int, kind: str) -> str:
    return f"{number} {kind} item{'' if number == 1 else 's'}"


def added_in_engine(said: Statement) -> Statement:
    """What is promised, and that the engine added the weights up."""
    return replace(said, parameters={**said.parameters, "in_engine": True}, sentences=(*said.sentences, SAID))


def _level_with_counts(
    mechanism: CountGaussian, sets: Sets, draws: Draws, progress: Progress | None
) -> dict[int, Item]:
    """What one level releases, by code, each with the noisy count that decided it."""
    codes, users = mechanism.weighed(sets, draws, progress)
    noisy = mechanism.noisy(users.astype("int64"), draws)
    within = {count: mechanism.interval(count, BETA) for count in set(noisy)}
    told = zip(codes.tolist(), sets.labels(codes), noisy, strict=True)
    return {code: Item(label, None, count, *within[count]) for code, label, count in told}


def _near_counts(mechanisms: Sequence[CountGaussian], scale: Scale) -> Accuracy:
    """How near the counts of all levels are."""
    widths = [_deciding_width(float(one.deviation)) for one in mechanisms]
    return accuracy.counts_that_decided(max(widths), scale)


def _deciding_width(deviation: float) -> int:
    """How near a count is that lies far above the threshold."""
    return math.ceil(-NormalDist().inv_cdf(BETA / 2) * deviation)


def _counts_said(mechanisms: Sequence[CountGaussian]) -> tuple[dict[str, object], str]:
    """What is said of them: numbers, and a sentence."""
    deviation, least = max(float(one.deviation) for one in mechanisms), min(one.least for one in mechanisms)
    some = ", or less at some lengths," if len(mechanisms) > 1 else ""
    said = (
        f"Counts are the noisy numbers of users that selected the items, so they cost nothing extra: Gaussian "
        f"noise of standard deviation {formatting.few(deviation, 4)}{some}, whole numbers. None is below {least:,}."
    )
    return {"deviation_of_counts": deviation, "counts_decided": True}, said
