"""Running a set union: choose the bound, release the items of every level, count them, and say what was done."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpselect import forms
from dpselect.draws import Draws
from dpselect.mechanisms.quantile import Quantile
from dpselect.mechanisms.ranked import fixed
from dpselect.mechanisms.set_union.ordering import bounded
from dpselect.mechanisms.set_union.sips import without
from dpselect.plans import stated
from dpselect.release import Item, Release, Statement
from dpselect.texts.text_levels import level_by_level
from dpselect.texts.token_stream import TokenStream
from dpselect.unions import AUTO, BOUND_SHARE, LARGE_DELTA, METHODS, MOST_ITEMS, UnionTerms
from dpselect.user_sets import Int64, UserSets

Progress = Callable[[float | None], None]

MANY = Fraction(9, 10)  # of the users shall have no more items than the bound that is chosen


def union_of(sets: UserSets, terms: UnionTerms, draws: Draws, progress: Progress | None) -> Release:
    """The items that enough users share."""
    run = Run.of(sets, terms, draws, progress)
    items = run.level(sets, 0)
    return run.release([items])


def vocabulary_of(
    stream: TokenStream, shortest: int, longest: int, terms: UnionTerms, draws: Draws, progress: Progress | None
) -> Release:
    """The n-grams that enough users share, from `shortest` to `longest` tokens, level by level."""
    run = Run.of(stream.sets(), terms, draws, progress)
    found: list[dict[object, Item]] = []

    def release(sets: UserSets, level: int) -> Int64:
        items = run.level(sets, level - 1)
        found.append({item.item: item for item in items.values()})
        return np.array(list(items), dtype=np.int64)

    levels = [level.length for level in level_by_level(stream, longest, release)]
    wanted = [found[length - 1] if length <= len(found) else {} for length in levels if length >= shortest]
    return run.release(wanted, [str(length) for length in levels if length >= shortest])


@dataclass(frozen=True)
class Run:
    """One question while it is answered."""

    terms: UnionTerms
    most: int | None
    mechanisms: tuple[Any, ...]
    draws: Draws
    progress: Progress | None

    @classmethod
    def of(cls, sets: UserSets, terms: UnionTerms, draws: Draws, progress: Progress | None) -> Run:
        """The bound is chosen first, where it is."""
        most = chosen_bound(sets, terms.for_bound, draws) if terms.chosen else terms.most
        return cls(terms, most, terms.mechanisms(most), draws, progress)

    def level(self, sets: UserSets, place: int) -> dict[int, Item]:
        """What one level releases, by code."""
        codes = self.mechanisms[place](sets, draws=self.draws, progress=self.progress)
        labels = sets.labels(codes)
        counts: list[int | None] = [None] * len(labels)
        if self.terms.counted and self.most is not None:
            counts = list(self._counts(sets, codes, self.terms.noise(self.terms.shares[place], self.most)))
        return {int(c): Item(label, None, n) for c, label, n in zip(codes, labels, counts, strict=True)}

    def _counts(self, sets: UserSets, codes: Int64, variance: Fraction) -> Iterator[int]:
        """Noisy numbers of users. Every user counts for a random few of the released items that they have."""
        gone: npt.NDArray[np.bool_] = np.ones(sets.size, dtype=np.bool_)
        gone[codes] = False
        kept = bounded(without(sets, gone), self.most, self.draws)
        true = np.bincount(kept.codes, minlength=sets.size)[codes]
        return (int(n) + self.draws.gaussian(variance) for n in true)

    def release(self, levels: list[Any], lengths: list[str] | None = None) -> Release:
        """All of it, in an order that says nothing: by noisy count where there is one, then by name."""
        items = [item for level in levels for item in level.values()]
        items.sort(key=lambda item: (-(item.count or 0), fixed(item.item)))
        statement = self.statement()
        if lengths is not None:
            sizes = {length: len(level) for length, level in zip(lengths, levels, strict=True)}
            said = ", ".join(f"{size:,} of {length}" for length, size in sizes.items())
            parameters = {**statement.parameters, "items_by_length": sizes}
            sentences = (*statement.sentences, f"Items by number of tokens: {said}.")
            statement = replace(statement, parameters=parameters, sentences=sentences)
        return Release(items=tuple(items), complete=True, privacy=statement, secure=self.draws.secure)

    def statement(self) -> Statement:
        """What is promised, in numbers and in sentences."""
        t, last = self.terms, self.mechanisms[-1]
        name = next(name for name, make in METHODS.items() if type(last) is make)
        used: dict[str, object] = {"method": name, "max_items_per_user": self.most}
        used |= {key: value for key in ("threshold", "cutoff", "slack", "rounds", "order") if (value := _own(last, key))}
        epsilon, delta = t.for_union
        used |= {"epsilon_of_items": epsilon, "delta_of_items": delta}
        sentences = [_why(name, t), _bound(self.most, t), *_support(last, self.most)]
        if t.counted and self.most is not None:
            variance = max(t.noise(share, self.most) for share in t.shares)
            used |= {"epsilon_of_counts": t.for_counts[0], "delta_of_counts": t.for_counts[1]}
            used["deviation_of_counts"] = math.sqrt(variance)
            sentences.append(
                f"Counts are of at most {self.most} released items a user, chosen at random, with Gaussian noise of "
                f"standard deviation {math.sqrt(variance):.4g}: a quarter of the price."
            )
        if t.delta >= LARGE_DELTA:
            sentences.append(
                f"Mind: delta = {forms.number(t.delta)} is large. Each person may be exposed with that probability, so it "
                "should be far below 1 / number of users; 1e-6 is a common choice."
            )
        return stated(t.privacy, type(last).__name__, used, tuple(sentences))


def chosen_bound(sets: UserSets, epsilon: Fraction, draws: Draws) -> int:
    """About how many items 9 of 10 users have at most: one private quantile of one number per user."""
    quantile = Quantile(q=MANY, bounds=(1, MOST_ITEMS), step=1, epsilon=epsilon)
    lengths = np.diff(sets.offsets)
    return int(quantile(lengths[lengths > 0], draws=draws)[0])


def _own(mechanism: Any, name: str) -> Any:
    return getattr(mechanism, name, None)


def _why(name: str, terms: UnionTerms) -> str:
    taken = "It was named." if terms.method != AUTO else "It was taken by epsilon, delta and max_items_per_user alone."
    return f"Items that enough users share, by {name}; every item is one exact coin. {taken}"


def _bound(most: int | None, terms: UnionTerms) -> str:
    if most is None:
        return "A user may have any number of items."
    if not terms.chosen:
        return f"Every user takes part with at most {most} random items."
    part = f"1/{1 / BOUND_SHARE} of epsilon"
    return f"Every user takes part with at most {most} random items; that number was chosen privately, for {part}."


def _support(mechanism: Any, most: int | None) -> list[str]:
    """From how many users on an item is likely to appear."""
    few = users_for(mechanism, 0.5, 1)
    said = f"An item appears with probability 1/2 if it has about {few:,} users of one item each"
    if most is not None and most > 1:
        said += f", or {users_for(mechanism, 0.5, most):,} of {most} items"
    never = "one that only a single user has appears with a probability below delta"
    return [f"{said}; {never}. What is missing here is rare or unlucky, not absent."]


def users_for(mechanism: Any, chance: float, items: int) -> int:
    """How many users of this many items an item needs, when nobody's gifts are refused."""
    if hasattr(mechanism, "users_for"):
        return int(mechanism.users_for(chance, items))
    return math.ceil(mechanism.threshold / mechanism.share(items))

