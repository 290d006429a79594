"""Periods by their names: the days they hold are those of a plain calendar, and bad names are refused."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Sequence
from fractions import Fraction
from zoneinfo import ZoneInfo, available_timezones

import pytest
from flint import ctx

import dpselect as dps
from dpselect._ground.periods import MAX_PERIODS, PERIOD_KINDS, Periods, parse_periods
from dpselect._ground.privacy import ApproxDP
from dpselect._ground.reals import enclose
from dpselect.accounting.groups import of_group
from dpselect.errors import ParameterError
from dpselect.flat import dataset_of
from dpselect.release.rows import add_periods
from tests.engines.timed_rows import period_of

DAY = datetime.timedelta(days=1)
YEAR_OF = {"day": "2028-01-01..2028-12-31", "week": "2027-W52..2029-W01", "month": "2028-01..2028-12",
           "quarter": "2028-Q1..2028-Q4", "year": "2028"}  # fmt: skip


def made(sort: str, during: str | Sequence[str], timezone: str = "UTC") -> Periods:
    return parse_periods("at", sort, during, timezone)


@pytest.mark.parametrize("sort", PERIOD_KINDS)
def test_every_day_is_in_the_period_that_a_calendar_says(sort: str) -> None:
    """A leap year, whose first and last days are in weeks of other years."""
    asked = made(sort, YEAR_OF[sort])
    assert len(asked.runs) == 1
    for one, after in itertools.pairwise(asked.all):
        assert one.stop == after.start
    for one in asked.all:
        assert one.start < one.stop
        days = [one.start + DAY * n for n in range((one.stop - one.start).days)]
        assert {period_of(day, sort, "UTC") for day in days} == {one.name}
    covered = {asked.all[0].start + DAY * n for n in range((asked.all[-1].stop - asked.all[0].start).days)}
    assert covered >= {datetime.date(2028, 1, 1) + DAY * n for n in range(366)}


@pytest.mark.parametrize("timezone", ["Europe/Berlin", "America/Santiago", "America/New_York", "Pacific/Apia", "UTC"])
def test_moments_lie_in_the_day_that_clocks_show(timezone: str) -> None:
    """Two years in steps of half an hour; Apia left out 30 December 2011."""
    asked = made("day", "2011-06-01..2012-06-30", timezone)
    starts = [asked.midnight(one.start, in_utc=True) for one in asked.all]
    assert starts == sorted(starts)
    at, place = starts[0], 0
    while at < asked.midnight(asked.all[-1].stop, in_utc=True):
        while place + 1 < len(starts) and starts[place + 1] <= at:
            place += 1
        shown = at.replace(tzinfo=datetime.UTC).astimezone(ZoneInfo(timezone)).date()
        assert asked.all[place].start == shown
        at += datetime.timedelta(minutes=30)


def test_where_midnight_comes_twice_the_first_one_counts() -> None:
    """In St. John's the clocks of 7 November 2010 went from 00:01 back to 23:01 of the day before."""
    begins = made("day", "2010-11-07", "America/St_Johns").midnight(datetime.date(2010, 11, 7), in_utc=True)
    assert begins == datetime.datetime(2010, 11, 7, 2, 30)


def test_names_in_any_order_and_twice_are_one_question() -> None:
    several = made("month", ["2026-11", "2026-09..2026-10", "2027-01", "2026-10..2026-11"])
    assert several == made("month", ["2026-09..2026-11", "2027-01"])
    assert several.names == ("2026-09", "2026-10", "2026-11", "2027-01")
    assert several.text == "2026-09..2026-11, 2027-01"
    assert made("day", "2024-02-28..2024-03-01").names == ("2024-02-28", "2024-02-29", "2024-03-01")
    assert made("week", "2026-W52..2027-W01").names == ("2026-W52", "2026-W53", "2027-W01")


