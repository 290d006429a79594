"""Periods: parts of time by their names, known before a row is read. A row is in the one that holds its own time.

Their ends are computed here, once, from the calendar and the time zone. An engine compares a row's time with these
constants and knows nothing of months, so a row's period depends on that row alone.
"""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from dpselect._ground.parameters import near, one_of
from dpselect.errors import ParameterError, came, naming

MOST = 500
"""Periods of one question."""
YEARS = range(1000, 9999)
END_OF_TIME = datetime.datetime.max.replace(tzinfo=datetime.UTC)
UTC = "UTC"
_NO_ZONES = {"localtime", "posixrules", "Factory"}  # names by which systems call one of their own
Day = datetime.date


@dataclass(frozen=True)
class _Sort:
    """One sort of period: how its names are written, read, and which day begins the next."""

    form: str
    example: str
    first: Callable[[Sequence[int]], Day]  # the first day, from the numbers in the name
    after: Callable[[Day], Day]
    name: Callable[[Day], str]


def _days(number: int) -> Callable[[Day], Day]:
    return lambda day: day + datetime.timedelta(days=number)


def _next_first(number: int) -> Callable[[Day], Day]:
    """The first of a month that is so many days away."""
    return lambda day: (day + datetime.timedelta(days=number)).replace(day=1)


_SORTS = {
    "day": _Sort(
        "([0-9]{4})-([0-9]{2})-([0-9]{2})",
        "2026-10-05",
        lambda given: Day(given[0], given[1], given[2]),
        _days(1),
        Day.isoformat,
    ),
    "week": _Sort(
        "([0-9]{4})-W([0-9]{2})",
        "2026-W40",
        lambda given: Day.fromisocalendar(given[0], given[1], 1),
        _days(7),
        lambda day: "{:04}-W{:02}".format(*day.isocalendar()[:2]),
    ),
    "month": _Sort(
        "([0-9]{4})-([0-9]{2})",
        "2026-10",
        lambda given: Day(given[0], given[1], 1),
        _next_first(31),
        lambda day: day.isoformat()[:7],
    ),
    "quarter": _Sort(
        "([0-9]{4})-Q([0-9])",
        "2026-Q4",
        lambda given: Day(given[0], 3 * given[1] - 2, 1),
        _next_first(92),  # the longest; none is shorter by more than two days
        lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    ),
    "year": _Sort(
        "([0-9]{4})", "2026", lambda given: Day(given[0], 1, 1), _next_first(366), lambda day: f"{day.year:04}"
    ),
}
SORTS = tuple(_SORTS)


