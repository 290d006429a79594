"""One Bernoulli trial a candidate, of probability weight / largest weight: how many succeed in each group.

Groups of one are decided together: 53 random bits against a float with a proved error, exactly in ball arithmetic for
the few that are too close. Larger groups take one exact binomial. All candidates beyond a window share one
binomial with a common bound, whose successes are thinned to their exact probabilities.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpselect._ground.reals import Exp
from dpselect.draws.binomial import binomial
from dpselect.draws.core import Core
from dpselect.draws.float_exp import decay
from dpselect.draws.near import GroupIndices, nearest
from dpselect.draws.peeling import Reach, peel
from dpselect.draws.weights import Floats, Weights

if TYPE_CHECKING:
    import numpy.typing as npt


def group_bernoullis(core: Core, weights: Weights) -> list[tuple[int, int]]:
    """Return (group, successes) for the groups with any; those of equal single scores may all stand under the first."""
    reach = Reach.for_candidates(weights.candidate_count)
    near_groups = nearest(weights, 1, reach.exponent)
    near_weights = near_groups.weights
    best = near_weights.score(0)
    x = near_weights.log_gaps(slice(0, len(near_weights)), best)
    inside = int(np.searchsorted(x, reach.exponent + 1, side="right"))
    sizes = np.ones(len(near_weights), dtype=np.int64) if near_weights.sizes is None else near_weights.sizes
    singles = np.flatnonzero(sizes[:inside] == 1)
    positions_and_counts = [(p, 1) for p in singles[_singles(core, near_weights, x[singles], singles, best)].tolist()]
    for position in np.flatnonzero(sizes[:inside] != 1).tolist():
        if count := binomial(core, near_weights.size(position), near_weights.ratio(position, best)):
            positions_and_counts.append((position, count))
    groups = near_groups.group_at_each([position for position, _ in positions_and_counts])
    beyond = _beyond(core, weights, near_groups.beyond(inside), best, reach.exponent)
    return [(group, count) for group, (_, count) in zip(groups, positions_and_counts, strict=True)] + beyond


def _singles(
    core: Core, near_weights: Weights, x: Floats, positions: GroupIndices, best: int | Fraction
) -> npt.NDArray[np.bool_]:
    """Decide U < p for groups of one, from U's first 53 bits, and exactly where they do not suffice."""
    first = core.source.words(len(x)) >> np.uint64(11)
    low = first.astype(np.float64) * 2.0**-53
    slack = 2.0**-core.slack_bits
    p = decay(x)
    successes = low + 2.0**-53 <= p * (1 - slack)
    unsure = ~successes & (low < p * (1 + slack))
    for i in np.flatnonzero(unsure):
        successes[i] = core.decide(int(first[i]), 53, near_weights.ratio(int(positions[i]), best))
    return successes


def _beyond(
    core: Core, weights: Weights, groups: GroupIndices, best: int | Fraction, far: int
) -> list[tuple[int, int]]:
    """Find successes among candidates of probability at most e^-far: binomially many proposals at e^-far, thinned."""
    if not len(groups):
        return []
    sizes = None if weights.sizes is None else weights.sizes[groups]
    equal_weights = Weights(np.zeros(len(groups), dtype=np.int64), Fraction(1), sizes)
    proposals = binomial(core, equal_weights.candidate_count, Exp(Fraction(-far)))
    count_by_group: dict[int, int] = {}
    for index, _ in peel(core, equal_weights, proposals):
        group = int(groups[index])
        if core.bernoulli(Exp(weights.ratio(group, best).exponent + far)):
            count_by_group[group] = count_by_group.get(group, 0) + 1
    return list(count_by_group.items())
