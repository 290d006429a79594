"""The JSON of a release, as types of which the description is made. Objects are open: a later version may say more."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypedDict

from dpselect.release import Ended, Kind, Neighbors

Count = Annotated[int, Field(ge=0)]
Open = Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]
Value = Annotated[Any, WithJsonSchema({"type": ["null", "boolean", "number", "string", "array"]})]
Exact = Annotated[Any, WithJsonSchema({"description": "the item as [kind, text], where JSON has no type for it"})]
ExactGroup = Annotated[list[Any], WithJsonSchema({"type": "array"})]


class Measure(TypedDict):
    """A number about one item, between two that hold with a stated probability."""

    value: float
    low: float
    high: float


class Row(TypedDict):
    """An item of an answer, and what is known of it."""

    item: Value
    rank: Count | None
    exact: NotRequired[Exact]
    count: NotRequired[int]
    sum: NotRequired[float]
    gain: NotRequired[int]
    loss: NotRequired[int]
    low: NotRequired[float]
    high: NotRequired[float]
    place: NotRequired[list[int]]
    q: NotRequired[float]
    too_many_below: NotRequired[int]
    too_many_above: NotRequired[int]
    users_below: NotRequired[int]
    users_above: NotRequired[int]
    measures: NotRequired[dict[str, Measure]]
    group: NotRequired[Open]
    exact_group: NotRequired[ExactGroup]


class Group(TypedDict):
    """A group of an answer by groups."""

    group: Open
    complete: bool
    ended: Ended
    users: NotRequired[int]
    low: NotRequired[int]
    high: NotRequired[int]
    exact_group: NotRequired[ExactGroup]


class Statement(TypedDict):
    """The promise of an answer: for whom, and by which mechanism."""

    epsilon: float
    delta: float
    neighbors: Neighbors
    unit: str
    mechanism: str
    parameters: Open
    bound: str
    statement: list[str]


@with_config(ConfigDict(extra="allow"))
class CountOf(TypedDict):
    """The things that were counted."""

    what: str


@with_config(ConfigDict(extra="allow"))
class Accuracy(TypedDict):
    """The accuracy of an answer."""

    confidence_percent: float
    statement: list[str]


class Release(TypedDict):
    """The answer to a question."""

    items: list[Row]
    kind: Kind
    counted: bool
    count_of: NotRequired[CountOf]
    complete: bool
    ended: Ended
    accuracy: Accuracy
    privacy: Statement
    secure: bool
    question: NotRequired[Open]
    by: NotRequired[list[str]]
    groups: NotRequired[list[Group]]
    users: NotRequired[bool]
    charged: NotRequired[Open]
    exact: Open
