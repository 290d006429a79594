"""Level shares: how one budget is dealt to the levels of n-grams. Public parameters only, no data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpselect.errors import ParameterError, came
from dpselect.parameters import Number, positive, whole

LEAST = Fraction(1, 10**6)  # what every method can be made for, the one that auto takes too


def level_shares(longest: int, shares: Sequence[Number] | None = None) -> tuple[Fraction, ...]:
    """The share of each level 1 .. `longest`: positive, and 1 at most in all.

    By default three levels have 3, 2 and 1 sixths, two levels 2 and 1 thirds, and so on.

    With a share f a level may spend (f epsilon, f delta), by basic composition. A Gaussian one does better with noise
    of sigma / sqrt(f) and a failure probability of f delta / 2, where sigma is that of (epsilon, delta / 2) for one
    level: n Gaussian answers tell as much as one of which 1 / sigma^2 is the sum (docs/text.md).

    >>> [str(share) for share in level_shares(3)]
    ['1/2', '1/3', '1/6']
    """
    levels = whole("ngrams", longest, least=1)
    if shares is None:
        return tuple(Fraction(2 * rest, levels * (levels + 1)) for rest in range(levels, 0, -1))
    parts: object = shares
    if isinstance(parts, str) or not isinstance(parts, Sequence) or len(parts) != levels:
        hint = "shorter n-grams are released first, so they need a share too"
        raise ParameterError("shares", f"be {levels} numbers, one for each length from 1", came(shares), hint)
    dealt = tuple(positive("shares", share) for share in shares)
    if min(dealt) < LEAST:
        raise ParameterError("shares", "be at least 1e-6 each", came(list(shares)))
    if sum(dealt) > 1:
        hint = "write thirds as fractions or as text, such as '1/3': 0.3333 is what it says"
        raise ParameterError("shares", "add up to 1 at most", came(list(shares)), hint)
    return dealt
