"""The steepest release curve: the largest probability at each weight that a Renyi budget of one order allows.

Floats only propose the curve. `check` then proves that it keeps its conditions, with a bound on the rounding of every
operation, so nothing about privacy rests on how the curve was found. Conditions and proof: docs/mechanisms/
renyi-shaped.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from dpselect.reals import Exp, enclose, lower

Floats = npt.NDArray[np.float64]

SURE = 1 - 2.0**-20  # the curve ends here
MARGIN = 1e-5  # of a budget, left free so that rounding cannot break a condition
CLOSE = 1e-7  # how near a proposal comes to what is allowed
LONGEST = 400_000  # weights a curve may take


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What a curve p(0) = 0 <= p(1) <= ... must keep, for a user of t = 1 .. len(shares) items of shares[t - 1] each.

    1 - (1 - p(share))^t <= delta: items that only this user has stay unseen. And at every weight w >= the least share
    the coins of p(w) and p(w + share) have Renyi divergence at most budget / t, both ways.
    """

    order: int
    budget: Fraction
    delta: Fraction
    shares: tuple[int, ...]

    def dearest(self) -> Mapping[int, int]:
        """For each share the largest number of items that a user may have at it: its conditions are the strictest."""
        return {share: t for t, share in enumerate(self.shares, 1)}


@dataclass(frozen=True, eq=False)
class Curve:
    """Release probabilities at the weights 0, 1, 2, ...; the last holds for all above."""

    chances: Floats

    def at(self, weight: Fraction) -> Exp:
        """The probability at a whole weight, exactly."""
        return Exp(Fraction(0), Fraction(float(self.chances[min(weight.__floor__(), len(self.chances) - 1)])))

    def reaches(self, chance: float) -> int:
        """The least weight whose probability is at least `chance`."""
        return int(np.searchsorted(self.chances, chance))


def steepest(conditions: Conditions) -> Curve:
    """The largest curve that keeps the conditions, less a margin; checked before it is returned."""
    curve = Curve(np.array(_propose(conditions, SURE)))
    check(curve, conditions)
    return curve


def half_weight(conditions: Conditions) -> float:
    """About where the curve passes 1/2, for comparing orders; infinite where there is no budget."""
    if conditions.budget <= 0:
        return math.inf
    chances = np.array(_propose(conditions, 0.75))
    return float(np.interp(0.5, chances, np.arange(len(chances))))


# ---- proposing --------------------------------------------------------------------------------------------------


def _propose(conditions: Conditions, stop: float) -> list[float]:
    """Weight by weight, the largest probability that every condition with smaller weights allows."""
    n, dearest = conditions.order - 1, conditions.dearest()
    least, most = min(dearest), max(dearest)
    rules = [(share, float(n * conditions.budget / t) * (1 - MARGIN)) for share, t in dearest.items()]
    first = {
        share: -math.expm1(math.log1p(-float(conditions.delta)) / t) * (1 - MARGIN) for share, t in dearest.items()
    }
    highest = {w: min(f for share, f in first.items() if share >= w) for w in range(least, most + 1)}
    chances = [0.0] * least
    steps: dict[int, float] = {}  # how far apart in log-odds each share's weights were last
    while True:
        w = len(chances)
        p = chances[-1] if most < w < 2 * least else highest.get(w, stop)
        for share, moment in rules:
            before = w - share
            if before >= least and chances[before] < p:
                p = _largest(chances[before], p, n, moment, steps.get(share, 1.0))
                steps[share] = math.log(p / (1 - p)) - math.log(chances[before] / (1 - chances[before]))
        if p < chances[-1]:  # the curve must not fall: lower what stands above p, and go on from there
            back = next(i for i in range(w) if chances[i] > p)
            highest |= dict.fromkeys(range(back, w), p)
            del chances[back:]
            continue
        chances.append(p)
        if p >= stop or len(chances) > LONGEST:
            return chances


def _log_moment(q: float, p: float, n: int) -> float:
    """(a - 1) times the larger of the two Renyi divergences of order a = n + 1, for 0 < p <= q < 1."""
    up, down = math.log(q / p), math.log((1 - q) / (1 - p))
    forth = _log_sum(math.log(q) + n * up, math.log1p(-q) + n * down)
    back = _log_sum(math.log(p) - n * up, math.log1p(-p) - n * down)
    return max(forth, back)


