"""Groups: what a promise for one unit is worth to several of them together.

Proof: docs/mechanisms/contributions.md.
"""

from __future__ import annotations

from fractions import Fraction

from dpselect._ground.privacy import ApproxDP
from dpselect._ground.reals import Exp, upper

_BITS = 64
_VAST = 2000  # e to this power, times the least delta that there is, is far above 1


def of_group(price: ApproxDP, size: int) -> ApproxDP:
    """Return the promise to `size` units together, as if one after the other came or went (Vadhan 2017, Lemma 2.2).

    P_0 <= e^epsilon P_1 + delta <= e^(2 epsilon) P_2 + (1 + e^epsilon) delta, and so on. The sum is rounded up.

    >>> three = of_group(ApproxDP(Fraction(1), Fraction(1, 10**6)), 3)
    >>> int(three.epsilon), round(float(three.delta), 9)
    (3, 1.1107e-05)
    """
    epsilon = size * price.epsilon
    if size == 1 or not price.delta:
        return ApproxDP(epsilon, price.delta)
    if epsilon > _VAST:
        return ApproxDP(epsilon, Fraction(1))
    terms = (upper(Exp(index * price.epsilon, price.delta).ball(_BITS)) for index in range(size))
    return ApproxDP(epsilon, min(sum(terms, Fraction(0)), Fraction(1)))
