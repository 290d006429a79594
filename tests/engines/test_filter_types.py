"""Every type of DuckDB at its ends, under every operation that takes it: a row never makes a filter fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpselect.engines.duckdb.spelling import DUCKDB_SPELLING
from dpselect.engines.duckdb.types import filter_type
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.row_filter import parse
from dpselect.errors import ParameterError


def ends(bits: int, *, signed: bool = True) -> list[str]:
    """The ends of an integer type."""
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return [str(least), str(most), "0", "1", "7"]


TYPES: dict[str, list[str]] = {
    **{name: ends(bits) for name, bits in
       {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}.items()},
    **{name: ends(bits, signed=False) for name, bits in
       {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, "UHUGEINT": 128}.items()},
    "FLOAT": ["3.4028235e38", "-3.4028235e38", "1e-45", "NaN", "Infinity", "-Infinity", "-0.0", "0.1"],
    "DOUBLE": ["1.7976931348623157e308", "-1.7976931348623157e308", "5e-324", "NaN", "Infinity", "-Infinity", "-0.0"],
    "DECIMAL(4,2)": ["99.99", "-99.99", "0"],
    "DECIMAL(18,0)": ["9" * 18, "-" + "9" * 18, "0"],
    "DECIMAL(18,9)": ["9" * 9 + "." + "9" * 9, "-" + "9" * 9 + "." + "9" * 9],
    "DECIMAL(38,0)": ["9" * 38, "-" + "9" * 38, "0"],
    "DECIMAL(38,38)": ["0." + "9" * 38, "-0." + "9" * 38, "0"],
    "BOOLEAN": ["true", "false"],
    "DATE": ["infinity", "-infinity", "5881580-07-10", "5877642-06-25 (BC)", "0001-01-01", "10000-01-01"],
    "TIMESTAMP": ["infinity", "-infinity", "294247-01-10 04:00:54.775806", "290309-12-22 (BC) 00:00:00", "9999-12-31"],
    "TIMESTAMP WITH TIME ZONE": ["infinity", "-infinity", "294247-01-10 04:00:54.775806+00", "0001-01-01 00:00:00+00",
                                 "290309-12-22 (BC) 00:00:00+00"],
    "TIMESTAMP_S": ["infinity", "-infinity", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54", "2024-01-31"],
    "TIMESTAMP_MS": ["infinity", "-infinity", "294247-01-10 04:00:54", "2024-01-31"],
    "TIMESTAMP_NS": ["infinity", "-infinity", "2262-04-11 23:47:16.854775806", "1677-09-22 00:00:00", "2024-01-31"],
    "VARCHAR": ["", "\0", "\u0130\u1e9e", "\U0010ffff", "%_\\", "1e400", "-" * 100, "9" * 100_000, " " * 100_000],
    "JSON": ['{"a": 1}', '"x"', "1e400"],
    "ENUM ('a', 'B')": ["a", "B"],
    "UUID": ["00000000-0000-0000-0000-000000000000"],
    "BLOB": ["\\xFF"],
    "TIME": ["24:00:00", "00:00:00"],
    "INTERVAL": ["1 year"],
    "INTEGER[]": ["[1]"],
}  # fmt: skip
# c is the column and d another of its type. What does not fit a type is refused, and says so.
FILTERS = """
c IS NULL | c = d | c < d | c BETWEEN d AND c | c IN (d, c) | c IS DISTINCT FROM d | c | NOT c | c = 1 | c > 1.5
c < 1e0 | c > -5 | c = '2024-01-31' | c < TIMESTAMP '2024-01-31 10:00:00' | c = 'a' | c LIKE '%a_%a' | c ILIKE 'A%'
c + d > 0 | c - d > 0 | c * d > 0 | c / d > 0 | c % d = 0 | -c < 0 | abs(c) > 0 | floor(c) > 0 | ceil(c) > 0
c + 1 > 0 | c * c + c > 0 | c / 3 > 0 | 3 / c > 0 | c % 7 = 1 | 7 % c = 1 | c + 0.5 > 0 | c * 1e100 * c > 0
c / c / c / c > 0 | c::DOUBLE > 0 | c::DOUBLE * c::DOUBLE > 1 | c::DOUBLE / d::DOUBLE > 1 | floor(c::DOUBLE) % 2 = 0
c::BIGINT > 0 | c::BIGINT + d::BIGINT > 0 | c::BIGINT % d::BIGINT > 0 | c::DECIMAL(38,0) > 0 | c::DECIMAL(10,5) > 0
c::DECIMAL(38,38) > 0 | c::TEXT = '1' | c::TEXT::BIGINT > 0 | c::DATE > '2000-01-01' | c::TIMESTAMP > '2000-01-01'
c::BOOLEAN | CASE WHEN c = d THEN c ELSE d END = c | COALESCE(c, d) = c | NULLIF(c, d) = c
lower(c) = 'a' | upper(c) = 'A' | length(c) > 1 | trim(c) = '' | ltrim(c) = '' | rtrim(c) = '' | left(c, 3) = 'a'
right(c, 3) = 'a' | substring(c, 2, 3) = 'a' | substring(c, 999999999, 999999999) = 'a' | c || d = 'a'
starts_with(c, 'a') | ends_with(c, '%') | contains(c, '_') | contains(c, '')
year(c) = 1 | month(c) = 1 | day(c) = 1 | hour(c) = 1 | minute(c) = 1 | second(c) = 1 | isodow(c) = 1
date_part('dow', c) = 0 | date_trunc('year', c) = c | date_trunc('month', c) = c | date_trunc('week', c) = c
date_trunc('day', c) = c | c::DATE::TEXT = 'a' | c::DATE::TIMESTAMP = c
"""
WORDS = [one.strip() for line in FILTERS.strip().splitlines() for one in line.split(" | ")]


@pytest.fixture(scope="module")
def workspace() -> Iterator[Workspace]:
    opened = Workspace()
    yield opened
    opened.close()


@pytest.mark.parametrize("sql_type", TYPES)
def test_no_value_of_any_type_makes_a_filter_fail(workspace, sql_type):
    """Each value beside itself and beside another one. Nothing here catches an error, as TRY would."""
    values = [None, *TYPES[sql_type]]
    table = workspace.fresh_name()
    workspace.fetch_unguarded(f"CREATE TABLE {table} (c {sql_type}, d {sql_type})")
    for at, value in enumerate(values):
        workspace.fetch_unguarded(f"INSERT INTO {table} VALUES (?::{sql_type}, ?::{sql_type})", [value, values[at - 1]])
        workspace.fetch_unguarded(f"INSERT INTO {table} VALUES (?::{sql_type}, ?::{sql_type})", [value, value])
    found = filter_type(str(workspace.fetch_unguarded(f"DESCRIBE {table}")[0][1]))
    written = 0
    for where in WORDS:
        try:
            condition = parse(where).sql({"c": found, "d": found}, quoted, DUCKDB_SPELLING)
        except ParameterError:
            continue
        written += 1
        rows = workspace.fetch_unguarded(f"SELECT ({condition}), typeof(({condition})) FROM {table}")
        assert {row[1] for row in rows} <= {"BOOLEAN"}, where
    assert written >= {"other": 1, "boolean": 9}.get(found.kind, 15)


def test_a_filter_of_a_column_with_a_collation_sees_letters(workspace):
    workspace.fetch_unguarded("CREATE TABLE names (c VARCHAR COLLATE NOCASE)")
    workspace.fetch_unguarded("INSERT INTO names VALUES ('a'), ('A'), ('b')")
    types = {"c": filter_type(str(workspace.fetch_unguarded("DESCRIBE names")[0][1]))}
    for where, count in (("c = 'a'", 1), ("c IN ('A', 'B')", 1), ("c > 'Z'", 2), ("c LIKE 'a'", 1)):
        condition = parse(where).sql(types, quoted, DUCKDB_SPELLING)
        assert workspace.fetch_unguarded(f"SELECT count(*) FROM names WHERE {condition}") == [(count,)]
