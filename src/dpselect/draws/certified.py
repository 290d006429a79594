"""CertifiedDraws: exact laws at the speed of floats, by certified filtering of uniform bits.

Floats only *propose*: a proposal is decided at once when a proved error bound allows it, and in ball
arithmetic at doubling precision otherwise. Statement and proofs: docs/exact-draws.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from dpselect.draws.binomial import binomial
from dpselect.draws.bits import Bits, SystemBits
from dpselect.draws.coins import coins
from dpselect.draws.discrete_noise import gaussian
from dpselect.draws.flip import Coins, flip
from dpselect.draws.heads import heads
from dpselect.draws.noisy_max import noisy_max
from dpselect.draws.noisy_top import noisy_top
from dpselect.draws.orders import order, sample
from dpselect.draws.peel import Peel
from dpselect.draws.port import Noise, Rising
from dpselect.draws.staircase import Masses, among
from dpselect.draws.weights import Weights
from dpselect.reals import Exp, Logistic, Real

SLACK_BITS = 36  # proposals are 2^-36 too generous, which covers the float error of 2^-38 twice over


class CertifiedDraws:
    """`Draws` over any source of bits. A smaller `slack_bits` (tests) refines often and keeps every law."""

    def __init__(self, bits: Bits, *, secure: bool, slack_bits: int = SLACK_BITS) -> None:
        self.source = bits
        self.secure = secure
        self.slack_bits = slack_bits
        self.refined = 0

    def below(self, n: int) -> int:
        """Uniform on 0 .. n - 1: the lowest bits that can hold n - 1, drawn again while they are not below n."""
        size = (n - 1).bit_length()
        while True:
            value, have = 0, 0
            while have < size:
                value |= self.source.word() << have
                have += 64
            value &= (1 << size) - 1
            if value < n:
                return value

    def bernoulli(self, probability: Real) -> bool:
        """True with exactly this probability."""
        return self.decide(0, 0, probability)

    def decide(self, value: int, size: int, probability: Real) -> bool:
        """Whether U < probability, for the uniform U whose first `size` bits are `value`; more are drawn as needed."""
        self.refined += 1
        while True:
            value, size = value << 64 | self.source.word(), size + 64
            precision = size + 32
            ball = probability.ball(precision)
            with ctx.workprec(precision):
                scale = arb(2) ** size
                if ball * scale >= value + 1:
                    return True
                if ball * scale <= value:
                    return False

    def peel(self, weights: Weights, k: int) -> list[tuple[int, int]]:
        """k candidates without replacement, each in proportion to its weight."""
        return Peel(self, weights, k).picks()

    def categorical(self, weights: Weights) -> tuple[int, int]:
        """One candidate in proportion to its weight."""
        return self.peel(weights, 1)[0]

    def heads(self, weights: Weights) -> list[tuple[int, int]]:
        """How many coins fall heads, by group."""
        return heads(self, weights)

    def noisy_max(self, weights: Weights, noise: Noise) -> tuple[int, int]:
        """The candidate with the largest noisy score."""
        return noisy_max(self, weights, noise)

    def among(self, masses: Masses) -> tuple[int, int]:
        """(family, x) in proportion to its mass."""
        return among(self, masses)

    def flip(self, coins: Coins) -> tuple[int, int]:
        """The layer that holds the answer of permute-and-flip."""
        return flip(self, coins)

    def noisy_top(self, weights: Weights, k: int) -> list[tuple[int, int]]:
        """The k candidates with the largest noisy scores."""
        return noisy_top(self, weights, k)

    def binomial(self, n: int, probability: Real) -> int:
        """How many of n coins fall heads."""
        return binomial(self, n, probability)

    def geometric(self, rate: Fraction) -> int:
        """x with probability (1 - e^-rate) e^(-rate x): by 2^j-blocks above, one independent bit a power of two below.

        x = 2^J y + z. y counts blocks (the law has no memory), and since e^(-rate z) is a product over the bits
        of z, these are independent: bit j is 1 with probability 1 / (1 + exp(rate 2^j)).
        """
        top = max(0, (Fraction(1) / rate).__ceil__().bit_length())
        blocks = 0
        while self.bernoulli(Exp(-rate * 2**top)):
            blocks += 1
        bits = (self.bernoulli(Logistic(rate * 2**j)) << j for j in range(top))
        return (blocks << top) + sum(bits)

    def laplace(self, rate: Fraction) -> int:
        """The difference of two geometric numbers."""
        return self.geometric(rate) - self.geometric(rate)

    def gaussian(self, variance: Fraction) -> int:
        """Rejection from discrete Laplace noise."""
        return gaussian(self, variance)

    def order(self, n: int) -> npt.NDArray[np.int64]:
        """0 .. n - 1 in a uniformly random order."""
        return order(self.source, n)

    def sample(self, offsets: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
        """The places of at most `most` of each block."""
        return sample(self.source, offsets, most)

    def bits(
        self, weights: npt.NDArray[np.int64] | npt.NDArray[np.float64], unit: int, probability: Rising
    ) -> npt.NDArray[np.bool_]:
        """One coin a weight."""
        return coins(self, weights, unit, probability)


class SecureDraws(CertifiedDraws):
    """Exact draws over the operating system's randomness: the default everywhere."""

    def __init__(self) -> None:
        super().__init__(SystemBits(), secure=True)
