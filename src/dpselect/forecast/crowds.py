"""Crowds: invented users with items, or counts that were released before. Nothing here has seen private data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dpselect.aggregates.user_sets import Int64, UserSets
from dpselect.draws import Draws, MonotoneProbability

Floats = npt.NDArray[np.float64]
Share = Callable[[int], Fraction]

STRATA = 32  # parts of the users, each with one activity
MAX_EVENTS = 400_000  # uses of items up to which users are made one by one


class Crowd(Protocol):
    """Who is imagined to be in the data."""

    @property
    def items(self) -> int:
        """How many items there are, those that nobody has included."""
        ...

    @property
    def typical_items(self) -> int:
        """How many items a user has, about."""
        ...

    @property
    def has_equal_users(self) -> bool:
        """Does every user have the typical number of items?"""
        ...

    def expected_weights(self, most: int | None, share: Share) -> Floats:
        """The mean weight of each item, if users keep at most `most` random items and give share(t) to each of t."""
        ...

    def sets(self, draws: Draws) -> UserSets | None:
        """The users one by one in a random order, None where they are too many or nobody knows them."""
        ...

    def describe(self) -> str:
        """What was imagined."""
        ...


def expected_counts(crowd: Crowd, most: int | None) -> Floats:
    """How many users keep each item: all give 1."""
    return crowd.expected_weights(most, lambda _: Fraction(1))


def mean_contribution(items: int, most: int | None, share: Share) -> float:
    """What one of the items of a user is given on average: it is kept by chance."""
    kept = items if most is None else min(items, most)
    return kept / items * float(share(kept))


@dataclass(frozen=True, kw_only=True)
class Zipf:
    """Users whose activity is exponential and whose tastes are alike: the r-th item attracts as r^-skew does.

    A user of activity a uses items one after another, a Poisson number of times with mean a, each time the r-th item
    with its share s_r of the attraction; so they have it with probability 1 - e^(-a s_r). Over all users a use more
    is as likely as any other, so the number of uses is geometric, and the mean of items that a user has is
    sum of x s_r / (1 + x s_r) at the mean activity x.
    """

    users: int
    items: int
    items_per_user: float
    skew: float

    @cached_property
    def attraction(self) -> Floats:
        """The shares s_r, falling, of sum 1."""
        raw: Floats = np.arange(1, self.items + 1, dtype=np.float64) ** -self.skew
        shares: Floats = raw / raw.sum()
        return shares

    @cached_property
    def activity(self) -> float:
        """The mean activity at which users have `items_per_user` items on average."""
        low, high = 0.0, 1.0
        while self._items_at(high) < self.items_per_user:
            low, high = high, high * 2
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._items_at(middle) < self.items_per_user else (low, middle)
        return high

    def _items_at(self, activity: float) -> float:
        odds = activity * self.attraction
        return float((odds / (1 + odds)).sum())

    @property
    def typical_items(self) -> int:
        """The mean, as a whole number."""
        return max(1, round(self.items_per_user))

    @property
    def has_equal_users(self) -> bool:
        """They differ."""
        return False

    def expected_weights(self, most: int | None, share: Share) -> Floats:
        """Strata by activity; in each, users who have an item differ in how many others they have."""
        total = np.zeros(self.items)
        for part in range(STRATA):
            activity = -self.activity * math.log1p(-(part + 0.5) / STRATA)
            has = -np.expm1(-activity * self.attraction)
            twice = float(has @ has)
            others = float(has.sum()) - twice / float(has.sum())
            sizes = moved_poisson(others, float(has.sum()) - twice)
            total += has * (self.users / STRATA * sum(p * mean_contribution(1 + n, most, share) for n, p in sizes))
        return total

    def sets(self, draws: Draws) -> UserSets | None:
        """As many uses of each item as expected, dealt to the users by chance; an item that comes twice counts once."""
        if self.activity * self.users > MAX_EVENTS:
            return None
        uses = self._uses()[draws.order(self.users)]
        events = int(uses.sum())
        places = (np.arange(events) + 0.5) / max(events, 1)
        codes = np.searchsorted(np.cumsum(self.attraction)[:-1], places, side="right")
        pairs = np.repeat(np.arange(self.users, dtype=np.int64), uses) * self.items + codes[draws.order(events)]
        pairs = np.unique(pairs)
        lengths = np.bincount(pairs // self.items, minlength=self.users)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return UserSets(offsets=offsets, codes=pairs % self.items, size=self.items, label=lambda code: code)

    def _uses(self) -> Int64:
        """How often each user uses anything: the quantiles of a geometric law."""
        more = self.activity / (1 + self.activity)
        left = 1 - (np.arange(self.users) + 0.5) / self.users
        return (np.log(left) / math.log(more)).astype(np.int64)

    def describe(self) -> str:
        """The numbers that were given."""
        return (
            f"The forecast assumes {self.users:,} users with {self.items_per_user:g} of {self.items:,} items on "
            f"average; the popularity of the r-th item is r^-{self.skew:g}."
        )


def moved_poisson(mean: float, variance: float) -> list[tuple[int, float]]:
    """Whole numbers and their chances: a Poisson law of this variance, moved to this mean; of many a few."""
    moved = round(mean - variance)
    deviation = math.sqrt(variance)
    step = max(1, int(deviation / 4))
    first = max(0, int(variance - 5 * deviation))
    tried = range(first, int(variance + 5 * deviation) + 5, step)
    log = math.log(max(variance, 1e-12))
    masses = [math.exp(n * log - variance - math.lgamma(n + 1)) for n in tried]
    return [(max(0, n + moved), mass / sum(masses)) for n, mass in zip(tried, masses, strict=True)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """Counts of users that were released before, in place of invented ones; users are not known one by one."""

    counts: Floats
    items: int
    items_per_user: int

    @property
    def typical_items(self) -> int:
        """What was given."""
        return self.items_per_user

    @property
    def has_equal_users(self) -> bool:
        """Nobody knows better."""
        return True

    def expected_weights(self, most: int | None, share: Share) -> Floats:
        """All users alike; who has more than they may keep drops the others at random."""
        users = np.zeros(self.items)
        users[: len(self.counts)] = self.counts * mean_contribution(self.items_per_user, most, share)
        return users

    def sets(self, draws: Draws) -> None:  # noqa: ARG002 - the same question as its neighbour
        """Counts do not tell who shares what."""
        return

    def describe(self) -> str:
        """What was taken from the release, and what it leaves open."""
        return (
            f"The {len(self.counts):,} counts are from an earlier release. The forecast assumes "
            f"{self.items_per_user} item{'s' * (self.items_per_user > 1)} per user, and no users of other items. "
            "If the release left items out, thresholds are higher and more is lost than shown."
        )


MAX_EXACT_WEIGHTS = 64  # different weights up to which the law is asked at each
ERROR_SHARE = 1e-5  # of the items, or a hundredth of one: lines between two weights where the law is asked are nearer


def release_probabilities(law: MonotoneProbability, weights: npt.ArrayLike, unit: int = 1) -> Floats:
    """The release probability at each weight / unit; 0 where nobody has the item.

    The law rises, so between two weights of nearly the same probability a straight line is near enough.
    """
    given = np.asarray(weights)
    values, which, sizes = np.unique(given, return_inverse=True, return_counts=True)
    found = np.zeros(len(values))
    first = int(np.searchsorted(values, 0, side="right"))
    if first == len(values):
        return found[which]
    before = np.concatenate([[0], np.cumsum(sizes)])

    def ask(place: int) -> None:
        found[place] = float(law.at(Fraction(values[place].item()) / unit).ball(64).mid())

    ask(first)
    ask(len(values) - 1)
    close = max(0.01, ERROR_SHARE * len(which))
    cells = [(first, len(values) - 1)]
    while cells:
        low, high = cells.pop()
        if high - low < 2:
            continue
        if len(values) > MAX_EXACT_WEIGHTS and (found[high] - found[low]) * (before[high] - before[low + 1]) <= close:
            inner = slice(low + 1, high)
            found[inner] = np.interp(values[inner], values[[low, high]], found[[low, high]])
            continue
        middle = (low + high) // 2
        ask(middle)
        cells += [(low, middle), (middle, high)]
    return found[which]


def smallest_likely(counts: npt.ArrayLike, likely: Floats) -> int | None:
    """The count that best separates items that are likely to be released from the others; None if none is high enough.

    It is the c with the largest sum of (chance - 1/2) over all items of c users or more. If chances rise with counts,
    they pass one half at c.
    """
    users = np.asarray(counts)
    falling = np.argsort(-users, kind="stable")
    sums = np.cumsum(likely[falling] - 0.5)
    last = np.flatnonzero(np.diff(users[falling], append=-1))  # equal counts stay together
    if not len(last) or sums[last].max() <= 0:
        return None
    return int(users[falling][last[np.argmax(sums[last])]])
