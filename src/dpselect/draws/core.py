"""Core: random bits, and the draws that every sampler is built from.

Each sampler is a function of a `Core` in a file of its own and calls other samplers directly; `CertifiedDraws` puts
them all behind the port.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from flint import arb, ctx

from dpselect._ground.reals import Exp, Logistic, Real
from dpselect.draws.entropy import Bits

SLACK_BITS = 36  # proposals are 2^-36 too generous, which covers the float error of 2^-38 twice over


class Core:
    """Draw integers, Bernoulli variables and geometric noise over any source of bits.

    A smaller `slack_bits` (tests) makes samplers refine often and keeps every distribution. `refined` counts the
    decisions made in ball arithmetic.
    """

    def __init__(self, bits: Bits, *, secure: bool, slack_bits: int = SLACK_BITS) -> None:
        self.source = bits
        self.secure = secure
        self.slack_bits = slack_bits
        self.refined: int = 0

    def below(self, n: int) -> int:
        """Draw uniformly from 0 .. n - 1: the lowest bits that can hold n - 1, again while they are not below n."""
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
        """Return True with exactly this probability."""
        return self.decide(0, 0, probability)

    def decide(self, value: int, size: int, probability: Real) -> bool:
        """Decide U < probability for the uniform U whose first `size` bits are `value`; more are drawn as needed."""
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

    def geometric(self, rate: Fraction) -> int:
        """Draw x with probability (1 - e^-rate) e^(-rate x): blocks of 2^J, then independent bits for lower powers.

        x = 2^J y + z. y counts blocks (the distribution is memoryless), and since e^(-rate z) is a product over the
        bits of z, these are independent: bit j is 1 with probability 1 / (1 + exp(rate 2^j)).
        """
        top = max(0, (Fraction(1) / rate).__ceil__().bit_length())
        blocks = 0
        while self.bernoulli(Exp(-rate * 2**top)):
            blocks += 1
        bits = (self.bernoulli(Logistic(rate * 2**j)) << j for j in range(top))
        return (blocks << top) + sum(bits)

    def laplace(self, rate: Fraction) -> int:
        """Draw the difference of two geometric numbers, which is discrete Laplace noise."""
        return self.geometric(rate) - self.geometric(rate)


def gaussian(core: Core, variance: Fraction) -> int:
    """Draw z with probability proportional to exp(-z^2 / (2 variance)) (Canonne, Kamath, Steinke 2020, Algorithm 3).

    With t = floor(sigma) + 1 and y from the discrete Laplace distribution of rate 1/t, accepting with probability
    exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2)) leaves exp(-y^2 / (2 sigma^2)) times a constant.
    """
    t = isqrt(variance.__floor__()) + 1
    while True:
        y = core.laplace(Fraction(1, t))
        if core.bernoulli(Exp(-((abs(y) - variance / t) ** 2) / (2 * variance))):
            return y
