"""Accuracy first: somebody says how near an answer must be, and the price follows, whatever the data.

The price is the least epsilon of three digits at which the mechanism promises 95 times of 100 what was asked. So it is
known beforehand, and the answer has the distribution of a question that names that epsilon. Proofs: docs/within.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect.errors import ParameterError
from dpselect.queries.by_share import number_at, place_of
from dpselect.release import formatting
from dpselect.release.accuracy import NOTHING, TIMES, Accuracy
from dpselect.release.release import Release

LARGEST_EPSILON = Fraction(100)  # a price beyond tells that the accuracy was a slip
LOWEST, TOP = place_of(Fraction(1, 10**6)), place_of(LARGEST_EPSILON)

Miss = Callable[[Fraction], int | Fraction | None]
"""From an epsilon to the least that can be asked of it; None where nothing can be said."""


@dataclass(frozen=True)
class AskedAccuracy:
    """The accuracy that was asked for and the price that follows, before any data is touched."""

    name: str
    wanted: int
    epsilon: Fraction
    whereof: str  # such as "users of the 10th best"
    more: str = ""  # what is not promised
    accuracy: Accuracy = NOTHING  # what a release says beside what it always says

    @property
    def before(self) -> str:
        """For whoever is about to pay."""
        return f"{self.whereof} costs epsilon {formatting.price(self.epsilon)}{self.more}"

    def told(self, release: Release) -> Release:
        """The answer, which says what was asked for and what it cost."""
        said = release.privacy
        price = formatting.price(self.epsilon)
        sentence = f"Asked for: {self.whereof}. Epsilon {price} is what that costs, whatever the data."
        used = {**said.parameters, self.name: self.wanted}
        privacy = replace(said, parameters=used, sentences=(*said.sentences, sentence))
        return replace(release, privacy=privacy, accuracy=release.accuracy + self.accuracy)


def price_for(name: str, wanted: int, miss: Miss, cheaper: str) -> Fraction:
    """The least epsilon of three digits, up to 100, at which so much can be asked.

    What can be asked falls about as 1 / epsilon, so a guess from the last one is near. Where it leads nowhere, steps
    double until there is an end on both sides, and then the middle is tried; so it is each fourth time, whatever else.
    What is returned has been tried, and so has the epsilon before it, which is not enough.
    """
    low, high, guess, step, tries = LOWEST - 1, TOP + 1, place(Fraction(1)), 1, 0
    while high - low > 1:
        epsilon, tries = number_at(guess), tries + 1
        least = _tried(miss, epsilon)
        enough = least is not None and least <= wanted
        low, high = (low, guess) if enough else (guess, high)
        if low == TOP:
            raise _refusal(name, wanted, least, cheaper)
        near = guess if least is None else place(epsilon * (least + 1) / (wanted + 1))
        if low >= LOWEST and high <= TOP and (tries % 4 == 0 or not low < near < high):
            near = (low + high) // 2
        elif not low < near < high:
            near, step = (high - step if enough else low + step), 2 * step
        guess = min(max(near, low + 1), high - 1)
    return number_at(high)


def _tried(miss: Miss, epsilon: Fraction) -> int | Fraction | None:
    """What can be asked, None of an epsilon that is too small for the method."""
    try:
        return miss(epsilon)
    except ParameterError as error:
        if error.parameter != "epsilon" or epsilon == LARGEST_EPSILON:
            raise
        return None


def _refusal(name: str, wanted: int, least: int | Fraction | None, cheaper: str) -> ParameterError:
    if least is None:
        return ParameterError(name, "be left out here", wanted, "how near the answer will be cannot be said beforehand")
    must = f"be at least {least.__ceil__():,}, which costs epsilon {formatting.price(LARGEST_EPSILON)}"
    return ParameterError(name, must, wanted, f"a larger {name} is cheaper{cheaper}")


def place(epsilon: Fraction) -> int:
    """The place of the first epsilon of three digits that is not below this one."""
    below = place_of(epsilon)
    return max(LOWEST, below if number_at(below) == epsilon else below + 1)


def best(k: int) -> str:
    """How the k-th best is called."""
    if k == 1:
        return "the best"
    last = 0 if k % 100 in (11, 12, 13) else k % 10
    return f"the {k:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') } best"


def times() -> str:
    """How often what is said holds."""
    return f"{TIMES} times of 100"
