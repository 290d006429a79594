"""The optimum for adaptive steps: the least epsilon that holds however the steps are chosen, bounded on a grid.

V(g) is the largest delta at total epsilon g of any adaptive sequence of such steps. As a function F of
z = exp(g) it is convex and falls from 1, so a chord between two of its points lies above it. Upper bounds on F
at the nodes of a grid therefore remain upper bounds under the operator of each step, which is computed in
floats with a proved slack. Statement, proof and the count of rounding errors: docs/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import BoundedRange, PureDP, Steps, StepsOfPick, total_rho
from dpselect._ground.reals import enclose, upper

if TYPE_CHECKING:
    import numpy.typing as npt

Values: TypeAlias = "npt.NDArray[np.float64]"
Operator = Callable[[Values], Values]

PRECISION = 128
LARGEST_EPSILON = 16  # of one step: exp of it stays far from the ends of the float range
LEAST_STEP = Fraction(1, 2**40)  # of a grid: far above the rounding of a float near 1
LEAST_DELTA = Fraction(1, 2**300)  # far above TINY
LARGEST_TABLE = 2**22  # floats of one step's table of cells and offsets
LARGEST_WORK = 2**30  # table entries of all steps together, about two seconds
RESOLUTIONS = ((20, 64), (100, 32), (250, 24), (512, 16))  # up to so many steps: nodes per step
MOST_STEPS = 512  # of one call for which a search is worth its time: about 0.1 s
AIM = 2.0**-14  # relative: a search aims this much below the wanted total, and ends within four times this
MARGIN = 1.0  # standard deviations that a grid goes beyond the zCDP bound, or thrice beyond a given epsilon
TINY = 2.0**-500  # more than all underflow of one step
SLACK = 2.0**-45  # 256 units of rounding; the count in the docs needs 142
UP = 1 + 2.0**-48  # for products of a few factors


@dataclass(frozen=True)
class OddsGrid:
    """The nodes z_i = exp(i step), i = 0 .. nodes - 1. To the left of node 0, F(1/z) = 1 - (1 - F(z)) / z."""

    step: Fraction
    nodes: int

    @cached_property
    def ratio_minus_one(self) -> float:
        """exp(step) - 1."""
        return _float(enclose(self.step).expm1())

    def padding(self, reach: int) -> Operator:
        """Return a map that extends the grid by `reach` nodes on either side and makes the bounds non-increasing."""
        shrink = self.powers(-reach, 0)

        def pad(values: Values) -> Values:
            mirror = 1 - shrink * (1 - values[reach:0:-1]) + 2.0**-50
            mirror[0] = min(mirror[0], 1.0)
            return np.minimum.accumulate(np.concatenate([mirror, values, np.full(reach, values[-1])]))

        return pad

    def powers(self, start: int, stop: int, part: int = 1) -> Values:
        """exp(i step / part) for i = start .. stop - 1, each to within about one unit of rounding."""
        return np.array([_float(enclose(self.step * i / part).exp()) for i in range(start, stop)])

    def operator(self, value: BoundedRange | PureDP) -> Operator:
        """Return the map from upper bounds on F for some steps to upper bounds with one more step before them."""
        with ctx.workprec(PRECISION):
            return self._pick(value) if isinstance(value, BoundedRange) else self._count(value)

    def _pick(self, value: BoundedRange) -> Operator:
        """Return the map for bounded range, rounded up to `span` nodes: exact maximum over t, F linear between them.

        Cell c is y = z_c v, 1 <= v <= r, where F(y) = a + b v and F(y E) = a' + b' v. From node c + d the step's
        value is [E a - a' + r^d (b' - b) - (alpha v + r^d beta / v)] / (E - 1), alpha = b' - E b, beta = a - a',
        and the last bracket is at least 2 sqrt(r^d alpha beta).
        """
        span = self.span(value)
        grown = _float(enclose(self.step * span).exp())
        spread = _float(enclose(self.step * span).expm1())
        slack = SLACK * grown * (1 + self.ratio_minus_one) / self.ratio_minus_one
        offsets = self.powers(1, span + 1, part=2)[:, np.newaxis]
        pad, cells = self.padding(span), self.nodes + span - 1
        table = np.empty((span, cells))
        # Row d - 1 of the table holds the cells' values seen from d nodes above: a node's are on a diagonal.
        diagonals = np.lib.stride_tricks.as_strided(
            table.reshape(-1)[span - 1 :], (span, self.nodes), (8 * (cells - 1), 8), writeable=False
        )

        def apply(values: Values) -> Values:
            nodes = pad(values)
            slopes = np.diff(nodes) / self.ratio_minus_one
            starts = nodes[:-1] - slopes
            lower, upper_nodes = slice(cells), slice(span, None)
            alpha = slopes[upper_nodes] - grown * slopes[lower]
            beta = starts[lower] - starts[upper_nodes]
            below = np.minimum(np.minimum(alpha, beta), 0)  # rounding only; what it hides is given back in `fixed`
            bend = 2 * np.sqrt(alpha - below) * np.sqrt(beta - below)
            fixed = grown * starts[lower] - starts[upper_nodes] - 2 * grown * below + (slack * nodes[:cells] + TINY)
            np.multiply(offsets, slopes[upper_nodes] - slopes[lower], out=table)
            np.subtract(table, bend, out=table)
            np.multiply(table, offsets, out=table)
            np.add(table, fixed, out=table)
            best: Values = diagonals.max(axis=0)
            return best / spread * UP

        return apply

    def _count(self, value: PureDP) -> Operator:
        """Return the map for randomised response, the worst pure step; between nodes its losses are on the chord."""
        whole_nodes = math.floor(value.epsilon / self.step)
        fraction = enclose(value.epsilon - whole_nodes * self.step)
        ratio = enclose(self.step).expm1()
        likely = 1 / (1 + (-enclose(value.epsilon)).exp())
        down, up = (enclose(self.step) - fraction).expm1() / ratio, fraction.expm1() / ratio
        weights = [
            _float_above(w) for w in (likely * (1 - down), likely * down, (1 - likely) * (1 - up), (1 - likely) * up)
        ]
        left, size, pad = whole_nodes + 1, self.nodes, self.padding(whole_nodes + 1)
        starts = [0, 1, left + whole_nodes, left + whole_nodes + 1]

        def apply(values: Values) -> Values:
            nodes = pad(values)
            terms = [weight * nodes[start : start + size] for weight, start in zip(weights, starts, strict=True)]
            return (terms[0] + terms[1] + terms[2] + terms[3]) * UP + TINY

        return apply

    def span(self, value: BoundedRange | PureDP) -> int:
        """Return the number of nodes that one step spans."""
        return math.ceil(value.epsilon / self.step)

    def affordable(self, steps: Sequence[Steps]) -> bool:
        """Return whether the tables fit into the limits of memory and time."""
        sizes = [self.nodes * (self.span(s.value) if isinstance(s.value, BoundedRange) else 4) for s in steps]
        work = sum(size * s.times for size, s in zip(sizes, steps, strict=True))
        return max(sizes) <= LARGEST_TABLE and work <= LARGEST_WORK

    def loss(self, steps: Sequence[Steps]) -> float:
        """Four times the variance of all steps, as rounded to the grid."""
        spans = [
            self.span(s.value) if isinstance(s.value, BoundedRange) else s.value.bounded_range / self.step
            for s in steps
        ]
        return sum(float((n**2 + 1) * self.step**2) * s.times for n, s in zip(spans, steps, strict=True))


def _float(ball: arb) -> float:
    """Return a ball's number to within two units of rounding."""
    return float(upper(ball))