BAD = {
    "another sort": ("month", "2026"), "no such month": ("month", "2026-13"), "no such day": ("day", "2026-02-29"),
    "no such week": ("week", "2025-W53"), "no such quarter": ("quarter", "2026-Q5"), "week 0": ("week", "2026-W00"),
    "backwards": ("month", "2026-10..2026-09"), "three ends": ("year", "2024..2025..2026"),
    "half a range": ("year", "2026.."),
    "other digits": ("year", "\u0662\u0660\u0662\u0666"), "a short year": ("year", "26"), "a minus": ("year", "-2026"),
    "nothing": ("month", []), "no text": ("year", 2026), "one that is none": ("month", ["2026-10", None]),
    "bytes": ("year", b"2026"), "too early": ("year", "0999"), "too late": ("day", "9999-12-31"),
    "too many": ("day", "2024-01-01..2026-01-01"), "a date": ("day", datetime.date(2026, 1, 1)),
    "a line end": ("year", "2026\n2027"), "very long": ("year", "9" * 10**6),
    "too many of many": ("week", ["1000-W01..9998-W01"]),
}  # fmt: skip


@pytest.mark.parametrize(("sort", "during"), BAD.values(), ids=list(BAD))
def test_bad_names_are_refused(sort: str, during: object) -> None:
    with pytest.raises(ParameterError, match="during must") as caught:
        parse_periods("at", sort, during, "UTC")
    assert len(str(caught.value)) < 400


def test_the_ends_of_what_is_taken() -> None:
    for timezone in ("UTC", "Pacific/Kiritimati", "Etc/GMT+12"):
        for name in ("1000", "9998"):
            (one,) = made("year", name, timezone).all
            assert made("year", name, timezone).midnight(one.start, in_utc=True) < made(
                "year", name, timezone
            ).midnight(one.stop, in_utc=True)
    assert len(made("day", "2024-01-01..2025-05-14").all) == MAX_PERIODS == 500


ROWS = {"user": ["a"], "item": ["x"], "at": ["2026-10-05"]}
HALF: list[tuple[dict[str, object], str]] = [
    ({"time": "at"}, "period must be given for periods"),
    ({"time": "at", "during": "2026"}, "period must be given for periods"),
    ({"period": "year", "during": "2026"}, "time must be given for periods"),
    ({"during": "2026"}, "during must be left out of data without a time"),
    ({"timezone": "Europe/Berlin"}, "time must be given for periods"),
    ({"time": "", "period": "year", "during": "2026"}, "time must be the name of a column"),
    ({"time": "at", "period": "years", "during": "2026"}, "period must be one of day, week, month, quarter, year"),
    ({"time": "at", "period": ["year"], "during": "2026"}, "period must be one of"),
    ({"time": "at", "period": "year", "during": "2026", "timezone": "Berlin"}, "timezone must be the name of a time"),
    ({"time": "at", "period": "year", "during": "2026", "timezone": "../UTC"}, "timezone must be the name of a time"),
    ({"time": "at", "period": "year", "during": "2026", "timezone": "localtime"}, "timezone must be the name of a"),
    ({"time": "at", "period": "month", "during": "2026"}, "during must name a month, got '2026'"),
    ({"time": "at", "period": "year", "during": []}, "during must be the name of a period"),
]


@pytest.mark.parametrize(("given", "says"), HALF, ids=[str(given) for given, _ in HALF])
def test_what_does_not_go_together_is_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        dataset_of(ROWS, user="user", item="item", **given)  # type: ignore[arg-type]


def test_data_with_a_time_have_no_rows_before_periods_are_named() -> None:
    """The promise is for each period by itself: without one it would be said of users who are in all of them."""
    timed = dps.Dataset(ROWS, user="user", item="item", time=dps.Time("at", period="month"))
    assert timed.periods == ()
    assert repr(timed) == "Dataset(<builtins dict>, user='user', item='item', time=Time('at', period='month'))"
    for ask in (timed.engine, timed.inspect, lambda: timed.where("item = 'x'").choose(["x", "y"], epsilon=1)):
        with pytest.raises(ParameterError, match=r"^during must be given for data with a time.*\nhint: "):
            ask()
    october, november = timed.during("2026-10"), timed.during(["2026-11"])
    assert (timed.periods, october.periods, november.periods) == ((), ("2026-10",), ("2026-11",))
    with pytest.raises(ParameterError, match="during must be given once only"):
        october.during("2026-10")
    with pytest.raises(ParameterError, match="time must be a Time"):
        dps.Dataset(ROWS, user="user", item="item", time="at")  # type: ignore[arg-type]


