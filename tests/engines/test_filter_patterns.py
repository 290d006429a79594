"""Patterns: what is written for an engine means what LIKE means, takes linear time, and casts read what they say."""

from __future__ import annotations

import contextlib
import datetime
import functools
import random
import re
from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpselect.engines.duckdb.spelling import DUCKDB_SPELLING
from dpselect.engines.duckdb.types import filter_type
from dpselect.engines.duckdb.workspace import quoted
from dpselect.engines.filters import casts, cost
from dpselect.engines.filters.functions import parse_call
from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Constant, Name
from dpselect.engines.postgres.spelling import POSTGRES_SPELLING
from dpselect.engines.row_filter import parse
from dpselect.engines.spark.spelling import SPARK_SPELLING
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


# Letters of one to four bytes, an accent that stands alone, what means something to LIKE, and an end of a line.
LETTERS = "aab\u00e9\u0301\U0001f600%_\\\n\t'."
SPECIAL = "aab\u00e9\u0301\U0001f600\n%%%__.'"
TEXTS = ["", "aba", "abba", "ab", "a", "%", "_", "\\", "a%b", "a_b", "a\\b", "\U0001f600a\U0001f600"]


def words(letters: str, most: int, count: int, source: random.Random) -> list[str]:
    """Random words of few letters, so that they fit each other now and then."""
    return ["".join(source.choices(letters, k=source.randint(0, most))) for _ in range(count)]


@functools.cache
def cases() -> tuple[list[str], dict[str, tuple[Pattern, list[bool]]]]:
    """Texts, and patterns with what of them fits: by LIKE as it is defined, and by Python's own tests."""
    source = random.Random(7)
    texts = TEXTS + words(LETTERS, 7, 150, source)
    found: dict[str, tuple[Pattern, list[bool]]] = {}
    for pattern in ["ab%ba", "a%a", "%", "", "_%_", "a_%%b_", "a%b%a", *words(SPECIAL, 7, 260, source)]:
        with contextlib.suppress(ParameterError):  # a _ between two %
            found[f"LIKE {pattern}"] = Pattern.parse(pattern), [fits(text, pattern) for text in texts]
    for part in ["", "%", "_", "\\", *words(LETTERS, 3, 40, source)]:
        for name, means in (
            ("starts_with", str.startswith),
            ("ends_with", str.endswith),
            ("contains", str.__contains__),
        ):
            node = parse_call(name.upper(), [Name("x"), Constant(part)])
            found[f"{name} {part}"] = node.options[0], [means(text, part) for text in texts]
    return texts, found


def differing(engine: Spelling, column: str, ask: Callable[[str, list[str]], list[tuple[Any, ...]]]) -> list[str]:
    """The patterns that an engine sees otherwise; `ask` fills a table with the texts, and one null, and asks."""
    texts, patterns = cases()
    written = [engine.compile_like(engine.null_if_long(column), pattern) for pattern, _ in patterns.values()]
    rows = ask(", ".join(written), texts)
    by_text = {row[0]: row[1:] for row in rows}
    assert set(by_text[None]) == {None}
    return [
        name for at, (name, (_, right)) in enumerate(patterns.items()) if [by_text[text][at] for text in texts] != right
    ]


def on_duckdb(sql: str, texts: list[str]) -> list[tuple[Any, ...]]:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x VARCHAR)").fetchall()
    connection.executemany("INSERT INTO t VALUES (?)", [[text] for text in [*texts, None]]).fetchall()
    return connection.execute(f"SELECT x, {sql} FROM t").fetchall()


def test_a_pattern_means_what_like_means_on_duckdb():
    assert differing(DUCKDB_SPELLING, "x", on_duckdb) == []
    kept = [sum(right) for _, right in cases()[1].values()]
    assert sum(0 < one < len(cases()[0]) for one in kept) > 100


def test_a_pattern_means_what_like_means_on_postgres(new_database):
    import psycopg

    def ask(sql: str, texts: list[str]) -> list[tuple[Any, ...]]:
        with psycopg.connect(new_database(), autocommit=True) as connection:
            connection.execute('CREATE TABLE t (x text COLLATE "und-x-icu")')
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO t VALUES (%s)", [[text] for text in [*texts, None]])
            return connection.execute(f"SELECT x, {sql} FROM t".replace("%%", "%").encode()).fetchall()

    # A statement of PostgreSQL's has at most 1664 columns.
    assert differing(POSTGRES_SPELLING, "x", ask) == []


@pytest.mark.parametrize(("right", "broken"), [(r"\) >= [0-9]+", ") >= 0"), (r"greatest\(", "greatest(99, ")])
def test_ends_that_overlap_are_noticed(right, broken):
    """'aba' LIKE 'ab%ba' is false; a pattern whose pieces may share letters is refused by the tests above."""

    def ask(sql: str, texts: list[str]) -> list[tuple[Any, ...]]:
        assert re.search(right, sql)
        return on_duckdb(re.sub(right, broken, sql), texts)

    assert differing(DUCKDB_SPELLING, "x", ask) != []


def test_no_engine_is_asked_for_any_letter_behind_any_letters():
    """There a matcher may try each letter of the pattern at each place of the text."""
    for pattern, _ in cases()[1].values():
        for engine in (DUCKDB_SPELLING, POSTGRES_SPELLING, SPARK_SPELLING):
            for quoted_text in re.findall(r"'((?:[^']|'')*)'", engine.compile_like("x", pattern)):
                if "RLIKE" in engine.compile_like("x", pattern) and quoted_text.startswith("(?s)"):
                    assert re.fullmatch(r"\(\?s\)\^(\(\?>\.\*\?([A-Za-z0-9]|\\+x\{[0-9A-F]+\})+\))+", quoted_text)
    for engine in (DUCKDB_SPELLING, POSTGRES_SPELLING, SPARK_SPELLING):
        assert "%" not in engine.compile_like("x", Pattern.parse("a%b_c")).partition("right(")[2]
    for pattern in ("%_%", "%a_b%", "a%_%b", "%%_a%%"):
        with pytest.raises(ParameterError, match=r"a _ between two %\nhint: "):
            parse(f"t LIKE '{pattern}'")


def test_a_simple_pattern_stays_one_that_engines_know():
    for text in ("a%", "%a", "%a%", "a%b"):
        assert DUCKDB_SPELLING.compile_like("x", Pattern.parse(text)) == f"x LIKE '{text}'"
    assert DUCKDB_SPELLING.compile_like("x", Pattern.parse("a")) == "x = 'a'"
    assert SPARK_SPELLING.compile_like("x", Pattern.parse("%a%")) == "(contains((x COLLATE UTF8_BINARY), 'a'))"
    assert POSTGRES_SPELLING.compile_like("x", Pattern.parse("%a%")) == "(strpos((x COLLATE \"C\"), 'a') > 0)"


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


@given(st.from_regex(casts.DOUBLE, fullmatch=True).filter(lambda text: len(text) <= casts.BYTES))
@example("9" * (casts.BYTES - 3) + "e49")
@example(f".{'0' * (casts.BYTES - 6)}1e-49")
def test_what_is_a_number_for_us_is_one_that_a_double_holds(text):
    number = float(text)
    assert len(text) <= casts.BYTES
    assert number == 0 or 10.0**-cost.READ_TEXT_POWERS < abs(number) < 10.0**cost.READ_TEXT_POWERS


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
        parse(text).sql(types, quoted, DUCKDB_SPELLING)
