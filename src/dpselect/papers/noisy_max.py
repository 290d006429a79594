"""Report noisy max with continuous noise that is never rounded.

In units of 1 / rate, group g's best noisy score is M_g - rate (best - score_g), where M_g, the largest of sizes[g]
independent noises, exceeds t exactly when V_g < 1 - (1 - S(t))^sizes[g]; S is the survival function of the noise
and V_g a uniform whose bits are drawn as needed. One group is evaluated first; a proved upper bound of S
dismisses nearly all others; the few that remain are compared as balls until one is certain to be the largest.
Candidates far below the best could only win with a V that begins with many zeros: how many of them have one is a
binomial draw, nearly always 0. Proof: docs/exact-draws.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from dpselect._ground.reals import Exp, enclose, lower, upper
from dpselect.draws.binomial import binomial
from dpselect.draws.core import Core
from dpselect.draws.float_exp import decay
from dpselect.draws.near import NearGroups, nearest
from dpselect.draws.peeling import Reach, peel
from dpselect.draws.weights import Floats, Weights

FIRST_BITS = 53
BITS_PER_UNIT = Fraction(144, 100)  # below 1 / ln 2, so 2^-floor(1.44 t) >= e^-t


class Noise(StrEnum):
    """The noise distributions of `noisy_max`, in units where the rate is 1."""

    LAPLACE = "laplace"  # density exp(-|t|) / 2
    EXPONENTIAL = "exponential"  # density exp(-t) for t >= 0


def noisy_max(core: Core, weights: Weights, noise: Noise) -> tuple[int, int]:
    """Find the (group, member) whose rate * score + noise is largest."""
    reach = Reach.for_candidates(weights.candidates).exponent
    near_groups = nearest(weights, 1, reach)
    near_weights, best = near_groups.weights, near_groups.weights.score(0)
    x = near_weights.exponents(slice(0, len(near_weights)), best)
    first = core.source.words(len(near_weights)) >> np.uint64(64 - FIRST_BITS)
    sizes: Floats = np.ones(1) if near_weights.sizes is None else near_weights.sizes.astype(np.float64)
    v = first.astype(np.float64) * 2.0**-FIRST_BITS

    def contender(position: int) -> _Contender:
        shift = near_weights.rate * (near_weights.score(position) - best)
        return _Contender(
            core, noise, (position, None), near_weights.size(position), shift, int(first[position]), FIRST_BITS
        )

    guess = int(np.argmin(x + np.log(np.maximum(v / sizes, 2.0**-1000))))  # any guess is valid, a good one is fast
    least = contender(guess).low()
    t = x + np.nextafter(float(least), -np.inf)
    survival = np.where(t > 0, decay(np.maximum(t, 0.0)), 1.0) * (1 + 2.0**-core.slack_bits)
    alive = [contender(int(position)) for position in np.flatnonzero(v < sizes * survival)]
    zeros = max(0, ((reach + least) * BITS_PER_UNIT).__floor__())
    for group, member in _proposed(core, weights, near_groups, zeros):
        shift = weights.rate * (weights.score(group) - best)
        alive.append(_Contender(core, noise, (group, member), 1, shift, 0, zeros))
    while len(alive) > 1:
        least = max(c.low() for c in alive)
        alive = [c for c in alive if c.high() >= least]
        if len(alive) > 1:
            for c in alive:
                c.extend()
    position, known_member = alive[0].candidate
    return (
        near_groups.candidates([(position, core.below(alive[0].size))])[0]
        if known_member is None
        else (position, known_member)
    )


def _proposed(core: Core, weights: Weights, near_groups: NearGroups, zeros: int) -> list[tuple[int, int]]:
    """Find the candidates that are not near the best and have `zeros` first bits of V that are 0: hardly ever any."""
    count = weights.candidates - near_groups.weights.candidates
    proposals = binomial(core, count, Exp(Fraction(0), Fraction(1, 1 << zeros))) if count else 0
    if not proposals:
        return []
    groups = near_groups.beyond(len(near_groups))
    sizes = None if weights.sizes is None else weights.sizes[groups]
    equal_weights = Weights(np.zeros(len(groups), dtype=np.int64), Fraction(1), sizes)
    return [(int(groups[index]), member) for index, member in peel(core, equal_weights, proposals)]


@dataclass(eq=False)
class _Contender:
    """A group's best noisy score lies between bounds that more bits of V bring together."""

    core: Core
    noise: Noise
    candidate: tuple[int, int | None]  # a place near the best, any of its members; or beyond (group, member)
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
        return lower(self._ball_at(self.value + 1))

    def high(self) -> Fraction:
        """Return an upper bound."""
        while self.value == 0:
            self.extend()
        return upper(self._ball_at(self.value))

    def _ball_at(self, value: int) -> arb:
        with ctx.workprec(self.bits + 64):
            v = enclose(Fraction(value, 1 << self.bits))
            survival = -((-v).log1p() / self.size).expm1()
            return enclose(self.shift) + _quantile(survival, self.noise)


def _quantile(survival: arb, noise: Noise) -> arb:
    """Solve S(t) = survival for t."""
    if noise is Noise.EXPONENTIAL:
        return -survival.log()
    upper_half, lower_half = -(2 * survival).log(), (2 * (1 - survival)).log()
    if survival <= 0.5:
        return upper_half
    return lower_half if survival >= 0.5 else upper_half.union(lower_half)
