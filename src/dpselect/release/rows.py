"""Releases about rows: what they say of a row, of a user, of columns and of periods, and as JSON what decides it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpselect._ground.keys import Key, composite_columns, parse_key, unit_of_key
from dpselect._ground.parameters import as_list, flag, one_of, rounded_up, whole_number
from dpselect._ground.privacy import ApproxDP
from dpselect._ground.row_bound import RowBound
from dpselect.errors import ParameterError, came
from dpselect.release import formatting
from dpselect.release.formatting import Json
from dpselect.release.release import Release
from dpselect.release.scale import LOST, ONCE_IN_EACH
from dpselect.release.statement import Statement

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods

UNREADABLE = "Rows that cannot be read do not count; `dpselect inspect` counts them for the owner."
USER = "user"
ONE_USER = re.compile(r"\b(one|each|every|an?|any) user\b(?!')", re.IGNORECASE)
PREPARED = ("max_rows_per_user", "prepared_period")
FIELDS = ("user", "item", "time", "period", "during", "timezone", "compared_with", LOST, "keys", *PREPARED)


@dataclass(frozen=True)
class OfRows:
    """Whose rows a question is about: the columns of users, those of items where they are several, and the periods.

    `keys` are the columns that were asked of JSON lines, which declare none, so that each may be in no line. `bound` is
    how many rows of a user were kept when the data were prepared, if not all were.
    """

    user: Key = "user"
    columns: tuple[str, ...] | None = None
    periods: Periods | None = None
    keys: tuple[str, ...] = ()
    bound: RowBound | None = None

    @property
    def counting_period(self) -> str | None:
        """In each of which periods a user counts once, where a question is about several."""
        several = self.periods is not None and len(self.periods.current.all) > 1
        return self.periods.kind if several and self.periods is not None else None

    def describe_rows(self, release: Release, now: datetime.datetime | None = None) -> Release:
        """The release with a statement about rows, the same whatever they are; one without items says what holds."""
        good = release.accuracy if release.items else release.accuracy.without_items
        release = name_unit(replace(release, accuracy=good), self._unit)
        said = replace(release.privacy, sentences=(*release.privacy.sentences, UNREADABLE))
        release = replace(release, privacy=said)
        if isinstance(self.user, tuple) or self.columns is not None:
            release = add_keys(release, self.user, self.columns)
        if self.periods is not None:
            release = add_periods(release, self.periods, now)
        return release

    @property
    def _unit(self) -> str:
        """What a sentence about one user is about: a combination of columns, or a user in one of several periods."""
        several = self.periods is not None and len(self.periods.all) > 1
        return unit_of_key(self.user) + (f" in one {self.periods.kind}" if several and self.periods is not None else "")

    def to_dict(self) -> dict[str, Json]:
        """What decides the statement, in JSON types: a single column of users or items has no part in it."""
        found: dict[str, Json] = {}
        if isinstance(self.user, tuple):
            found["user"] = list(self.user)
        if self.columns is not None:
            found["item"] = list(self.columns)
        if self.periods is not None:
            found |= self.periods.question_fields
            if self.periods.compared:
                found["compared_with"] = self.periods.baseline.text
                found |= {LOST: True} if self.periods.lost else {}
        if self.keys:
            found["keys"] = list(self.keys)
        if self.bound is not None:
            found["max_rows_per_user"] = self.bound.max_rows
            found |= {} if self.bound.period is None else {"prepared_period": self.bound.period}
        return found

    @classmethod
    def from_dict(cls, found: object) -> OfRows:
        """What `to_dict` wrote. Raises ParameterError for anything else."""
        from dpselect._ground.periods import UTC, parse_optional_periods

        if not isinstance(found, Mapping) or not set(found) <= set(FIELDS):
            raise ParameterError("rows", f"have {', '.join(FIELDS)} and nothing else", came(found))
        user = parse_key("user", found.get("user", "user"))
        columns = None if "item" not in found else composite_columns(parse_key("item", found["item"]))
        during = _several(found.get("during"))
        periods = parse_optional_periods(found.get("time"), found.get("period"), during, found.get("timezone", UTC))
        if "compared_with" in found and periods is not None:
            others = _several(found["compared_with"]) or ()
            periods = periods.compared_with(others, lost=flag(LOST, found.get(LOST, False)))
        keys = tuple(map(str, as_list("keys", found.get("keys", []), "be a list of columns")))
        return cls(user, columns, periods, keys, _row_bound(*map(found.get, PREPARED)))


def _row_bound(most: object, period: object) -> RowBound | None:
    """Return the bound on rows that a release says."""
    if most is None and period is None:
        return None
    if period is not None:
        from dpselect._ground.periods import PERIOD_KINDS

        one_of("prepared_period", period, PERIOD_KINDS)
    return RowBound(whole_number("max_rows_per_user", most, minimum=1), None if period is None else str(period))


def _several(text: object) -> list[str] | None:
    """The periods of a text that names them."""
    return text.split(", ") if isinstance(text, str) else None


def name_unit(release: Release, unit: str) -> Release:
    """Return the release whose statement speaks of one `unit` where it would say one user."""
    if unit == USER:
        return release
    said = release.privacy
    return replace(release, privacy=replace(said, sentences=tuple(_with_unit(one, unit) for one in said.sentences)))


def _with_unit(sentence: str, unit: str) -> str:
    """Return the sentence about one unit; what a whole user counts for stays said of users."""
    if ONCE_IN_EACH in sentence:
        unit = unit.partition(" in one ")[0]
    return ONE_USER.sub(lambda match: f"{match[1]} {unit}", sentence)


def add_keys(release: Release, user: Key, columns: tuple[str, ...] | None) -> Release:
    """The release with a statement about one combination of the columns of users, and with the columns of items."""
    from dpselect.release.item_columns import COLUMNS

    said = release.privacy
    if columns is not None:
        said = replace(said, parameters={**said.parameters, COLUMNS: columns})
    if isinstance(user, tuple):
        unit = unit_of_key(user)
        said = replace(said, unit=unit, sentences=(*said.sentences, *_whose(unit)))
    return replace(release, privacy=said)


def _whose(unit: str) -> tuple[str, ...]:
    """What a user is, and what is promised to whoever is several of them."""
    return (
        f"A user is one {unit}; all bounds and numbers of users refer to these.",
        f"The promise is for one such {unit.rpartition(' ')[2]}, not for a whole user: somebody with m of them is "
        "promised (m epsilon, delta (1 + e^epsilon + ... + e^((m-1) epsilon)))-DP.",
    )


def add_periods(release: Release, periods: Periods, now: datetime.datetime | None = None) -> Release:
    """The release with a statement per user in one period. The clock decides nothing but what is said of it."""
    now = datetime.datetime.now(datetime.UTC) if now is None else now
    said = release.privacy
    sentences = (*said.sentences, *_gains(periods), *_in_period(said, periods), *_open(periods, now))
    used = {**said.parameters, "during": periods.current.text, "compared_with": periods.baseline.text}
    used |= {LOST: True} if periods.lost else {}
    used = used if periods.compared else dict(said.parameters)
    unit = f"{said.unit} in one {periods.kind}"
    return replace(release, privacy=replace(said, unit=unit, parameters=used, sentences=sentences))


def _gains(periods: Periods) -> tuple[str, ...]:
    """What an item gained, or lost, where periods are compared."""
    if not periods.compared:
        return ()
    name, counted, less = "gain", periods.current.text, periods.baseline.text
    if periods.lost:
        name, counted, less = "loss", less, counted
    return (
        f"The {name} of an item is its number of distinct users in {counted} less that in {less}, or 0 where that is "
        "below 0.",
    )


def _in_period(said: Statement, periods: Periods) -> tuple[str, ...]:
    """Which rows count, and what a user of several periods is promised."""
    column = formatting.text(periods.column)
    rows = f"Rows of {periods.text} count, by the time in their column {column} ({periods.timezone})"
    times = len(periods.all)
    if times == 1:
        return (f"{rows}; rows of any other {periods.kind} do not affect this answer.",)
    from dpselect.accounting.groups import of_group

    whole = of_group(ApproxDP(said.epsilon, said.delta), times)
    price = f"({rounded_up(whole.epsilon)}, {rounded_up(whole.delta)})-DP" if whole.delta < 1 else "nothing"
    return (
        f"{rows}, and a user is one user in one {periods.kind}: a user in several of them counts once in each, in "
        "every bound and every number of users.",
        f"A whole user who is in m of these {times} {periods.kind}s is promised (m epsilon, delta (1 + e^epsilon + ... "
        f"+ e^((m-1) epsilon)))-DP, which for all {times} is {price}.",
    )


def _open(periods: Periods, now: datetime.datetime) -> tuple[str, ...]:
    """Which periods have not ended."""
    names = periods.names_not_ended(now)
    if not names:
        return ()
    those = replace(periods, all=tuple(one for one in periods.all if one.name in names))
    have = "has" if len(names) == 1 else "have"
    return (f"{those.text} {have} not ended: rows that come later are not counted.",)


def not_ended_sentences(periods: Periods) -> set[str]:
    """Every sentence about periods that have not ended, whatever the clock shows."""
    moments = (periods.midnight(one.start, in_utc=True).replace(tzinfo=datetime.UTC) for one in periods.all)
    return {said for moment in moments for said in _open(periods, moment)}
