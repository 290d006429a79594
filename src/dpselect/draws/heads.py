"""Coins: every candidate falls heads with probability weight / largest weight; how many heads in each group.

Singles are decided together: 53 random bits against a float with a proved error, exactly in ball arithmetic for
the few that are too close. Groups take one exact binomial. All candidates beyond a window share one
binomial with a common bound, whose heads are thinned to their exact probabilities.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpselect.draws.floats import decay
from dpselect.draws.peel import Reach, nearest
from dpselect.draws.weights import Floats, Weights
from dpselect.reals import Exp

if TYPE_CHECKING:
    from dpselect.draws.certified import CertifiedDraws


Groups = npt.NDArray[np.intp]


def heads(draws: CertifiedDraws, weights: Weights) -> list[tuple[int, int]]:
    """(group, heads) where heads > 0."""
    reach = Reach.of(weights.candidates)
    order = nearest(weights, 1, reach.exponent)
    if order is None:
        order = np.arange(len(weights))
    best = weights.score(int(order[0]))
    near = weights.pick(order)
    x = near.exponents(slice(0, len(near)), best)
    inside = int(np.searchsorted(x, reach.exponent + 1, side="right"))
    sizes = np.ones(len(near), dtype=np.int64) if near.sizes is None else near.sizes
    singles = np.flatnonzero(sizes[:inside] == 1)
    found = [(int(order[p]), 1) for p in singles[_coins(draws, near, x[singles], singles, best)]]
    for position in np.flatnonzero(sizes[:inside] != 1):
        count = draws.binomial(near.size(int(position)), near.ratio(int(position), best))
        if count:
            found.append((int(order[position]), count))
    return found + _beyond(draws, weights, order[:inside], best, reach.exponent)


def _coins(
    draws: CertifiedDraws, near: Weights, x: Floats, positions: Groups, best: int | Fraction
) -> npt.NDArray[np.bool_]:
    """Which singles fall heads: U < p decided from U's first 53 bits, exact where they do not suffice."""
    first = draws.source.words(len(x)) >> np.uint64(11)
    low = first.astype(np.float64) * 2.0**-53
    slack = 2.0**-draws.slack_bits
    p = decay(x)
    fell = low + 2.0**-53 <= p * (1 - slack)
    open_ = ~fell & (low < p * (1 + slack))
    for i in np.flatnonzero(open_):
        fell[i] = draws.decide(int(first[i]), 53, near.ratio(int(positions[i]), best))
    return fell


def _beyond(
    draws: CertifiedDraws, weights: Weights, inside: Groups, best: int | Fraction, far: int
) -> list[tuple[int, int]]:
    """Heads among candidates whose probability is at most e^-far: so many proposals, each kept in proportion."""
    rest = np.ones(len(weights), dtype=bool)
    rest[inside] = False
    groups = np.flatnonzero(rest)
    if not len(groups):
        return []
    sizes = None if weights.sizes is None else weights.sizes[groups]
    alike = Weights(np.zeros(len(groups), dtype=np.int64), Fraction(1), sizes)
    proposals = draws.binomial(alike.candidates, Exp(Fraction(-far)))
    found: dict[int, int] = {}
    for index, _ in draws.peel(alike, proposals):
        group = int(groups[index])
        if draws.bernoulli(Exp(weights.ratio(group, best).exponent + far)):
            found[group] = found.get(group, 0) + 1
    return list(found.items())
