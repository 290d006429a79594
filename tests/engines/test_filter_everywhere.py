"""Filters on every engine: the same rows are kept everywhere, they are those that are meant, and nothing fails."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import duckdb
import pytest
from hypothesis import given, settings

from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.filters import casts, operations
from dpselect.engines.filters.operations import Compiler
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Operation
from dpselect.engines.filters.values import Value, to_double
from dpselect.engines.postgres.dialect import pg_type
from dpselect.engines.postgres.dialect import quoted as pg_quoted
from dpselect.engines.postgres.spelling import POSTGRES_SPELLING
from dpselect.engines.row_filter import parse
from dpselect.errors import DataError, ParameterError
from tests.engines import filter_rows, filter_words
from tests.engines.filter_rows import COLUMNS, CONDITIONS, OTHERS, ROWS

NAMES = ("id", *COLUMNS)
Keep = Callable[[str], list[int]]


@pytest.fixture(scope="module")
def duckdb_rows() -> Iterator[Workspace]:
    workspace = filter_rows.filled()
    yield workspace
    workspace.close()


@pytest.fixture(scope="module")
def on_duckdb(duckdb_rows: Workspace) -> Keep:
    """The rows that DuckDB keeps."""
    return functools.cache(functools.partial(filter_rows.kept, duckdb_rows))


# ---- PostgreSQL -------------------------------------------------------------------------------------------

PG_NAMES = {
    "VARCHAR": "text", "SMALLINT": "int2", "INTEGER": "int4", "BIGINT": "int8", "DOUBLE": "float8", "FLOAT": "float4",
    "DECIMAL(10,2)": "numeric(10,2)", "DECIMAL(38,4)": "numeric(38,4)", "BOOLEAN": "bool", "DATE": "date",
    "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamptz",
}  # fmt: skip
PG_TYPES = {
    name: pg_type(
        "c",
        PG_NAMES[sql_type].partition("(")[0],
        "b",
        {"10": (10 << 16) + 6, "38": (38 << 16) + 8}.get(sql_type[8:10], -1),
    )
    for name, (sql_type, _) in COLUMNS.items()
}


@pytest.fixture(scope="module")
def on_postgres(new_database: Callable[[], str]) -> Iterator[Keep]:
    """A table with collations of its own, asked through the engine's own workspace."""
    import psycopg

    from dpselect.engines.postgres.connection import PostgresWorkspace as PgWorkspace

    address = new_database()
    columns = ", ".join(
        f"{pg_quoted(name)} {PG_NAMES[sql_type]}".replace("%%", "%") for name, (sql_type, _) in COLUMNS.items()
    )
    with psycopg.connect(address, autocommit=True) as connection:
        (schema,) = connection.execute("SELECT current_schema()").fetchone()
        connection.execute(f"CREATE TABLE t (id int4, {columns})".encode())
        connection.execute('ALTER TABLE t ALTER text TYPE text COLLATE "und-x-icu"')
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for row in ROWS:
                copy.write_row(row)
    open_ = [PgWorkspace(address)]

    def keep(where: str) -> list[int]:
        found = parse(where)
        condition = found.sql({name: PG_TYPES[name] for name in found.needs(NAMES)}, pg_quoted, POSTGRES_SPELLING)
        try:
            rows = open_[0].fetch(f"SELECT id FROM {schema}.t WHERE ({condition}) ORDER BY id")
        except DataError:
            open_[0].close()
            open_[0] = PgWorkspace(address)
            raise
        return [row[0] for row in rows]

    yield keep
    open_[0].close()


def test_duckdb_keeps_the_rows_that_are_meant(duckdb_rows, on_duckdb):
    """Those that its own SQL means, or what is said beside a condition."""
    meant = dict(zip(CONDITIONS, CONDITIONS, strict=True)) | OTHERS
    assert [one for one, sql in meant.items() if on_duckdb(one) != filter_rows.meant(duckdb_rows, sql)] == []


def test_postgres_keeps_the_same_rows(on_duckdb, on_postgres):
    assert [where for where in (*CONDITIONS, *OTHERS) if on_postgres(where) != on_duckdb(where)] == []


def test_the_conditions_tell_rows_apart(on_duckdb):
    """Or the comparison above could not fail: nearly every condition keeps some rows and drops others."""
    sizes = [len(on_duckdb(where)) for where in CONDITIONS]
    assert sum(0 < size < len(ROWS) for size in sizes) >= len(CONDITIONS) - 4
    assert len(set(sizes)) > 30


