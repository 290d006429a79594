"""Checkers that are wrong on purpose: each lets a promise pass that does not follow, and the tests must refuse it."""

from __future__ import annotations

import numpy as np
from flint import arb

from tests.judge import adaptive
from tests.judge.balls import ball
from tests.judge.steps import Kind, Step, log_moment


class OnTheGridOnly(adaptive._Grid):
    """The worst t among those on the grid: an adversary between them needs more."""

    def pick(self, m: int) -> None:
        wide = self._spread(2 * m)
        width, s = 2 * (self.reach + m) + 1, float((-ball(self.h * m)).exp())
        best = np.zeros(width)
        for at in range(m + 1):
            weight = (1 - float((-ball(self.h * at)).exp())) / (1 - s)
            near, far = wide[at : at + width], wide[at + m : at + m + width]
            best = np.maximum(best, weight * near + (1 - weight) * far)
        self._settle(best, m)


def concentrated_count(step: Step, b: arb) -> arb:
    """A count taken for a pick of the same epsilon: a quarter of its price."""
    return log_moment(Step(Kind.PICK, step.epsilon, step.times), b)
