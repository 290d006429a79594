"""Patterns: what is written for an engine means what LIKE means, takes linear time, and casts read what they say."""

from __future__ import annotations

import contextlib
import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.engines.duckdb.types import filter_type
from dpselect.engines.duckdb.workspace import quoted
from dpselect.engines.filters import casts
from dpselect.engines.filters.engines import DUCKDB, POSTGRES, SPARK
from dpselect.engines.filters.operations import ALTERNATIVES
from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.row_filter import parse
from dpselect.errors import ParameterError


def fits(text: str, pattern: str) -> bool:
    """LIKE, slowly: which beginnings of the text fit the pattern so far."""
    ends = {0}
    for letter in pattern:
        if letter == "%":
            ends = set(range(min(ends), len(text) + 1)) if ends else set()
        else:
            ends = {end + 1 for end in ends if end < len(text) and letter in ("_", text[end])}
    return len(text) in ends


def python(regex: str) -> re.Pattern[str]:
    """RE2's and Java's \\x{1F600} as Python has it."""
    return re.compile(re.sub(r"\\x\{([0-9A-F]+)\}", lambda found: re.escape(chr(int(found[1], 16))), regex), re.DOTALL)


LETTERS = "ab%_.*\n\U0001f600"
AGAIN = {"DuckDB": lambda piece: ".*?" + piece, "Spark": lambda piece: f"(?>.*?{piece})"}


@pytest.mark.parametrize("engine", AGAIN)
@given(text=st.text("ab.*\n\U0001f600", max_size=8), pattern=st.text(LETTERS, max_size=7))
def test_a_pattern_means_what_like_means(engine, text, pattern):
    found = python(Pattern.like(pattern).regex(AGAIN[engine])).fullmatch(text)
    assert (found is not None) == fits(text, pattern)


@given(text=st.text("ab%_\\", max_size=6), part=st.text("ab%_\\", max_size=3))
def test_letters_that_mean_something_to_like_are_letters(text, part):
    for pieces, means in (((tuple(part), ()), text.startswith(part)), (((), tuple(part)), text.endswith(part))):
        assert (python(Pattern(pieces).regex(AGAIN["Spark"])).fullmatch(text) is not None) == means
    escaped = Pattern(((), tuple(part), ())).text("\\")
    assert re.sub(r"\\(.)", r"\1", escaped[1:-1]) == part


def test_no_row_makes_a_pattern_slow():
    """Where each % were tried again, this would take 10 ** 60 steps."""
    pattern = Pattern.like("%a" * 20 + "_b")
    text = "a" * 20_000
    assert python(pattern.regex(AGAIN["Spark"])).fullmatch(text) is None
    assert python(pattern.regex(AGAIN["Spark"])).fullmatch(text + "ab") is not None
    written = {engine.name: engine.fits("x", pattern) for engine in (DUCKDB, POSTGRES, SPARK)}
    assert "regexp_full_match" in written["DuckDB"]
    assert "RLIKE" in written["Spark"]
    assert written["PostgreSQL"] == '(x COLLATE "C") LIKE \'' + "%%a" * 20 + "_b'"


def test_a_simple_pattern_stays_one_that_engines_know():
    for text in ("a%", "%a", "%a%", "a%b"):
        assert DUCKDB.fits("x", Pattern.like(text)) == f"x LIKE '{text}'"
        assert SPARK.fits("x", Pattern.like(text)) == f"(x COLLATE UTF8_BINARY) LIKE '{text}'"
    assert DUCKDB.fits("x", Pattern.like("a")) == "x = 'a'"


def test_a_date_is_a_day_of_the_calendar():
    """Every day and many that are none, of years of every sort."""
    pattern = re.compile(casts.DAY)
    for year in (0, 1, 4, 9, 10, 99, 100, 400, 999, 1000, 1900, 2000, 2023, 2024, 2100, 9996, 9999):
        for month in range(14):
            for day in range(33):
                text = f"{year:04}-{month:02}-{day:02}"
                try:
                    right = bool(datetime.date(year, month, day))
                except ValueError:
                    right = False
                assert (pattern.fullmatch(text) is not None) == right, text


@given(st.from_regex(casts.DOUBLE, fullmatch=True))
def test_what_is_a_number_for_us_is_one_that_a_double_holds(text):
    number = float(text)
    assert number == 0 or 1e-180 < abs(number) < 1e140


@given(st.from_regex(casts.MOMENT, fullmatch=True))
def test_what_is_a_moment_for_us_is_one(text):
    assert datetime.datetime.fromisoformat(text).year > 0


PIECES = st.sampled_from(
    "a b t d ( ) , = <> < || + - * / % :: AND OR NOT IN BETWEEN LIKE IS NULL TRUE CASE WHEN THEN ELSE END CAST AS INT "
    "DATE DOUBLE TEXT DECIMAL 1 2.5 1e3 'a' '2024-01-31' 'a%' lower( abs( left( year( coalesce( extract( FROM "
    "date_trunc( substring( SELECT OVER ; -- . ? [ 'x \"y \\ \x00 \ud800 \u202e".split()
)


@given(st.one_of(st.lists(PIECES, max_size=12).map(" ".join), st.text(max_size=30)))
def test_any_text_is_a_filter_or_our_own_error(text):
    types = {
        "a": filter_type("INTEGER"),
        "b": filter_type("BOOLEAN"),
        "t": filter_type("VARCHAR"),
        "d": filter_type("DATE"),
    }
    with contextlib.suppress(ParameterError):
        parse(text).sql(types, quoted, DUCKDB)


@pytest.mark.parametrize("pattern", ["%" + "_" * 99_000 + "%", "%_a" * 30_000, "%a" * 10_000])
def test_a_pattern_that_an_engine_may_not_hold_is_refused_before_any_row(pattern):
    with pytest.raises(ParameterError, match=r"a pattern of [0-9]+ letters"):
        parse(f"t LIKE '{pattern}'")
    assert parse(f"t LIKE '%{'a' * 90_000}%' OR contains(t, '{'%' * 900}')")


def test_alternatives_of_several_conditions_are_counted():
    """A planner looks for what each has in common with each: a hundred seconds for five thousand of them."""
    few = " OR ".join(f"n = {i} AND n < {i + 1}" for i in range(ALTERNATIVES))
    types = {"n": filter_type("BIGINT")}
    assert parse(few).sql(types, quoted, DUCKDB)
    with pytest.raises(ParameterError, match="501 alternatives of several conditions"):
        parse(f"{few} OR n = 7 AND n > 6").sql(types, quoted, DUCKDB)
    assert parse(" OR ".join(f"n = {i}" for i in range(5000))).sql(types, quoted, DUCKDB)