def _log_sum(x: float, y: float) -> float:
    x, y = max(x, y), min(x, y)
    return x + math.log1p(math.exp(y - x))


def _largest(p: float, q: float, n: int, moment: float, guess: float) -> float:
    """The largest number in [p, q] whose moment against p is within bounds.

    The root of the moment is nearly linear in the difference x of log-odds, so the secant through the last two points,
    on logarithmic scales, needs about four steps from the x of the weight before.
    """
    if _log_moment(q, p, n) <= moment:
        return q
    start, wanted = math.log(p / (1 - p)), math.log(moment) - CLOSE
    low, high = 0.0, math.log(q / (1 - q)) - start
    x = guess if low < guess < high else high / 2
    slope, last = 2.0, (0.0, 0.0)
    for step in range(60):
        value = math.log(_log_moment(_logistic(start + x), p, n))
        if abs(value - wanted) <= CLOSE or high - low < CLOSE * x:
            return _logistic(start + x)
        low, high = (x, high) if value < wanted else (low, x)
        if step and abs(x / last[0] - 1) > CLOSE:
            slope = (value - last[1]) / (math.log(x) - math.log(last[0]))
        last = (x, value)
        new = x * math.exp((wanted - value) / slope) if slope > 0.01 else high
        x = new if low < new < high else (low + high) / 2
    return _logistic(start + low)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


# ---- checking ---------------------------------------------------------------------------------------------------


def check(curve: Curve, conditions: Conditions) -> None:
    """Raise unless the conditions are proved for this curve."""
    p = curve.chances
    rising = p[0] == 0 and bool(np.all(np.diff(p) >= 0)) and p[-1] < 1
    if not (rising and _hidden(p, conditions) and all(_near(p, conditions, *rule) for rule in rules_of(conditions))):
        raise ArithmeticError("a release curve does not keep its conditions")


def rules_of(conditions: Conditions) -> Sequence[tuple[int, int]]:
    """Every share, with the largest number of items at it."""
    return sorted(conditions.dearest().items())


def _hidden(p: Floats, conditions: Conditions) -> bool:
    """(1 - p(share))^t >= 1 - delta, in exact fractions."""
    found = []
    for share, t in rules_of(conditions):
        with ctx.workprec(128 + 2 * t.bit_length()):
            stays = (1 - enclose(Fraction(float(p[min(share, len(p) - 1)])))) ** t
            found.append(bool(stays >= enclose(1 - conditions.delta)))
    return all(found)


def _near(p: Floats, conditions: Conditions, share: int, t: int) -> bool:
    """Both moments at every weight are at most exp((a - 1) budget / t).

    Each is a sum of two terms x (x / y)^n with x, y among p, q, 1 - p, 1 - q. One rounding for each difference, one
    for the quotient, n - 1 for its power and two more: a relative error below (4 n + 8) 2^-53, doubled here. A power
    that underflows is off by less than 2^-1000, and the other term is then above 1/2: the last factor of 2 covers it.
    """
    n = conditions.order - 1
    least = min(conditions.shares)
    low = p[least:]
    high = p[np.minimum(np.arange(least, len(p)) + share, len(p) - 1)]
    with ctx.workprec(128):
        bound = lower((enclose(n * conditions.budget) / t).exp())
    most = math.nextafter(float(bound), 0.0) / (1 + (4 * n + 8) * 2.0**-51)
    with np.errstate(over="ignore", under="ignore"):
        forth = high * power(high / low, n) + (1 - high) * power((1 - high) / (1 - low), n)
        back = low * power(low / high, n) + (1 - low) * power((1 - low) / (1 - high), n)
    return bool(np.all(forth <= most) and np.all(back <= most))


def power(x: Floats, n: int) -> Floats:
    """x^n by at most 2 log2 n multiplications, each rounded once."""
    found = np.ones_like(x)
    while n:
        if n & 1:
            found = found * x
        x, n = x * x, n >> 1
    return found
