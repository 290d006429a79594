"""Who may create something on the user's search_path decides nothing: what is called, cast or compared is the server's.

A second role plants functions, operators, types, collations and tables, in a schema that comes before pg_catalog
(as `search_path = 'public, pg_catalog'` puts it), and in one that comes after it, where a better match still wins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from dpselect._ground.domain import Listed, Span
from dpselect.aggregates.value_counts import Grid
from dpselect.engines.port import PerUser
from dpselect.engines.postgres import connection as postgres_workspace
from dpselect.engines.sql.engine import SqlEngine
from dpselect.errors import DpselectError, ParameterError
from dpselect.ledger import Account, Ledger
from tests.engines.every_engine import filled
from tests.engines.sources import Row
from tests.engines.test_conformance import kept, pairs
from tests.engines.test_postgres import engine, run
from tests.ledger.amounts import grant, rest

psycopg = pytest.importorskip("psycopg")

NewDatabase = Callable[[], str]
ROWS: list[Row] = [(f"u{n}", item, n) for n in range(12) for item in ("tea b", "Tea", "milk")[: 1 + n % 3]]
TRUE = [("tea b", 12), ("Tea", 8), ("milk", 4)]


def _tops(found: SqlEngine) -> object:
    top = found.top(5)
    return [(top.label(group, 0), int(count)) for group, count in enumerate(top.counts)]


def _names(found: SqlEngine) -> object:
    top = found.top(5)
    return [top.label(group, 0) for group in range(len(top.counts))]


def _domain(found: SqlEngine) -> object:
    return sorted(pairs(found.grouped(Listed(("milk", "Tea", "none")))))


def _values(found: SqlEngine) -> object:
    return found.users_at(Grid.parse((0, 20), 1), PerUser.MAX).users.tolist()


@dataclass(frozen=True)
class Plant:
    """What is planted, and the question whose answer it would change."""

    sql: tuple[str, ...]
    ask: Callable[[SqlEngine], object]
    answer: object
    more: dict[str, Any] = field(default_factory=dict)
    columns: str = '"user" text, item text, age int8'


def planted(arguments: str, gives: str, name: str, *, body: str = "SELECT 1/0") -> str:
    """A function that fails when it is called, but for what its body says."""
    options = "LANGUAGE plpgsql" if "RAISE" in body else "LANGUAGE sql"
    return f"CREATE FUNCTION {name}({arguments}) RETURNS {gives} {options} AS $${body}$$"


RAISE = "BEGIN RAISE 'called'; END"
NO = "SELECT false"
PLANTS = {
    "count(text)": Plant(
        (
            planted("int8, text", "int8", "added", body="SELECT $1 + 1"),
            "CREATE AGGREGATE count(text) (SFUNC = added, STYPE = int8, INITCOND = '999940')",
        ),
        _tops,
        TRUE,
    ),
    "convert_to": Plant(
        (planted("text, text", "bytea", "convert_to", body=RAISE),), kept, dict(TRUE), {"max_items_per_user": 3}
    ),
    "unnest": Plant(
        (planted("text[]", "SETOF text", "unnest", body=RAISE),), _domain, [("Tea", 8), ("milk", 4), ("none", 0)]
    ),
    "string_to_array": Plant(
        (planted("text, text", "text[]", "string_to_array", body=RAISE),), _tops, TRUE, {"split": "+"}
    ),
    "<>": Plant(
        (
            planted("text, text", "bool", "differ", body=NO),
            "CREATE OPERATOR <> (FUNCTION = differ, LEFTARG = text, RIGHTARG = text)",
        ),
        _tops,
        TRUE,
        {"split": "+"},
    ),
    "=": Plant(
        (
            planted("text, text", "bool", "same", body=NO),
            "CREATE OPERATOR = (FUNCTION = same, LEFTARG = text, RIGHTARG = text)",
        ),
        _tops,
        [("Tea", 8)],
        {"where": "item = 'Tea'"},
    ),
    ">= of numbers": Plant(
        (
            planted("int8, int4", "bool", "more", body=NO),
            "CREATE OPERATOR >= (FUNCTION = more, LEFTARG = int8, RIGHTARG = int4)",
        ),
        lambda found: sorted(pairs(found.grouped(Span(10, 12)))),
        [(10, 1), (11, 1)],
        {"item": "age"},
    ),
    "~": Plant(
        (
            planted("text, text", "bool", "like_that", body=NO),
            "CREATE OPERATOR ~ (FUNCTION = like_that, LEFTARG = text, RIGHTARG = text)",
        ),
        _values,
        [1, 1, 1],
        {"item": "name"},
        '"user" text, name text, age int8',
    ),
    "text": Plant(("CREATE DOMAIN text AS pg_catalog.text CHECK (length(VALUE) < 2)",), _tops, TRUE),
    "C": Plant(("CREATE COLLATION \"C\" (provider = icu, locale = 'en')",), _names, ["Z", "a"]),
}


ROWS_OF = {"C": [("u", "Z", 1), ("u", "a", 1)], "~": [(f"u{n}", str(n), n) for n in (3, 4, 5)]}


@pytest.fixture(scope="module")
def mallory(postgres_server: str) -> str:
    """Another user of the same database."""
    run(postgres_server.format(name="postgres"), "CREATE ROLE mallory LOGIN")
    return "mallory"


@pytest.fixture(params=["before", "after"])
def path(request: pytest.FixtureRequest) -> str:
    """Does the schema where others may create come before pg_catalog, or after it?"""
    return str(request.param)


def sown(new_database: NewDatabase, mallory: str, plant: Plant, rows: list[Row], path: str) -> str:
    """A table beside which somebody else has planted something."""
    address = filled(new_database(), rows, plant.columns)
    schema = address.rpartition("%3D")[2]
    run(address, f"GRANT CREATE, USAGE ON SCHEMA {schema} TO {mallory}")
    seen = f"{schema},pg_catalog" if path == "before" else f"pg_catalog,{schema}"
    run(f"{address.replace('dpselect@', mallory + '@')}", *plant.sql)
    return address.replace(f"search_path%3D{schema}", f"search_path%3D{seen}")


def check(address: str, plant: Plant) -> None:
    """What is planted changes no answer."""
    with engine(address, **plant.more) as found:
        assert plant.ask(found) == plant.answer


@pytest.mark.parametrize("name", PLANTS)
def test_nothing_that_others_planted_is_called(new_database, mallory, name, path):
    plant = PLANTS[name]
    check(sown(new_database, mallory, plant, ROWS_OF.get(name, ROWS), path), plant)


@pytest.mark.parametrize("name", PLANTS)
def test_a_path_left_as_the_users_is_noticed(new_database, mallory, name, monkeypatch):
    """A twin that keeps the user's search_path fails each of these checks."""
    plant = PLANTS[name]
    address = sown(new_database, mallory, plant, ROWS_OF.get(name, ROWS), "before")
    left = tuple(one for one in postgres_workspace._SETTINGS if "search_path" not in one)
    assert len(left) == len(postgres_workspace._SETTINGS) - 1
    monkeypatch.setattr(postgres_workspace, "_SETTINGS", left)
    with pytest.raises((AssertionError, DpselectError)):
        check(address, plant)


