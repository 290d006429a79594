"""The delta that adaptive picks, and noisy counts after them, need at a total epsilon: the optimum, from above.

docs/accounting.md, Theorem 1: with F_0(z) = max(0, 1 - z), and for every step from the last to the first

    count   F(z) <- q F(z e^-c) + (1 - q) F(z e^c),                       q = e^c / (1 + e^c)
    pick    F(z) <- max over t in [0, e] of w F(z e^-t) + (1 - w) F(z e^(e-t)),   w = (1 - e^(t-e)) / (1 - e^-e)

the delta at a total g is F(e^g). This is another algorithm for it than the planner's. F is kept at all nodes
z_i = e^(i h) with |i| h at most the sum of the epsilons so far: right of them F is 0, and left of them 1 - z, exactly.
F is convex, so the lines between its nodes lie above it.

**A pick**, e = m h. At a node, t on the grid needs values at nodes only. Between two such t, u = e^-t goes over an
interval of length e^-t' (e^h - 1), t' its larger end, and along the lines a + b z u and a' + b' z u / s (s = e^-e) the
value is a constant + (z (b - b') u - s (a - a') / u) / (1 - s). Its second derivative is -2 s (a - a') / ((1 - s) u^3),
so it is nowhere above the larger of its ends by more than

    s e^t' (e^h - 1)^2 (a - a') / (4 (1 - s)),      (e^h - 1) a = e^h F_c - F_(c+1) at the left node c of its cell.

**Rounding.** All of it are sums and products of floats of at least 0, but for that difference, whose error is below
2^-48 of F_c (h is at most 1) and is added. Every weight is rounded up, and each step's result is raised by 2^-46 of
itself and by 2^-900 for what underflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from tests.judge.balls import BITS, at_most, ball, float_up
from tests.judge.steps import Kind, Step

Values = npt.NDArray[np.float64]

MOST_STEPS = 1000
LARGEST = 16  # of one step's epsilon
LEAST_DELTA = Fraction(1, 2**600)
MOST_WORK = 2**30  # numbers of all steps together: some seconds
FIRST, MOST_NODES = 24, 400  # to a pick, doubled until the promise is confirmed: it loses 3 / (2 nodes^2) of a total
UP, TINY = 1 + 2.0**-46, 2.0**-900


def confirmed(steps: Sequence[Step], total: Fraction, delta: Fraction) -> arb | None:
    """A delta that is certain to suffice and is at most the one given; None where none was found."""
    picks = [one for one in steps if one.kind is Kind.PICK and one.times]
    times = sum(one.times for one in steps)
    if len(picks) != 1 or times > MOST_STEPS or any(one.epsilon > LARGEST for one in steps) or delta < LEAST_DELTA:
        return None
    pick = picks[0]
    unit = max((_parts(pick.epsilon, one.epsilon) for one in steps if one.times), default=1)
    nodes, before = math.ceil(FIRST / unit) * unit, math.inf
    while nodes <= MOST_NODES and (nodes * times) ** 2 <= MOST_WORK:
        found = needed(steps, total, pick.epsilon / nodes)
        if at_most(found, delta):
            return found
        if 2 * float(found) - before > delta:  # it falls by a third of the last fall in all, and never so far
            return None
        nodes, before = nodes * 2, float(found)
    return None


def _parts(pick: Fraction, other: Fraction) -> int:
    """Into how many parts a pick is cut so that the other epsilon is a whole number of them, if these are few."""
    parts = (other / pick).denominator
    return parts if parts <= 256 else 1


def needed(steps: Sequence[Step], total: Fraction, h: Fraction) -> arb:
    """The delta at a total, on nodes of this distance; an epsilon that is no multiple of it is rounded up."""
    with ctx.workprec(BITS):
        grid = _Grid(h)
        for one in reversed(steps):
            operate = grid.pick if one.kind is Kind.PICK else grid.count
            for _ in range(one.times):
                operate(math.ceil(one.epsilon / h))
        return grid.at(total)


class _Grid:
    """F at the nodes -reach .. reach, from above."""

    def __init__(self, h: Fraction) -> None:
        self.h, self.reach = h, 0
        self.values: Values = np.zeros(1)
        self._left: Values = np.zeros(1)  # 1 - z at the nodes 0, -1, -2, ...

    def _spread(self, by: int) -> Values:
        """F at the nodes from -reach - by to reach + by."""
        wanted = self.reach + by + 1
        if len(self._left) < wanted:
            more = [float_up(-(-ball(self.h * i)).expm1()) for i in range(len(self._left), 2 * wanted)]
            self._left = np.concatenate([self._left, more])
        left = self._left[self.reach + 1 : self.reach + by + 1][::-1]
        return np.concatenate([left, self.values, np.zeros(by)])

    def _settle(self, values: Values, by: int) -> None:
        self.reach += by
        self.values = np.minimum(values * UP + TINY, 1.0)

    def count(self, m: int) -> None:
        """A pure step of m h before the others."""
        wide = self._spread(2 * m)
        width = 2 * (self.reach + m) + 1
        truth = 1 / (1 + (-ball(self.h * m)).exp())
        first, second = float_up(truth), float_up(1 - truth)
        self._settle(first * wide[:width] + second * wide[2 * m : 2 * m + width], m)

    def pick(self, m: int) -> None:
        """A pick of m h before the others."""
        wide = self._spread(2 * m)  # a node i of the result is at i + m here
        width = 2 * (self.reach + m) + 1
        step, s = ball(self.h).exp(), (-ball(self.h * m)).exp()
        rises = float_up(step) * wide[:-1] - wide[1:]  # (e^h - 1) a of the cell to the right of a node
        best = before = np.zeros(width)
        for d in range(m + 1):
            at = m - d  # where t = d h takes the first node
            shrunk = (-ball(self.h * at)).exp()  # e^(t-e)
            first, second = float_up((1 - shrunk) / (1 - s)), float_up((shrunk - s) / (1 - s))
            value = first * wide[at : at + width] + second * wide[at + m : at + m + width]
            if d:  # the cell from (d - 1) h to d h
                bend = float_up(shrunk * (step - 1) / (4 * (1 - s)))
                drop = rises[at : at + width] - rises[at + m : at + m + width] + 2.0**-48 * wide[at : at + width]
                gap = bend * np.maximum(drop, 0)
                best = np.maximum(best, np.maximum(before, value) + gap)
            before = value
        self._settle(best, m)

    def at(self, total: Fraction) -> arb:
        """F(e^total), on the line between two nodes."""
        left = math.floor(total / self.h)
        if left >= self.reach:
            return arb(0)
        here, there = (arb(float(self.values[self.reach + i])) for i in (left, left + 1))
        part = ball(total - left * self.h).expm1() / ball(self.h).expm1()
        return here + part * (there - here)
