"""Parts of a release: its items, its statement of privacy, and the receipt of a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Self

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import float_rounded_up
from dpselect._ground.privacy import Neighbors, Privacy
from dpselect.release import formatting
from dpselect.release.formatting import Json

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from dpselect.accounting.prices import Price

    Label_co = TypeVar("Label_co", covariant=True, default=Any)  # `Release` alone is `Release[Any]`
else:
    from typing import TypeVar

    Label_co = TypeVar("Label_co", covariant=True)  # defaults come with Python 3.13; only type checkers ask for it


FROM_ZERO = "counted_from"  # the parameter of a statement whose item is a place in an array
PAID_AGAIN = "asking again is charged again, because these rows may have changed"
OUTSIDE_PACKAGE = "outside"  # the parameter of a statement that names another package that read the rows
NOT_SECURE = "NOT SECURE: made with draws for tests, do not publish"


def describe_outside(package: str) -> str:
    """Return the sentence about another package that read the rows."""
    return f"{formatting.text(package)}, which is not part of dpselect, read the rows: the promise depends on it too."


class Kind(StrEnum):
    """The relation of the items of a release to each other."""

    RANKING = "ranking"  # best first
    SET = "set"  # in an order that says nothing
    VALUES = "values"  # one for each quantile that was asked for


class Ended(StrEnum):
    """The reason why a release has no more items."""

    FULL = "full"  # as many as were asked for, or all there were to tell
    BOTTOM = "bottom"  # bottom was picked
    DISCOVERED = "discovered"  # fewer were discovered than asked for


@dataclass(frozen=True)
class Measurement:
    """A measure of an item: its noisy value; the counted one lies from `low` to `high` (`Release.accuracy`)."""

    name: str
    value: int | float
    low: int | float
    high: int | float


@dataclass(frozen=True)
class Ranked:
    """The distance of a quantile from its rank: at most so many users too many lie below it, and above it.

    `users_below` and `users_above` are noisy numbers of users, from which, and from that of all, these follow.
    """

    too_many_below: int
    too_many_above: int
    users_below: int
    users_above: int


@dataclass(frozen=True)
class Item(Generic[Label_co]):
    """A released item, its rank (1 is the best; None in a set) and its noisy count if counts were asked for.

    The number of counted users is between `low` and `high`, with the confidence that `Release.accuracy` states. Items
    that were selected by a weight have sums, in its own unit. For a question by group, `group` has the values of its
    columns, and the rank is within the group. `measures` has the measures in the order of the question. A quantile has
    `ranked`.
    """

    item: Label_co
    rank: int | None
    count: int | float | None
    low: int | float | None = None
    high: int | float | None = None
    group: tuple[object, ...] = ()
    measures: tuple[Measurement, ...] = ()
    ranked: Ranked | None = None


@dataclass(frozen=True)
class Statement:
    """The promise: (epsilon, delta)-DP for one `unit` against `neighbors`, by a mechanism and a theorem.

    `sentences` state in plain English the assumptions, the threshold and the reason for the method.
    """

    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors
    mechanism: str
    parameters: Mapping[str, object]
    bound: str
    sentences: tuple[str, ...]
    unit: str = "user"

    @classmethod
    def from_privacy(
        cls, privacy: Privacy, mechanism: str, parameters: Mapping[str, object], sentences: tuple[str, ...]
    ) -> Self:
        """Return the statement of a privacy value."""
        return cls(
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            neighbors=privacy.neighbors,
            mechanism=mechanism,
            parameters=dict(parameters),
            bound=privacy.bound,
            sentences=sentences,
        )

    @property
    def promise(self) -> str:
        """Guarantee in one line; its numbers never understate the exact ones."""
        price = f"({formatting.price(self.epsilon)}, {formatting.price(self.delta)})-DP"
        return f"{price} per {self.unit}, {self.neighbors} neighbours"

    @property
    def amounts(self) -> str:
        """Epsilon and delta by name."""
        delta = f", delta {formatting.price(self.delta)}" if self.delta else ""
        return f"epsilon {formatting.price(self.epsilon)}{delta}"

    def to_dict(self) -> dict[str, Json]:
        """Return the statement in JSON types."""
        return {
            "epsilon": float_rounded_up(self.epsilon),
            "delta": float_rounded_up(self.delta),
            "neighbors": str(self.neighbors),
            "unit": self.unit,
            "mechanism": self.mechanism,
            "parameters": {name: formatting.plain(value) for name, value in self.parameters.items()},
            "bound": self.bound,
            "statement": list(self.sentences),
        }


@dataclass(frozen=True)
class Receipt:
    """The charge of a budget for a release: one sentence, and its numbers.

    `price` is the most that any answer to the question costs, at the order of the `payer`'s account; it is not stored.
    """

    sentence: str
    numbers: Mapping[str, object]
    price: Price | None = field(default=None, compare=False, repr=False)
    payer: object = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Json]:
        """Return the numbers in JSON types."""
        return {name: formatting.plain(value) for name, value in self.numbers.items()}
