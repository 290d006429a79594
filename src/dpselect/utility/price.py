"""A price that follows: from a share of a budget the largest epsilon of three digits, from an accuracy the least.

Both are known before any data are touched, so the answer has the distribution of a question that names that epsilon.
Prices grow with epsilon, by a power between 1 and 2 where they are small, so a search on logarithms needs few of them.
Proofs: docs/accuracy.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from fractions import Fraction
from typing import Generic, TypeVar

from dpselect._ground.budget_parts import percent
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import MAX_EPSILON, MIN_EPSILON
from dpselect.errors import ParameterError
from dpselect.release import formatting

Asked = TypeVar("Asked")
FIRST_NUMBER = 100  # numbers of three digits start here
PER_DECADE = 900
LEAST_POWER, USUAL_POWER, LARGEST_POWER = 0.5, 2.0, 4.0  # of epsilon, by which a price may grow
MOST_FOR_ACCURACY = Fraction(100)  # a price beyond tells that the accuracy was a slip
QUICK = 8  # guesses before the search only halves what is left
Miss = Callable[[Fraction], int | Fraction | None]
"""From an epsilon to the least that can be asked of it; None where nothing can be said."""


def number_at(index: int) -> Fraction:
    """Return a number of three digits by its index in their order; that at index 0 is 1.

    >>> number_at(0), number_at(899), number_at(-1)
    (Fraction(1, 1), Fraction(999, 100), Fraction(999, 1000))
    """
    decade, offset = divmod(index, PER_DECADE)
    return Fraction(FIRST_NUMBER + offset, FIRST_NUMBER) * Fraction(10) ** decade


def index_at_most(number: Fraction) -> int:
    """Return the index of the largest number of three digits that is at most this one."""
    decade = math.floor(math.log10(number))
    while number < Fraction(10) ** decade:
        decade -= 1
    while number >= Fraction(10) ** (decade + 1):
        decade += 1
    return decade * PER_DECADE + math.floor(number / Fraction(10) ** decade * FIRST_NUMBER) - FIRST_NUMBER


def three_digits(number: Fraction) -> Fraction:
    """Round down to three digits, so that the number can be named."""
    return number_at(index_at_most(number))


LOWEST, HIGHEST = index_at_most(MIN_EPSILON), index_at_most(MAX_EPSILON)  # of any epsilon
BOTTOM, TOP = index_at_most(Fraction(1, 10**6)), index_at_most(MOST_FOR_ACCURACY)  # of one that an accuracy costs


# ---- for a share of a budget ---------------------------------------------------------------------------------


def by_share(
    make: Callable[[Fraction], Asked],
    part: Callable[[Asked], Fraction],
    share: Fraction,
    start: Fraction,
) -> Asked:
    """Return the question of the largest epsilon whose `part` of a budget is at most the share.

    An epsilon that is refused as too small counts as one that fits; where the last is such a one, its error is raised.
    """
    search = Search(make, part, share)
    index = min(max(index_at_most(start), LOWEST), HIGHEST)
    while not search.done:
        search.look(index)
        index = search.next(index)
    best = search.found
    if isinstance(best, ParameterError):
        raise ParameterError(best.parameter, best.must, best.came, "take a larger share")
    if best is None:
        hint = "where a delta was named, a smaller one may do"
        raise ParameterError("share", "be larger for this question", percent(share, up=True), hint)
    return best


@dataclass
class Search(Generic[Asked]):
    """The state of a search: the last index that fits, with its question, and the first that does not."""

    make: Callable[[Fraction], Asked]
    part: Callable[[Asked], Fraction]
    share: Fraction
    low: int = LOWEST - 1
    high: int = HIGHEST + 1
    found: Asked | ParameterError | None = None
    points: list[tuple[float, float]] = field(default_factory=list)  # ln epsilon, ln(part / share)
    tries: int = 0

    @property
    def done(self) -> bool:
        """Nothing is left between them."""
        return self.high - self.low <= 1

    def look(self, index: int) -> None:
        """Try the question at an index, and narrow the search by whether it fits."""
        self.tries += 1
        epsilon = number_at(index)
        try:
            plan = self.make(epsilon)
        except ParameterError as error:
            if not error.parameter.startswith("epsilon"):  # also that of one pick, or of one count
                raise
            self.low, self.found = index, error
            return
        part = self.part(plan)
        if part <= self.share:
            self.low, self.found = index, plan
        else:
            self.high = index
        if part > 0:
            self.points.append((math.log(epsilon), math.log(part / self.share)))

    def next(self, index: int) -> int:
        """Return the next index: where the line through the last two parts, on logarithms, meets the share.

        Later, halfway.
        """
        low, high = self.low, self.high
        if self.tries > QUICK:
            guess = (low + high) // 2
        elif not self.points:  # too small to be asked, or free
            guess = index + PER_DECADE // 2
        else:
            (x, y), power = self.points[-1], USUAL_POWER
            if len(self.points) > 1:
                (u, v) = self.points[-2]
                power = (y - v) / (x - u)
            aim = x - y / min(max(power, LEAST_POWER), LARGEST_POWER)
            guess = index_at_most(Fraction(math.exp(min(max(aim, math.log(MIN_EPSILON)), math.log(MAX_EPSILON)))))
        return min(max(guess, low + 1), high - 1)


# ---- for an accuracy ---------------------------------------------------------------------------------------


def price_for(name: str, target: int, miss: Miss, cheaper: str) -> Fraction:
    """Return the least epsilon of three digits, up to 100, at which so much can be asked.

    What can be asked falls about as 1 / epsilon, so a guess from the last one is near. Where it leads nowhere, steps
    double until there is an end on both sides, and then the middle is tried; so it is each fourth time, whatever else.
    What is returned has been tried, and so has the epsilon before it, which is not enough.
    """
    low, high, guess, step, tries = BOTTOM - 1, TOP + 1, index_at_least(Fraction(1)), 1, 0
    while high - low > 1:
        epsilon, tries = number_at(guess), tries + 1
        reached = _tried(miss, epsilon)
        is_enough = reached is not None and reached <= target
        low, high = (low, guess) if is_enough else (guess, high)
        if low == TOP:
            raise _refusal(name, target, reached, cheaper)
        next_guess = guess if reached is None else index_at_least(epsilon * (reached + 1) / (target + 1))
        if low >= BOTTOM and high <= TOP and (tries % 4 == 0 or not low < next_guess < high):
            next_guess = (low + high) // 2
        elif not low < next_guess < high:
            next_guess, step = (high - step if is_enough else low + step), 2 * step
        guess = min(max(next_guess, low + 1), high - 1)
    return number_at(high)


def _tried(miss: Miss, epsilon: Fraction) -> int | Fraction | None:
    """Return the least that can be asked at an epsilon; None where it is too small for the method."""
    try:
        return miss(epsilon)
    except ParameterError as error:
        if error.parameter != "epsilon" or epsilon == MOST_FOR_ACCURACY:
            raise
        return None


def _refusal(name: str, target: int, reached: int | Fraction | None, cheaper: str) -> ParameterError:
    if reached is None:
        return ParameterError(name, "be left out here", target, "the accuracy is not known beforehand")
    requirement = f"be at least {reached.__ceil__():,}, which costs epsilon {formatting.price(MOST_FOR_ACCURACY)}"
    return ParameterError(name, requirement, target, f"a larger {name} is cheaper{cheaper}")


def index_at_least(epsilon: Fraction) -> int:
    """Return the index of the first epsilon of three digits that is not below this one."""
    below = index_at_most(epsilon)
    return max(BOTTOM, below if number_at(below) == epsilon else below + 1)
