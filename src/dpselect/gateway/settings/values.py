"""What the owner declares, checked: data sets, and with `server.py` all. Nothing in it was read from rows."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Annotated, Any, Self
from unicodedata import normalize

from pydantic import (
    Field,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from dpselect._ground.parameters import MAX_LISTED_SIZE, suggest
from dpselect.engines import Address, Grid, SourceKind, Totals
from dpselect.errors import ParameterError, came
from dpselect.forecast import BYTES_OF_A_ROW
from dpselect.gateway.settings import kinds
from dpselect.gateway.settings.kinds import (
    MAX_ITEMS_OR_QUESTIONS,
    Amount,
    Key,
    Named,
    SettingsTable,
    WrongError,
    reading_context,
)
from dpselect.gateway.settings.server import Person, ServerSettings
from dpselect.ledger import Periods, default_unit, key_to_text, parse_periods
from dpselect.questions import key_columns

MAX_USERS, MAX_BYTES = 10**12, 10**15  # of imagined data
MAX_ROWS_OF_A_USER = 2**31  # of one user


class WeightColumn(SettingsTable):
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


class Bounds(SettingsTable):
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


class Sizes(SettingsTable):
    """The size of data as their owner declares it: forecasts imagine such data, and it decides when answers leave."""

    users: int = Field(default=10_000, ge=1, le=MAX_USERS)
    """How many there are."""
    items: int = Field(default=2_000, ge=1, le=MAX_ITEMS_OR_QUESTIONS)
    """How many there are; of prepared data at least, because their counts are read instead of rows."""
    items_per_user: Annotated[kinds.Number, Field(gt=0, le=MAX_ITEMS_OR_QUESTIONS)] = Field(
        default_factory=lambda fields: min(Fraction(10), Fraction(fields.get("items", 20), 2))
    )
    """On average, at most nine tenths of `items`; unless given, 10 or half of `items`."""
    skew: Annotated[kinds.Number, Field(ge=0, le=10)] = Fraction(11, 10)
    """The popularity of the r-th item is r^-skew."""
    groups: int = Field(default=1_000, ge=1, le=MAX_ITEMS_OR_QUESTIONS)
    """The most groups, if `by` has no list."""
    rows: int | None = Field(default=None, ge=1, le=MAX_USERS)
    """The most rows; `users` times `items_per_user` unless given."""
    bytes: int | None = Field(default=None, ge=1, le=MAX_BYTES)
    """The most bytes; 100 a row unless given."""

    @field_validator("items_per_user")
    @classmethod
    def _fewer_than_there_are(cls, items_per_user: Fraction, info: ValidationInfo) -> Fraction:
        if items_per_user > Fraction(9, 10) * info.data.get("items", MAX_USERS):
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
    outside: kinds.Text | None = Field(default=None, validate_default=True)
    """The [package](outside.md) that reads the source, if dpselect itself does not: no other package is asked."""
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
    types: dict[kinds.Column, kinds.DeclaredText] = Field(default_factory=dict)
    """The [types](types.md) of columns, such as `{ age = "BIGINT", at = "TIME(zone='Europe/Berlin')" }`."""
    unit: kinds.Name | None = None
    """Whom the promise protects, in words."""
    keep: kinds.Share = Fraction(0)
    """The share of the promise that analysts cannot use."""
    groups: kinds.Columns = ()
    """Columns that [`by`](by-group.md) may name."""
    filters: dict[kinds.Column, kinds.Allowed] = Field(default_factory=dict)
    """Columns for conditions, each with a list of values or `"any"`."""
    weights: dict[kinds.Column, WeightColumn] = Field(default_factory=dict)
    """Columns that may be [summed](weights.md)."""
    values: dict[kinds.Column, Bounds] = Field(default_factory=dict)
    """Columns for quantiles and [measures](weights.md#measures)."""
    domains: dict[kinds.Column, kinds.Scalars] = Field(default_factory=dict)
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
    max_items_per_user: int | None = Field(default=None, ge=1, le=MAX_ROWS_OF_A_USER)
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
        if Address.parse(source).is_read_by_pyarrow:
            hint = "dpselect prepare reads it once; its own reader has no time that rows and bytes fix"
            raise WrongError("must be files, a Delta table, a database or prepared data", hint)
        return source

    @field_validator("outside")
    @classmethod
    def _reads_source(cls, package: str | None, info: ValidationInfo) -> str | None:
        """Refuse an address that nothing reads, and a package that is not needed."""
        source = info.data.get("source")
        is_outside = source is not None and Address.parse(source).kind is SourceKind.OTHER_PACKAGE
        if is_outside and package is None:
            hint = "source is a path on this machine, or one postgresql:// or spark: address"
            raise WrongError(f"must name the package that reads {str(source).partition('://')[0]}:// addresses", hint)
        if package is not None and source is not None and not is_outside:
            raise WrongError("must be left out if dpselect itself reads the source")
        return package

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
        is_database = kind in ("address", "duckdb", "outside")
        if info.field_name == "table" and value is None and is_database and kind != "outside":
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
    if address.kind is SourceKind.OTHER_PACKAGE:
        return "outside"
    return "address" if address.is_elsewhere else address.file_kind or "folder"


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


class Settings(SettingsTable):
    """The settings of a gateway: everything that the owner declares."""

    server: ServerSettings
    data: Annotated[dict[kinds.Name, DataSettings], WrapValidator(_parse_named)]
    people: Annotated[dict[kinds.Name, Person], WrapValidator(_parse_named)]