@dataclass(frozen=True)
class Period:
    """One period: all days from `start` on, up to and without `stop`."""

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
    sort: str
    timezone: str
    all: tuple[Period, ...]
    compared: tuple[Period, ...] = ()
    lost: bool = False  # is an item's loss since the compared ones counted, in place of its gain?

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each."""
        return tuple(one.name for one in self.all)

    @property
    def runs(self) -> list[tuple[Period, Period]]:
        """The first and the last of each stretch of them without a gap."""
        found: list[tuple[Period, Period]] = []
        for one in self.all:
            if found and found[-1][1].stop == one.start:
                found[-1] = found[-1][0], one
            else:
                found.append((one, one))
        return found

    @property
    def text(self) -> str:
        """All of them in few words: 2026-09..2026-11, 2027-01."""
        said = (first.name if first is last else f"{first.name}..{last.name}" for first, last in self.runs)
        return ", ".join(said)

    @property
    def asked(self) -> Periods:
        """Those that are asked about, without those with which they are compared."""
        return replace(self, all=tuple(one for one in self.all if one not in self.compared), compared=())

    @property
    def base(self) -> Periods:
        """Those with which the others are compared."""
        return replace(self, all=self.compared, compared=())

    @property
    def said(self) -> dict[str, str]:
        """All that says which periods are asked about, in one form; a question says with which they are compared."""
        return {"time": self.column, "period": self.sort, "during": self.asked.text, "timezone": self.timezone}

    def compared_with(self, names: Sequence[str], *, lost: bool = False) -> Periods:
        """These, and as many others with which they are compared. A question about all of them is paid in each."""
        with naming("compared_with", "during"):
            others = periods_of(self.column, self.sort, names, self.timezone).all
        both = [one.name for one in others if one in self.all]
        if both:
            raise ParameterError("compared_with", "differ from during", both[0])
        if len(others) != len(self.all):
            must = f"be as many {self.sort}s as during, {len(self.all)}"
            raise ParameterError("compared_with", must, len(others))
        if len(others) + len(self.all) > MOST:
            raise ParameterError("compared_with", f"be at most {MOST} periods together with during", "more")
        return replace(
            self, all=tuple(sorted((*self.all, *others), key=lambda one: one.start)), compared=others, lost=lost
        )

    def midnight(self, day: Day, *, in_utc: bool) -> datetime.datetime:
        """When a day begins: on the clocks of the time zone, or as the moment in UTC. Without a zone either way."""
        there = datetime.datetime.combine(day, datetime.time())
        if not in_utc or self.timezone == UTC:
            return there
        return there.replace(tzinfo=zoneinfo.ZoneInfo(self.timezone)).astimezone(datetime.UTC).replace(tzinfo=None)

    def open(self, now: datetime.datetime) -> tuple[str, ...]:
        """The names of those that have not ended by now, a moment with a zone."""
        here = now.astimezone(datetime.UTC).replace(tzinfo=None)
        return tuple(one.name for one in self.all if self.midnight(one.stop, in_utc=True) > here)


def settled(time: object, period: object, during: object, timezone: object) -> Periods | None:
    """The periods of parameters that are given together, or not at all."""
    given = {"time": time, "period": period, "during": during}
    there = [name for name, value in given.items() if value is not None]
    if not there and timezone == UTC:
        return None
    for name, value in given.items():
        if value is None:
            raise ParameterError(name, f"be given with {there[0] if there else 'timezone'}", "nothing")
    return periods_of(time, period, during, timezone)


def periods_of(time: object, period: object, during: object, timezone: object) -> Periods:
    """The periods that a caller means, or a clear error. No clock is asked and no row is read."""
    if not isinstance(time, str) or not time.strip():
        raise ParameterError("time", "be the name of a column", came(time))
    sort = one_of("period", period, SORTS)
    zone = zone_of(timezone)
    many = during if isinstance(during, Sequence) and not isinstance(during, (str, bytes)) else [during]
    found: dict[str, Period] = {}
    for one in many:
        for meant in _meant(sort, one):
            found[meant.name] = meant
            if len(found) > MOST:
                raise ParameterError("during", f"name at most {MOST} periods", "more", "ask by longer periods")
    if not found:
        raise ParameterError("during", f"name at least one {sort}", "nothing")
    return Periods(time, sort, zone, tuple(sorted(found.values(), key=lambda one: one.start)))


def _meant(sort: str, text: object) -> Iterator[Period]:
    """The periods of one name, or of a first and a last one."""
    names = text.split("..") if isinstance(text, str) else []
    if len(names) not in (1, 2):
        raise _unreadable(sort, text)
    start, last = (_first(sort, name.strip(), text) for name in (names[0], names[-1]))
    if last < start:
        raise ParameterError("during", "begin with its first period", came(text))
    while start <= last:
        stop = _SORTS[sort].after(start)
        yield Period(_SORTS[sort].name(start), start, stop)
        start = stop


def _first(sort: str, name: str, text: object) -> Day:
    """The first day of a period by its name."""
    found = re.fullmatch(_SORTS[sort].form, name)
    try:
        start = None if found is None else _SORTS[sort].first([int(one) for one in found.groups()])
    except ValueError:  # there is no such day
        start = None
    if start is None:
        raise _unreadable(sort, text)
    if start.year not in YEARS:
        raise ParameterError("during", f"lie in the years {YEARS[0]} to {YEARS[-1]}", came(text))
    return start


def between(sort: str, first: Day, last: Day) -> Iterator[Period]:
    """All periods that begin from one day on, up to another; the first is the one that holds that day."""
    numbers = re.fullmatch(_SORTS[sort].form, _SORTS[sort].name(first))
    assert numbers is not None
    start = _SORTS[sort].first([int(one) for one in numbers.groups()])
    while start <= last:
        stop = _SORTS[sort].after(start)
        yield Period(_SORTS[sort].name(start), start, stop)
        start = stop


def _unreadable(sort: str, text: object) -> ParameterError:
    example = _SORTS[sort].example
    later = _SORTS[sort].name(_SORTS[sort].after(_first(sort, example, example)))
    hint = f"write {example}, or the first and the last: {example}..{later}"
    return ParameterError("during", f"name a {sort}", came(text), hint)


def zone_of(name: object) -> str:
    """A time zone by its name, which is the same one elsewhere."""
    if name == UTC:
        return UTC
    must, known = "be the name of a time zone, like Europe/Berlin", zoneinfo.available_timezones() - _NO_ZONES
    if not known:
        raise ParameterError("timezone", must, came(name), "this system has none but UTC: pip install tzdata")
    if not isinstance(name, str) or name not in known:
        raise ParameterError("timezone", must, came(name), near(name, sorted(known)))
    return name
