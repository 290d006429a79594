"""The steepest release curve: the largest probability at each weight that a Renyi budget of one order allows.

Floats only propose the curve. `check` then proves that it keeps its conditions, with a bound on the rounding of every
operation, so nothing about privacy rests on how the curve was found. Conditions and proof:
docs/mechanisms/renyi-shaped.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from flint import ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import Exp, enclose, lower, upper

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"

SURE = 1 - 2.0**-20  # the curve ends here
MARGIN = 1e-5  # of a budget, left free so that rounding cannot break a condition
CLOSE = 1e-5  # a last step of a width; what is left is about its square
NODES = 8  # in a unit of log-odds: cubics between them are nearer than the margin
STEEP = 0.25  # change of a slope from node to node
MOST_STEPS = 60
MAX_WEIGHTS = 400_000  # weights a curve may take


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions on a curve p(0) = 0 <= p(1) <= ..., for a user of t items who contributes a share m to each.

    1 - (1 - p(m))^t <= delta: items that only this user has stay unseen. And at every weight w >= the least share the
    Bernoulli draws of p(w) and p(w + m) have Renyi divergence of this order at most budget / t, both ways.

    `steps` are pairs (t, m) with rising t: a user of at most t items, and more than the t before, contributes m to
    each. Fewer items at the same share ask for less, so each step's own t stands for all.
    """

    order: int
    budget: Fraction
    delta: Fraction
    steps: tuple[tuple[int, int], ...]

    def share(self, t: int) -> int:
        """Return the contribution of a user of t items to each."""
        return next(share for max_items, share in self.steps if t <= max_items)

    def least(self) -> int:
        """Return the least weight above 0 that an item can have."""
        return min(share for _, share in self.steps)


@dataclass(frozen=True, eq=False)
class Curve:
    """Release probabilities at the weights 0, 1, 2, ...; the last holds for all above."""

    chances: Floats

    def at(self, weight: Fraction) -> Exp:
        """Return the probability at an integer weight, exactly."""
        return Exp(Fraction(0), Fraction(float(self.chances[min(weight.__floor__(), len(self.chances) - 1)])))

    def reaches(self, chance: float) -> int:
        """Return the least weight whose probability is at least `chance`, or the last if none is."""
        return min(int(np.searchsorted(self.chances, chance)), len(self.chances) - 1)


@lru_cache(maxsize=256)
def steepest(conditions: Conditions) -> Curve:
    """Return the largest curve that keeps the conditions, less a margin; checked before it is returned."""
    chances = np.maximum.accumulate(_propose(conditions, SURE, MAX_WEIGHTS))  # equal ones may differ in the last digit
    chances.flags.writeable = False
    curve = Curve(chances)
    check(curve, conditions)
    return curve


def half_weight(conditions: Conditions, longest: int) -> float:
    """Return about where the curve passes 1/2, for comparing orders; infinite if that is nowhere up to `longest`."""
    chances = _propose(conditions, 0.75, longest) if conditions.budget > 0 else [0.0]
    return float(np.interp(0.5, chances, np.arange(len(chances)))) if chances[-1] > 0.5 else math.inf


# ---- proposing --------------------------------------------------------------------------------------------------


def _propose(conditions: Conditions, stop: float, longest: int) -> list[float]:
    """Propose, weight by weight, the largest probability that every condition with smaller weights allows."""
    least = conditions.least()
    largest_share = max(share for _, share in conditions.steps)
    limits = [
        (share, -math.expm1(math.log1p(-float(conditions.delta)) / t) * (1 - MARGIN)) for t, share in conditions.steps
    ]
    highest = {w: _log_odds(min(p for share, p in limits if share >= w)) for w in range(least, largest_share + 1)}
    end, odds = _log_odds(stop), [-math.inf] * least
    rules = _rules(conditions, min(highest.values()), end)
    while odds[-1] < end and len(odds) < longest:
        w, strictest = len(odds), rules[0]
        here = odds[-1] if largest_share < w < 2 * least else highest.get(w, end)  # no item has a weight between
        for rule in rules:
            if rule.known < here and w - rule.share >= least:
                rule.known = rule.allows(odds[w - rule.share], here)
                if rule.known < here:
                    here, strictest = rule.known, rule
        if strictest is not rules[0]:  # likely so at the next weight too: the others are then known to allow as much
            rules.remove(strictest)
            rules.insert(0, strictest)
        if here < odds[-1]:  # the curve must not fall: lower what stands above it, and go on from there
            back = next(i for i in range(w) if odds[i] > here)
            highest |= dict.fromkeys(range(back, w), here)
            del odds[back:]
            for rule in rules:
                rule.known = -math.inf
        else:
            odds.append(here)
    chances: list[float] = np.exp(_logarithms(np.array(odds[least:]))[0]).tolist()
    return [0.0] * least + chances


