"""RenyiShaped: rounds of counting, each item released by the steepest curve that a Renyi budget allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache, partial

import numpy as np

from dpselect.accounting.renyi import best_order, first_order, renyi_budget
from dpselect.aggregates.user_sets import Int64, Sets, UserSets
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms.port import promise, settle
from dpselect.mechanisms.set_union.port import parse
from dpselect.mechanisms.set_union.renyi_curve import Conditions, Curve, half_weight, spends, steepest
from dpselect.mechanisms.set_union.rounds import in_rounds, parts_of
from dpselect.parameters import Number, Progress
from dpselect.privacy import Privacy

LEAST_EPSILON = Fraction(1, 1000)
LEAST_DELTA = Fraction(1, 10**100)
MOST_MOMENT = 400  # (order - 1) x budget: inside of what floats hold; more is not needed
COMPOSED = Fraction(3, 4)  # of delta for the Renyi budget; the rest for items that only one data set has
FINEST = 16  # parts of a full contribution
WEIGHTS = 4000  # parts are coarser where a curve would be longer than this
LONGEST = 20_000  # full contributions that an item may need; beyond, another mechanism must do


@dataclass(frozen=True, kw_only=True)
class RenyiShaped:
    """Release items in `rounds` rounds; in each the chance of release is the largest that the guarantee allows.

    In each round every user keeps a new random `max_items_per_user` of those of their items that are not released yet.
    A user who keeps t items contributes the t-th share to each, more where t is small. An item of weight w is released
    with the probability `curves[r].at(w)`. Of the budget round r gets a part in proportion to split^(rounds - r).

    Guarantee: (epsilon, delta)-DP; three quarters of delta for all draws together, the rest for items that only one
        data set has.
    Neighbors: add-remove.
    Sensitivity: a user moves the weights of at most t items, by the share of t. The curve's steps are so small that
        the draws of those items together spend at most the round's part of the Renyi budget, whatever their weights.
    Exactness: weights are integers, probabilities binary fractions, proved to keep the budget.
    Cost: one pass over the pairs that are left and one draw an item, each round; the curves 0.1 to 0.3 s, once.
    Source: ours; statement and proof in docs/mechanisms/renyi-shaped.md. Rounds are those of Swanberg, Desfontaines
        and Haney 2023; for one item a user the curve tends to that of Desfontaines, Voss and Gipson 2022.
    Example:
        >>> RenyiShaped(epsilon=1, delta="1e-9", max_items_per_user=9)(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int
    rounds: int = 3
    split: Number = Fraction(1, 5)
    part: Number = 1
    order: int = field(init=False)
    conditions: tuple[Conditions, ...] = field(init=False, repr=False)
    curves: tuple[Curve, ...] = field(init=False, repr=False, compare=False)
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        if epsilon < LEAST_EPSILON:
            raise ParameterError("epsilon", "be at least 1/1000", str(self.epsilon))
        if delta < LEAST_DELTA:
            raise ParameterError("delta", "be at least 1e-100", str(self.delta))
        parts, most = parts_of(self), self.max_items_per_user
        order, half = _best_order(epsilon, delta, most)
        conditions = tuple(_conditions(order, epsilon, delta, _steps(most, _finest(half, one)), one) for one in parts)
        curves, privacy = tuple(map(steepest, conditions)), promise(epsilon, delta, f"Renyi of order {order}")
        settle(self, order=order, conditions=conditions, curves=curves, privacy=privacy)

    def users_for(self, chance: float, items: int = 1) -> int:
        """How many users of `items` items each an item needs to be released with this chance in the last round."""
        last = self.conditions[-1]
        return -(-self.curves[-1].reaches(chance) // last.share(min(items, self.max_items_per_user)))

    @property
    def hidden(self) -> Fraction:
        """How likely an item is released that only one user has, at most."""
        return sum((one.delta for one in self.conditions), Fraction(0))

    def divergence(self, order: int) -> Fraction | None:
        """The Rényi divergence of any order that all rounds spend at most, but for hidden items; None if unknown."""
        found = [spends(curve, one, order) for curve, one in zip(self.curves, self.conditions, strict=True)]
        return None if None in found else sum((one for one in found if one is not None), Fraction(0))

    def __call__(self, sets: Sets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        weights = [partial(given, steps=one.steps) for one in self.conditions]
        rounds = [(weigh, 1, curve) for weigh, curve in zip(weights, self.curves, strict=True)]
        return in_rounds(sets, self.max_items_per_user, rounds, draws, progress)


def has_curve(epsilon: Fraction, delta: Fraction, most: int) -> bool:
    """Are the curves made in a second or two, by what they were measured to be about?"""
    return delta >= LEAST_DELTA and epsilon >= least_epsilon(delta, most)


def least_epsilon(delta: Fraction, most: int) -> Fraction:
    """The smallest epsilon that has a curve at this delta."""
    rare = -math.log(float(delta))
    return max(LEAST_EPSILON, Fraction((4 * math.sqrt(rare * most) + 2 * rare) * 4 / LONGEST))


def given(kept: UserSets, steps: tuple[tuple[int, int], ...]) -> Int64:
    """The weight of every item: each of its users contributes the share of how many items they keep."""
    most, shares = np.array(steps, dtype=np.int64).T
    lengths = np.diff(kept.offsets)
    contributions = np.repeat(shares[np.searchsorted(most, lengths)].astype(np.float64), lengths)
    # Integers below 2^53 (shares are below 2^16, users below 2^31) are exact in floats, in any order.
    return np.bincount(kept.codes, weights=contributions, minlength=kept.size).astype(np.int64)


def _conditions(
    order: int, epsilon: Fraction, delta: Fraction, steps: tuple[tuple[int, int], ...], part: Fraction = Fraction(1)
) -> Conditions:
    budget = min(renyi_budget(order, epsilon, delta * COMPOSED), Fraction(MOST_MOMENT, order - 1)) * part
    return Conditions(order=order, budget=budget, delta=delta * (1 - COMPOSED) * part, steps=steps)


def _finest(half: float, part: Fraction) -> int:
    """In how many parts a contribution is cut, so that the curve of a round with this part is not too long."""
    return max(1, min(FINEST, int(WEIGHTS / (2.5 * half / math.sqrt(part)))))


def _steps(most: int, finest: int) -> tuple[tuple[int, int], ...]:
    """`finest` for a user of `most` items, and more for fewer, by the fourth root; few different ones.

    Any shares are private. With the square root, as for Gaussian noise, users of few items would slow the curve for
    all others; with equal shares they would contribute less than they may. Measured on the mechanism's page.
    """
    numbers = [1]
    while (t := numbers[-1]) < most:
        numbers.append(min(most, t + 1 if t < 8 else t * 5 // 4))
    largest = {int(finest * (most / t) ** 0.25 + 1e-9): t for t in numbers}  # the last t of each share
    common = math.gcd(*largest)  # more than 1 where all contribute the same: weights are then numbers of users
    return tuple((t, share // common) for share, t in largest.items())


@lru_cache(maxsize=64)
def _best_order(epsilon: Fraction, delta: Fraction, most: int) -> tuple[int, float]:
    """The order whose curve reaches 1/2 first, and where, in full contributions of a user of `most` items."""

    @cache
    def score(order: int) -> float:
        return half_weight(_conditions(order, epsilon, delta, ((most, 1),)), LONGEST)

    start = first_order(epsilon, delta * COMPOSED)
    if math.isinf(score(start)):
        hint = "raise epsilon, lower max_items_per_user, or take SIPS, whose threshold needs no curve"
        raise ParameterError("epsilon", f"be larger for {most} items per user", str(epsilon), hint)
    order = best_order(score, start)
    return order, score(order)
