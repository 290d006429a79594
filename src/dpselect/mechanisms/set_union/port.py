"""What every set union of one round is: a frozen value, called with the items of every user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dpselect import parameters
from dpselect.draws import Draws, Rising
from dpselect.errors import ParameterError
from dpselect.kernels.plain import Weights
from dpselect.mechanisms.port import secure
from dpselect.mechanisms.set_union.ordering import bounded
from dpselect.privacy import Neighbors, Privacy, PureDP, Steps
from dpselect.user_sets import Int64, UserSets

UNIT = 2**30  # weights are whole multiples of 1 / UNIT: their sums are exact in any order
LARGEST = 2**32  # a cutoff below this keeps whole weights inside 64 bits

Progress = Callable[[float | None], None]
Weighed = tuple[Weights, int]
"""A weight for each item code, in this many parts of 1. Weight 0 means that nobody has the item."""


class SetUnion(Protocol):
    """Parameters in; everything but the answer is known from them alone."""

    @property
    def privacy(self) -> Privacy:
        """What a call promises."""
        ...

    @property
    def law(self) -> Rising:
        """How likely an item of a weight above 0 is released."""
        ...

    @property
    def threshold(self) -> Fraction:
        """The weight that is released with probability one half, rounded up."""
        ...

    @property
    def cutoff(self) -> Fraction | None:
        """The weight beyond which nobody gives; None where all give whatever others gave."""
        ...

    @property
    def slack(self) -> Fraction:
        """What rounding may add to how far one user moves the weights, already paid for; 0 for whole numbers."""
        ...

    def share(self, t: int) -> Fraction:
        """What a user of t items gives to each, or the most they can give to one under a policy."""
        ...

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:
        """The weights when users give one after another, each in the order of their items; only policies take long."""
        ...

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        ...


def promise(epsilon: Fraction, delta: Fraction, bound: str) -> Privacy:
    """(epsilon, delta): one step that is pure but for a failure of delta (Kairouz, Oh and Viswanath 2015)."""
    return Privacy(
        epsilon=epsilon,
        delta=delta,
        neighbors=Neighbors.ADD_REMOVE,
        steps=(Steps(PureDP(epsilon), 1),),
        failure=delta,
        bound=bound,
    )


def parse(mechanism: Any) -> tuple[Fraction, Fraction]:
    """The fields that a caller gave become exact; (epsilon, delta)."""
    epsilon = parameters.epsilon("epsilon", mechanism.epsilon)
    delta = parameters.probability("delta", mechanism.delta)
    settle(mechanism, epsilon=epsilon, delta=delta)
    given = {one.name: one for one in fields(mechanism) if one.init}
    if "max_items_per_user" in given:
        most, unbounded = mechanism.max_items_per_user, given["max_items_per_user"].default is None
        if most is not None or not unbounded:
            settle(mechanism, max_items_per_user=_bound(most))
    if "alpha" in given:
        settle(mechanism, alpha=parameters.not_negative("alpha", mechanism.alpha))
    return epsilon, delta


def _bound(value: object) -> int:
    """The most items of one user: no more than there are parts in 1."""
    most = parameters.whole("max_items_per_user", value, least=1)
    if most > UNIT:
        raise ParameterError("max_items_per_user", "be at most 2^30", most)
    return most


def settle(mechanism: object, **values: object) -> None:
    """Give a frozen mechanism its derived fields, once."""
    for name, value in values.items():
        object.__setattr__(mechanism, name, value)


def up(number: Fraction, unit: int) -> int:
    """A cutoff in parts of 1 / unit, rounded up: at least one whole, and inside 64 bits."""
    if number >= LARGEST:
        raise ParameterError("epsilon", "be large enough for a cutoff below 2^32", "a smaller value")
    return max(-(-number.numerator * unit // number.denominator), unit)


def within(ordered: UserSets, most: int | None) -> UserSets:
    """The users, if none has more items than the proof allows."""
    if most is not None and ordered.users and int(np.diff(ordered.offsets).max()) > most:
        raise ParameterError("ordered", "be bounded to max_items_per_user", "a user with more", "call the mechanism")
    return ordered


def released(
    mechanism: SetUnion,
    sets: UserSets,
    most: int | None,
    order: Callable[[UserSets, Draws], UserSets],
    draws: Draws | None,
    progress: Progress | None,
) -> Int64:
    """Bound users, put them in order, weigh, and flip one coin an item."""
    draws = secure(draws)
    tell = progress or (lambda _: None)
    tell(0.0)
    ordered = order(bounded(sets, most, draws), draws)
    tell(0.3)
    weights, unit = mechanism.weigh(ordered, lambda done: tell(0.3 + 0.4 * (done or 0.0)))
    tell(0.7)
    heads = draws.bits(weights, unit, mechanism.law)
    tell(1.0)
    return np.flatnonzero(heads).astype(np.int64)