@pytest.mark.parametrize("sort", ["mood", "mood_of_some"])
def test_a_cast_of_an_enum_is_not_called(new_database, sort):
    address = new_database()
    run(
        address,
        "CREATE TYPE mood AS ENUM ('low', 'high')",
        "CREATE DOMAIN mood_of_some AS mood",
        planted("mood", "text", "read_as", body="SELECT 'mallory'"),
        "CREATE CAST (mood AS text) WITH FUNCTION read_as(mood)",
    )
    filled(address, [("u1", "low"), ("u2", "low"), ("u3", None)], f'"user" text, item {sort}')
    with engine(address) as found:
        assert _tops(found) == [("low", 2)]
    with engine(address, where="item IS NULL OR item <> 'low'") as found:
        assert _tops(found) == []
    with engine(address, user="item", item="user") as found:
        assert sorted(pairs(found.top(5))) == [("u1", 1), ("u2", 1)]


# ---- which table -------------------------------------------------------------------------------------------


def test_two_tables_of_one_name_are_told_apart_by_their_schema(new_database, mallory):
    address = filled(new_database(), ROWS)
    schema = address.rpartition("%3D")[2]
    other = f"{schema}_open"
    run(address, f"CREATE SCHEMA {other}", f"GRANT CREATE, USAGE ON SCHEMA {other} TO {mallory}")
    theirs = address.replace("dpselect@", f"{mallory}@")
    planting = planted("", "text", f"{other}.as_the_user", body="SELECT current_user::text")
    run(theirs, planting, f"CREATE VIEW {other}.t AS SELECT {other}.as_the_user() AS \"user\", 'x' AS item")
    both = address.replace(f"%3D{schema}", f"%3D{other},{schema}")
    with pytest.raises(
        ParameterError, match=rf"one table or view.* which is {schema}.t and {other}.t\nhint: write it with"
    ):
        engine(both)
    with engine(both, table=f"{schema}.t") as found:
        assert _tops(found) == TRUE
    # A table whose name looks like a schema and a table is not taken for it.
    run(theirs, f'CREATE VIEW {other}."{schema}.t" AS SELECT 1::text AS "user", \'y\' AS item')
    with engine(both, table=f"{schema}.t") as found:
        assert _tops(found) == TRUE
    with engine(both, table=f"{other}.{schema}.t") as found:
        assert _tops(found) == [("y", 1)]


