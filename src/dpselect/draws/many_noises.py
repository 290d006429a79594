"""Many whole noises of one law: each coin is tossed for all of them at once, on 64 random bits.

`Core.geometric`, `Core.laplace` and `core.gaussian` draw one by one, with the same coins. What 64 bits do not decide is
decided on more of them, exactly. Proof: docs/exact-draws.md.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpselect._ground.reals import Exp, Logistic, Real, lower, upper
from dpselect.draws.core import Core

if TYPE_CHECKING:
    import numpy.typing as npt

TWO_TO_64 = 1 << 64
MAX_NUMBER_BITS = 62  # bits of a number that are put together in 64
Bools: TypeAlias = "npt.NDArray[np.bool_]"


def coins(core: Core, probability: Real, n: int) -> Bools:
    """Toss n independent coins of one probability: each is the truth of U < p, told by 64 bits of U if it can be."""
    low, last = certain(probability, TWO_TO_64 >> core.slack_bits)
    words = core.source.words(n)
    heads: Bools = words < np.uint64(low)
    for i in np.flatnonzero(~heads & (words <= np.uint64(last))):
        heads[i] = core.decide(int(words[i]), 64, probability)
    return heads


def certain(probability: Real, slack: int) -> tuple[int, int]:
    """Words below the first are successes for certain, those above the second failures; `slack` leaves more between."""
    ball = probability.ball(128)
    low, high = (lower(ball) * TWO_TO_64).__floor__() - slack, (upper(ball) * TWO_TO_64).__ceil__() + slack
    return min(max(low, 0), TWO_TO_64 - 1), min(max(high - 1, 0), TWO_TO_64 - 1)


def geometrics(core: Core, rate: Fraction, n: int) -> list[int]:
    """Draw n numbers x with probability (1 - e^-rate) e^(-rate x): blocks of 2^J, and bits for lower powers."""
    top = max(0, (Fraction(1) / rate).__ceil__().bit_length())
    if top > MAX_NUMBER_BITS:
        return [core.geometric(rate) for _ in range(n)]
    blocks, block = np.zeros(n, dtype=np.int64), Exp(-rate * 2**top)
    going = np.arange(n)
    while len(going):
        going = going[coins(core, block, len(going))]
        blocks[going] += 1
    low_part = np.zeros(n, dtype=np.int64)
    for j in range(top):
        low_part |= coins(core, Logistic(rate * 2**j), n).astype(np.int64) << j
    return [
        (high_part << top) + low_bits for high_part, low_bits in zip(blocks.tolist(), low_part.tolist(), strict=True)
    ]


def laplaces(core: Core, rate: Fraction, n: int) -> list[int]:
    """Draw n differences of two geometric numbers."""
    return [x - y for x, y in zip(geometrics(core, rate, n), geometrics(core, rate, n), strict=True)]


def laplaces_above(core: Core, rate: Fraction, threshold: int, weights: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Draw w + Z - threshold for each weight w, given that it is 0 or more: Z + m, given Z >= -m, by rejection.

    m is w - threshold, or 0 for lower weights: what is beyond any number above 0 is distributed as what is beyond 0. At
    least one proposal in two is kept.
    """
    excess = np.maximum(weights - threshold, 0)
    excesses, pending = np.zeros(len(weights), dtype=np.int64), np.arange(len(weights))
    while len(pending):
        excesses[pending] = excess[pending] + np.array(laplaces(core, rate, len(pending)), dtype=np.int64)
        pending = pending[excesses[pending] < 0]
    return excesses


def gaussians(core: Core, variance: Fraction, n: int) -> list[int]:
    """Draw n numbers z with probability proportional to exp(-z^2 / (2 variance)), by rejection as `core.gaussian` does.

    Proposals of one size have one probability of being accepted, and are decided together.
    """
    t = isqrt(variance.__floor__()) + 1
    noises, pending = [0] * n, list(range(n))
    while pending:
        proposed, sizes = laplaces(core, Fraction(1, t), len(pending)), dict[int, list[int]]()
        for index, y in enumerate(proposed):
            sizes.setdefault(abs(y), []).append(index)
        refused = []
        for size, indices in sizes.items():
            accepted = coins(core, Exp(-((size - variance / t) ** 2) / (2 * variance)), len(indices))
            for index, is_accepted in zip(indices, accepted.tolist(), strict=True):
                if is_accepted:
                    noises[pending[index]] = proposed[index]
                else:
                    refused.append(pending[index])
        pending = refused
    return noises
