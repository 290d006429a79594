"""The steepest release curve: the largest probability at each weight that a Renyi budget of one order allows.

Floats only propose the curve. `check` then proves that it keeps its conditions, with a bound on the rounding of every
operation, so nothing about privacy rests on how the curve was found. Conditions and proof:
docs/mechanisms/renyi-shaped.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from flint import ctx

from dpselect._ground.reals import Exp, enclose, lower, upper

Floats = npt.NDArray[np.float64]

SURE = 1 - 2.0**-20  # the curve ends here
MARGIN = 1e-5  # of a budget, left free so that rounding cannot break a condition
CLOSE = 1e-7  # how near a proposal comes to what is allowed
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


Coin = tuple[float, float, float]
"""A probability as log-odds and as the logarithms of itself and of 1 minus itself."""

Width = tuple[float, float]
"""How far apart in log-odds two coins may be, and the slope by which that was found."""

NEVER: Coin = (-math.inf, -math.inf, 0.0)
FIRST: Width = (1.0, 2.0)


def _propose(conditions: Conditions, stop: float, longest: int) -> list[float]:
    """Propose, weight by weight, the largest probability that every condition with smaller weights allows."""
    n, least = conditions.order - 1, conditions.least()
    largest_share = max(share for _, share in conditions.steps)
    rules = [(share, float(n * conditions.budget / t) * (1 - MARGIN)) for t, share in conditions.steps]
    limits = [
        (share, -math.expm1(math.log1p(-float(conditions.delta)) / t) * (1 - MARGIN)) for t, share in conditions.steps
    ]
    highest = {w: _coin(min(p for share, p in limits if share >= w)) for w in range(least, largest_share + 1)}
    end, coins = _coin(stop), [NEVER] * least
    widths: dict[int, Width] = {}  # how far apart in log-odds each share's weights were last
    while coins[-1][0] < end[0] and len(coins) < longest:
        w = len(coins)
        coin = coins[-1] if largest_share < w < 2 * least else highest.get(w, end)  # no item has a weight between
        strictest = 0
        for i, (share, moment) in enumerate(rules):
            weight_before = w - share
            if (
                weight_before >= least
                and coins[weight_before][0] < coin[0]
                and _log_moment(coin, coins[weight_before], n) > moment
            ):
                coin, widths[share] = _largest(coins[weight_before], coin, n, moment, widths.get(share, FIRST))
                strictest = i
        rules.insert(0, rules.pop(strictest))  # likely the strictest at the next weight too: the others then only agree
        if coin[0] < coins[-1][0]:  # the curve must not fall: lower what stands above it, and go on from there
            back = next(i for i in range(w) if coins[i][0] > coin[0])
            highest |= dict.fromkeys(range(back, w), coin)
            del coins[back:]
        else:
            coins.append(coin)
    return [math.exp(log_chance) for _, log_chance, _ in coins]


def _coin(p: float) -> Coin:
    return (math.log(p / (1 - p)), math.log(p), math.log1p(-p))


def _coin_at(odds: float) -> Coin:
    """Return the coin of these log-odds; what is near 0 of both logarithms is exact to the last digits."""
    if odds < 0:
        log_missed = -math.log1p(math.exp(odds))
        return odds, log_missed + odds, log_missed
    log_chance = -math.log1p(math.exp(-odds))
    return odds, log_chance, log_chance - odds


def _log_moment(larger: Coin, smaller: Coin, n: int) -> float:
    """Return (a - 1) times the larger of the two Renyi divergences of order a = n + 1."""
    _, q, not_q = larger
    _, p, not_p = smaller
    up, down = n * (q - p), n * (not_q - not_p)
    x, y = q + up, not_q + down
    forth = x + math.log1p(math.exp(y - x)) if x > y else y + math.log1p(math.exp(x - y))
    x, y = p - up, not_p - down
    back = x + math.log1p(math.exp(y - x)) if x > y else y + math.log1p(math.exp(x - y))
    return forth if forth > back else back


def _largest(p: Coin, q: Coin, n: int, moment: float, last_width: Width) -> tuple[Coin, Width]:
    """Return the largest coin above p whose moment against p is within bounds, where that of q is not.

    The root of the moment is nearly linear in the difference x of log-odds, so the secant through the last two points,
    on logarithmic scales, needs few steps from the x of the weight before.
    """
    start, target = p[0], math.log(moment) - CLOSE
    low, high = 0.0, q[0] - start
    x, slope = last_width if low < last_width[0] < high else (high / 2, last_width[1])
    previous = (0.0, 0.0)
    for step in range(60):
        value = math.log(_log_moment(_coin_at(start + x), p, n))
        if step and abs(x / previous[0] - 1) > CLOSE:
            slope = (value - previous[1]) / (math.log(x) - math.log(previous[0]))
        new = x * math.exp((target - value) / slope) if slope > 0.5 else high
        if abs(value - target) <= CLOSE or high - low < CLOSE * x:
            x = new if low < new < high else x
            return _coin_at(start + x), (x, slope)
        low, high = (x, high) if value < target else (low, x)
        previous = (x, value)
        x = new if low < new < high else (low + high) / 2
    return _coin_at(start + low), (low, slope)


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
