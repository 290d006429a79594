"""What comes back, as types of which the description is made. Objects are open: a later version may say more."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypedDict

from dpselect._ground.privacy import Neighbors
from dpselect.audit.report import STATE_SENTENCES
from dpselect.gateway.jobs import JobState
from dpselect.gateway.problems import KINDS
from dpselect.gateway.settings.kinds import Role
from dpselect.release.statement import Ended, Kind

Count = Annotated[int, Field(ge=0)]
Part = Annotated[float, Field(ge=0, le=1)]
Open = Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]
Value = Annotated[Any, WithJsonSchema({"type": ["null", "boolean", "number", "string", "array"]})]
ProblemType = Annotated[str, WithJsonSchema({"enum": [f"/problems/{kind}" for kind in KINDS]})]
AskedState = Annotated[str, WithJsonSchema({"enum": sorted({*STATE_SENTENCES.values()})})]
Exact = Annotated[Any, WithJsonSchema({"description": "the item as [kind, text], where JSON has no type for it"})]
ExactGroup = Annotated[list[Any], WithJsonSchema({"type": "array"})]
Others = Annotated[list[Open], Field(description="the other mistakes in the same body, each as a problem")]


class Question(TypedDict):
    """A question as it was asked; the description has its schema from the table of parameters (`openapi.questions`)."""


class Promise(TypedDict):
    """An (epsilon, delta)."""

    epsilon: float
    delta: float


# ---- answers -------------------------------------------------------------------------------------------------


class Measure(TypedDict):
    """A number about one item, between two that hold with a stated probability."""

    value: float
    low: float
    high: float


class Row(TypedDict):
    """One item of an answer, and what is known of it."""

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
    """One group of an answer by groups."""

    group: Open
    complete: bool
    ended: Ended
    users: NotRequired[int]
    low: NotRequired[int]
    high: NotRequired[int]
    exact_group: NotRequired[ExactGroup]


class Statement(TypedDict):
    """What is promised of an answer, for whom, and by which mechanism."""

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
    """What was counted."""

    what: str


@with_config(ConfigDict(extra="allow"))
class Accuracy(TypedDict):
    """How good an answer is."""

    confidence_percent: float
    statement: list[str]


class Release(TypedDict):
    """An answer."""

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


class Answer(TypedDict):
    """Where an answer is, and to which question."""

    id: str
    data: str
    question: Question
    asked_at: datetime
    by: str


# ---- questions -----------------------------------------------------------------------------------------------


class Problem(TypedDict):
    """What is wrong, as RFC 9457 has it."""

    type: ProblemType
    title: str
    status: int
    detail: str
    hint: NotRequired[str]
    parameter: NotRequired[str]
    must: NotRequired[str]
    came: NotRequired[str]
    others: NotRequired[Others]


class Cost(TypedDict):
    """What a question cost."""

    share: float
    left: float | None
    questions_left: Count | None
    repeated: bool
    sentence: str


class Job(TypedDict):
    """A question, and how far it has come."""

    id: str
    state: JobState
    data: str
    question: Question
    asked_at: datetime
    by: str
    ready_at: datetime | None
    tick: float
    slips: Count
    answer: str | None
    cost: Cost | None
    problem: Problem | None


class Price(TypedDict):
    """What a question would cost."""

    epsilon: float
    delta: float
    share: float
    left: float
    left_after: float
    more: Count | None
    fits: bool
    free: bool
    sentence: str
    accuracy: list[str]
    planted: Count | None


class Expected(TypedDict):
    """What to expect at one epsilon."""

    epsilon: float
    share: float
    items: float | None
    lost: float | None
    within: float | None
    width: float | None
    asked: NotRequired[bool]


class Plan(TypedDict):
    """What would come back, how sure, and what it costs."""

    sentences: list[str]
    price: Price
    rows: list[Expected]


# ---- what is declared, and who may sign in -------------------------------------------------------------------


class WeightBound(TypedDict):
    """The most that one user gives to an item, and the unit of rounding."""

    at_most: float
    unit: float | None


class ValueBounds(TypedDict):
    """The bounds of a column of values, and the step between its answers."""

    low: float
    high: float
    step: float | None


class DataSizes(TypedDict):
    """How large the data are, as declared."""

    users: float
    items: float
    items_per_user: float
    skew: float
    groups: Count
    rows: Count
    bytes: Count


class Data(TypedDict):
    """A data set as its owner declared it."""

    name: str
    title: str
    about: str
    unit: str
    items: list[str | list[str]]
    groups: list[str]
    filters: dict[str, Literal["any"] | list[Value]]
    weights: dict[str, WeightBound]
    values: dict[str, ValueBounds]
    domains: dict[str, list[Value]]
    sizes: DataSizes
    time: str | None
    period: str | None
    timezone: str | None
    periods: list[str]
    max_k: Count
    max_items_per_user: Count | None
    tick: float
    slips: Count
    longest: float
    approve: bool
    promise: Promise


class Me(TypedDict):
    """Who is signed in."""

    name: str
    role: Role
    data: list[str]


class Person(Me):
    """Somebody who may sign in."""

    until: date | None


# ---- budgets and the record ----------------------------------------------------------------------------------


class Granted(TypedDict):
    """A quota after a grant."""

    data: str
    analyst: str
    granted: Promise


class Budget(Granted):
    """How a quota stands."""

    period: str | None
    left: Part
    promise: Promise
    data_left: Part


class Verification(TypedDict):
    """Whether the record agrees with itself."""

    problems: list[str]
    entries: Count
    head: str | None


class Change(TypedDict):
    """A change of the promise, or of the ledger that keeps it."""

    when: str
    what: str
    epsilon: float | None
    delta: float | None


class PeriodUse(TypedDict):
    """What one period has used."""

    period: str | None
    used: float
    reserved: float
    epsilon: float
    renyi: float
    delta: float


class Quota(TypedDict):
    """The quota of an analyst in one period."""

    analyst: str
    period: str | None
    granted_epsilon: float
    granted_delta: float
    left: float


class Asked(TypedDict):
    """A question of the record."""

    number: Count
    when: str
    analyst: str
    question: str | None
    approved_by: str | None
    periods: list[str]
    state: AskedState
    epsilon: float
    delta: float
    share: float | None
    repeats: Count


class Use(TypedDict):
    """What was used after one question."""

    when: str
    number: Count
    period: str | None
    used: float


class Record(TypedDict):
    """Everything that was promised, asked and paid of one data set."""

    dataset: str
    unit: str
    period: str | None
    timezone: str | None
    epsilon: float
    delta: float
    order: float | None
    apart: float
    kept: float
    changes: list[Change]
    periods: list[PeriodUse]
    analysts: list[Quota]
    questions: list[Asked]
    used: list[Use]
    verification: Verification


# ---- lists and small replies ---------------------------------------------------------------------------------


class Health(TypedDict):
    """How the server is."""

    status: str


class DataList(TypedDict):
    """The data sets that may be asked."""

    data: list[Data]


class QuestionList(TypedDict):
    """Questions, newest first."""

    questions: list[Job]


class AnswerList(TypedDict):
    """Answers, newest first."""

    answers: list[Answer]


class BudgetList(TypedDict):
    """How quotas stand."""

    budgets: list[Budget]


class PersonList(TypedDict):
    """Who may sign in."""

    people: list[Person]