def test_a_temporary_table_hides_nothing(new_database):
    """What a pooler hands on from others comes last, and is not looked at."""
    address = filled(new_database(), ROWS)
    found = postgres_workspace.PostgresWorkspace(address)
    try:
        assert found.path[-1] == address.rpartition("%3D")[2]
        assert found.fetch("SHOW search_path") == [("pg_catalog, pg_temp",)]
        assert found.fetch("SHOW transaction_read_only") == [("on",)]
    finally:
        found.close()


# ---- the ledger's store ------------------------------------------------------------------------------------


def test_the_ledger_calls_nothing_that_others_planted(postgres_server, mallory):
    admin = postgres_server.format(name="postgres")
    run(admin, "CREATE DATABASE names")
    address = postgres_server.format(name="names") + "&options=-csearch_path%3Dpublic,pg_catalog"
    run(address, f"GRANT CREATE ON SCHEMA public TO {mallory}")
    run(
        address.replace("dpselect@", f"{mallory}@"),
        planted("text", "regclass", "to_regclass", body=RAISE),
        planted("text, text", "bool", "has_table_privilege", body=RAISE),
        planted("text", "text", "current_setting", body=RAISE),
        planted("text, text", "bool", "same", body=RAISE),
        "CREATE OPERATOR = (FUNCTION = same, LEFTARG = text, RIGHTARG = text)",
        "CREATE DOMAIN text AS pg_catalog.text CHECK (length(VALUE) < 2)",
    )
    account = Account("default", "ann")
    with Ledger.create(address) as ledger:
        grant(ledger, account, 1, 0)
        assert rest(ledger.standing(account)).epsilon == 1
        assert ledger.verify() == []
    with psycopg.connect(address, autocommit=True) as connection, pytest.raises(psycopg.Error, match="called"):
        connection.execute("SELECT current_setting('server_encoding')")  # what the store would have called


def test_columns_that_differ_in_letter_case(new_database):
    """PostgreSQL has both, and each is read for itself, in one question too; a filter names one exactly."""
    address = new_database()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            'CREATE TABLE t AS SELECT n AS "user", $$a$$ AS item, $$BIG$$ AS "Country", $$small$$ AS country, '
            '$$x$$ AS "ONE" FROM generate_series(1, 300) AS n'
        )
    for item, where, expected in (
        ("Country", None, [("BIG", 300)]),
        ("country", "Country = 'BIG'", [("small", 300)]),
        ("item", "Country = 'BIG' AND country = 'small' AND one = 'x'", [("a", 300)]),
        ("item", "Country = 'small'", []),
        ("item", "\"country\" = 'BIG'", []),
    ):
        with engine(address, table="t", item=item, where=where) as found:
            assert pairs(found.top(5)) == expected
    keys = set()
    for where in ("Country = 'x'", "country = 'x'", "ONE = 'x'", "one = 'x'"):
        with engine(address, table="t", where=where) as found:
            keys.add(found.condition)
    assert len(keys) == 3
    with pytest.raises(ParameterError, match=r"exactly .* got 'COUNTRY', which may be 'Country' or 'country'"):
        engine(address, table="t", where="COUNTRY = 'small'")
    with pytest.raises(ParameterError, match="item must be a column of the source, got 'one'"):
        engine(address, table="t", item="one")
