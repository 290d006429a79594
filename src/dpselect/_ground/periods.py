"""Periods: parts of time by their names, known before a row is read. A row is in the one that holds its own time.

Their ends are computed here, once, from the calendar and the time zone. An engine compares a row's time with these
constants and knows nothing of months, so a row's period depends on that row alone.
"""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import one_of, suggest
from dpselect.errors import ParameterError, came, naming_parameter

MAX_PERIODS = 500
"""Periods of one question."""
YEARS = range(1000, 9999)
END_OF_TIME = datetime.datetime.max.replace(tzinfo=datetime.UTC)
UTC = "UTC"
_NO_ZONES = {"localtime", "posixrules", "Factory"}  # names by which systems call one of their own
Day = datetime.date


@dataclass(frozen=True)
class _PeriodKind:
    """A kind of period: how its names are written and read, and which day begins the next."""

    form: str
    example: str
    first: Callable[[Sequence[int]], Day]  # the first day, from the numbers in the name
    after: Callable[[Day], Day]
    name: Callable[[Day], str]


def _days(number: int) -> Callable[[Day], Day]:
    return lambda day: day + datetime.timedelta(days=number)


def _first_of_next(number: int) -> Callable[[Day], Day]:
    """Return the step to the first day of a month that is `number` days away."""
    return lambda day: (day + datetime.timedelta(days=number)).replace(day=1)


_PERIOD_KINDS = {
    "day": _PeriodKind(
        "([0-9]{4})-([0-9]{2})-([0-9]{2})",
        "2026-10-05",
        lambda parts: Day(parts[0], parts[1], parts[2]),
        _days(1),
        Day.isoformat,
    ),
    "week": _PeriodKind(
        "([0-9]{4})-W([0-9]{2})",
        "2026-W40",
        lambda parts: Day.fromisocalendar(parts[0], parts[1], 1),
        _days(7),
        lambda day: "{:04}-W{:02}".format(*day.isocalendar()[:2]),
    ),
    "month": _PeriodKind(
        "([0-9]{4})-([0-9]{2})",
        "2026-10",
        lambda parts: Day(parts[0], parts[1], 1),
        _first_of_next(31),
        lambda day: day.isoformat()[:7],
    ),
    "quarter": _PeriodKind(
        "([0-9]{4})-Q([0-9])",
        "2026-Q4",
        lambda parts: Day(parts[0], 3 * parts[1] - 2, 1),
        _first_of_next(92),  # the longest; none is shorter by more than two days
        lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    ),
    "year": _PeriodKind(
        "([0-9]{4})", "2026", lambda parts: Day(parts[0], 1, 1), _first_of_next(366), lambda day: f"{day.year:04}"
    ),
}
PERIOD_KINDS = tuple(_PERIOD_KINDS)


@dataclass(frozen=True)
class Period:
    """A named period: all days from `start` up to, but not including, `stop`."""

    name: str
    start: Day
    stop: Day


