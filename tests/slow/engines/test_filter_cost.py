"""What a filter costs is counted in its tree, small, and no less than what is written; longer texts are missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import duckdb
import pytest
from hypothesis import example, given, settings

from dpselect import filter_texts as filters
from dpselect.engines.duckdb.spelling import DUCKDB_SPELLING
from dpselect.engines.duckdb.types import filter_type
from dpselect.engines.duckdb.workspace import quoted
from dpselect.engines.filters import casts, cost, grammar
from dpselect.engines.filters.cost import MAX_BYTES, MAX_CONSTANTS, RowCost
from dpselect.engines.filters.operations import _OPERATIONS
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Node, Operation
from dpselect.engines.postgres.spelling import POSTGRES_SPELLING
from dpselect.engines.row_filter import parse
from dpselect.engines.spark.spelling import SPARK_SPELLING
from dpselect.errors import ParameterError
from tests.engines import filter_words
from tests.engines.filter_rows import TYPES
from tests.engines.opened import DuckDBEngine

LIMITS = {
    " OR ".join(f"n = {one}" for one in range(33)): "64 operators, got 65",
    " AND ".join(["t LIKE '%a'"] * 110): "64 operators, got 219",
    "CASE WHEN n = 1 THEN t LIKE 'a%' " + "WHEN n = 2 THEN FALSE " * 31 + "END": "64 operators, got 65",
    f"starts_with(t, '{'a' * 257}')": "256 letters of patterns, got 257",
    f"t LIKE '{'_' * 128}%' AND t LIKE '%{'_' * 129}'": "256 letters of patterns, got 257",
    f"contains(t, '{'a' * 241}')": "32 readings of texts, got 33",
    f"contains(t, '{'a' * 240}')": "",
    " OR ".join(f"contains(t, '{one}')" for one in "abcdefghijk"): "32 readings of texts, got 33",
    f"length({' || '.join('t' * 8)}) > 0": "32 readings of texts, got 43",
    "n IN (" + ", ".join(map(str, range(MAX_CONSTANTS))) + ")": "",
    "n IN (" + ", ".join(map(str, range(MAX_CONSTANTS + 1))) + ")": "10,000 constants, got 10,001",
    " OR ".join(["n IN (" + ", ".join(map(str, range(6000))) + ")"] * 2): "10,000 constants, got 12,000",
    "(n IN (1, 2, 3, 4))::TEXT IN ('a', 'b', 'c', 'd')": "64 operators, got 68",
    "length(t) + CASE WHEN length(t) + CASE WHEN length(t) + CASE WHEN length(t) IN (1, 2, 3, 4) THEN 1 ELSE 2 END "
    "IN (1, 2, 3, 4) THEN 1 ELSE 2 END IN (1, 2, 3, 4) THEN 1 ELSE 2 END > 3": "64 operators, got 212",
    f"t = '{'a' * 64 * 2000}' OR t = '{'b' * 10}'": "",
}  # fmt: skip


@pytest.mark.parametrize(("where", "says"), LIMITS.items(), ids=list(map(str, range(len(LIMITS)))))
def test_a_filter_beyond_a_limit_is_refused_before_a_source_is_opened(where, says, tmp_path):
    if not says:
        parse(where)
        return
    for ask in (
        lambda: parse(where),
        lambda: filters.resolve(where, {"n": None, "t": None}),
        lambda: DuckDBEngine(tmp_path / "nowhere.csv", user="u", item="i", where=where, key=b"k"),
    ):
        with pytest.raises(ParameterError, match=f"^where must have at most {says}\nhint: .*a view as the source"):
            ask()


def test_every_operation_has_a_weight():
    assert cost.WEIGHTS.keys() == _OPERATIONS.keys()


@pytest.mark.parametrize(
    ("where", "costs"),
    {
        "n = 1": (1, 0, 0, 1),
        "t = 'a'": (1, 0, 0, 1),
        f"t = '{'a' * 65}'": (1, 0, 1, 2),
        f"t <> '{'a' * 4097}'": (1, 0, 2, 65),
        "t < 'a'": (1, 0, 1, 1),
        "t = u": (1, 0, 1, 0),
        "t IN ('a', 'b')": (2, 0, 1, 2),
        "t IN ('a', 'b', 'c', 'd', 'e')": (1, 0, 1, 5),
        "t IN ('a', u)": (2, 0, 2, 1),
        f"t IN ('{'a' * 5000}', '{'b' * 5000}', 'c')": (3, 0, 6, 159),
        "t IN (" + ", ".join(f"'{one * 100}'" for one in "abcdefgh") + ")": (1, 0, 8, 16),
        "t IN (" + ", ".join(f"'{one * 5000}'" for one in "abcdefghi") + ")": (1, 0, 4, 711),
        "t IS DISTINCT FROM 'a'": (1, 0, 0, 1),
        "t IS NOT DISTINCT FROM u": (2, 0, 1, 0),
        f"t < '{'a' * 1024}'": (1, 0, 1, 17),
        f"t BETWEEN 'a' AND '{'a' * 2048}'": (2, 0, 2, 34),
        "n BETWEEN 1 AND 2": (2, 0, 0, 2),
        "n = 1 AND n = 2 OR NOT n = 3": (6, 0, 0, 3),
        "t LIKE 'abc'": (1, 3, 1, 0),
        "t LIKE 'a_c%'": (1, 3, 2, 0),
        "t LIKE '%abcdefghi%'": (1, 9, 4, 0),
        "t LIKE 'a%b'": (3, 2, 3, 0),
        "t LIKE '%b%c%'": (1, 2, 5, 0),
        "t LIKE 'a%b%c'": (5, 3, 7, 0),
        "t ILIKE '%b%'": (7, 1, 5, 0),
        "t ILIKE 'a%b'": (21, 2, 9, 0),
        "length(t || u) = 1": (3, 0, 4, 1),
        "length(t || t || t) = 1": (4, 0, 8, 1),
        "trim(t)::INT = 1": (13, 0, 8, 1),
        "x::DOUBLE * y::DOUBLE > 1": (18, 0, 0, 1),
        "x * y * z > 1": (6, 0, 0, 1),
        "(x::DOUBLE + y::DOUBLE) / z::DOUBLE > 1": (36, 0, 0, 1),
        "x + y + z - x > 1": (4, 0, 0, 1),
        "CASE WHEN n = 1 THEN t LIKE '%a' ELSE contains(t, 'b') END": (4, 2, 4, 1),
        "CASE lower(t) WHEN 'a' THEN TRUE WHEN 'b' THEN FALSE END": (16, 0, 4, 5),
    }.items(),
)  # fmt: skip
def test_the_cost_of_a_filter(where, costs):
    assert parse(where).cost == RowCost(*costs)


# ---- what is written ----------------------------------------------------------------------------------------

_READS = ("translate(", "lower(", "upper(", "length(", "right(", "left(", "substring(", "trim(", "strpos(", "contains(",
          "starts_with(", "ends_with(", "startswith(", "endswith(", " || ", " LIKE ")  # fmt: skip
ENGINES = (DUCKDB_SPELLING, POSTGRES_SPELLING, SPARK_SPELLING)
# What a cast reads of a text that it has cut to 50 bytes is in its operators: the parts of a moment with a zone.
_CUT = r"(\(?CASE WHEN (?:strlen|octet_length)\((.+?)\) <= 50 THEN \2 END(?: COLLATE \S+\))?)"
_OF_CUT = rf"(?:left|substring)\({_CUT}, (?:10|26|12, 40)\)"
CALLS = 24
"""Parentheses that an operator is written with, where it is written once; most of them stand around a column."""


def calls(tree: Node, engine: Spelling) -> tuple[int, int]:
    """How many operations that read texts, and how many parentheses, are written. A cast asks at most 50 bytes."""
    from dpselect.engines.row_filter import RowFilter

    sql = re.sub(_OF_CUT, r"\1", RowFilter(tree).sql(TYPES, quoted, engine)).replace(" || 'T') || replace(", ")(")
    sql = re.sub(r"\(X'[0-9a-f]*' AS STRING\)", "''", re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "''", sql))
    sql = re.sub(r"octet_length\(|strlen\(", "(", sql)
    return sum(map(sql.count, _READS)), sql.count("(")


def is_enough(tree: Node) -> bool:
    """Does the cost of a filter cover what is written for each engine?"""
    counted = cost.measure_cost(tree)
    for engine in ENGINES:
        reads, parentheses = calls(tree, engine)
        if reads > counted.readings or parentheses > CALLS * (counted.operators + counted.constants + 1):
            return False
    return True


@settings(max_examples=60)
@given(where=filter_words.ANY)
@example("day IS DISTINCT FROM written::TIMESTAMP")
def test_no_more_is_written_than_the_cost_says(where):
    with suppress(ParameterError):
        assert is_enough(grammar.parse(where))


NESTED = [
    "lower(text) = 'a'",
    "lower(trim(text))::INT = 1",
    "left(text, 3)::INT = 1 OR right(text, 3)::BOOLEAN",
    "CASE WHEN yes THEN length(text) = 1 WHEN no THEN length(text) = 2 ELSE length(text) = 3 END",
    "lower(text) LIKE 'a%b_' OR ltrim(text) LIKE '_a%b%c_'",
    "CASE WHEN yes THEN contains(lower(text), 'a') WHEN no THEN length(text) = 1 ELSE left(text, 2) = 'a' END",
    "NULLIF(lower(text), 'a') = 'b' AND COALESCE(upper(text), trim(text)) > 'a'",
    "(contains(text, 'a') AND yes)::TEXT = 'true' AND lower(text) || 'a' LIKE '%b%c%'",
    "length(text) / length(other) / length(text) > 0.5 AND length(text) % length(other) = 0",
    "lower(text) IS DISTINCT FROM upper(other)",
    "(text::DOUBLE * 1e200) * wild > 1",
    "abs(length(text)) > floor(length(other) * 0.5)",
    "wild * wild * wild / wild > 1",
    "lower(text)::TIMESTAMP IS NULL",
]


@pytest.mark.parametrize("where", NESTED)
def test_what_is_nested_is_counted_as_often_as_it_is_written(where):
    tree = grammar.parse(where)
    assert is_enough(tree)
    assert (
        cost.measure_cost(tree).readings <= 4 * max([calls(tree, engine)[0] for engine in ENGINES]) + 2
    )  # nor far more


def forgets_branches(node: Node, known: dict[int, Any]) -> Any:
    """A cost without what stands behind THEN and ELSE."""
    if isinstance(node, Operation) and node.operator == "CASE":
        node = Operation("CASE", node.operands[:1])
    return PART(node, known)


PART = cost._measure_part
TWINS: dict[str, tuple[object, str, object]] = {
    "branches of CASE are forgotten": (cost, "_measure_part", forgets_branches),
    "what a cast writes again is counted once": (cost.WEIGHTS, "CAST", replace(cost.WEIGHTS["CAST"], copies=())),
    "what a pattern asks again is counted once": (cost, "_weigh", lambda node: replace(WEIGHT(node), copies=())),
    "a function has no weight": (cost.WEIGHTS, "LOWER", cost.Weight(0)),
}
WEIGHT = cost._weigh


@pytest.mark.parametrize(("owner", "name", "broken"), TWINS.values(), ids=list(TWINS))
def test_a_cost_that_forgets_is_noticed(owner, name, broken, monkeypatch):
    (monkeypatch.setitem if isinstance(owner, dict) else monkeypatch.setattr)(owner, name, broken)
    assert not all(is_enough(grammar.parse(where)) for where in NESTED)


# ---- long texts ---------------------------------------------------------------------------------------------

READS = [
    "t LIKE '%b%'", "t LIKE 'b%'", "t LIKE '%b'", "t LIKE 'b'", "t LIKE 'b_'", "t LIKE '%'", "t ILIKE 'b%'",
    "starts_with(t, 'b')", "ends_with(t, 'b')", "contains(t, 'b')", "lower(t) = 'b'", "upper(t) = 'b'",
    "length(t) = 1", "trim(t) = 'b'", "ltrim(t) = 'b'", "rtrim(t) = 'b'", "left(t, 1) = 'b'", "right(t, 1) = 'b'",
    "substring(t, 1, 2) = 'b'", "t || 'a' = 'b'", "'a' || t = 'b'", "CASE WHEN n > 0 THEN t END = 'b'",
    "NULLIF(t, 'b') = 'b'",
]  # fmt: skip
FITTING = ["b" * MAX_BYTES, "\u00e9" * (MAX_BYTES // 2), "\U0001f600" * (MAX_BYTES // 4)]
LONG = [text + "b" for text in FITTING]
NUMBERS = ["1".ljust(casts.BYTES), "1".ljust(casts.BYTES + 1)]
TEXTS = [*FITTING, *LONG, *NUMBERS]
Ask = Callable[[str, Sequence[str]], list[tuple[Any, ...]]]


def missing(engine: Spelling, sql_types: dict[str, Any], quote: Callable[[str], str], ask: Ask) -> None:
    """Long texts are missing for whatever reads them, and equal constants as they are."""
    wheres = [
        *(f"({where}) IS NULL" for where in READS),
        "t::INT IS NULL",
        "t::DOUBLE IS NULL",
        "t::BOOLEAN IS NULL",
        *(f"t = '{text}'" for text in TEXTS),
        f"t IN ('{LONG[0]}', '{LONG[1]}')",
        "t > 'a'",
        "t IS NULL",
        "COALESCE(t, 'c') = 'c'",
        "(t = t) IS NULL",
        "(t < t) IS NULL",
        "t IS DISTINCT FROM NULLIF(t, t)",
    ]
    found = dict(ask(", ".join(f"({parse(where).sql(sql_types, quote, engine)})" for where in wheres), TEXTS))
    for text in TEXTS:
        is_long = text in LONG
        wanted = [is_long] * len(READS)
        wanted += [text != NUMBERS[0], text != NUMBERS[0], True]
        wanted += [text == one for one in TEXTS]
        wanted += [text in LONG[:2], text[0] >= "b" and not is_long, False, is_long, is_long, is_long, not is_long]
        assert [bool(one) for one in found[text]] == wanted


def test_long_texts_are_missing_on_duckdb():
    def ask(sql: str, texts: Sequence[str]) -> list[tuple[Any, ...]]:
        connection = duckdb.connect()
        connection.execute("CREATE TABLE t (t VARCHAR, n BIGINT)").fetchall()
        connection.executemany("INSERT INTO t VALUES (?, 1)", [[text] for text in texts]).fetchall()
        return [(row[0], row[1:]) for row in connection.execute(f"SELECT t, {sql} FROM t").fetchall()]

    missing(DUCKDB_SPELLING, {"t": filter_type("VARCHAR"), "n": filter_type("BIGINT")}, quoted, ask)


def test_long_texts_are_missing_on_postgres(new_database):
    import psycopg

    from dpselect.engines.postgres.dialect import pg_type
    from dpselect.engines.postgres.dialect import quoted as pg_quoted

    def ask(sql: str, texts: Sequence[str]) -> list[tuple[Any, ...]]:
        with psycopg.connect(new_database(), autocommit=True) as connection:
            connection.execute("CREATE TABLE t (t text, n int8)")
            for text in texts:
                connection.execute("INSERT INTO t VALUES (%s, 1)", [text])
            rows = connection.execute(f"SELECT t, {sql} FROM t".replace("%%", "%").encode()).fetchall()
            return [(row[0], row[1:]) for row in rows]

    missing(POSTGRES_SPELLING, {"t": pg_type("c", "text", "b", -1), "n": pg_type("c", "int8", "b", -1)}, pg_quoted, ask)


@pytest.mark.parametrize("engine", [DUCKDB_SPELLING, POSTGRES_SPELLING, SPARK_SPELLING])
def test_only_constants_are_listed_behind_in(engine):
    """DuckDB makes of a list with one column in it as many comparisons, each with a copy of what is looked for."""
    number = filter_type("BIGINT")
    written = parse("abs(n) IN (1, m, 2, 3)").sql({"n": number, "m": number}, quoted, engine)
    assert re.search(r"IN \(1, 2, 3\) OR .* = \(*\"?m", written), written


LISTS = {
    "integers": ("n", list(map(str, range(0, 2000, 2)))),
    "texts": ("t", [f"'a common prefix {one}'" for one in range(0, 2000, 2)]),
    "moments": ("w", [f"'2024-01-01 00:{one // 60:02}:{one % 60:02}'" for one in range(0, 2000, 2)]),
    "decimals": ("n", [f"{one}.0" for one in range(0, 2000, 2)]),
}


@pytest.mark.parametrize(("column", "constants"), LISTS.values(), ids=list(LISTS))
def test_duckdb_looks_up_a_long_list_wherever_it_stands(column, constants):
    """It compared a row with each constant of NOT IN, and of IN beside another condition on the same column."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT i AS n, 'a common prefix ' || i AS t, TIMESTAMP '2024-01-01' + to_seconds(i) AS w "
        "FROM range(1000) AS s(i) UNION ALL SELECT NULL, NULL, NULL"
    ).fetchall()
    types = {"n": filter_type("BIGINT"), "t": filter_type("VARCHAR"), "w": filter_type("TIMESTAMP")}
    listed = f"{column} IN ({', '.join(constants)})"
    for where, fit in {
        listed: 500,
        f"NOT ({listed})": 500,
        f"{listed} OR {column} = {constants[0]}": 500,
        f"CASE WHEN {column} = {constants[0]} THEN FALSE ELSE NOT {listed} END": 500,
        f"({listed}) IS NULL": 1,
    }.items():
        found = parse(where)
        condition = found.sql({name: types[name] for name in found.needs(tuple(types))}, quoted, DUCKDB_SPELLING)
        query = f"SELECT count(*) FROM t WHERE {condition}"
        assert connection.execute(query).fetchall() == [(fit,)]
        assert "Hash Join" in connection.execute(f"EXPLAIN {query}").fetchall()[0][1]


