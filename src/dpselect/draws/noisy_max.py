"""Report noisy max with continuous noise that is never rounded.

In units of 1 / rate, group g's best noisy score is M_g - rate (best - score_g), where M_g, the largest of sizes[g]
independent noises, exceeds t exactly when V_g < 1 - (1 - S(t))^sizes[g]; S is the survival function of the noise
and V_g a uniform whose bits are drawn as needed. One group is evaluated first; a proved upper bound of S
dismisses nearly all others; the few that remain are compared as balls until one is certain to be the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from dpselect.draws.core import Core
from dpselect.draws.float_exp import decay
from dpselect.draws.port import Noise
from dpselect.draws.weights import Floats, Weights
from dpselect.reals import enclose, lower, upper

FIRST_BITS = 53


def noisy_max(core: Core, weights: Weights, noise: Noise) -> tuple[int, int]:
    """Find the (group, member) whose rate * score + noise is largest."""
    best = int(np.argmax(weights.scores))
    x = weights.exponents(slice(0, len(weights)), weights.score(best))
    first = core.source.words(len(weights)) >> np.uint64(64 - FIRST_BITS)
    sizes: Floats = np.ones(1) if weights.sizes is None else weights.sizes.astype(np.float64)
    v = first.astype(np.float64) * 2.0**-FIRST_BITS

    def contender(group: int) -> _Contender:
        shift = weights.rate * (weights.score(group) - weights.score(best))
        return _Contender(core, noise, group, weights.size(group), shift, int(first[group]), FIRST_BITS)

    guess = int(np.argmin(x + np.log(np.maximum(v / sizes, 2.0**-1000))))  # any guess is valid, a good one is fast
    least = contender(guess).low()
    t = x + np.nextafter(float(least), -np.inf)
    survival = np.where(t > 0, decay(np.maximum(t, 0.0)), 1.0) * (1 + 2.0**-core.slack_bits)
    alive = [contender(int(g)) for g in np.flatnonzero(v < sizes * survival)]
    while len(alive) > 1:
        least = max(c.low() for c in alive)
        alive = [c for c in alive if c.high() >= least]
        if len(alive) > 1:
            for c in alive:
                c.extend()
    return alive[0].group, core.below(alive[0].size)


@dataclass(eq=False)
class _Contender:
    """A group's best noisy score lies between bounds that more bits of V bring together."""

    core: Core
    noise: Noise
    group: int
    size: int
    shift: Fraction
    value: int  # V lies between value / 2^bits and (value + 1) / 2^bits
    bits: int

    def extend(self) -> None:
        """Draw 64 more bits of V."""
        self.value, self.bits = self.value << 64 | self.core.source.word(), self.bits + 64

    def low(self) -> Fraction:
        """Return a lower bound; M falls as V grows."""
        while self.value + 1 == 1 << self.bits:
            self.extend()
        return lower(self._at(self.value + 1))

    def high(self) -> Fraction:
        """Return an upper bound."""
        while self.value == 0:
            self.extend()
        return upper(self._at(self.value))

    def _at(self, value: int) -> arb:
        with ctx.workprec(self.bits + 64):
            v = enclose(Fraction(value, 1 << self.bits))
            survival = -((-v).log1p() / self.size).expm1()
            return enclose(self.shift) + _quantile(survival, self.noise)


def _quantile(survival: arb, noise: Noise) -> arb:
    """Solve S(t) = survival for t."""
    if noise is Noise.EXPONENTIAL:
        return -survival.log()
    above, below = -(2 * survival).log(), (2 * (1 - survival)).log()
    if survival <= 0.5:
        return above
    return below if survival >= 0.5 else above.union(below)
