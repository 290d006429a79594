"""What the owner declares, checked: data sets, people, and how the server runs. Nothing in it was read from rows."""

from __future__ import annotations

import datetime
import os
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self
from unicodedata import normalize

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from dpselect._ground.parameters import MAX_LISTED_SIZE, suggest
from dpselect.engines import Address, Grid, Totals
from dpselect.errors import ParameterError, came
from dpselect.gateway.settings import kinds
from dpselect.gateway.settings.kinds import LATEST, Key, Role, Scalar, WrongError, reading_context
from dpselect.ledger import Periods, default_unit, key_to_text, parse_periods
from dpselect.questions import key_columns

__all__ = ["BYTES_OF_A_ROW", "LATEST", "Key", "Role", "Scalar"]

BYTES_OF_A_ROW = 100
"""Where the owner does not say more."""
MOST_USERS, MOST_ITEMS, MOST_BYTES = 10**12, 10**7, 10**15  # of imagined data
MOST_ROWS = 2**31  # of one user


class Table(BaseModel):
    """A table of the file: its keys, what each must be, and what it is unless given."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        hide_input_in_errors=True,
        validate_by_name=True,
        validate_by_alias=True,
    )


class Named(Table):
    """A table with a name of its own, which its heading says and no key of it."""

    name: kinds.Name = Field(validation_alias="")


class Amount(Table):
    """An (epsilon, delta)."""

    epsilon: kinds.Epsilon
    """Above 0."""
    delta: kinds.Delta
    """Below 1; with 0 an account only adds epsilons."""


class WeightColumn(Table):
    """A column whose sums may be asked for: the most that one user gives to an item, and the unit of rounding."""

    at_most: kinds.Number
    """The most that one user gives to an item."""
    unit: kinds.Number | None = None
    """The unit of noise and rounding: 1 if `at_most` is an integer, else required."""

    @model_validator(mode="after")
    def _whole_units(self) -> Self:
        try:
            Totals.parse("column", self.at_most, self.unit)
        except ParameterError as error:
            key = {"weight_unit": "unit"}.get(error.parameter, error.parameter)
            raise WrongError(f"must {error.must}, got {error.came}", error.hint, key) from None
        return self


class Bounds(Table):
    """A column whose values may be asked for, as quantiles and as measures: chosen without looking at the data."""

    low: kinds.Number
    """Smaller values count as this; chosen without looking at the data."""
    high: kinds.Number
    """Larger values count as this."""
    step: kinds.Number | None = None
    """Answers are `low` plus a number of steps."""

    @model_validator(mode="after")
    def _can_be_cut(self) -> Self:
        if self.low >= self.high:
            raise WrongError(f"must be above low, got {came(self.high)}", key="high")
        try:
            Grid.parse((self.low, self.high), self.step)
        except ParameterError as error:
            raise WrongError(f"must {error.must}, got {error.came}", error.hint, "step") from None
        return self


class Sizes(Table):
    """The size of data as their owner declares it: forecasts imagine such data, and it decides when answers leave."""

    users: int = Field(default=10_000, ge=1, le=MOST_USERS)
    """How many there are."""
    items: int = Field(default=2_000, ge=1, le=MOST_ITEMS)
    """How many there are."""
    items_per_user: Annotated[kinds.Number, Field(gt=0, le=MOST_ITEMS)] = Field(
        default_factory=lambda fields: min(Fraction(10), Fraction(fields.get("items", 20), 2))
    )
    """On average, at most nine tenths of `items`; unless given, 10 or half of `items`."""
    skew: Annotated[kinds.Number, Field(ge=0, le=10)] = Fraction(11, 10)
    """The popularity of the r-th item is r^-skew."""
    groups: int = Field(default=1_000, ge=1, le=MOST_ITEMS)
    """The most groups, if `by` has no list."""
    rows: int | None = Field(default=None, ge=1, le=MOST_USERS)
    """The most rows; `users` times `items_per_user` unless given."""
    bytes: int | None = Field(default=None, ge=1, le=MOST_BYTES)
    """The most bytes; 100 a row unless given."""

    @field_validator("items_per_user")
    @classmethod
    def _fewer_than_there_are(cls, items_per_user: Fraction, info: ValidationInfo) -> Fraction:
        if items_per_user > Fraction(9, 10) * info.data.get("items", MOST_USERS):
            raise WrongError("must be at most nine tenths of items")
        return items_per_user

    @property
    def all_rows(self) -> int:
        """The largest number of rows."""
        return self.rows or round(self.users * self.items_per_user)

    @property
    def all_bytes(self) -> int:
        """The largest number of bytes."""
        return self.bytes or self.all_rows * BYTES_OF_A_ROW


class DataSettings(Named):
    """The settings of a data set: where it is, whom the promise is about, and what may be asked of it.

    The name is also that of its account in the ledger. A key is checked against those that stand before it here.
    """

    source: kinds.Source = Field(repr=False)
    """A file, a folder, a glob or a list of files ([data](data.md)), a file of [prepared data](prepared.md), or
    with `table` a `postgresql://` or `spark:` address."""
    user: kinds.AKey | None = Field(default=None, validate_default=True)
    """The key of the user; prepared data have it. Nobody can ask about its columns."""
    items: kinds.Keys
    """Keys whose values may be counted; the first is the default."""
    promise: Amount
    """The [promise](budgets.md) for all answers to all analysts, such as `{ epsilon = 3, delta = "1e-5" }`."""
    title: kinds.Text = ""
    """A description of one line."""
    about: kinds.Prose = ""
    """More lines of description."""
    table: kinds.Text | None = Field(default=None, validate_default=True)
    """The table of a database; required there."""
    types: dict[kinds.Column, kinds.DeclaredText] = {}
    """The [types](types.md) of columns, such as `{ age = "BIGINT", at = "TIME(zone='Europe/Berlin')" }`."""
    unit: kinds.Name | None = None
    """Whom the promise protects, in words."""
    keep: kinds.Share = Fraction(0)
    """The share of the promise that analysts cannot use."""
    groups: kinds.Columns = ()
    """Columns that [`by`](by-group.md) may name."""
    filters: dict[kinds.Column, kinds.Allowed] = {}
    """Columns for conditions, each with a list of values or `"any"`."""
    weights: dict[kinds.Column, WeightColumn] = {}
    """Columns that may be [summed](weights.md)."""
    values: dict[kinds.Column, Bounds] = {}
    """Columns for quantiles and [measures](weights.md#measures)."""
    domains: dict[kinds.Column, kinds.Scalars] = {}
    """Columns of items or groups, each with the list of its public values."""
    sizes: Sizes = Sizes()
    """How large the data are: [forecasts](plan.md) use it, and it decides [when answers
    are sent](gateway-threats.md#when-answers-are-sent)."""
    time: kinds.Column | None = None
    """The column of time; with `period` the promise is for one user in one [period](periods.md)."""
    period: kinds.Sort | None = Field(default=None, validate_default=True)
    """`"day"`, `"week"`, `"month"`, `"quarter"` or `"year"`."""
    timezone: kinds.Zone = "UTC"
    """The time zone in which days begin."""
    since: kinds.Text | None = None
    """The first period offered, such as `"2026-01"`."""
    max_k: int = Field(default=1_000, ge=1, le=MAX_LISTED_SIZE)
    """The longest list that may be asked for."""
    max_items_per_user: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    """The bound where a question names none."""
    split: kinds.Separator | None = None
    """What separates several items in a row."""
    tick: kinds.Seconds = Fraction(1)
    """Seconds: an answer leaves 1, 2, 4, 8, ... ticks after its question began; at most 3600."""
    longest: kinds.Seconds = Fraction(300)
    """Seconds: a question whose answer would leave later is refused."""
    approve: bool = False
    """An owner must approve each question."""
    snapshot: kinds.Text | None = None
    """A name for the state of a database; without it every question is paid anew, since databases do not report
    changes."""

    def parse_periods(self, names: object) -> Periods:
        """Parse names of periods of these data."""
        return parse_periods(self.time, self.period, names, self.timezone)

    @property
    def protected_unit(self) -> str:
        """The words for whom the promise protects."""
        return self.unit or default_unit(None if self.user is None else key_to_text(self.user), self.period)

    @field_validator("source")
    @classmethod
    def _is_not_written(cls, source: str | tuple[str, ...], info: ValidationInfo) -> str | tuple[str, ...]:
        """Refuse a source that holds what the gateway writes."""
        roots = [
            path_pattern.partition("**")[0].rstrip(os.sep)
            for path_pattern in ((source,) if isinstance(source, str) else source)
        ]
        inside = [
            key
            for key, path in reading_context(info).written_paths.items()
            if any(path == root or path.startswith(root + os.sep) for root in roots)
        ]
        if inside:
            raise WrongError(f"must not hold what the gateway writes: {' and '.join(inside)} of [server]")
        if Address.parse(source).is_lake:
            hint = "dpselect prepare reads it once; its own reader has no time that rows and bytes fix"
            raise WrongError("must be files, a Delta table, a database or prepared data", hint)
        return source

    @field_validator("user")
    @classmethod
    def _is_given(cls, user: Key | None, info: ValidationInfo) -> Key | None:
        if user is None and "source" in info.data and Address.parse(info.data["source"]).prepared is None:
            raise WrongError("must be given", "only a file of prepared data says itself who its users are")
        return user

    @field_validator("items", "groups", "filters", "weights", "values", "time")
    @classmethod
    def _is_not_user(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse columns that say who a user is: each of their values would be of few users."""
        user_columns = {name.lower() for name in key_columns(info.data.get("user") or ())}
        for name in (
            key_columns(value) if isinstance(value, str) else (name for key in value or () for name in key_columns(key))
        ):
            if name.lower() in user_columns:
                raise WrongError(f"must not hold {name!r}, which says who a user is")
        return value

    @field_validator("domains")
    @classmethod
    def _check_domain_columns(cls, domains: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        """Refuse lists of items for columns that cannot be asked about."""
        columns = [name for key in info.data.get("items", ()) for name in key_columns(key)] + [
            *info.data.get("groups", ())
        ]
        for column in domains:
            if column not in columns and "items" in info.data:
                raise WrongError(f"must be of columns of items or of groups, got {column!r}", suggest(column, columns))
        return domains

    @field_validator("table", "snapshot")
    @classmethod
    def _goes_with_source(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse what goes only with files, or only without, and does not fit the source."""
        source = info.data.get("source")
        kind = None if source is None else _kind_of_source(source)
        is_database = kind in ("address", "duckdb")
        if info.field_name == "table" and value is None and is_database:
            raise WrongError("must be given: which of the database is meant?")
        if info.field_name == "table" and value and not is_database and kind not in ("folder", None):
            raise WrongError("must be left out if the source is files")
        if info.field_name == "snapshot" and value and not is_database and kind is not None:
            hint = "a file's own times show when it was written"
            raise WrongError("must be left out if the source is files", hint)
        return value

    @field_validator("split")
    @classmethod
    def _splits_one_column(cls, separator: str | None, info: ValidationInfo) -> str | None:
        if separator is not None and not all(isinstance(key, str) for key in info.data.get("items", ())):
            raise WrongError("must be left out if an item is several columns")
        return separator

    @field_validator("period")
    @classmethod
    def _goes_with_time(cls, period: str | None, info: ValidationInfo) -> str | None:
        if "time" in info.data and (period is None) != (info.data["time"] is None):
            raise WrongError("must be given with time, and time with period")
        return period

    @field_validator("timezone", "since")
    @classmethod
    def _goes_with_period(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and not info.data.get("period", True):
            raise WrongError("must be left out without period")
        return value

    @field_validator("since")
    @classmethod
    def _names_one_period(cls, since: str | None, info: ValidationInfo) -> str | None:
        if (
            since is not None
            and info.data.get("period")
            and len(parse_periods("time", info.data["period"], since, "UTC").all) > 1
        ):
            raise WrongError(f"must name one {info.data['period']}")
        return since


def _kind_of_source(source: str | tuple[str, ...]) -> str:
    """Return the kind of a source by its name, or `folder` if the name has no known kind."""
    address = Address.parse(source)
    return "address" if address.is_elsewhere else address.file_kind or "folder"


class Person(Named):
    """The settings of a person who may sign in. The name is also that of the analyst in the ledger."""

    role: kinds.OneRole
    """`"owner"` (grants, approves, sees the record), `"analyst"` (plans, asks, reads answers) or `"auditor"`
    (reads and verifies the record)."""
    data: kinds.Names | None = None
    """The data sets that they may use; all unless given."""
    quota: Amount | None = None
    """Granted in each of these when the gateway first starts."""
    max_share: kinds.Share | None = None
    """The largest part of the quota that one question may cost, such as `"5%"`."""
    max_a_day: int | None = Field(default=None, ge=0, le=MOST_ITEMS)
    """The most new questions in 24 hours; one that is paid for already is not new."""
    approve_above: kinds.Share | None = None
    """A question that costs a larger part of the quota needs somebody else's approval."""
    token: kinds.Digest | None = Field(default=None, repr=False)
    """`"sha256:"` and the digest of the token, as `dpselect gateway token` prints it."""
    until: datetime.date | None = None
    """The last day of access, without quotes: `2027-12-31`."""
    subject: kinds.Text | None = None
    """Their name at the proxy or identity provider."""

    @field_validator("data")
    @classmethod
    def _are_declared(cls, data: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        known_names = reading_context(info).data
        for name in data or ():
            if known_names is not None and name not in known_names:
                raise ParameterError("value", "name data sets", repr(name), suggest(name, known_names))
        return data

    @field_validator("token", "subject")
    @classmethod
    def _is_nobody_elses(cls, value: str | None, info: ValidationInfo) -> str | None:
        name = info.data.get("name", "")
        if value is None:
            return None
        holder = reading_context(info).sign_ins.setdefault((info.field_name, value), name)
        if holder != name:
            raise WrongError(f"must be another than that of {holder}")
        return value


class Proxy(Table):
    """A proxy that says who is signed in; only these addresses are believed."""

    addresses: kinds.Networks
    """IP addresses or networks whose headers are trusted; never every address."""
    header: kinds.Header = "X-Forwarded-User"
    """The header with the person's `subject`."""


class Oidc(Table):
    """An identity provider whose signed tokens are taken in place of ours."""

    issuer: kinds.Url
    """The provider, as its tokens name it."""
    audience: kinds.Text
    """The audience that tokens must have."""
    jwks: kinds.Folder
    """The file with the provider's public keys."""
    claim: kinds.Text = "sub"
    """The claim with the person's `subject`."""


class ServerSettings(Table):
    """The settings of the server."""

    ledger: kinds.Ledger = Field(repr=False)
    """The [ledger](budgets.md): a file or a `postgresql://` address."""
    folder: kinds.Folder
    """Questions and the secret of sign-ins; only the gateway's own user may read it."""
    jobs: kinds.Postgres | None = Field(default=None, repr=False)
    """A `postgresql://` address for questions, so that several processes can serve."""
    host: kinds.Host = "127.0.0.1"
    """The address to listen on."""
    port: int = Field(default=8080, ge=0, le=65_535)
    """0 picks a free one."""
    url: kinds.Url | None = None
    """How people reach it, if not by host and port; `https://` behind a TLS proxy."""
    workers: int = Field(default=2, ge=1, le=1_000)
    """How many questions run at once."""
    waiting: int = Field(default=100, ge=1, le=1_000_000)
    """The most questions that wait, of all people together."""
    waiting_each: Annotated[int, Field(ge=1)] = Field(default_factory=lambda fields: min(20, fields.get("waiting", 20)))
    """The most questions of one person that wait; at most `waiting`."""
    rate: int = Field(default=50, ge=1, le=1_000_000)
    """Requests per second of one person."""
    body: int = Field(default=1 << 20, ge=1_024, le=1 << 30)
    """The most bytes of a request."""
    proxy: Proxy | None = None
    """A trusted reverse proxy that signs people in."""
    oidc: Oidc | None = None
    """An identity provider whose signed tokens are accepted."""

    @field_validator("ledger", "folder")
    @classmethod
    def _is_written(cls, path: str | Path, info: ValidationInfo) -> str | Path:
        if str(info.data.get("ledger", "")) == str(path):
            raise WrongError("must be another path than ledger")
        reading_context(info).written_paths[str(info.field_name)] = str(path)
        return path

    @field_validator("waiting_each")
    @classmethod
    def _waits_with_all(cls, waiting_each: int, info: ValidationInfo) -> int:
        if waiting_each > info.data.get("waiting", waiting_each):
            raise WrongError(f"must be at most waiting = {info.data['waiting']}")
        return waiting_each


def _parse_named(tables: object, read: ValidatorFunctionWrapHandler) -> Any:
    """Parse tables that know their own names, no two of which look the same."""
    if not isinstance(tables, dict):
        return read(tables)
    if not tables:
        raise WrongError("must have at least one")
    if len({normalize("NFC", name) for name in tables}) < len(tables):
        raise WrongError("must not have two names that look the same")
    if any(isinstance(table, dict) and "" in table for table in tables.values()):
        raise WrongError("must not have a key without a name")
    return read({name: {**table, "": name} if isinstance(table, dict) else table for name, table in tables.items()})


class Settings(Table):
    """The settings of a gateway: everything that the owner declares."""

    server: ServerSettings
    data: Annotated[dict[kinds.Name, DataSettings], WrapValidator(_parse_named)]
    people: Annotated[dict[kinds.Name, Person], WrapValidator(_parse_named)]
