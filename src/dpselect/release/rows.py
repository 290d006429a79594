"""Sentences of a release about its rows: the unit, the columns, the periods, and as JSON what decides them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dpselect._ground.dataclass import dataclass
from dpselect._ground.keys import Key, composite_columns, parse_key, unit_of_key
from dpselect._ground.parameters import as_list, flag, one_of, rounded_up, whole_number
from dpselect._ground.privacy import ApproxDP
from dpselect._ground.row_bound import RowBound
from dpselect.errors import ParameterError, came
from dpselect.release import formatting
from dpselect.release.formatting import Json
from dpselect.release.release import Release
from dpselect.release.scale import LOST, ONCE_IN_EACH
from dpselect.release.statement import OUTSIDE_PACKAGE, Statement, describe_outside

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods

UNREADABLE_ROWS = "Rows that cannot be read do not count; `dpselect inspect` counts them for the owner."
USER = "user"
ONE_USER = re.compile(r"\b(one|each|every|an?|any) user\b(?!')", re.IGNORECASE)
PREPARED = ("max_rows_per_user", "prepared_period")
ROW_FIELDS = (
    "user",
    "item",
    "time",
    "period",
    "during",
    "timezone",
    "compared_with",
    LOST,
    "keys",
    *PREPARED,
    OUTSIDE_PACKAGE,
)


@dataclass(frozen=True)
class OfRows:
    """The rows that a question is about: the columns of users, those of items if there are several, and the periods.

    `keys` are the columns that were asked of JSON lines, which declare none, so that each may be in no line. `bound` is
    the bound on rows of a user with which the data were prepared, if there was one. `outside` is the package that read
    them, where it was another than this.
    """

    user: Key = "user"
    columns: tuple[str, ...] | None = None
    periods: Periods | None = None
    keys: tuple[str, ...] = ()
    bound: RowBound | None = None
    outside: str | None = None

    @property
    def counting_period(self) -> str | None:
        """Kind of the periods in each of which a user counts once, if a question is about several."""
        has_several = self.periods is not None and len(self.periods.current.all) > 1
        return self.periods.kind if has_several and self.periods is not None else None

    def describe_rows(self, release: Release, now: datetime.datetime | None = None) -> Release:
        """Return the release with a statement about its rows, which does not depend on them."""
        accuracy = release.accuracy if release.items else release.accuracy.without_items
        release = name_unit(replace(release, accuracy=accuracy), self._unit)
        statement = replace(release.privacy, sentences=(*release.privacy.sentences, UNREADABLE_ROWS))
        if self.outside is not None:
            sentences = (*statement.sentences, describe_outside(self.outside))
            statement = replace(
                statement, parameters={**statement.parameters, OUTSIDE_PACKAGE: self.outside}, sentences=sentences
            )
        release = replace(release, privacy=statement)
        if isinstance(self.user, tuple) or self.columns is not None:
            release = add_keys(release, self.user, self.columns)
        if self.periods is not None:
            release = add_periods(release, self.periods, now)
        return release

    @property
    def _unit(self) -> str:
        """Unit of a sentence about one user: a combination of columns, or a user in one of several periods."""
        has_several = self.periods is not None and len(self.periods.all) > 1
        return unit_of_key(self.user) + (
            f" in one {self.periods.kind}" if has_several and self.periods is not None else ""
        )

    def to_dict(self) -> dict[str, Json]:
        """Return what decides the statement in JSON types: a single column of users or items has no part in it."""
        document: dict[str, Json] = {}
        if isinstance(self.user, tuple):
            document["user"] = list(self.user)
        if self.columns is not None:
            document["item"] = list(self.columns)
        if self.periods is not None:
            document |= self.periods.question_fields
            if self.periods.compared:
                document["compared_with"] = self.periods.baseline.text
                document |= {LOST: True} if self.periods.lost else {}
        if self.keys:
            document["keys"] = list(self.keys)
        if self.bound is not None:
            document["max_rows_per_user"] = self.bound.max_rows
            document |= {} if self.bound.period is None else {"prepared_period": self.bound.period}
        if self.outside is not None:
            document[OUTSIDE_PACKAGE] = self.outside
        return document

    @classmethod
    def from_dict(cls, document: object) -> OfRows:
        """Return what `to_dict` wrote.

        Raises: ParameterError for anything else.
        """
        from dpselect._ground.periods import UTC, parse_optional_periods

        if not isinstance(document, Mapping) or not set(document) <= set(ROW_FIELDS):
            raise ParameterError("rows", f"have {', '.join(ROW_FIELDS)} and nothing else", came(document))
        user = parse_key("user", document.get("user", "user"))
        columns = None if "item" not in document else composite_columns(parse_key("item", document["item"]))
        during = _period_names(document.get("during"))
        periods = parse_optional_periods(
            document.get("time"), document.get("period"), during, document.get("timezone", UTC)
        )
        if "compared_with" in document and periods is not None:
            compared_names = _period_names(document["compared_with"]) or ()
            periods = periods.compared_with(compared_names, lost=flag(LOST, document.get(LOST, False)))
        keys = tuple(map(str, as_list("keys", document.get("keys", []), "be a list of columns")))
        bound, outside = _row_bound(*map(document.get, PREPARED)), document.get(OUTSIDE_PACKAGE)
        if not isinstance(outside, str | None):
            raise ParameterError(OUTSIDE_PACKAGE, "be the name of the package that read the rows", came(outside))
        return cls(user, columns, periods, keys, bound, outside)


def _row_bound(max_rows: object, period: object) -> RowBound | None:
    """Return the bound on rows that a release states."""
    if max_rows is None and period is None:
        return None
    if period is not None:
        from dpselect._ground.periods import PERIOD_KINDS

        one_of("prepared_period", period, PERIOD_KINDS)
    return RowBound(whole_number("max_rows_per_user", max_rows, minimum=1), None if period is None else str(period))


def _period_names(text: object) -> list[str] | None:
    """Return the periods of a text that names them."""
    return text.split(", ") if isinstance(text, str) else None


def name_unit(release: Release, unit: str) -> Release:
    """Return the release whose statement speaks of one `unit` where it would say one user."""
    if unit == USER:
        return release
    statement = release.privacy
    return replace(
        release,
        privacy=replace(statement, sentences=tuple(_with_unit(sentence, unit) for sentence in statement.sentences)),
    )


def _with_unit(sentence: str, unit: str) -> str:
    """Return the sentence about one unit; what a whole user counts for stays said of users."""
    if ONCE_IN_EACH in sentence:
        unit = unit.partition(" in one ")[0]
    return ONE_USER.sub(lambda match: f"{match[1]} {unit}", sentence)


def add_keys(release: Release, user: Key, columns: tuple[str, ...] | None) -> Release:
    """Return the release with a statement about one combination of columns of users, and with those of items."""
    from dpselect.release.item_columns import ITEM_COLUMNS

    statement = release.privacy
    if columns is not None:
        statement = replace(statement, parameters={**statement.parameters, ITEM_COLUMNS: columns})
    if isinstance(user, tuple):
        unit = unit_of_key(user)
        statement = replace(statement, unit=unit, sentences=(*statement.sentences, *_describe_unit(unit)))
    return replace(release, privacy=statement)


def _describe_unit(unit: str) -> tuple[str, ...]:
    """Describe what a user is, and what is promised to whoever is several of them."""
    return (
        f"A user is one {unit}; all bounds and numbers of users refer to these.",
        f"The promise is for one such {unit.rpartition(' ')[2]}, not for a whole user: somebody with m of them is "
        "promised (m epsilon, delta (1 + e^epsilon + ... + e^((m-1) epsilon)))-DP.",
    )


def add_periods(release: Release, periods: Periods, now: datetime.datetime | None = None) -> Release:
    """Return the release with a statement per user in one period. The clock decides only the sentence about it."""
    now = datetime.datetime.now(datetime.UTC) if now is None else now
    statement = release.privacy
    sentences = (
        *statement.sentences,
        *_describe_gain(periods),
        *_describe_periods(statement, periods),
        *_describe_not_ended(periods, now),
    )
    parameters = {**statement.parameters, "during": periods.current.text, "compared_with": periods.baseline.text}
    parameters |= {LOST: True} if periods.lost else {}
    parameters = parameters if periods.compared else dict(statement.parameters)
    unit = f"{statement.unit} in one {periods.kind}"
    return replace(release, privacy=replace(statement, unit=unit, parameters=parameters, sentences=sentences))


def _describe_gain(periods: Periods) -> tuple[str, ...]:
    """Describe what an item gained, or lost, if periods are compared."""
    if not periods.compared:
        return ()
    name, current, baseline = "gain", periods.current.text, periods.baseline.text
    if periods.lost:
        name, current, baseline = "loss", baseline, current
    return (
        f"The {name} of an item is its number of distinct users in {current} less that in {baseline}, or 0 where that "
        "is below 0.",
    )


def _describe_periods(statement: Statement, periods: Periods) -> tuple[str, ...]:
    """Describe which rows count, and what a user of several periods is promised."""
    column = formatting.text(periods.column)
    rows = f"Rows of {periods.text} count, by the time in their column {column} ({periods.timezone})"
    times = len(periods.all)
    if times == 1:
        return (f"{rows}; rows of any other {periods.kind} do not affect this answer.",)
    from dpselect.accounting.groups import of_group

    group_price = of_group(ApproxDP(statement.epsilon, statement.delta), times)
    price = (
        f"({rounded_up(group_price.epsilon)}, {rounded_up(group_price.delta)})-DP"
        if group_price.delta < 1
        else "nothing"
    )
    return (
        f"{rows}, and a user is one user in one {periods.kind}: a user in several of them counts once in each, in "
        "every bound and every number of users.",
        f"A whole user who is in m of these {times} {periods.kind}s is promised (m epsilon, delta (1 + e^epsilon + ... "
        f"+ e^((m-1) epsilon)))-DP, which for all {times} is {price}.",
    )


def _describe_not_ended(periods: Periods, now: datetime.datetime) -> tuple[str, ...]:
    """Describe which periods have not ended."""
    names = periods.names_not_ended(now)
    if not names:
        return ()
    open_periods = replace(periods, all=tuple(period for period in periods.all if period.name in names))
    verb = "has" if len(names) == 1 else "have"
    return (f"{open_periods.text} {verb} not ended: rows that come later are not counted.",)


def not_ended_sentences(periods: Periods) -> set[str]:
    """Return every sentence about periods that have not ended, whatever the clock shows."""
    moments = (periods.midnight(period.start, in_utc=True).replace(tzinfo=datetime.UTC) for period in periods.all)
    return {sentence for moment in moments for sentence in _describe_not_ended(periods, moment)}
