"""What every mechanism over sets or sequences is: one step, by a loss that one user moves by a bounded amount.

Proof: docs/mechanisms/joint.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import BoundedRange, Neighbors, Privacy, parse_neighbors, single_step
from dpselect.draws import Draws, secure
from dpselect.mechanisms import gaps
from dpselect.mechanisms.candidates import Answer, Input
from dpselect.mechanisms.joint.ranked import RankedCounts, rank_counts
from dpselect.mechanisms.port import set_fields


@dataclass(frozen=True, kw_only=True)
class JointMechanism(ABC):
    """Select k at once. The port of the joint mechanisms: each is final, and says how it draws ranks."""

    ordered: ClassVar[bool] = False  # a sequence is a ranking, a set has no order

    k: int
    epsilon: Number
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    sensitivity: int = 1

    def __post_init__(self) -> None:
        parse(self)

    @property
    def privacy(self) -> Privacy:
        """The price: one bounded-range step of this epsilon."""
        return single_step(BoundedRange(Fraction(self.epsilon)), self.neighbors)

    @property
    def rate(self) -> Fraction:
        """epsilon / (2 sensitivity).

        Half of that for replace-one, which removes one user and adds another: the loss may move by twice as much.
        """
        moves = 2 if self.neighbors is Neighbors.REPLACE_ONE else 1
        return Fraction(self.epsilon) / (2 * moves * self.sensitivity)

    def gap(self, beta: float, items: int) -> Fraction:
        """Return what the loss does not exceed, but with probability beta."""
        return gaps.exponential(self.rate, gaps.log_sets(items, self.k), beta)

    @abstractmethod
    def ranks(self, ranked: RankedCounts, draws: Draws) -> list[int]:
        """Draw the chosen ranks, best first where the answer is a ranking."""

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Select k indices or labels: best first, or a set as ascending indices or labels in an order of their own."""
        ranked = rank_counts(counts, self.k)
        ranks = self.ranks(ranked, secure(draws))
        return ranked.names(ranks) if self.ordered else ranked.unordered(ranks)


def parse(joint: JointMechanism) -> None:
    """Parse the parameters into exact values, before any data is touched."""
    set_fields(
        joint,
        k=parameters.listed_size("k", joint.k),
        epsilon=parameters.epsilon("epsilon", joint.epsilon),
        neighbors=parse_neighbors(joint.neighbors),
        sensitivity=parameters.whole_number("sensitivity", joint.sensitivity, minimum=1),
    )
