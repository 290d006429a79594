"""RenyiShaped: rounds of counting, each item released by the steepest curve that a Renyi budget allows."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cache, lru_cache, partial, reduce

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, Progress
from dpselect._ground.privacy import Privacy
from dpselect.accounting.renyi import best_order, first_order, renyi_budget
from dpselect.aggregates.user_sets import Blocks, Int64, Sets, UserSets, summed
from dpselect.draws import Draws
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.set_union.port import parse
from dpselect.mechanisms.set_union.renyi_curve import Conditions, Curve, half_weight, spends, steepest
from dpselect.mechanisms.set_union.rounds import in_rounds, parts_of

LEAST_EPSILON = Fraction(1, 1000)
LEAST_DELTA = Fraction(1, 10**100)
MOST_MOMENT = 400  # (order - 1) x budget: inside of what floats hold; more is not needed
COMPOSED = Fraction(3, 4)  # of delta for the Renyi budget; the rest for items that only one data set has
FINEST, FINEST_OF_OTHERS = 16, 32  # parts of a full contribution, by the first shares and by others
WEIGHTS, WEIGHTS_OF_OTHERS = 4000, 2500  # parts are coarser where a curve would be longer than this
MOST_OF_OTHERS = 10_000  # weights of a curve; other shares that need more are left out
COARSER = 4  # of the numbers of items that shares are made for, each this part of the one before
LARGEST_ORDER = 2**20
TYPICAL = 20  # items of a user, for whom an order is chosen that serves all bounds
MOST_FOR_COUNTS = Fraction(9, 10)  # of the budget
HALF_BITS = 31  # of a number that has two sums
HALF = 1 << HALF_BITS
MAX_CONTRIBUTIONS = 20_000  # full contributions that an item may need; beyond, another mechanism must do

Shares = tuple[Conditions, Curve]
"""What users contribute, as a part of the conditions on the curve that goes with it."""


@dataclass(frozen=True, kw_only=True)
class RenyiShaped:
    """Release items in `rounds` rounds; in each the chance of release is the largest that the guarantee allows.

    In each round every user keeps a new random `max_items_per_user` of those of their items that are not released yet.
    A user who keeps t items contributes the t-th share to each, more where t is small. An item of weight w has the
    chance `curves[r].at(w)`; `others[r]` has more shares and their curves, which suit users of fewer items. The largest
    chance counts. Of the budget round r gets a part in proportion to split^(rounds - r); `counts_share` of the whole is
    left for noisy counts of what was released, at the order of the curves (`rho_of_counts`). With `at_order` the curves
    have that order, of which an earlier step `spent` some of the budget.

    Guarantee: (epsilon, delta)-DP, also together with counts whose noise keeps `rho_of_counts`; three quarters of delta
        for all draws together, the rest for items that only one data set has.
    Neighbors: add-remove.
    Sensitivity: a user moves the weights of at most t items, by the share of t. The curve's steps are so small that
        the draws of those items together spend at most the round's part of the Renyi budget, whatever their weights.
    Exactness: weights are integers, probabilities binary fractions, proved to keep the budget.
    Cost: a pass over the pairs that are left for every two curves and one draw an item, each round; the curves 0.05 to
        0.3 s, once.
    Source: ours; statement and proof in docs/mechanisms/renyi-shaped.md. Rounds are those of Swanberg, Desfontaines
        and Haney 2023; for one item a user the curve tends to that of Desfontaines, Voss and Gipson 2022.
    Example:
        >>> RenyiShaped(epsilon=1, delta="1e-9", max_items_per_user=9)(UserSets.from_sets(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int
    rounds: int = 3
    split: Number = Fraction(1, 5)
    part: Number = 1
    counts_share: Number = 0
    at_order: int | None = None
    spent: Number = 0
    order: int = field(init=False)
    conditions: tuple[Conditions, ...] = field(init=False, repr=False)
    curves: tuple[Curve, ...] = field(init=False, repr=False, compare=False)
    others: tuple[tuple[Shares, ...], ...] = field(init=False, repr=False, compare=False)
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        if epsilon < LEAST_EPSILON:
            raise ParameterError("epsilon", "be at least 1/1000", str(self.epsilon))
        if delta < LEAST_DELTA:
            raise ParameterError("delta", "be at least 1e-100", str(self.delta))
        parts, max_items, counts = parts_of(self), self.max_items_per_user, _counts_share(self.counts_share)
        spent = parameters.not_negative("spent", self.spent)
        order, half = _order(epsilon, delta, max_items, counts, self.at_order, spent)
        every = [
            [_conditions(order, epsilon, delta, steps, part, counts, spent) for steps in _lists(half, part, max_items)]
            for part in parts
        ]
        shares = [
            [(conditions_of_steps, steepest(conditions_of_steps)) for conditions_of_steps in of_round]
            for of_round in every
        ]
        privacy = promise(epsilon, delta, f"Renyi of order {order}")
        conditions, curves = (tuple(of_round[0][i] for of_round in shares) for i in (0, 1))
        others = tuple(tuple(of_round[1:]) for of_round in shares)
        set_fields(self, counts_share=counts, spent=spent)
        set_fields(self, order=order, conditions=conditions, curves=curves, others=others, privacy=privacy)

    @property
    def shares(self) -> tuple[tuple[Shares, ...], ...]:
        """All shares of each round with their curves; those that suit users of `max_items_per_user` items first."""
        first = zip(self.conditions, self.curves, strict=True)
        return tuple(
            (first_shares, *other_shares) for first_shares, other_shares in zip(first, self.others, strict=True)
        )

    def of_first_shares(self) -> RenyiShaped:
        """Return the union with the first shares of each round only; no chance is more."""
        union = copy.copy(self)
        set_fields(union, others=((),) * len(self.conditions))
        return union

    def users_for(self, chance: float, items: int = 1) -> int:
        """Return how many users of `items` items an item needs to be released with this chance in the last round."""
        t = min(items, self.max_items_per_user)
        return min(-(-curve.reaches(chance) // conditions.share(t)) for conditions, curve in self.shares[-1])

    @property
    def rho_of_counts(self) -> Fraction:
        """The zCDP that counts of what all parts release may spend together: their share, at the order of the curves.

        A user moves at most D counts by 1: discrete Gaussian noise of variance D / (2 rho) keeps it.
        """
        budget = whole_budget(self.order, Fraction(self.epsilon), Fraction(self.delta), Fraction(self.spent))
        return budget * Fraction(self.counts_share) / self.order

    def divergence(self, order: int) -> Fraction | None:
        """Return the Rényi divergence that all rounds spend at most at an order, but for hidden items, or None.

        Counts are not in it.
        """
        total = Fraction(0)
        for of_round in self.shares:
            spent = [spends(curve, conditions, order) for conditions, curve in of_round]
            known_costs = [cost for cost in spent if cost is not None]
            if len(known_costs) < len(spent):
                return None
            total += max(known_costs)
        return total

    def __call__(self, sets: Sets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """Return the codes of the released items, ascending."""
        rounds = [(partial(_weigh, shares=of_round), largest(of_round)) for of_round in self.shares]
        return in_rounds(sets, self.max_items_per_user, rounds, draws, progress)


def has_curve(epsilon: Fraction, delta: Fraction, max_items: int, counts_share: Fraction = Fraction(0)) -> bool:
    """Return whether the curves are made in a second or two, by what they were measured to be about."""
    return delta >= LEAST_DELTA and epsilon >= least_epsilon(delta, max_items, counts_share)


def least_epsilon(delta: Fraction, max_items: int, counts_share: Fraction = Fraction(0)) -> Fraction:
    """Return the smallest epsilon that has a curve at this delta; a budget is about a multiple of its square."""
    rare = -math.log(float(delta))
    least = max(LEAST_EPSILON, Fraction((4 * math.sqrt(rare * max_items) + 2 * rare) * 4 / MAX_CONTRIBUTIONS))
    return least if not counts_share else least / Fraction(math.sqrt(1 - counts_share))


def weigh_by_steps(sets: UserSets, lists: Sequence[tuple[tuple[int, int], ...]]) -> Int64:
    """Return the weights of every item by each list of steps.

    Its users contribute the share of how many items they keep. Two lists are added up at once, as the halves of one
    number, where no sum fills a half: it is at most the largest share for each pair.
    """
    lengths = np.diff(sets.offsets)
    sizes = np.arange(lengths.max(initial=0) + 1)
    shares = [share_of_each(sizes, steps) for steps in lists]
    fit_halves = len(sets.codes) * max(int(of_sizes.max()) for of_sizes in shares) < HALF
    weights = np.zeros((len(lists), sets.size), dtype=np.int64)
    for row in range(0, len(lists), 2 if fit_halves else 1):
        sums, contributions, has_two = weights[row], shares[row], fit_halves and row + 1 < len(lists)
        if has_two:
            contributions = contributions + shares[row + 1] * HALF
        np.add.at(sums, sets.codes, np.repeat(contributions[lengths], lengths))
        if has_two:
            np.right_shift(sums, HALF_BITS, out=weights[row + 1])
            sums &= HALF - 1
    return weights


def share_of_each(sizes: Int64, steps: tuple[tuple[int, int], ...]) -> Int64:
    """Return what users of so many items contribute to each: the share of the first step that reaches their number."""
    max_items, shares = np.array(steps, dtype=np.int64).T
    return np.asarray(shares[np.searchsorted(max_items, sizes)], dtype=np.int64)


def largest(shares: Sequence[Shares]) -> Curve:
    """Return the chances of all these curves, each once, ascending: a curve over indices into it."""
    chances = np.sort(np.concatenate([curve.chances for _, curve in shares]))
    return Curve(chances[np.diff(chances, prepend=-1.0) > 0])  # np.unique would import masked arrays, 15 ms


def curve_indices(weights: Iterable[Int64], shares: Sequence[Shares]) -> Int64:
    """Return the index of the largest chance in `largest(shares)`, for items of these weights by each of the shares.

    An item that nobody has is at 0, where the chance is 0.
    """
    every = largest(shares).chances
    indices = (
        np.searchsorted(every, curve.chances)[np.minimum(w, len(curve.chances) - 1)]
        for w, (_, curve) in zip(weights, shares, strict=True)
    )
    return reduce(np.maximum, indices).astype(np.int64, copy=False)


def _weigh(sets: Blocks, shares: Sequence[Shares]) -> Int64:
    """Add up weights over all users before a chance is looked up."""
    weights = summed(partial(weigh_by_steps, lists=[conditions.steps for conditions, _ in shares]), sets)
    return curve_indices(weights, shares)


def _conditions(
    order: int,
    epsilon: Fraction,
    delta: Fraction,
    steps: tuple[tuple[int, int], ...],
    part: Fraction = Fraction(1),
    counts_share: Fraction = Fraction(0),
    spent: Fraction = Fraction(0),
) -> Conditions:
    budget = whole_budget(order, epsilon, delta, spent) * (1 - counts_share) * part
    return Conditions(order=order, budget=budget, delta=delta * (1 - COMPOSED) * part, steps=steps)


def whole_budget(order: int, epsilon: Fraction, delta: Fraction, spent: Fraction) -> Fraction:
    """Return what curves and counts may spend together."""
    return min(renyi_budget(order, epsilon, delta * COMPOSED) - spent, Fraction(MOST_MOMENT, order - 1))


def _counts_share(requested: Number) -> Fraction:
    """Parse the part of the budget that is left for counts."""
    share = parameters.not_negative("counts_share", requested)
    if share > MOST_FOR_COUNTS:
        raise ParameterError("counts_share", f"be at most {MOST_FOR_COUNTS}", came(requested))
    return share


def _lists(half: float, part: Fraction, max_items: int) -> list[tuple[tuple[int, int], ...]]:
    """Return the shares of a round with this part: for users of `max_items` items, of a quarter of that, down to 1.

    `half` is about where the curve of one round passes 1/2, in contributions of users of `max_items` items.
    """
    long, fits = 2.5 * half / math.sqrt(part), max_items
    lists = [_steps(max_items, max_items, max(1, min(FINEST, int(WEIGHTS / long))))]
    while fits > 1:
        fits = fits // COARSER or 1
        shorter = long * math.sqrt(fits / max_items)
        least = (
            math.isqrt((max_items - 1) // fits) + 1
        )  # parts, so that users of `max_items` items contribute something
        if least <= FINEST_OF_OTHERS and least * shorter <= MOST_OF_OTHERS:
            lists.append(_steps(max_items, fits, max(least, min(FINEST_OF_OTHERS, int(WEIGHTS_OF_OTHERS / shorter)))))
    return lists


def _steps(max_items: int, fits: int, finest: int) -> tuple[tuple[int, int], ...]:
    """Return steps of `finest` for a user of `fits` items, more for fewer (fourth root), less for more (root).

    Any shares are private. With the root all the way, as for Gaussian noise, users of few items would slow the curve
    for all others; with equal shares they would contribute less than they may. Measured on the mechanism's page.
    """
    numbers = [1]
    while (t := numbers[-1]) < fits:
        numbers.append(min(fits, t + 1 if t < 8 else t * 5 // 4))
    steps = {int(finest * (fits / t) ** 0.25 + 1e-9): t for t in numbers}  # the last t of each share
    t = fits
    for share in range(finest - 1, 0, -1):
        further = max_items if share == 1 else min(max_items, fits * finest**2 // share**2)
        if further > t:
            steps[share] = t = further
    common = math.gcd(*steps)  # more than 1 where all contribute the same: weights are then numbers of users
    return tuple((t, share // common) for share, t in steps.items())


def common_order(epsilon: Fraction, delta: Fraction, counts_share: Fraction) -> int:
    """Return one order for the curves of every bound: the best for TYPICAL items, and nearly for all others."""
    return _best_order(epsilon, delta, TYPICAL, counts_share)[0]


def _order(
    epsilon: Fraction, delta: Fraction, max_items: int, counts_share: Fraction, requested: int | None, spent: Fraction
) -> tuple[int, float]:
    """Return the order that is given or best, and where its curve passes 1/2."""
    if requested is None and not spent:
        return _best_order(epsilon, delta, max_items, counts_share)
    order = parameters.whole_number("at_order", requested, minimum=2, maximum=LARGEST_ORDER)
    conditions = _conditions(order, epsilon, delta, ((max_items, 1),), counts_share=counts_share, spent=spent)
    half = half_weight(conditions, MAX_CONTRIBUTIONS)
    if math.isinf(half):
        raise ParameterError("epsilon", f"be larger for {max_items} items per user at order {order}", str(epsilon))
    return order, half


@lru_cache(maxsize=64)
def _best_order(
    epsilon: Fraction, delta: Fraction, max_items: int, counts_share: Fraction = Fraction(0)
) -> tuple[int, float]:
    """Return the order whose curve reaches 1/2 first, and where, in full contributions of a user of `max_items`."""

    @cache
    def score(order: int) -> float:
        conditions = _conditions(order, epsilon, delta, ((max_items, 1),), counts_share=counts_share)
        return half_weight(conditions, MAX_CONTRIBUTIONS)

    start = first_order(epsilon, delta * COMPOSED)
    if math.isinf(score(start)):
        hint = "raise epsilon, lower max_items_per_user, or take WeightedGaussian, which needs no curve"
        raise ParameterError("epsilon", f"be larger for {max_items} items per user", str(epsilon), hint)
    order = best_order(score, start)
    return order, score(order)