class _Rule:
    """The largest log-odds that a share allows above given ones, as cubics in cells of equal width.

    `known` is what it allowed at an earlier weight: at larger ones it allows no less.
    """

    __slots__ = ("corner", "cubics", "first_node", "known", "moment", "n", "share")

    def __init__(
        self, share: int, moment: float, n: int, corner: float, first_node: float, cubics: list[list[float]]
    ) -> None:
        self.share, self.moment, self.n = share, moment, n
        self.corner, self.first_node, self.cubics = corner, first_node, cubics
        self.known = -math.inf

    def allows(self, odds: float, enough: float) -> float:
        """Return the largest log-odds above these, or less that is `enough`."""
        place = (odds - self.first_node) * NODES
        cell = int(place)
        c0, c1, c2, c3 = self.cubics[cell]
        if c0 >= enough:
            return c0
        z = place - cell
        allowed = c0 + z * (c1 + z * (c2 + z * c3))
        return self._exactly(odds) if math.isnan(allowed) else allowed

    def _exactly(self, odds: float) -> float:
        above = odds >= self.corner
        base = np.array(-odds if above else odds)
        return odds + float(_widths(np.array(self.moment), self.n, base, float(above))[0])


def _rules(conditions: Conditions, low: float, high: float) -> list[_Rule]:
    """Return the rules of all steps, for log-odds between these.

    The divergence of the larger probability from the smaller is the larger of the two while they add up to less than 1;
    then it is the other, that of the same two coins by their tails. There is a corner where they add up to 1, so a node
    is put there. Elsewhere what is allowed is smooth, and a cubic has the values and slopes at both ends of its cell;
    where it is too steep for one, the cubic is NaN but for the value at the lower end.
    """
    n = conditions.order - 1
    moments = np.array([[float(n * conditions.budget / t) * (1 - MARGIN)] for t, _ in conditions.steps])
    corner = -_widths(moments, n, np.zeros_like(moments), 0.5)[0] / 2
    before = np.ceil((corner - low) * NODES) + 1  # cells below the corner
    number = np.arange(math.ceil((high - low) * NODES) + 4)
    nodes, above = corner + (number - before) / NODES, number >= before
    widths, slopes = _widths(moments, n, np.where(above, -nodes, nodes), above.astype(np.float64))
    allowed, slopes = nodes + widths, np.where(above, 1 / slopes, slopes)
    left, right = slopes[:, :-1], np.where(number == before, 1 / slopes, slopes)[:, 1:]
    left, right = (np.where(np.abs(left - right) < STEEP, slope / NODES, np.nan) for slope in (left, right))
    rise = np.diff(allowed)
    cubics = np.stack([allowed[:, :-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise], axis=-1)
    columns = (column[:, 0].tolist() for column in (moments, corner, nodes))
    return [
        _Rule(share, moment, n, corner_of_share, first_node, of_share)
        for (_, share), moment, corner_of_share, first_node, of_share in zip(
            conditions.steps, *columns, cubics.tolist(), strict=True
        )
    ]


def _widths(moments: Floats, n: int, base: Floats, below: Floats | float) -> tuple[Floats, Floats]:
    """Return x for which the log-odds base - below x and base + (1 - below) x have these moments.

    And how fast the larger one grows with the smaller one for the same moment. Newton's method, on logarithmic scales:
    the moment grows with the square of x first, and in proportion to x at last.
    """
    log_chance, log_missed = _logarithms(base)
    ratio = np.expm1(moments) * (n + 1) / n * np.exp(-log_chance - log_missed)
    x = np.log1p(ratio + np.sqrt(2 * ratio)) / (n + 1)  # close where moments are small, and where chances are
    for _ in range(MOST_STEPS):
        (p, not_p), (q, not_q) = _logarithms(base - below * x), _logarithms(base + (1 - below) * x)
        heads, tails = q + n * (q - p), not_q + n * (not_q - not_p)
        moment = np.logaddexp(heads, tails)
        heads, tails = np.exp(heads - moment), np.exp(tails - moment)
        by_larger = (n + 1) * (heads * np.exp(not_q) - tails * np.exp(q))
        by_smaller = -n * (heads * np.exp(not_p) - tails * np.exp(p))
        step = np.log(moments / moment) * moment / (x * ((1 - below) * by_larger - below * by_smaller))
        x = x * np.exp(np.minimum(np.maximum(step, -1), 1))
        if np.abs(step).max() < CLOSE:
            break
    return x, -by_smaller / by_larger


def _allowed(odds: float, n: int, moment: float) -> float:
    """Return the largest log-odds that these allow, which is either by heads or by tails."""
    by_heads, by_tails = (
        float(_widths(np.array(moment), n, np.array(base), below)[0]) for base, below in ((odds, 0.0), (-odds, 1.0))
    )
    return odds + min(by_heads, by_tails)


def _log_odds(p: float) -> float:
    return math.log(p / (1 - p))


def _logarithms(odds: Floats) -> tuple[Floats, Floats]:
    """Return those of the probabilities of these log-odds, and of the rest of 1."""
    rest = np.log1p(np.exp(-np.abs(odds)))
    return np.minimum(odds, 0) - rest, np.minimum(-odds, 0) - rest


# ---- checking ---------------------------------------------------------------------------------------------------


def check(curve: Curve, conditions: Conditions) -> None:
    """Raise unless the conditions are proved for this curve."""
    p = curve.chances
    rising = p[0] == 0 and bool(np.all(np.diff(p) >= 0)) and p[-1] < 1
    if not (
        rising
        and all(_hidden(p, conditions, *step) and _within_budget(p, conditions, *step) for step in conditions.steps)
    ):
        raise ArithmeticError("a release curve does not keep its conditions")


def _hidden(p: Floats, conditions: Conditions, t: int, share: int) -> bool:
    """Return whether (1 - p(share))^t >= 1 - delta, as logarithms, in balls."""
    with ctx.workprec(128):
        chance = enclose(Fraction(float(p[min(share, len(p) - 1)])))
        return bool((-chance).log1p() * t >= (-enclose(conditions.delta)).log1p())


def _within_budget(p: Floats, conditions: Conditions, t: int, share: int) -> bool:
    """Return whether both moments at every weight are at most exp((a - 1) budget / t); `_rounding` is allowed for."""
    n = conditions.order - 1
    with ctx.workprec(128):
        bound = lower((enclose(n * conditions.budget) / t).exp())
    return _moment(p, conditions.least(), share, n) <= math.nextafter(float(bound), 0.0) / (1 + _rounding(n))


@lru_cache(maxsize=256)
def spends(curve: Curve, conditions: Conditions, order: int) -> Fraction | None:
    """Return what the draws of one user's items spend at most at any other order, rounded up.

    None where floats do not hold the moments, as they may where the order is far above that of the conditions.
    """
    n, largest = order - 1, Fraction(0)
    for t, share in conditions.steps:
        moment = _moment(curve.chances, conditions.least(), share, n)
        if not math.isfinite(moment):
            return None
        with ctx.workprec(128):
            bound = enclose(Fraction(moment) * (1 + Fraction(_rounding(n))))
            largest = max(largest, upper(bound.log() * t / n))
    return largest


def _moment(p: Floats, least: int, share: int, n: int) -> float:
    """Return the largest of both moments over all weights, up to `_rounding`; not finite beyond floats."""
    low = p[least:]
    high = p[np.minimum(np.arange(least, len(p)) + share, len(p) - 1)]
    with np.errstate(all="ignore"):
        forth = high * power(high / low, n) + (1 - high) * power((1 - high) / (1 - low), n)
        back = low * power(low / high, n) + (1 - low) * power((1 - low) / (1 - high), n)
    return float(np.max(np.maximum(forth, back), initial=0.0))  # NaN where one of them is


def _rounding(n: int) -> float:
    """Return how much larger a moment may be than `_moment` says, relative to it.

    Each is a sum of two terms x (x / y)^n with n = a - 1, where x and y are p and q or 1 - p and 1 - q. The power is
    that of a rounded quotient of two rounded differences, so 3 n roundings, and `power` adds n - 1; then come x, the
    product and the sum: at most 4 n + 2 roundings of 2^-53 each, so a relative error below twice 4 n + 8 of them.
    Another factor of 2 covers what underflows, which is off by less than 2^-1000 while the sum is never much below 1,
    and the roundings of a bound that it is compared with. What overflows, or divides by a chance of 0, is refused,
    never accepted.
    """
    return (4 * n + 8) * 2.0**-51


def power(x: Floats, n: int) -> Floats:
    """Return x^n by repeated squaring: n - 1 roundings in all, as in a plain product, since the two factors' add up."""
    product = np.ones_like(x)
    while n:
        if n & 1:
            product = product * x
        x, n = x * x, n >> 1
    return product
