"""The joint exponential mechanism over sets: a level of loss, then a uniform set within it (paths.py)."""

from __future__ import annotations

from dataclasses import field

from flint import arb

from dpselect._ground.dataclass import dataclass
from dpselect.draws import Draws
from dpselect.mechanisms.joint.port import JointMechanism
from dpselect.mechanisms.joint.ranked import RankedCounts
from dpselect.papers.joint_paths import Paths
from dpselect.papers.joint_walk import BITS
from dpselect.papers.loss_levels import Levels, cuts


@dataclass(frozen=True, kw_only=True)
class JointSet(JointMechanism):
    """Select a set of k with probability in proportion to exp(-epsilon loss / (2 sensitivity)); it comes in no order.

    As published; dpselect takes CanonicalSet instead, because it finds as many or more of the true top k.

    The loss of a set is max over i of (i-th largest count of all) - (i-th largest count in the set).

    Guarantee: epsilon-DP; as one epsilon-bounded-range step it is also epsilon^2/8-zCDP.
    Neighbors: add-remove, or replace-one (which halves the rate, since one count may rise and another fall).
    Sensitivity: one user adds at most `sensitivity` to every count, as many of them as they like, and moves the loss
        by at most as much; not always the same way, so the 2 stays.
    Exactness: the distribution is exact, ties included; counts are integers up to 2^53.
    Cost: one sort of the counts; then N(m), the number of sets within loss m, at some dozens of m, each in about k
        convolutions of short rows.
    Source: Gillenwater et al. 2021, Lemma 5. Ours: levels of loss drawn with positive weights
        only, which removes the obstacle of its section 5; proof on its page.
    Example:
        >>> JointSet(k=2, epsilon=4)([900, 5, 600, 7]).tolist()
        [0, 2]
    """

    def ranks(self, among: RankedCounts, draws: Draws) -> list[int]:
        """Draw the ranks: a loss level, then a set within it."""
        ways = SetWays(among)
        rate = self.rate
        levels = Levels(rate, among.spread, ways, cuts(rate, among.spread, ways.log))
        loss = levels.loss(*draws.sample_product(levels))
        return ways.within(loss).draw(draws)


@dataclass(frozen=True, eq=False)
class SetWays:
    """The number N(m) of k-sets that have a loss of at most m."""

    ranked: RankedCounts
    counts: dict[tuple[int, int], arb] = field(default_factory=dict)

    def __call__(self, loss: int, bits: int) -> arb:
        """Return the ball of N(loss)."""
        key = loss, max(bits, BITS)
        if key not in self.counts:
            self.counts[key] = self.within(loss).count(key[1])
        return self.counts[key]

    def within(self, loss: int) -> Paths:
        """Return the sets themselves."""
        return Paths.from_reach(self.ranked.reach(loss))

    def log(self, loss: int) -> float:
        """Return ln N(loss) in floats."""
        return float(self(loss, BITS).log())