def test_postgres_looks_up_whole_numbers_of_one_size():
    """It compares a SMALLINT with each of a list of INTEGERs."""
    from dpselect.engines.postgres.dialect import pg_type

    many = ", ".join(map(str, range(51)))
    for name, form in (("int2", 'CAST("n" AS int8)'), ("int4", 'CAST("n" AS int8)'), ("int8", '"n"')):
        written = parse(f"n IN ({many})").sql({"n": pg_type("c", name, "b", -1)}, quoted, POSTGRES_SPELLING)
        assert f"{form} IN (" in written.replace('("n")', '"n"')


def test_json_and_long_char_of_postgres_are_no_texts_of_filters():
    """Each mention of such a column would write all of it out, however long it is."""
    from dpselect.engines.postgres.dialect import pg_type

    columns = {name: pg_type("c", name, "b", -1) for name in ("json", "jsonb", "bpchar")}
    columns["c1025"] = pg_type("c", "bpchar", "b", 1029)
    assert parse("c1024 = 'a'").sql({"c1024": pg_type("c", "bpchar", "b", 1028)}, quoted, POSTGRES_SPELLING)
    for name in columns:
        assert parse(f"{name} IS NULL").sql(columns, quoted, POSTGRES_SPELLING) == f'(("{name}") IS NULL)'
        for where in (f"{name} = '1'", f"starts_with({name}, '1')", f"length({name}) = 1", f"{name}::BIGINT = 1"):
            with pytest.raises(ParameterError, match=name):
                parse(where).sql(columns, quoted, POSTGRES_SPELLING)


def test_a_longer_text_that_is_read_is_noticed(monkeypatch):
    monkeypatch.setattr(Spelling, "null_if_long", lambda _, sql, *__: sql)
    with pytest.raises(AssertionError):
        test_long_texts_are_missing_on_duckdb()