@dataclass(frozen=True)
class Periods:
    """The periods of one question, in their order, each once; `column` holds the time of a row.

    A day begins when the clocks of the time zone first show its midnight, or, where they leave midnight out, when they
    would have shown it. `compared` are those of all with which the others are compared, where a question does that.
    """

    column: str
    kind: str
    timezone: str
    all: tuple[Period, ...]
    compared: tuple[Period, ...] = ()
    lost: bool = False  # is an item's loss since the compared ones counted, in place of its gain?

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the periods."""
        return tuple(period.name for period in self.all)

    @property
    def runs(self) -> list[tuple[Period, Period]]:
        """First and last period of each stretch without a gap."""
        runs: list[tuple[Period, Period]] = []
        for period in self.all:
            if runs and runs[-1][1].stop == period.start:
                runs[-1] = runs[-1][0], period
            else:
                runs.append((period, period))
        return runs

    @property
    def text(self) -> str:
        """All periods in few words: 2026-09..2026-11, 2027-01."""
        spans = (first.name if first is last else f"{first.name}..{last.name}" for first, last in self.runs)
        return ", ".join(spans)

    @property
    def current(self) -> Periods:
        """Periods that the question is about, without those with which they are compared."""
        return replace(self, all=tuple(period for period in self.all if period not in self.compared), compared=())

    @property
    def baseline(self) -> Periods:
        """Periods with which the others are compared."""
        return replace(self, all=self.compared, compared=())

    @property
    def question_fields(self) -> dict[str, str]:
        """Fields by which a question names its periods, in one form, without those of a comparison."""
        return {"time": self.column, "period": self.kind, "during": self.current.text, "timezone": self.timezone}

    def compared_with(self, names: Sequence[str], *, lost: bool = False) -> Periods:
        """Return these periods and as many others to compare them with. A question about all is paid in each."""
        with naming_parameter("compared_with", "during"):
            other_periods = parse_periods(self.column, self.kind, names, self.timezone).all
        shared = [period.name for period in other_periods if period in self.all]
        if shared:
            raise ParameterError("compared_with", "differ from during", shared[0])
        if len(other_periods) != len(self.all):
            requirement = f"be as many {self.kind}s as during, {len(self.all)}"
            raise ParameterError("compared_with", requirement, len(other_periods))
        if len(other_periods) + len(self.all) > MAX_PERIODS:
            raise ParameterError("compared_with", f"be at most {MAX_PERIODS} periods together with during", "more")
        return replace(
            self,
            all=tuple(sorted((*self.all, *other_periods), key=lambda period: period.start)),
            compared=other_periods,
            lost=lost,
        )

    def midnight(self, day: Day, *, in_utc: bool) -> datetime.datetime:
        """Return when a day begins: on the clocks of the time zone, or as the moment in UTC, without a zone."""
        local_midnight = datetime.datetime.combine(day, datetime.time())
        if not in_utc or self.timezone == UTC:
            return local_midnight
        return (
            local_midnight.replace(tzinfo=zoneinfo.ZoneInfo(self.timezone))
            .astimezone(datetime.UTC)
            .replace(tzinfo=None)
        )

    def names_not_ended(self, now: datetime.datetime) -> tuple[str, ...]:
        """Return the names of the periods that have not ended by `now`, a moment with a zone."""
        utc_now = now.astimezone(datetime.UTC).replace(tzinfo=None)
        return tuple(period.name for period in self.all if self.midnight(period.stop, in_utc=True) > utc_now)


def parse_optional_periods(time: object, period: object, during: object, timezone: object) -> Periods | None:
    """Return the periods of parameters that must be given together or not at all."""
    values = {"time": time, "period": period, "during": during}
    given_names = [name for name, value in values.items() if value is not None]
    if not given_names and timezone == UTC:
        return None
    for name, value in values.items():
        if value is None:
            raise ParameterError(name, f"be given with {given_names[0] if given_names else 'timezone'}", "nothing")
    return parse_periods(time, period, during, timezone)


def parse_periods(time: object, period: object, during: object, timezone: object) -> Periods:
    """Return the periods that a caller means. No clock is asked and no row is read."""
    if not isinstance(time, str) or not time.strip():
        raise ParameterError("time", "be the name of a column", came(time))
    kind = one_of("period", period, PERIOD_KINDS)
    zone_name = parse_timezone(timezone)
    texts = during if isinstance(during, Sequence) and not isinstance(during, (str, bytes)) else [during]
    periods: dict[str, Period] = {}
    for text in texts:
        for named_period in _parse_span(kind, text):
            periods[named_period.name] = named_period
            if len(periods) > MAX_PERIODS:
                raise ParameterError("during", f"name at most {MAX_PERIODS} periods", "more", "ask by longer periods")
    if not periods:
        raise ParameterError("during", f"name at least one {kind}", "nothing")
    return Periods(time, kind, zone_name, tuple(sorted(periods.values(), key=lambda named_period: named_period.start)))


def _parse_span(kind: str, text: object) -> Iterator[Period]:
    """Yield the periods of one name, or of a first and a last name."""
    names = text.split("..") if isinstance(text, str) else []
    if len(names) not in (1, 2):
        raise _unreadable(kind, text)
    start, last = (_first_day(kind, name.strip(), text) for name in (names[0], names[-1]))
    if last < start:
        raise ParameterError("during", "begin with its first period", came(text))
    while start <= last:
        stop = _PERIOD_KINDS[kind].after(start)
        yield Period(_PERIOD_KINDS[kind].name(start), start, stop)
        start = stop


def _first_day(kind: str, name: str, text: object) -> Day:
    """Return the first day of a named period."""
    match = re.fullmatch(_PERIOD_KINDS[kind].form, name)
    try:
        start = None if match is None else _PERIOD_KINDS[kind].first([int(number) for number in match.groups()])
    except ValueError:  # there is no such day
        start = None
    if start is None:
        raise _unreadable(kind, text)
    if start.year not in YEARS:
        raise ParameterError("during", f"lie in the years {YEARS[0]} to {YEARS[-1]}", came(text))
    return start


def periods_between(kind: str, first: Day, last: Day) -> Iterator[Period]:
    """Yield all periods from the one that holds the first day up to the one that holds the last."""
    match = re.fullmatch(_PERIOD_KINDS[kind].form, _PERIOD_KINDS[kind].name(first))
    assert match is not None
    start = _PERIOD_KINDS[kind].first([int(number) for number in match.groups()])
    while start <= last:
        stop = _PERIOD_KINDS[kind].after(start)
        yield Period(_PERIOD_KINDS[kind].name(start), start, stop)
        start = stop


def _unreadable(kind: str, text: object) -> ParameterError:
    example = _PERIOD_KINDS[kind].example
    next_example = _PERIOD_KINDS[kind].name(_PERIOD_KINDS[kind].after(_first_day(kind, example, example)))
    hint = f"write {example}, or the first and the last: {example}..{next_example}"
    return ParameterError("during", f"name a {kind}", came(text), hint)


def parse_timezone(name: object) -> str:
    """Return the name of a time zone that every system knows by this name."""
    if name == UTC:
        return UTC
    requirement, known_zones = (
        "be the name of a time zone, like Europe/Berlin",
        zoneinfo.available_timezones() - _NO_ZONES,
    )
    if not known_zones:
        raise ParameterError("timezone", requirement, came(name), "this system has none but UTC: pip install tzdata")
    if not isinstance(name, str) or name not in known_zones:
        raise ParameterError("timezone", requirement, came(name), suggest(name, sorted(known_zones)))
    return name
