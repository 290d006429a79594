"""Report noisy max with continuous noise that is never rounded.

In units of 1 / rate, group g's best noisy score is M_g - rate (best - score_g), where M_g, the largest of sizes[g]
independent noises, exceeds t exactly when V_g < 1 - (1 - S(t))^sizes[g]; S is the survival function of the noise
and V_g a uniform whose bits are drawn as needed. One group is evaluated first; a proved upper bound of S
dismisses nearly all others; the few that remain are compared as balls until one is certain to be the largest.
Candidates far below the best could only win with a V that begins with many zeros: how many of them have one is a
binomial draw, nearly always 0. Proof: docs/exact-draws.md.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import Exp, enclose, lower, upper
from dpselect.draws.binomial import binomial
from dpselect.draws.core import Core
from dpselect.draws.float_exp import decay
from dpselect.draws.near import NearGroups, nearest
from dpselect.draws.peeling import Reach, peel
from dpselect.draws.weights import Floats, Weights

_FIRST_BITS = 53
BITS_PER_UNIT = Fraction(144, 100)  # below 1 / ln 2, so 2^-floor(1.44 t) >= e^-t


class Noise(StrEnum):
    """The noise distributions of `noisy_max`, in units where the rate is 1."""

    LAPLACE = "laplace"  # density exp(-|t|) / 2
    EXPONENTIAL = "exponential"  # density exp(-t) for t >= 0


def noisy_max(core: Core, weights: Weights, noise: Noise) -> tuple[int, int]:
    """Find the (group, member) whose rate * score + noise is largest."""
    reach = Reach.for_candidates(weights.candidate_count).exponent
    nearest_groups = nearest(weights, 1, reach)
    near_weights, best = nearest_groups.weights, nearest_groups.weights.score(0)
    x = near_weights.log_gaps(slice(0, len(near_weights)), best)
    first = core.source.words(len(near_weights)) >> np.uint64(64 - _FIRST_BITS)
    sizes: Floats = np.ones(1) if near_weights.sizes is None else near_weights.sizes.astype(np.float64)
    v = first.astype(np.float64) * 2.0**-_FIRST_BITS

    def contender(index: int) -> _Contender:
        shift = near_weights.rate * (near_weights.score(index) - best)
        return _Contender(core, noise, (index, None), near_weights.size(index), shift, int(first[index]), _FIRST_BITS)

    guess = int(np.argmin(x + np.log(np.maximum(v / sizes, 2.0**-1000))))  # any guess is valid, a good one is fast
    lowest = contender(guess).low()
    t = x + np.nextafter(float(lowest), -np.inf)
    survival = np.where(t > 0, decay(np.maximum(t, 0.0)), 1.0) * (1 + 2.0**-core.slack_bits)
    alive = [contender(int(index)) for index in np.flatnonzero(v < sizes * survival)]
    zeros = max(0, ((reach + lowest) * BITS_PER_UNIT).__floor__())
    for group, member in _proposed(core, weights, nearest_groups, zeros):
        shift = weights.rate * (weights.score(group) - best)
        alive.append(_Contender(core, noise, (group, member), 1, shift, 0, zeros))
    while len(alive) > 1:
        lowest = max(c.low() for c in alive)
        alive = [c for c in alive if c.high() >= lowest]
        if len(alive) > 1:
            for c in alive:
                c.extend()
    index, member_beyond = alive[0].candidate
    if member_beyond is None:
        return nearest_groups.candidates([(index, core.below(alive[0].size))])[0]
    return index, member_beyond


def _proposed(core: Core, weights: Weights, nearest_groups: NearGroups, zeros: int) -> list[tuple[int, int]]:
    """Find the candidates that are not near the best and have `zeros` first bits of V that are 0: hardly ever any."""
    count = weights.candidate_count - nearest_groups.weights.candidate_count
    proposals = binomial(core, count, Exp(Fraction(0), Fraction(1, 1 << zeros))) if count else 0
    if not proposals:
        return []
    groups = nearest_groups.beyond(len(nearest_groups))
    sizes = None if weights.sizes is None else weights.sizes[groups]
    alike = Weights(np.zeros(len(groups), dtype=np.int64), Fraction(1), sizes)
    return [(int(groups[index]), member) for index, member in peel(core, alike, proposals)]


@dataclass(eq=False)
class _Contender:
    """A group's best noisy score lies between bounds that more bits of V bring together."""

    core: Core
    noise: Noise
    candidate: tuple[int, int | None]  # a position near the best, any of its members; or beyond (group, member)
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
        return lower(self._score_at(self.value + 1))

    def high(self) -> Fraction:
        """Return an upper bound."""
        while self.value == 0:
            self.extend()
        return upper(self._score_at(self.value))

    def _score_at(self, value: int) -> arb:
        with ctx.workprec(self.bits + 64):
            v = enclose(Fraction(value, 1 << self.bits))
            survival = -((-v).log1p() / self.size).expm1()
            return enclose(self.shift) + _quantile(survival, self.noise)


def _quantile(survival: arb, noise: Noise) -> arb:
    """Solve S(t) = survival for t."""
    if noise is Noise.EXPONENTIAL:
        return -survival.log()
    positive, negative = -(2 * survival).log(), (2 * (1 - survival)).log()
    if survival <= 0.5:
        return positive
    return negative if survival >= 0.5 else positive.union(negative)
