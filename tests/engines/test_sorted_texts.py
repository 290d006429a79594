"""Numbers as texts that sort as they do: in databases by their SQL, and back in Python."""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Callable
from decimal import Decimal

import duckdb
import pytest

from dpselect._ground.domain import Listed
from dpselect.engines.sql.keys import integer_texts, number_text, parse_decimals
from tests.engines.opened import open_engine
from tests.engines.test_conformance import pairs

KEY = b"k" * 16
WHOLE = [0, 1, -1, 9, 10, -9, -10, 99, 100, -99, -100, 2**63 - 1, -(2**63), 12345678901234567890, -12345678901234567891]
DECIMALS = ["0", "0.1", "-0.1", "1.5", "1.05", "-1.5", "-1.05", "-1.051", "10", "9.99", "-10", "-9.99", "1e20", "-1e20"]
TEXT = "CAST({} AS VARCHAR)"


def written(sql: str, values: list[str], sql_type: str) -> list[str]:
    """The text of each value, as a database writes it."""
    listed = ", ".join(f"CAST('{value}' AS {sql_type})" for value in values)
    found = duckdb.sql(f"SELECT {sql.replace('{}', 'x')} FROM (SELECT unnest([{listed}]) AS x)").fetchall()
    return [row[0] for row in found]


def test_whole_numbers_of_any_size() -> None:
    draw = random.Random(7)
    values = [*WHOLE, *(draw.randrange(-(10**size), 10**size) for size in range(1, 39) for _ in range(9))]
    form = integer_texts(2, text=TEXT)
    texts = written(form.text_sql, [str(value) for value in values], "DECIMAL(38,0)")
    assert [form.to_label(text) for text in texts] == values
    assert [value for _, value in sorted(zip(texts, values, strict=True))] == sorted(values)
    assert len(set(texts)) == len(set(values))


def test_decimal_numbers_of_one_scale() -> None:
    values = [Decimal(value) for value in DECIMALS]
    sql = number_text(TEXT, f"split_part({TEXT}, '.', 1)", 6, text=TEXT)
    texts = written(sql, DECIMALS, "DECIMAL(38,3)")
    assert [parse_decimals(6)(text) for text in texts] == values
    assert [value for _, value in sorted(zip(texts, values, strict=True))] == sorted(values)


def test_a_twin_without_the_size_sorts_otherwise() -> None:
    texts = written(TEXT, [str(value) for value in WHOLE], "DECIMAL(38,0)")
    assert [value for _, value in sorted(zip(texts, WHOLE, strict=True))] != sorted(WHOLE)


# ---- PostgreSQL's own types --------------------------------------------------------------------------------

NUMERICS = [*DECIMALS, "1e200", "-1e200", "1e-30", "-1e-30", "Infinity", "-Infinity", "1.50", "123456789.123456789"]
REALS = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e308, float("inf"), float("-inf"), 0.1, 0.30000000000000004]
WORDS = ["b", "a", "c,d"]


@pytest.fixture
def address(new_database: Callable[[], str]) -> str:
    psycopg = pytest.importorskip("psycopg")
    address = new_database()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TYPE word AS ENUM ('b', 'a', 'c,d')")
        connection.execute(
            "CREATE TABLE t (who int, n numeric, f float8, e word, u uuid, c char(4), v varchar, same int DEFAULT 1)"
        )
        for place in range(60):
            row = (
                place, NUMERICS[place % len(NUMERICS)], REALS[place % len(REALS)], WORDS[place % 3],
                uuid.UUID(int=place % 7), WORDS[place % 3], ["x ", "x", "X"][place % 3],
            )  # fmt: skip
            connection.execute(
                "INSERT INTO t (who, n, f, e, u, c, v) VALUES (%s, %s::numeric, %s, %s::word, %s, %s, %s)", row
            )
    return address


def asked(address: str, item: tuple[str, ...], **more: object) -> list[tuple[object, int]]:
    with open_engine(address, user="who", item=item, table="t", key=KEY, **more) as engine:
        return pairs(engine.top(1000))


def test_numerics_of_any_scale_and_floats_of_any_size(address: str) -> None:
    numerics = [Decimal(value) for value in NUMERICS if "Infinity" not in value]
    for name, values in (("n", numerics), ("f", [value + 0.0 for value in REALS if math.isfinite(value)])):
        for item, place in (((name, "e"), 0), (("e", name), 1)):
            labels = [label for label, _ in asked(address, item)]
            assert {label[place] for label in labels} == set(values)
            assert "-0.0" not in repr(labels)
        found = asked(address, (name, "e"))
        for count in {count for _, count in found}:
            tied = [label for label, own in found if own == count]
            assert tied == sorted(tied)


def test_infinities_are_users_of_their_own(address: str) -> None:
    """Beside another column of a user they are texts, each another; there is no label of it."""
    for name, values in (("n", NUMERICS), ("f", REALS)):
        right = {Decimal(value) for value in values}
        with open_engine(address, user=(name, "who"), item="who", table="t", key=KEY) as engine:
            assert sum(count for _, count in pairs(engine.top(1000))) == 60
        with open_engine(address, user=(name, "same"), item="same", table="t", key=KEY) as engine:
            assert [count for _, count in pairs(engine.top(1000))] == [len(right)]


def test_the_same_number_in_a_domain_of_another_scale(address: str) -> None:
    with open_engine(address, user="who", item=("n", "v"), table="t", key=KEY) as engine:
        there = dict(pairs(engine.top(1000)))
        longer = [(f"{number}0" if "." in str(number) else str(number), text) for number, text in there]
        assert dict(pairs(engine.grouped(Listed(tuple(longer))))) == there
    assert any(text.endswith(".50") for text, _ in longer)


def test_other_types_of_postgres(address: str) -> None:
    found = asked(address, ("e", "u", "c", "v"))
    assert {label[0] for label, _ in found} == set(WORDS)
    assert {label[1] for label, _ in found} == {str(uuid.UUID(int=n)) for n in range(7)}
    assert {label[2] for label, _ in found} == {"b", "a", "c,d"}
    assert {label[3] for label, _ in found} == {"x ", "x", "X"}
    assert found == sorted(found, key=lambda one: (-one[1], one[0]))
