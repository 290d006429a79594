"""What the owner declares, checked: data sets, people, and how the server runs. Nothing in it was read from rows."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

Scalar = str | int | bool | Decimal | datetime.date | datetime.datetime
Key = str | tuple[str, ...]
"""A column, or several that say something together."""


class Role(StrEnum):
    """What a person may do. Each person has one."""

    OWNER = "owner"  # declares data, grants quotas, approves questions, sees the record
    ANALYST = "analyst"  # plans, asks, reads answers
    AUDITOR = "auditor"  # reads the record, verifies it


@dataclass(frozen=True)
class Amount:
    """An (epsilon, delta)."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class WeightColumn:
    """A column whose sums may be asked for: the most that one user gives to an item, and the unit of rounding."""

    at_most: Fraction
    unit: Fraction | None = None


@dataclass(frozen=True)
class Bounds:
    """A column whose values may be asked for, as quantiles and as measures: chosen without looking at the data."""

    low: Fraction
    high: Fraction
    step: Fraction | None = None


BYTES_OF_A_ROW = 100
"""Where the owner does not say more."""
LATEST = 3_600
"""Seconds after which every answer has left."""


@dataclass(frozen=True)
class Sizes:
    """How large the data are, as their owner says: forecasts imagine such data, and they decide when answers leave."""

    users: int = 10_000
    items: int = 2_000
    items_per_user: Fraction = Fraction(10)
    skew: Fraction = Fraction(11, 10)
    groups: int = 1_000  # at most
    rows: int | None = None  # at most; None: an item of a user has one
    bytes: int | None = None  # of their texts at most; None: BYTES_OF_A_ROW in each row

    @property
    def all_rows(self) -> int:
        """How many rows there are at most."""
        return self.rows or round(self.users * self.items_per_user)

    @property
    def all_bytes(self) -> int:
        """How long they are together, at most."""
        return self.bytes or self.all_rows * BYTES_OF_A_ROW


@dataclass(frozen=True)
class DataSettings:
    """One data set: where it is, whom the promise is about, and what may be asked of it."""

    name: str  # also that of its account in the ledger
    source: str | tuple[str, ...]  # paths are absolute; or an address of a database
    user: Key | None  # None where the source is a folder of prepared data, which says it itself
    items: tuple[Key, ...]  # what may be counted; the first where a question names none
    promise: Amount
    title: str = ""
    about: str = ""
    table: str | None = None
    unit: str | None = None
    keep: Fraction = Fraction(0)  # the share of the promise that analysts cannot use
    groups: tuple[str, ...] = ()  # columns that `by` may name
    filters: Mapping[str, tuple[Scalar, ...] | None] = field(default_factory=dict)  # its values; None: any condition
    weights: Mapping[str, WeightColumn] = field(default_factory=dict)
    values: Mapping[str, Bounds] = field(default_factory=dict)
    domains: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)  # items of a column that are public
    sizes: Sizes = Sizes()
    time: str | None = None
    period: str | None = None
    timezone: str = "UTC"
    since: str | None = None  # the first period that is offered
    max_k: int = 1_000
    max_items_per_user: int | None = None  # where a question names no bound
    split: str | None = None
    tick: Fraction = Fraction(1)  # seconds: answers leave 1, 2, 4, 8 ... of them after their question began
    longest: Fraction = Fraction(300)  # seconds: a question whose answer would leave later is refused
    approve: bool = False  # somebody else must agree before a question runs
    prepare: bool = False  # ask a prepared copy, which is kept fresh
    max_rows_per_user: int | None = None  # of them in the prepared copy
    refresh: int = 60  # minutes between two looks whether the source has changed
    snapshot: str | None = None  # names the state of a source that is no file


@dataclass(frozen=True)
class Person:
    """Somebody who may sign in."""

    name: str  # also that of the analyst in the ledger
    role: Role
    data: tuple[str, ...] | None = None  # the data sets they may use; None: all
    quota: Amount | None = None  # granted in each of them when the gateway first starts
    token: str | None = None  # the SHA-256 of a token, in hexadecimal
    until: datetime.date | None = None  # the last day on which they may sign in
    subject: str | None = None  # what a trusted proxy or an identity provider calls them


@dataclass(frozen=True)
class Proxy:
    """A proxy that says where requests come from, and who is signed in; only these addresses are believed."""

    addresses: tuple[str, ...]
    header: str = "X-Forwarded-User"


@dataclass(frozen=True)
class Oidc:
    """An identity provider whose signed tokens are taken in place of ours."""

    issuer: str
    audience: str
    jwks: Path  # a file with its public keys
    claim: str = "sub"


@dataclass(frozen=True)
class ServerSettings:
    """How the server runs."""

    ledger: str  # a file, or a postgresql:// address
    folder: Path  # questions, prepared copies, the secret of sign-ins: readable by this user only
    jobs: str | None = None  # a postgresql:// address for the questions, so that several processes can serve
    host: str = "127.0.0.1"
    port: int = 8080
    url: str | None = None  # how people reach it, where that is not host and port
    workers: int = 2  # questions that run at once
    waiting: int = 100  # questions that wait at most, of all people
    waiting_each: int = 20  # of one person
    rate: int = 50  # requests a second of one person, or of one address that is not signed in
    body: int = 1 << 20  # bytes of a request
    proxy: Proxy | None = None
    oidc: Oidc | None = None


@dataclass(frozen=True)
class Settings:
    """Everything the owner declares."""

    server: ServerSettings
    data: Mapping[str, DataSettings]
    people: Mapping[str, Person]
