"""The joint exponential mechanism over ranked sequences."""

from __future__ import annotations

from bisect import insort
from fractions import Fraction
from math import fsum, log, prod

from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect.draws import Draws
from dpselect.mechanisms import gaps
from dpselect.mechanisms.joint.port import JointMechanism
from dpselect.mechanisms.joint.ranked import RankedCounts
from dpselect.papers.loss_levels import Levels, cuts


@dataclass(frozen=True, kw_only=True)
class JointSequence(JointMechanism):
    """Select a ranking of k with probability in proportion to exp(-epsilon loss / (2 sensitivity)).

    As published; dpselect takes Peeling instead, because it finds as many of the true top k, or more.

    The loss of a sequence is max over i of (i-th largest count) - (count of its i-th item).

    Guarantee: epsilon-DP; as one epsilon-bounded-range step it is also epsilon^2/8-zCDP.
    Neighbors: add-remove, or replace-one (which halves the rate, since one count may rise and another fall).
    Sensitivity: one user adds at most `sensitivity` to every count, as many of them as they like, and moves the loss
        by at most as much; not always the same way, so the 2 stays.
    Exactness: the distribution is exact, ties included; counts are integers up to 2^53.
    Cost: one sort of the counts, then about k^2 steps.
    Source: Gillenwater, Joseph, Munoz Medina, Ribero Diaz 2022 (Algorithm 1). Ours: the levels of loss are drawn
        with positive weights only (Gillenwater et al. 2021 leave large numbers open), as its page proves.
    Example:
        >>> JointSequence(k=2, epsilon=4)([900, 5, 600, 7]).tolist()
        [0, 2]
    """

    ordered = True

    def gap(self, beta: float, items: int) -> Fraction:
        """Return the bound on the loss that holds except with probability beta."""
        return gaps.exponential(self.rate, _log_sequences(items, self.k), beta)

    def ranks(self, among: RankedCounts, draws: Draws) -> list[int]:
        """Draw the ranks, best first: a loss level, then a sequence within it."""
        rate = self.rate
        ways = SequenceWays(among)
        levels = Levels(rate, among.spread, ways, cuts(rate, among.spread, ways.log))
        loss = levels.loss(*draws.sample_product(levels))
        return sequence_within(among.reach(loss), draws)


def _log_sequences(items: int, k: int) -> float:
    """Return ln of (the number of sequences of k items - 1)."""
    return gaps.minus_one(fsum(log(items - i) for i in range(k)))


@dataclass(frozen=True, eq=False)
class SequenceWays:
    """The number N(m) = product over i of (t_i - i + 1): item i is one of the first t_i but the i - 1 before it."""

    ranked: RankedCounts

    def __call__(self, loss: int, bits: int) -> arb:
        """Return the ball of N(loss)."""
        with ctx.workprec(bits):
            return arb(prod(t - i for i, t in enumerate(self.ranked.reach(loss))))

    def log(self, loss: int) -> float:
        """Return ln N(loss) in floats."""
        return sum(log(t - i) for i, t in enumerate(self.ranked.reach(loss)))


def sequence_within(reach: list[int], draws: Draws) -> list[int]:
    """Draw a uniform sequence of different ranks, the i-th below reach[i]; reach never falls, so all before are too."""
    sorted_ranks: list[int] = []
    sequence: list[int] = []
    for i, end in enumerate(reach):
        rank = draws.below(end - i)
        for used_rank in sorted_ranks:  # ascending: the rank-th of those that are not used
            if used_rank > rank:
                break
            rank += 1
        insort(sorted_ranks, rank)
        sequence.append(rank)
    return sequence
