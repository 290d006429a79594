"""Rows with times in every form, and the plain Python that says in which period each is: from its own time alone."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Sequence
from zoneinfo import ZoneInfo

import pyarrow as pa

UTC = datetime.UTC
Row = tuple[object, object, object]
Time = datetime.date | str | None


def _moments(*texts: str) -> list[datetime.datetime]:
    return [datetime.datetime.fromisoformat(text) for text in texts]


# The ends of days, weeks, months, quarters and years; the changes of clocks in Berlin (25 October, 29 March) and in
# Santiago (at midnight: 6 September 2026 has none, and 4 April 2026 shows its last hour twice).
MOMENTS = _moments(
    "2026-09-30T23:59:59.999999", "2026-10-01T00:00:00", "2026-10-01T00:00:00.000001", "2026-10-25T00:30:00",
    "2026-10-25T01:30:00", "2026-10-25T23:00:00", "2026-10-31T22:59:59.999999", "2026-10-31T23:00:00",
    "2026-10-31T23:30:00", "2026-11-01T00:00:00", "2026-12-31T23:59:59.999999", "2027-01-01T00:00:00",
    "2027-01-03T23:30:00", "2027-01-04T00:00:00", "2026-03-28T23:30:00", "2026-03-29T00:30:00", "2026-03-29T01:30:00",
    "2026-03-31T22:30:00", "2026-09-06T03:30:00", "2026-09-06T04:00:00", "2026-09-05T23:59:59", "2026-04-05T02:30:00",
    "2026-04-05T03:30:00", "2026-04-05T04:00:00", "2026-06-30T23:00:00", "2026-07-01T00:00:00", "2024-02-29T12:00:00",
    "2024-12-30T00:00:00", "2024-12-29T23:59:59", "2026-10-05T12:00:00", "2026-10-12T00:00:00",
    "0001-01-01T00:00:00", "9999-12-31T23:59:59.999999", "1969-12-31T23:59:59.5", "1582-10-10T00:00:00",
)  # fmt: skip
ODD_TEXTS = [
    "", " ", "now", "today", "infinity", "2026-10", "2026-10-5", "2026-10-32", "2026-02-29", "2026-10-05 24:00",
    "2026-10-05T12:00:00Z", "2026-10-05 12:00:00+02", "2026-10-05 12:00", "2026-10-05T12:00:00.5", " 2026-10-05",
    "2026-10-05\n", "10/05/2026", "44 BC", "0044-03-15 BC", "2026-10-05 12:60", "\u0662026-10-05", "1e9", "20261005",
    "99999-01-01", "x" * 3000,
]  # fmt: skip
USERS = ["a", "b", "1:a", "0:", ":", "A", "\u00e9"]
ITEMS = ["x", "y", "z"]


def timed() -> pa.Table:
    """Users and items meet the times in many ways; some rows have no time, no user or no item."""
    times: list[datetime.datetime | None] = [*MOMENTS, None]
    texts = [*(None if t is None else t.isoformat(" T"[n % 2]) for n, t in enumerate(times)), *ODD_TEXTS]
    count = 7 * len(texts)
    who = [USERS[n * n % len(USERS)] if n % 23 else None for n in range(count)]
    what = [ITEMS[(n // 5) % len(ITEMS)] if n % 29 else None for n in range(count)]
    own = [times[n % len(times)] for n in range(count)]
    return pa.table(
        {
            "user": pa.array(who),
            "item": pa.array(what),
            "number": pa.array([n * 7 % 13 for n in range(count)], pa.int64()),
            "real": pa.array([(-0.0, 0.0, 0.1, float("nan"), 1e16)[n % 5] for n in range(count)], pa.float64()),
            "naive": pa.array(own, pa.timestamp("us")),
            "zoned": pa.array([t and t.replace(tzinfo=UTC) for t in own], pa.timestamp("us", tz="UTC")),
            "day": pa.array([t and t.date() for t in own], pa.date32()),
            "written": pa.array([texts[n % len(texts)] for n in range(count)]),
        }
    )


TIMED = timed()

_WRITTEN = re.compile(r"(\d{4}-\d\d-\d\d)([ T]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?)?", re.ASCII)
_NAMES: dict[str, Callable[[datetime.date], str]] = {
    "day": lambda day: f"{day.year:04}-{day.month:02}-{day.day:02}",
    "week": lambda day: f"{day.isocalendar().year:04}-W{day.isocalendar().week:02}",
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month - 1) // 3 + 1}",
    "year": lambda day: f"{day.year:04}",
}


def period_of(time: Time, period: str, timezone: str) -> str | None:
    """The period of one time, by the day that the clocks of the zone showed."""
    if isinstance(time, str):
        try:
            time = datetime.datetime.fromisoformat(time) if _WRITTEN.fullmatch(time) else None
        except ValueError:
            time = None
    if isinstance(time, datetime.datetime) and time.tzinfo is not None:
        try:
            time = time.astimezone(ZoneInfo(timezone))
        except OverflowError:  # beyond the years of Python, and of all periods
            return None
    return None if time is None else _NAMES[period](time)


def rows_of(rows: pa.Table, columns: Sequence[str], period: str, timezone: str, names: Sequence[str]) -> list[Row]:
    """(user in one period, item, number) of the rows that count; `columns` are user, item, time."""
    user, item, time, number = (rows.column(name).to_pylist() for name in (*columns, "number"))
    found = []
    for u, i, t, n in zip(user, item, time, number, strict=True):
        where = period_of(t, period, timezone)
        if u is not None and u == u and i is not None and where in names:
            found.append(((u + 0.0 if isinstance(u, float) else u, where), i, n))
    return found


def counts_of(rows: Sequence[Row]) -> list[tuple[object, int]]:
    """Items and their numbers of users in one period, most first."""
    found = Counter(item for _, item in {(user, item) for user, item, _ in rows})
    return sorted(found.items(), key=lambda pair: (-pair[1], str(pair[0])))


def sets_of(rows: Sequence[Row]) -> Counter[frozenset[object]]:
    """How many users in one period have which items."""
    theirs: dict[object, set[object]] = {}
    for user, item, _ in rows:
        theirs.setdefault(user, set()).add(item)
    return Counter(map(frozenset, theirs.values()))
