"""Crowds: imagined users with items, or counts that were released before. Nothing here has seen private data."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.aggregates.user_sets import Int64, UserSets
from dpselect.draws import Draws, MonotoneProbability

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"
ShareFunction = Callable[[int], Fraction]

_STRATA = 32  # parts of the users, each with one activity
MAX_EVENTS = 400_000  # more uses of items than these are not simulated user by user


class Crowd(Protocol):
    """The users that a forecast imagines."""

    @property
    def items(self) -> int:
        """The number of items, those without users included."""
        ...

    @property
    def typical_items(self) -> int:
        """The number of items of a typical user."""
        ...

    @property
    def has_equal_users(self) -> bool:
        """True if every user has the typical number of items."""
        ...

    def expected_weights(self, max_items: int | None, share: ShareFunction) -> Floats:
        """Return the mean weight of each item.

        Users keep at most `max_items` random items, and give share(t) to each of t kept items.
        """
        ...

    def sets(self, draws: Draws) -> UserSets | None:
        """Return the users one by one in a random order; None if they are too many or unknown."""
        ...

    def describe(self) -> str:
        """Return a sentence about what was imagined."""
        ...


def expected_counts(crowd: Crowd, max_items: int | None) -> Floats:
    """Return the mean number of users who keep each item."""
    return crowd.expected_weights(max_items, lambda _: Fraction(1))


def _mean_contribution(items: int, max_items: int | None, share: ShareFunction) -> float:
    """Return what one of a user's items is given on average: it is kept with probability kept / items."""
    kept_items = items if max_items is None else min(items, max_items)
    return kept_items / items * float(share(kept_items))


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
        weights: Floats = np.arange(1, self.items + 1, dtype=np.float64) ** -self.skew
        shares: Floats = weights / weights.sum()
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
        """The mean number of items per user, rounded."""
        return max(1, round(self.items_per_user))

    @property
    def has_equal_users(self) -> bool:
        """False: users differ in activity."""
        return False

    def expected_weights(self, max_items: int | None, share: ShareFunction) -> Floats:
        """Return the mean weight of each item, by strata of activity."""
        # Within a stratum, users who have an item differ in how many others they have.
        total = np.zeros(self.items)
        for stratum in range(_STRATA):
            activity = -self.activity * math.log1p(-(stratum + 0.5) / _STRATA)
            probabilities = -np.expm1(-activity * self.attraction)
            sum_of_squares = float(probabilities @ probabilities)
            mean_others = float(probabilities.sum()) - sum_of_squares / float(probabilities.sum())
            others_law = moved_poisson(mean_others, float(probabilities.sum()) - sum_of_squares)
            total += probabilities * (
                self.users / _STRATA * sum(p * _mean_contribution(1 + n, max_items, share) for n, p in others_law)
            )
        return total

    def sets(self, draws: Draws) -> UserSets | None:
        """Deal the expected number of uses of each item to users at random; an item that comes twice counts once."""
        if self.activity * self.users > MAX_EVENTS:
            return None
        uses = self._uses()[draws.order(self.users)]
        events = int(uses.sum())
        positions = (np.arange(events) + 0.5) / max(events, 1)
        codes = np.searchsorted(np.cumsum(self.attraction)[:-1], positions, side="right")
        pairs = np.repeat(np.arange(self.users, dtype=np.int64), uses) * self.items + codes[draws.order(events)]
        pairs = np.unique(pairs)
        lengths = np.bincount(pairs // self.items, minlength=self.users)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return UserSets(offsets=offsets, codes=pairs % self.items, size=self.items, label=lambda code: code)

    def _uses(self) -> Int64:
        """Return how often each user uses anything: the quantiles of a geometric law."""
        ratio = self.activity / (1 + self.activity)
        tails = 1 - (np.arange(self.users) + 0.5) / self.users
        return (np.log(tails) / math.log(ratio)).astype(np.int64)

    def describe(self) -> str:
        """Return a sentence with the parameters."""
        return (
            f"The forecast assumes {self.users:,} users with {self.items_per_user:g} of {self.items:,} items on "
            f"average; the popularity of the r-th item is r^-{self.skew:g}."
        )


def moved_poisson(mean: float, variance: float) -> list[tuple[int, float]]:
    """Return whole numbers and probabilities of a Poisson law of this variance, shifted to this mean.

    Of many numbers, only some are returned.
    """
    shift = round(mean - variance)
    deviation = math.sqrt(variance)
    step = max(1, int(deviation / 4))
    first = max(0, int(variance - 5 * deviation))
    values = range(first, int(variance + 5 * deviation) + 5, step)
    log_variance = math.log(max(variance, 1e-12))
    masses = [math.exp(n * log_variance - variance - math.lgamma(n + 1)) for n in values]
    return [(max(0, n + shift), mass / sum(masses)) for n, mass in zip(values, masses, strict=True)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """Users of counts that were released before; they are not known one by one."""

    counts: Floats
    items: int
    items_per_user: int

    @property
    def typical_items(self) -> int:
        """The number of items per user that was assumed."""
        return self.items_per_user

    @property
    def has_equal_users(self) -> bool:
        """True: nothing is known about how users differ."""
        return True

    def expected_weights(self, max_items: int | None, share: ShareFunction) -> Floats:
        """Return the mean weight of each item, if all users have the same number of items."""
        users = np.zeros(self.items)
        users[: len(self.counts)] = self.counts * _mean_contribution(self.items_per_user, max_items, share)
        return users

    def sets(self, draws: Draws) -> None:  # noqa: ARG002 - the same question as its neighbour
        """Return None: counts do not say which users share items."""
        return

    def describe(self) -> str:
        """Return a sentence about the release, and what it leaves open."""
        return (
            f"The {len(self.counts):,} counts are from an earlier release. The forecast assumes "
            f"{self.items_per_user} item{'s' * (self.items_per_user > 1)} per user, and no users of other items. "
            "If the release left items out, thresholds are higher and more is lost than shown."
        )


_MAX_EXACT_WEIGHTS = 64  # distinct weights up to which the law is evaluated at each
_ERROR_SHARE = 1e-5  # of the items, or 0.01 of one: the largest error of interpolating between two weights


def release_probabilities(law: MonotoneProbability, weights: npt.ArrayLike, unit: int = 1) -> Floats:
    """Return the release probability at each weight / unit; 0 where nobody has the item.

    The law rises, so between two weights of nearly the same probability a straight line is accurate enough.
    """
    weight_array = np.asarray(weights)
    values, inverse, sizes = np.unique(weight_array, return_inverse=True, return_counts=True)
    probabilities = np.zeros(len(values))
    first = int(np.searchsorted(values, 0, side="right"))
    if first == len(values):
        return probabilities[inverse]
    items_before = np.concatenate([[0], np.cumsum(sizes)])

    def evaluate(index: int) -> None:
        probabilities[index] = float(law.at(Fraction(values[index].item()) / unit).ball(64).mid())

    evaluate(first)
    evaluate(len(values) - 1)
    max_error = max(0.01, _ERROR_SHARE * len(inverse))
    cells = [(first, len(values) - 1)]
    while cells:
        low, high = cells.pop()
        if high - low < 2:
            continue
        if (
            len(values) > _MAX_EXACT_WEIGHTS
            and (probabilities[high] - probabilities[low]) * (items_before[high] - items_before[low + 1]) <= max_error
        ):
            inner = slice(low + 1, high)
            probabilities[inner] = np.interp(values[inner], values[[low, high]], probabilities[[low, high]])
            continue
        middle = (low + high) // 2
        evaluate(middle)
        cells += [(low, middle), (middle, high)]
    return probabilities[inverse]


def smallest_likely(counts: npt.ArrayLike, probabilities: Floats) -> int | None:
    """Return the count that best separates items that are likely to be released from the others; None if none does.

    It is the c with the largest sum of (probability - 1/2) over all items of c users or more. If probabilities rise
    with counts, they pass one half at c.
    """
    users = np.asarray(counts)
    falling = np.argsort(-users, kind="stable")
    sums = np.cumsum(probabilities[falling] - 0.5)
    group_ends = np.flatnonzero(np.diff(users[falling], append=-1))  # equal counts stay together
    if not len(group_ends) or sums[group_ends].max() <= 0:
        return None
    return int(users[falling][group_ends[np.argmax(sums[group_ends])]])
