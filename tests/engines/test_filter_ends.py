"""Numbers at the ends of their types under every operation, on each engine: the value that is meant, and no failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import pytest

from dpselect.engines.duckdb.spelling import DUCKDB_SPELLING
from dpselect.engines.duckdb.types import filter_type
from dpselect.engines.duckdb.workspace import Workspace, quoted
from dpselect.engines.filters.operations import Compiler
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.values import Value, column_value
from dpselect.engines.postgres.dialect import pg_type
from dpselect.engines.postgres.dialect import quoted as pg_quoted
from dpselect.engines.postgres.spelling import POSTGRES_SPELLING
from dpselect.engines.row_filter import parse
from dpselect.engines.sql.port import SqlType
from dpselect.errors import ParameterError
from tests.engines.filter_ends import COLUMNS, ONLY_DUCKDB, ROWS, UnknownError, expressions, kept, meant, nestings

ONCE = 400  # expressions in one query
KEPT = [{name: kept(value, COLUMNS[name]) for name, value in zip(COLUMNS, row, strict=True)} for row in ROWS]
Rows = list[tuple[object, ...]]


@dataclass(frozen=True)
class Engine:
    """Where the rows are, and how it is asked for them."""

    types: Mapping[str, SqlType]
    quote: Callable[[str], str]
    spelling: Spelling
    text: str
    ask: Callable[[str], Rows]  # what stands after SELECT; the rows are in their order

    def written(self, expression: str) -> Value | None:
        """An expression in its SQL; None where it is refused."""
        try:
            found = parse(expression)
            if not self.types.keys() >= set(found.columns):
                return None
            columns = {
                name: column_value(name, self.quote(name), self.types[name], self.spelling) for name in found.columns
            }
            return Compiler(columns, self.spelling).value(found.tree)
        except ParameterError:
            return None

    def values(self, expressions: Sequence[str]) -> dict[str, tuple[Value, list[object]]]:
        """What each expression is, and its value in each row."""
        known = {one: value for one in expressions if (value := self.written(one)) is not None}
        names, found = list(known), {}
        for some in (names[start : start + ONCE] for start in range(0, len(names), ONCE)):
            rows = self.ask(", ".join(f"CAST({known[one].sql} AS {self.text})" for one in some))
            for one, texts in zip(some, zip(*rows, strict=True), strict=True):
                found[one] = (known[one], [read(known[one].kind, text) for text in texts])
        return found


def read(kind: str, text: object) -> object:
    """A value that an engine wrote as text."""
    if text is None:
        return None
    return {"exact": Fraction, "double": float, "boolean": "true".__eq__}.get(kind, str)(str(text))


@cache
def wanted(expression: str) -> list[object] | None:
    """What an expression means in each row; None where that is left to the engines."""
    tree = parse(expression).tree
    try:
        return [meant(tree, row)[1] for row in KEPT]
    except UnknownError:
        return None


def same(one: object, other: object) -> bool:
    """Are they equal? NaN is, to itself."""
    return one == other or (one != one and other != other)


def wrong(engine: Engine, expressions: Sequence[str], judge: Engine | None = None) -> list[str]:
    """The expressions that have another value somewhere, or one outside of the bound that is known of it."""
    found, left, wrong = engine.values(expressions), [], []
    for one, (value, here) in found.items():
        there = wanted(one)
        if there is None:
            left.append(one)
        elif not all(map(same, here, there)) or not all(within(value, each) for each in here):
            wrong.append(one)
    if judge is not None:
        there = judge.values(left)
        wrong += [one for one in left if not all(map(same, found[one][1], there[one][1]))]
    return wrong


def within(value: Value, found: object) -> bool:
    """Is an exact number within its bound, with no more digits after the point?"""
    if not isinstance(found, Fraction) or value.max_magnitude is None:
        return True
    scaled = found * 10**value.scale
    return abs(scaled) <= value.max_magnitude and scaled.denominator == 1


# ---- engines ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def on_duckdb() -> Iterator[Engine]:
    workspace = Workspace()
    workspace.fetch_unguarded(
        f"CREATE TABLE ends (id INTEGER, {', '.join(f'{name} {of}' for name, of in COLUMNS.items())})"
    )
    values = ", ".join("?" * (len(COLUMNS) + 1))
    workspace.connection.executemany(f"INSERT INTO ends VALUES ({values})", [[at, *row] for at, row in enumerate(ROWS)])
    types = {name: filter_type(of) for name, of in COLUMNS.items()}

    def ask(sql: str) -> Rows:
        return [row[1:] for row in workspace.fetch_unguarded(f"SELECT id, {sql} FROM ends ORDER BY 1")]

    yield Engine(types, quoted, DUCKDB_SPELLING, "VARCHAR", ask)
    workspace.close()


PG_NAMES = {
    "TINYINT": "int2", "SMALLINT": "int2", "INTEGER": "int4", "BIGINT": "int8", "FLOAT": "float4", "DOUBLE": "float8",
    "VARCHAR": "text", "UBIGINT": "text", "HUGEINT": "text",
}  # fmt: skip


def type_of_postgres(sql_type: str) -> SqlType:
    """A type by DuckDB's name of it."""
    if found := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", sql_type):
        return pg_type("c", "numeric", "b", (int(found[1]) << 16) + int(found[2]) + 4)
    return pg_type("c", PG_NAMES[sql_type], "b", -1)


@pytest.fixture(scope="module")
def on_postgres(new_database: Callable[[], str]) -> Iterator[Engine]:
    import psycopg

    from dpselect.engines.postgres.connection import PostgresWorkspace as PgWorkspace

    address = new_database()
    names = (f"{name} {PG_NAMES.get(of, of)}" for name, of in COLUMNS.items())
    with psycopg.connect(address, autocommit=True) as connection:
        (schema,) = connection.execute("SELECT current_schema()").fetchone()
        connection.execute(f"CREATE TABLE ends (id int4, {', '.join(names)})".encode())
        with connection.cursor().copy("COPY ends FROM STDIN") as copy:
            for at, row in enumerate(ROWS):
                copy.write_row([at, *row])
    workspace = PgWorkspace(address)
    types = {name: type_of_postgres(of) for name, of in COLUMNS.items() if name[:2] not in ONLY_DUCKDB}

    def ask(sql: str) -> Rows:
        return [row[1:] for row in workspace.fetch(f"SELECT id, {sql} FROM {schema}.ends ORDER BY 1")]

    yield Engine(types, pg_quoted, POSTGRES_SPELLING, "text", ask)
    workspace.close()


# ---- the value that is meant ------------------------------------------------------------------------------

SOME = [*expressions(step=11), *nestings(100)]


def test_duckdb_has_the_values_that_are_meant(on_duckdb):
    assert wrong(on_duckdb, SOME) == []


def test_postgres_has_the_values_that_are_meant(on_duckdb, on_postgres):
    assert wrong(on_postgres, SOME, on_duckdb) == []