def test_time_zones_are_those_of_the_system() -> None:
    for timezone in sorted(available_timezones())[::40]:
        assert made("month", "2026-10", timezone).timezone == timezone


# ---- what a ledger and a reader are told ------------------------------------------------------------------


def data(**more: object) -> dps.Dataset:
    given: dict[str, object] = {"time": "at", "period": "month", "during": "2026-09..2026-10"} | more
    return dataset_of(ROWS, user="user", item="item", **given)  # type: ignore[arg-type]


def said(asked: dps.Dataset, now: str = "2030-01-01") -> list[str]:
    release = asked.choose(domain=["x", "y"], epsilon="0.5")
    plain = dps.Dataset(ROWS, user="user", item="item").choose(domain=["x", "y"], epsilon="0.5")
    assert asked._periods is not None
    found = add_periods(plain, asked._periods, datetime.datetime.fromisoformat(f"{now}T00:00:00+00:00")).privacy
    assert found.unit == release.privacy.unit == "user in one month"
    assert found.epsilon == plain.privacy.epsilon
    assert "per user in one month, add-remove neighbours" in found.promise
    return list(found.sentences[len(plain.privacy.sentences) :])


def test_a_statement_says_whose_promise_it_is() -> None:
    (one,) = said(data(during="2026-10"))
    assert one.startswith("Rows of 2026-10 count, by the time in their column at (UTC); rows of any other month do not")
    whose, whole = said(data(during="2026-09..2026-11"))
    assert "a user is one user in one month" in whose
    assert whole.endswith("which for all 3 is (1.5, 0)-DP.")


def test_a_period_that_has_not_ended_is_said() -> None:
    asked = data(during=["2026-08", "2026-10..2026-11", "2027-01"])
    assert said(asked, "2027-02-01")[2:] == []
    assert said(asked, "2027-01-31")[2:] == ["2027-01 has not ended: rows that come later are not counted."]
    assert said(asked, "2026-10-31")[2:] == [
        "2026-10..2026-11, 2027-01 have not ended: rows that come later are not counted."
    ]
    tokyo = made("month", "2026-10", "Asia/Tokyo")
    assert tokyo.names_not_ended(datetime.datetime(2026, 10, 31, 15, tzinfo=datetime.UTC)) == ()
    assert tokyo.names_not_ended(datetime.datetime(2026, 10, 31, 14, 59, tzinfo=datetime.UTC)) == ("2026-10",)


# ---- groups -----------------------------------------------------------------------------------------------


def test_a_group_is_promised_what_the_worst_laws_lose() -> None:
    """Probabilities of one event that are each as far from the next as is allowed: the ends meet the promise."""
    epsilon, delta, size = Fraction(1, 2), Fraction(1, 100), 3
    found = of_group(ApproxDP(epsilon, delta), size)
    with ctx.workprec(192):
        first = last = enclose(Fraction(1, 50))
        for _ in range(size):
            first = enclose(epsilon).exp() * first + enclose(delta)
        lost = first - enclose(found.epsilon).exp() * last
        assert found.epsilon == size * epsilon
        assert lost <= enclose(found.delta) < lost + enclose(Fraction(1, 10**15))
        assert lost > enclose(size * delta)  # delta alone does not add up


def test_a_group_without_a_delta_and_one_of_a_vast_epsilon() -> None:
    assert of_group(ApproxDP(Fraction(2), Fraction(0)), 500) == ApproxDP(Fraction(1000), Fraction(0))
    assert of_group(ApproxDP(Fraction(10**6), Fraction(1, 10**300)), 2).delta == 1
    assert of_group(ApproxDP(Fraction(1, 10**90), Fraction(1, 10**6)), 2).delta < Fraction(20000001, 10**13)
    assert of_group(ApproxDP(Fraction(1), Fraction(1, 10)), 1) == ApproxDP(Fraction(1), Fraction(1, 10))