def _float_above(ball: arb) -> float:
    """Return a float that is certainly at least a ball's number, and not negative."""
    return max(0.0, math.nextafter(float(upper(ball)), math.inf))


def default_resolution(times: int) -> int:
    """Return the nodes n per bounded-range step: the answer is about 1/2 n^-2 too large, the time ~ n^2 times^1.5."""
    return next((n for max_times, n in RESOLUTIONS if times <= max_times), 12)


def _grid(steps: Sequence[Steps], reach: float, resolution: int | None) -> OddsGrid | None:
    """Return the grid up to total epsilon `reach` that loses least by rounding up; None if every grid is too large.

    A pick of epsilon e counts as an integer number of nodes, and chords between nodes add step^2 / 4 to its variance.
    """
    epsilons = {s.value.epsilon for s in steps}
    units = {s.value.epsilon for s in steps if isinstance(s.value, BoundedRange)}
    if max(epsilons) > LARGEST_EPSILON:
        return None
    usual = resolution or default_resolution(sum(s.times for s in steps))
    least = math.ceil(2 * max(epsilons))  # a cell's ratio stays below 2
    parts: Iterable[int] = [max(usual, least)]
    if len(units) > 1:
        parts = range(max(usual // 4, least), 2 * max(usual, least))
    if len(epsilons) == 1 and not units:
        parts = [1]  # all losses are on the grid, and F is straight between its nodes
    sizes = [h for unit in units or epsilons for part in parts if (h := unit / part) >= LEAST_STEP]
    grids = [OddsGrid(h, math.ceil(max(Fraction(reach), *epsilons) / h) + 3) for h in sizes]
    return min((g for g in grids if g.affordable(steps)), key=lambda g: g.loss(steps), default=None)


def _values(steps: Sequence[Steps], grid: OddsGrid) -> Values:
    """Return upper bounds on V at the grid's nodes: the last step's operator comes first."""
    values = np.zeros(grid.nodes)
    for s in reversed(steps):
        operator = grid.operator(s.value)
        for _ in range(s.times):
            values = operator(values)
    return np.minimum.accumulate(values)


def _nontrivial(steps: Sequence[Steps]) -> list[Steps]:
    return [s for s in steps if s.times and s.value.epsilon]


def adaptive_epsilon(steps: Sequence[Steps], delta: Fraction, *, resolution: int | None = None) -> Fraction:
    """Return an upper bound on the least total epsilon at `delta`, for `steps` in the order in which they are taken.

    It is at most the sum of the epsilons, and equals it where a grid would be too large or delta is too small.
    """
    return _adaptive_epsilon(tuple(_nontrivial(steps)), delta, resolution)


@lru_cache(maxsize=1024)  # a question is planned again when it is priced, asked and checked
def _adaptive_epsilon(steps: tuple[Steps, ...], delta: Fraction, resolution: int | None) -> Fraction:
    total = sum((s.value.epsilon * s.times for s in steps), Fraction(0))
    if delta < LEAST_DELTA or not steps:
        return total
    rho, length = float(total_rho(steps)), -math.log(min(delta, Fraction(1)))
    reach = min(float(total), rho + 2 * math.sqrt(rho * length) + MARGIN * math.sqrt(2 * rho))
    grid = _grid(steps, reach, resolution)
    if grid is None:
        return total
    values = _values(steps, grid)
    goal = math.nextafter(float(delta), 0)
    if not values[-1] <= goal:
        return total
    node = int(np.argmax(values <= goal))
    if node == 0:
        return Fraction(0)
    high, low = Fraction(float(values[node - 1])), Fraction(float(values[node]))
    with ctx.workprec(PRECISION):
        part = enclose((high - Fraction(goal)) / (high - low)) * enclose(grid.step).expm1()
        return min(total, upper(enclose((node - 1) * grid.step) + part.log1p()))


def largest_adaptive_pick(plan: StepsOfPick, epsilon: Fraction, delta: Fraction, low: Fraction) -> Fraction:
    """Return a larger x than `low` for which `adaptive_epsilon(plan(x), delta)` is certified not to exceed `epsilon`.

    `low` itself is returned for more than `MOST_STEPS` steps, and where the optimum leaves less than 1 % to gain.
    The total is close to a power of x, so a secant on the logarithms ends after about three evaluations.
    """
    steps = plan(low)
    if sum(s.times for s in steps) > MOST_STEPS or delta < LEAST_DELTA:
        return low
    x, best, power = float(low), low, 1.05
    total = float(adaptive_epsilon(steps, delta))
    if total > 0.99 * epsilon or total == 0:
        return low
    for _ in range(4):
        x, last = x * (float(epsilon) * (1 - AIM) / total) ** (1 / power), (x, total)
        adaptive = adaptive_epsilon(plan(Fraction(x)), delta)
        if adaptive <= epsilon:
            best = max(best, Fraction(x))
        total = float(adaptive)
        if (1 - 4 * AIM) * epsilon <= adaptive <= epsilon or total in (0, last[1]) or x == last[0]:
            break
        power = min(2.0, max(0.5, math.log(total / last[1]) / math.log(x / last[0])))
    return best
