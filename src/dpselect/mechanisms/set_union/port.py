"""What every set union of one round is: a weighting and the probability of release at each weight.

Proof: docs/mechanisms/set-union.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, Progress
from dpselect._ground.privacy import Privacy
from dpselect.aggregates.user_sets import Int64, S, Sets
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.set_union.release_laws import ReleaseLaw
from dpselect.mechanisms.set_union.rounds import bounded

if TYPE_CHECKING:
    import numpy.typing as npt

UNIT = 2**30  # weights are integer multiples of 1 / UNIT: their sums are exact in any order
LARGEST = 2**32  # a cutoff below this keeps integer weights inside 64 bits

Weights: TypeAlias = "Int64 | npt.NDArray[np.float64]"
Weighed = tuple[Weights, int]
"""A weight for each item code, in this many parts of 1. Weight 0 means that nobody has the item."""


class Weighting(Protocol):
    """The contribution of each user to the weight of each of their items."""

    @property
    def cutoff(self) -> Fraction | None:
        """Items at this weight receive no further contributions; None for non-adaptive weightings."""
        ...

    def share(self, t: int) -> Fraction:
        """Return the contribution of a user of t items to each, or under a policy the most for one."""
        ...

    def order(self, sets: S, draws: Draws) -> S:
        """Put users, and the items of each, into the random order in which they contribute."""
        ...

    def weigh(self, ordered: Sets, progress: Progress | None) -> Weighed:
        """Return the weights when users contribute one after another, each in the order of their items."""
        ...


@dataclass(frozen=True, kw_only=True)
class SetUnion(ABC):
    """A set union of one round: parameters in; everything but the answer is known from them alone.

    The port of all mechanisms that weigh once. Each of them is final, and names its weighting and release.
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int | None
    weighting: Weighting = field(init=False, repr=False)
    law: ReleaseLaw = field(init=False, repr=False)  # how likely an item of a weight above 0 is released
    privacy: Privacy = field(init=False, repr=False)

    @abstractmethod
    def __post_init__(self) -> None:
        """Parse the parameters, and set the three derived fields."""

    @property
    def threshold(self) -> Fraction:
        """The weight that is released with probability one half, rounded up."""
        return self.law.threshold

    @property
    def cutoff(self) -> Fraction | None:
        """The cutoff of the weighting."""
        return self.weighting.cutoff

    def share(self, t: int) -> Fraction:
        """Return the share of the weighting."""
        return self.weighting.share(t)

    def weigh(self, ordered: Sets, progress: Progress | None = None) -> Weighed:
        """Return the weights of users in their order, none with more items than the proof allows.

        Only policies take long.
        """
        max_items = self.max_items_per_user
        if max_items is not None and ordered.longest > max_items:
            hint = "call the mechanism"
            raise ParameterError("ordered", "be bounded to max_items_per_user", "a user with more", hint)
        return self.weighting.weigh(ordered, progress)

    def __call__(self, sets: Sets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """Return the codes of the released items, ascending: bound users, order them, weigh, and draw for each item."""
        return self.weighed(sets, secure(draws), progress)[0]

    def weighed(self, sets: Sets, draws: Draws, progress: Progress | None = None) -> tuple[Int64, Weights]:
        """Return the codes of the released items with their weights, which are private."""
        report = progress or (lambda _: None)
        report(0.0)
        ordered = self.weighting.order(bounded(sets, self.max_items_per_user, draws), draws)
        report(0.3)
        weights, unit = self.weigh(ordered, lambda done: report(0.3 + 0.4 * (done or 0.0)))
        report(0.7)
        is_released = draws.bernoullis(weights, unit, self.law)
        report(1.0)
        codes = np.flatnonzero(is_released).astype(np.int64)
        return codes, weights[codes]


def parse(mechanism: Any) -> tuple[Fraction, Fraction]:
    """Parse the fields that a caller gave into exact values; return (epsilon, delta)."""
    epsilon = parameters.epsilon("epsilon", mechanism.epsilon)
    delta = parameters.probability("delta", mechanism.delta)
    set_fields(mechanism, epsilon=epsilon, delta=delta)
    parameter_fields = {parameter.name: parameter for parameter in fields(mechanism) if parameter.init}
    if "max_items_per_user" in parameter_fields:
        max_items, may_be_unbounded = (
            mechanism.max_items_per_user,
            parameter_fields["max_items_per_user"].default is None,
        )
        if max_items is not None or not may_be_unbounded:
            set_fields(mechanism, max_items_per_user=_bound(max_items))
    if "alpha" in parameter_fields:
        set_fields(mechanism, alpha=parameters.not_negative("alpha", mechanism.alpha))
    return epsilon, delta


def _bound(value: object) -> int:
    """Parse the most items of one user: no more than there are parts in 1."""
    max_items = parameters.whole_number("max_items_per_user", value, minimum=1)
    if max_items > UNIT:
        raise ParameterError("max_items_per_user", "be at most 2^30", max_items)
    return max_items


def up(number: Fraction, unit: int) -> Fraction:
    """Round a cutoff up to parts of 1 / unit: at least 1 part in `unit`, and inside 64 bits."""
    if number >= LARGEST:
        raise ParameterError("epsilon", "be large enough for a cutoff below 2^32", "a smaller value")
    return Fraction(max(-(-number.numerator * unit // number.denominator), unit), unit)
