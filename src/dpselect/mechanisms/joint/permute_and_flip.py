"""Permute-and-flip over all sets of k."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from dpselect._ground import parameters
from dpselect._ground.privacy import PureDP
from dpselect.draws import Draws, Levels
from dpselect.draws.loss_levels import cuts
from dpselect.mechanisms import gaps
from dpselect.mechanisms.joint.canonical_set import Classes
from dpselect.mechanisms.joint.port import JointMechanism, parse
from dpselect.mechanisms.joint.ranked import Ranked
from dpselect.mechanisms.joint.set import SetWays
from dpselect.mechanisms.port import settle


class Loss(StrEnum):
    """How bad a set is."""

    JOINT = "joint"  # max over i of (i-th largest count of all) - (i-th largest count in the set)
    CANONICAL = "canonical"  # the largest count outside less the smallest inside, at least 0


@dataclass(frozen=True, kw_only=True)
class JointPermuteAndFlip(JointMechanism):
    """Select a set of k; never worse in expected loss than `JointSet` or `CanonicalSet` at the same epsilon.

    Every set is accepted with probability exp(-epsilon loss / (2 sensitivity)), independently; the answer is uniform
    among these. `loss` is "joint" or "canonical".

    Guarantee: epsilon-DP. Its bounded range is larger than epsilon, so it has the zCDP of any pure mechanism,
        epsilon^2/2, not that of the exponential mechanism.
    Neighbors: add-remove, or replace-one (which halves the rate, since one count may rise and another fall).
    Sensitivity: one user adds at most `sensitivity` to every count, as many of them as they like, and moves the loss
        by at most as much; not always the same way, so the 2 stays.
    Exactness: the distribution is exact, ties included; counts are integers up to 2^53.
    Cost: that of the exponential twin, several times.
    Source: McKenna and Sheldon 2020, Theorems 1 and 2, over the losses of Gillenwater et al. 2021 and of
        Shekelyan and Loukides 2022. Ours: no coin is flipped; one common height and one draw at it (its page).
    Example:
        >>> JointPermuteAndFlip(k=2, epsilon=4)([900, 5, 600, 7]).tolist()
        [0, 2]
    """

    step: ClassVar[type[PureDP]] = PureDP

    loss: Loss | str = Loss.JOINT

    def __post_init__(self) -> None:
        parse(self)
        settle(self, loss=Loss(parameters.one_of("loss", self.loss, Loss)))

    def gap(self, beta: float, items: int) -> Fraction:
        """The loss is at most this, but with probability beta."""
        return gaps.flipped(self.rate, gaps.log_sets(items, self.k), beta)

    def ranks(self, among: Ranked, draws: Draws) -> list[int]:
        """The chosen ranks: a level of loss or a class, then a set of it."""
        rate = self.rate
        if self.loss is Loss.CANONICAL:
            classes = Classes.of(among, rate)
            return classes.draw(*draws.flip(classes), draws)
        ways = SetWays(among)
        levels = Levels(rate, among.spread, ways, cuts(rate, among.spread, ways.log))
        loss = levels.loss(*draws.flip(levels))
        return ways.within(loss).draw(draws)