@settings(max_examples=50)
@given(where=filter_words.ANY)
def test_any_filter_keeps_the_same_rows(on_duckdb, on_postgres, where):
    """And fails for no row, on neither."""
    with suppress(ParameterError):
        assert on_postgres(where) == on_duckdb(where)


# ---- what is refused --------------------------------------------------------------------------------------


def test_columns_are_those_of_the_table():
    found = parse("TEXT = 'a' AND \"Text\" IS NULL AND small = big")
    assert found.columns == ("TEXT", "Text", "small", "big")
    assert found.needs(["big", "text", "small", "more"]) == ["text", "text", "small", "big"]
    with pytest.raises(ParameterError, match=r"where must use columns of the source, got 'big'"):
        found.needs(["text", "small"])
    with pytest.raises(ParameterError, match=r"exactly .* got 'TEXT', which may be 'Text' or 'text'"):
        found.needs(["Text", "text", "small", "big"])
    assert parse("text = small AND Text = big").needs(["Text", "text", "SMALL", "big"]) == [
        "text",
        "SMALL",
        "Text",
        "big",
    ]
    with pytest.raises(ParameterError, match="did you mean text"):
        parse("texd = 'a'").needs(["text"])


# ---- broken twins -----------------------------------------------------------------------------------------


def noticed(keep: Keep, where: str, right: list[int]) -> bool:
    """Does a broken filter keep other rows, or fail for one?"""
    try:
        return keep(where) != right
    except (DataError, duckdb.Error):
        return True


def plain(_: Spelling, sql: str, *__: object) -> str:
    """What is guarded, without its guard."""
    return sql


def unguarded(writer: Compiler, _: Operation, parts: Sequence[Value]) -> Value:
    """A quotient that does not look at the divisor."""
    left, right = (to_double(part, writer.spelling).sql for part in parts)
    return Value("double", f"({left} / {right})")


TWINS: dict[str, tuple[str, object, str, object]] = {
    "numbers without a range": ("wild * wild >= 0", Spelling, "in_range", plain),
    "dates without a calendar": ('year("far day") > 0', Spelling, "in_calendar", plain),
    "a cast by the engine's own reading": ("written::DOUBLE IS NOT NULL", Spelling, "compile_match", lambda *_: "TRUE"),
    "a day that is none": ("written::DATE IS NOT NULL", casts, "DAY", "[0-9]{4}-[0-9]{2}-[0-9]{2}"),
}  # fmt: skip


@pytest.mark.parametrize(("where", "owner", "name", "broken"), TWINS.values(), ids=list(TWINS))
def test_a_broken_twin_is_noticed(on_duckdb, on_postgres, monkeypatch, where, owner, name, broken):
    right = on_duckdb(where)
    assert on_postgres(where) == right
    monkeypatch.setattr(owner, name, broken)
    assert noticed(on_postgres, where, right)


def test_a_division_that_does_not_look_is_noticed(on_duckdb, on_postgres, monkeypatch):
    right = on_duckdb("1 / ints = 1")
    assert on_postgres("1 / ints = 1") == right
    monkeypatch.setitem(operations._OPERATIONS, "/", unguarded)
    assert noticed(on_postgres, "1 / ints = 1", right)


def test_a_product_in_a_type_that_is_too_short_is_noticed(duckdb_rows, monkeypatch):
    right = filter_rows.kept(duckdb_rows, "money * money > 6.2")
    monkeypatch.setattr(operations, "_WIDE_DIGITS", 99)
    assert noticed(lambda where: filter_rows.kept(duckdb_rows, where), "money * money > 6.2", right)


def test_a_text_compared_as_the_server_does_is_noticed(on_duckdb, on_postgres, monkeypatch):
    where = "text >= 'Z'"
    assert on_postgres(where) == on_duckdb(where)
    monkeypatch.setitem(PG_TYPES, "text", replace(PG_TYPES["text"], canonical_form="{}"))
    assert on_postgres(where) == on_duckdb(where)
    monkeypatch.setattr(Spelling, "binary", plain)
    assert noticed(on_postgres, where, on_duckdb(where))


def test_a_moment_in_the_zone_of_the_session_is_noticed(on_duckdb, on_postgres, monkeypatch):
    where = "zone = '2024-01-31'"
    assert on_postgres(where) == on_duckdb(where)
    monkeypatch.setitem(PG_TYPES, "zone", replace(PG_TYPES["zone"], canonical_form="({} AT TIME ZONE 'Asia/Tokyo')"))
    assert noticed(on_postgres, where, on_duckdb(where))
