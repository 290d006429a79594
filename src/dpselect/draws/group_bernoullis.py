"""One Bernoulli trial a candidate, of probability weight / largest weight: how many succeed in each group.

Groups of one are decided together: 53 random bits against a float with a proved error, exactly in ball arithmetic for
the few that are too close. Larger groups take one exact binomial. All candidates beyond a window share one
binomial with a common bound, whose successes are thinned to their exact probabilities.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpselect._ground.reals import Exp
from dpselect.draws.binomial import binomial
from dpselect.draws.core import Core
from dpselect.draws.float_exp import decay
from dpselect.draws.near import Groups, nearest
from dpselect.draws.peeling import Reach, peel
from dpselect.draws.weights import Floats, Weights


def group_bernoullis(core: Core, weights: Weights) -> list[tuple[int, int]]:
    """Return (group, successes) for the groups with any; those of equal single scores may all stand under the first."""
    reach = Reach.for_candidates(weights.candidates)
    places = nearest(weights, 1, reach.exponent)
    near = places.weights
    best = near.score(0)
    x = near.exponents(slice(0, len(near)), best)
    inside = int(np.searchsorted(x, reach.exponent + 1, side="right"))
    sizes = np.ones(len(near), dtype=np.int64) if near.sizes is None else near.sizes
    singles = np.flatnonzero(sizes[:inside] == 1)
    found = [(p, 1) for p in singles[_singles(core, near, x[singles], singles, best)].tolist()]
    for position in np.flatnonzero(sizes[:inside] != 1).tolist():
        if count := binomial(core, near.size(position), near.ratio(position, best)):
            found.append((position, count))
    groups = places.one_of_each([place for place, _ in found])
    beyond = _beyond(core, weights, places.beyond(inside), best, reach.exponent)
    return [(group, count) for group, (_, count) in zip(groups, found, strict=True)] + beyond


def _singles(core: Core, near: Weights, x: Floats, positions: Groups, best: int | Fraction) -> npt.NDArray[np.bool_]:
    """Decide U < p for groups of one, from U's first 53 bits, and exactly where they do not suffice."""
    first = core.source.words(len(x)) >> np.uint64(11)
    low = first.astype(np.float64) * 2.0**-53
    slack = 2.0**-core.slack_bits
    p = decay(x)
    successes = low + 2.0**-53 <= p * (1 - slack)
    unsure = ~successes & (low < p * (1 + slack))
    for i in np.flatnonzero(unsure):
        successes[i] = core.decide(int(first[i]), 53, near.ratio(int(positions[i]), best))
    return successes


def _beyond(core: Core, weights: Weights, groups: Groups, best: int | Fraction, far: int) -> list[tuple[int, int]]:
    """Find successes among candidates of probability at most e^-far: binomially many proposals at e^-far, thinned."""
    if not len(groups):
        return []
    sizes = None if weights.sizes is None else weights.sizes[groups]
    alike = Weights(np.zeros(len(groups), dtype=np.int64), Fraction(1), sizes)
    proposals = binomial(core, alike.candidates, Exp(Fraction(-far)))
    found: dict[int, int] = {}
    for index, _ in peel(core, alike, proposals):
        group = int(groups[index])
        if core.bernoulli(Exp(weights.ratio(group, best).exponent + far)):
            found[group] = found.get(group, 0) + 1
    return list(found.items())
