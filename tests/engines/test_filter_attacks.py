"""What hostile analysts wrote into filters, to tell whether a certain row is there: each is refused before any row."""

from __future__ import annotations

import datetime

import duckdb
import pyarrow as pa
import pytest

from dpselect.errors import ParameterError
from tests.engines.opened import DuckDBEngine

VICTIM = "\"user\" = 'bob'"
ROWS = {"user": ["ann", "bob"], "item": ["x", "y"], "n": [1, 2], "day": [datetime.datetime(2024, 1, 1)] * 2}
ATTACKS = {
    # The engine knows more than the row, and says it in a value.
    "a plan of a whole query": "json_serialize_plan('SELECT count(*) FROM ''rows.parquet''') LIKE '%\"value\":3001%'",
    "a plan of a text from a column": "json_serialize_plan('SELECT ''' || item || '''') LIKE '%x%'",
    # It fails for one row only.
    "a zone that is none": f"timezone(CASE WHEN {VICTIM} THEN 'nope' ELSE 'UTC' END, TIMESTAMP '2024-01-01') IS NULL",
    "a zone, as an operator": f"(day AT TIME ZONE CASE WHEN {VICTIM} THEN 'nope' ELSE 'UTC' END) IS NULL",
    "an escape that is none": "item LIKE 'x' ESCAPE 'xx'",
    "a doubled list": "len(list_reduce([[n], [n], [n], [n], [n], [n]], lambda a, b: a || a || b)) > 0",
    # It takes the memory of the machine for one row only.
    "a long text": f"CASE WHEN {VICTIM} THEN length(repeat(item, 100000000)) ELSE 0 END >= 0",
    "a padded text": f"CASE WHEN {VICTIM} THEN length(lpad(item, 1000000000, 'x')) ELSE 0 END >= 0",
    "a text that grows": "length(replace(replace(item, 'y', 'yyyyyyyyyyyyyyyyyyyyyyy'), 'y', 'yyyyyyyyyyyyyy')) > 0",
    "a long list": f"CASE WHEN {VICTIM} THEN len(list_resize([1], 100000000)) ELSE 0 END >= 0",
    # It reads a clock: the same question is another one tomorrow.
    "a clock": "TIMESTAMP '2024-01-01' < now()",
    "a clock without parentheses": "DATE '2024-01-01' < current_date",
    "a clock by another name": "DATE '2024-01-01' < today()",
}  # fmt: skip


@pytest.mark.parametrize("where", ATTACKS.values(), ids=list(ATTACKS))
def test_an_attack_is_refused(where):
    with (
        pytest.raises(ParameterError, match=r"^where must"),
        DuckDBEngine(pa.table(ROWS), user="user", item="item", where=where, key=b"k"),
    ):
        pass


@pytest.mark.parametrize("name", ["@", "~", "^", "&"])
def test_an_operator_that_somebody_made_is_not_asked(name):
    """A macro may look at every row of the table."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'ann' AS \"user\", 'x' AS item, 1 AS n").fetchall()
    arguments = "a" if name in "@~" else "a, b"
    connection.execute(f'CREATE MACRO "{name}"({arguments}) AS (SELECT count(*) > 0 FROM t)').fetchall()
    where = f"{name} n <> 0" if arguments == "a" else f"n {name} n <> 0"
    with pytest.raises(ParameterError, match=r"^where must"):
        DuckDBEngine(connection, user="user", item="item", where=where, table="t", key=b"k")


def test_a_text_or_a_name_from_a_filter_stays_one():
    rows = {"user": ["ann"], "item": ["it's"], 'n" = 1 OR "n': [2]}
    for where, count in (
        ('"n"" = 1 OR ""n" = 2', 1),
        ('"n"" = 1 OR ""n" = 1', 0),
        ("item = 'it''s'", 1),
        ("item = ''' OR TRUE --'", 0),
    ):
        with DuckDBEngine(pa.table(rows), user="user", item="item", where=where, key=b"k") as engine:
            assert len(engine.top(9).counts) == count


@pytest.mark.parametrize("number", [0, 10**10, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize(
    "where", ["n * n * 0 = 0", "n * 1000000000 * 0.0 = 0", "0 * (n * n) = 0", "n * n * (n % 0) IS NULL"]
)
def test_a_product_with_0_holds_the_other_number(where, number):
    """It failed for one row only, and so told how large the number of a certain person is."""
    rows = pa.table({"user": ["ann"], "item": ["x"], "n": pa.array([number], pa.int64())})
    with DuckDBEngine(rows, user="user", item="item", where=where, key=b"k") as engine:
        assert len(engine.top(9).counts) == 1
