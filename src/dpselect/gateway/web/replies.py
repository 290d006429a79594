"""What comes back, as types of which the description is made. Objects are open: a later version may say more."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal, NotRequired

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from dpselect.audit import STATE_SENTENCES
from dpselect.gateway.jobs import JobState
from dpselect.gateway.problems import PROBLEM_KINDS
from dpselect.gateway.settings.kinds import Role
from dpselect.gateway.web.releases import Count, Open, Value

Part = Annotated[float, Field(ge=0, le=1)]
ProblemType = Annotated[str, WithJsonSchema({"enum": [f"/problems/{kind}" for kind in PROBLEM_KINDS]})]
AskedState = Annotated[str, WithJsonSchema({"enum": sorted({*STATE_SENTENCES.values()})})]
Others = Annotated[list[Open], Field(description="the other mistakes in the same body, each as a problem")]


class Question(TypedDict):
    """A question as it was asked; the description has its schema from the table of parameters (`openapi.questions`)."""


class Promise(TypedDict):
    """An (epsilon, delta)."""

    epsilon: float
    delta: float


# ---- questions and answers ------------------------------------------------------------------------------------


class Answer(TypedDict):
    """An answer that was paid for, and its question."""

    id: str
    data: str
    question: Question
    asked_at: datetime
    by: str


class Problem(TypedDict):
    """The details of a problem, as RFC 9457 has them."""

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
    """The cost of a question."""

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
    """The price of a question."""

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
    """The forecast at one epsilon."""

    epsilon: float
    share: float
    items: float | None
    lost: float | None
    within: float | None
    width: float | None
    asked: NotRequired[bool]


class Plan(TypedDict):
    """The forecast of a question, and its price."""

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
    """The size of the data, as declared."""

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
    """The person who is signed in."""

    name: str
    role: Role
    data: list[str]


class Person(Me):
    """A person who may sign in."""

    until: date | None


# ---- budgets and the record ----------------------------------------------------------------------------------


class Granted(TypedDict):
    """A quota after a grant."""

    data: str
    analyst: str
    granted: Promise


class Budget(Granted):
    """The standing of a quota."""

    period: str | None
    left: Part
    promise: Promise
    data_left: Part


class Verification(TypedDict):
    """The findings of a check of the record."""

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
    """The amounts that one period has used."""

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
    """The part that was used after one question."""

    when: str
    number: Count
    period: str | None
    used: float


class Record(TypedDict):
    """The record of one data set: everything that was promised, asked and paid."""

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
    """The state of the server."""

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
    """The standings of quotas."""

    budgets: list[Budget]


class PersonList(TypedDict):
    """The people who may sign in."""

    people: list[Person]
